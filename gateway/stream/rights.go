package stream

// Access is what a user of the broker may do.
type Access struct {
	// User is the name; answers of the server reach it at InboxPrefix.
	User string
	// Apps are the applications whose offers the user may take and answer.
	Apps []string
	// Observe lets the user subscribe to the copies for observers, cw.event.>
	// and cw.result.>, which hold what customers write, and to changes of states.
	Observe bool
	// Send are the accounts, and "pool:" and the names of the pools, from which the
	// user may write to anybody.
	Send []string
}

// Rights are the subjects a user may publish to and subscribe to, and no others.
type Rights struct {
	Publish   []string `json:"publish"`
	Subscribe []string `json:"subscribe"`
	// Answers: the user may also publish to the reply subject of a request that it
	// got, whoever asked.
	Answers bool `json:"allow_responses"`
}

// Rights are the least with which the SDK and a plain client work: ask for offers,
// read the consumer's settings, answer, acknowledge, ask for a state or read one from
// the bucket, ask for messages to be sent, and listen on the user's own inbox. There
// is no right to make a consumer, since a consumer shows what it filters. The
// acknowledgement has two subject forms; the second one is announced as the server's
// later default.
//
// They keep workers apart that go wrong, not one that means harm. A request names the
// subject of its answer, and the broker publishes the answer there with its own rights;
// permissions look at the request's subject alone (nats-server 2.15, which refuses only
// its reserved prefixes). So who may pull can have an event, or an answer of the
// broker, put into another application's gate, among its answers or the copies, and
// have a stream deleted by pulling to $JS.API.STREAM.DELETE.<name>. What it cannot do is
// read anything of another application, or choose the words: it cannot answer for
// another application, or write to a customer. What it breaks is made again from the
// ledger, in order and without a try spent; observers miss copies (hostile_worker_test.go
// in cmd/causeway). Closed it would be by an account of the server for each user, with
// imports of what it may do: each pull then leaves a mapping of its answer in the
// server until a time is over (its own comments speak of build-ups by pulls), and
// servers outside would need the same by hand. An application that strangers run is better behind a URL.
func (a *Access) Rights() Rights {
	var r Rights
	for _, app := range a.Apps {
		name := ReadyName(app)
		r.Publish = append(r.Publish,
			"$JS.API.CONSUMER.MSG.NEXT."+name+"."+app,
			"$JS.API.CONSUMER.INFO."+name+"."+app,
			"$JS.ACK."+name+"."+app+".>",
			"$JS.ACK.*.*."+name+"."+app+".>",
			"cw.reply."+app+".>",
			CurrentSubject(app),
		)
	}
	if len(a.Apps) > 0 || a.Observe { // one key of the bucket by its name; listing needs a consumer
		r.Publish = append(r.Publish, "$JS.API.STREAM.INFO."+StateStream, "$JS.API.DIRECT.GET."+StateStream+".$KV."+StateBucket+".*")
	}
	for _, sender := range a.Send {
		r.Publish = append(r.Publish, SendSubject(sender))
	}
	r.Subscribe = []string{InboxPrefix(a.User) + ".>"}
	if a.Observe {
		r.Subscribe = append(r.Subscribe, "cw.event.>", "cw.result.>", "$KV."+StateBucket+".>")
	}
	return r
}

// GatewayRights are those of the gateway itself at servers outside: it makes and keeps
// the streams, reads and writes everything of ours, and answers requests.
func GatewayRights() Rights {
	return Rights{
		Publish:   []string{"$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "cw.>", "$KV." + StateBucket + ".>"},
		Subscribe: []string{"_INBOX.>", "cw.>"},
		Answers:   true,
	}
}
