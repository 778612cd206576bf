package storetest

import (
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// human lets a colleague write to who now; it is judged when judge is called next.
func (w *world) human(id, who string) { w.humanTo(id, phone(who)) }

func (w *world) humanTo(id string, who gateway.Identity) {
	w.Helper()
	it := w.echo(id, "", "w."+id, "")
	it.Chat.Identities = []gateway.Identity{who}
	it.Event.OccurredAt = w.now
	it.Event.Content = []byte(`{"type":"text","from":{"identities":[{"kind":"userid","value":"chenhao","as":"ChenHao"}]},"echo":{}}`)
	w.relay(it)
}

func (w *world) state(conv string) *gateway.Taken {
	w.Helper()
	s, err := w.l.Subject(w.ctx, conv)
	w.must(err)
	return s.Takeover
}

// because are the texts of messages that are in a state for a reason, oldest first.
func (w *world) because(state gateway.MessageState, reason string) (texts []string) {
	w.Helper()
	ms, err := w.l.Messages(w.ctx, state, 1000)
	w.must(err)
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Reason == reason {
			texts = append(texts, ms[i].Reply.Text)
		}
	}
	return texts
}

// A colleague's message that comes while a reply is being sent: that one ends as it
// ends, and not one more leaves before it is said whose the message was.
func takeoverWhileSending(w *world) {
	w.takeover = gateway.Takeover{For: time.Hour, Then: gateway.ThenDrop}
	conv := w.say("a1", "1", "1", "2", "3")
	m, at := w.begin(conv)
	w.human("e1", "1")
	n, _, _ := w.judge()
	w.same("judged while an attempt is open", n, 0)
	w.end(at, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.1"})
	next, _ := w.next(conv)
	err := w.l.BeginAttempt(w.ctx, &gateway.Attempt{ID: "at_x", Message: next.ID, StartedAt: w.now, VoidAfter: w.now}, conv)
	if !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("an attempt beside an echo that is not judged: %v", err)
	}
	_, woken, _ := w.judge()
	w.same("woken", woken, []string{conv})
	w.find(m.ID, gateway.MessageAccepted)
	w.same("held", w.because(gateway.MessageHeld, gateway.ReasonTakeover), []string{"2", "3"})
	w.same("who has it", w.state(conv), &gateway.Taken{By: "ChenHao", Since: w.now, Until: w.now.Add(time.Hour)})
	if next, _ := w.next(conv); next != nil {
		w.Error("there is something to send")
	}
	w.say("a2", "1", "4")
	w.same("held with the new one", w.because(gateway.MessageHeld, gateway.ReasonTakeover), []string{"2", "3", "4"})
	_, _, over := w.judge()
	w.same("over", over, w.now.Add(time.Hour))
	w.same("taken", w.counter("taken"), int64(1))
	published := func() *gateway.Taken {
		states, err := w.l.UnpublishedStates(w.ctx, time.Time{}, 10)
		w.must(err)
		return states[len(states)-1].Takeover
	}
	w.same("published", published(), w.state(conv))
	w.balanced()

	w.later(time.Hour)
	n, _, over = w.judge()
	w.same("moved", n, 3)
	w.same("next", over, time.Time{})
	w.same("dropped", w.because(gateway.MessageCancelled, gateway.ReasonTakeover), []string{"2", "3", "4"})
	w.same("who has it", w.state(conv), (*gateway.Taken)(nil))
	w.same("taken", w.counter("taken"), int64(0))
	w.same("published", published(), (*gateway.Taken)(nil))
	ch := w.changes()
	w.same("told by", ch[len(ch)-1].By, "takeover")
	w.say("a3", "1", "5")
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.5"})
	w.balanced()
}

// The other order: the reply left before the colleague's message came. It stays sent,
// and the next ones are held; each message of the colleague begins the time anew.
func takeoverAfterSending(w *world) {
	w.takeover = gateway.Takeover{For: time.Hour, Then: gateway.ThenSend}
	conv := w.say("a1", "1", "1")
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.1"})
	w.human("e1", "1")
	w.judge()
	first := w.now
	w.say("a2", "1", "2", "3")
	w.later(50 * time.Minute)
	w.human("e2", "1")
	w.judge()
	w.same("taken", w.state(conv), &gateway.Taken{By: "ChenHao", Since: first, Until: w.now.Add(time.Hour)})
	w.later(30 * time.Minute)
	n, _, _ := w.judge()
	w.same("too early", n, 0)
	w.say("a3", "1", "4")
	w.later(30 * time.Minute)
	// In slices: what is answered between them stays behind, so the order is kept.
	out, err := w.l.Judge(w.ctx, w.now, 2, w.rule)
	w.must(err)
	w.same("moved", out.Done, 2)
	w.say("a4", "1", "5")
	w.judge()
	for _, text := range []string{"2", "3", "4", "5"} {
		w.same("sent", w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w." + text}).Reply.Text, text)
	}
	w.balanced()
}

// A message that was not taken while a colleague took over is held, not tried again.
func takeoverRetry(w *world) {
	w.takeover = gateway.Takeover{For: time.Hour, Then: gateway.ThenSend}
	conv := w.say("a1", "1", "1")
	m, at := w.begin(conv)
	w.human("e1", "1")
	w.later(gateway.ParkEcho)
	w.judge() // its deadline
	w.end(at, gateway.Outcome{Kind: gateway.OutcomeRetry, Code: "http_503"})
	w.find(m.ID, gateway.MessageHeld)
	w.balanced()
	// What nobody knows is not held: it may have left.
	conv = w.say("b1", "2", "1", "2")
	m, at = w.begin(conv)
	w.human("e2", "2")
	w.end(at, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	w.judge()
	w.find(m.ID, gateway.MessageUnknown)
	w.same("held behind it", w.because(gateway.MessageHeld, gateway.ReasonTakeover), []string{"1", "2"})
	w.balanced()
}

// Requested messages: a colleague's own one takes the conversation and leaves, what
// may pass passes, and all others wait, to leave afterwards in any case.
func takeoverRequests(w *world) {
	w.takeover = gateway.Takeover{For: time.Hour, Then: gateway.ThenDrop}
	conv := w.say("a1", "1", "1")
	submit := func(text string, human, even bool) gateway.Submitted {
		out, err := w.l.Submit(w.ctx, &gateway.Submission{Platform: "whatsapp", Account: "shop", Conv: conv, By: "ops", Human: human, EvenInTakeover: even,
			Takeover: w.rule, Replies: []gateway.Reply{{Type: gateway.ReplyText, Text: text}}}, w.now)
		w.must(err)
		return out
	}
	w.same("a colleague's", submit("h", true, false).State, gateway.MessageWaiting)
	w.same("who has it", w.state(conv).By, "ops")
	w.same("a plain one", submit("p", false, false).State, gateway.MessageHeld)
	w.same("one that passes", submit("e", false, true).State, gateway.MessageWaiting)
	w.same("held", w.because(gateway.MessageHeld, gateway.ReasonTakeover), []string{"1", "p"})
	for _, text := range []string{"h", "e"} {
		m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w." + text})
		w.same("sent", m.Reply.Text, text)
		w.same("passes", m.Passes(), true)
	}
	w.later(time.Hour)
	w.judge()
	w.same("dropped", w.because(gateway.MessageCancelled, gateway.ReasonTakeover), []string{"1"})
	w.same("sent", w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.p"}).Reply.Text, "p")
	w.balanced()
}

// A person takes the conversation back; a colleague's message from before that, which
// came late, takes nothing, and one from after it does.
func takeoverReleased(w *world) {
	w.takeover = gateway.Takeover{For: time.Hour, Then: gateway.ThenDrop}
	conv := w.say("a1", "1")
	if _, err := w.l.ReleaseConversation(w.ctx, conv, "", "ops", w.now); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("released what nobody has: %v", err)
	}
	w.human("e1", "1")
	w.judge()
	w.say("a2", "1", "1", "2")
	late := w.echo("e2", "1", "w.late", "")
	late.Event.OccurredAt = w.later(time.Minute)
	w.later(time.Minute)
	n, err := w.l.ReleaseConversation(w.ctx, conv, gateway.ThenSend, "ops", w.now)
	w.must(err)
	w.same("held", n, 2)
	w.judge()
	for _, text := range []string{"1", "2"} {
		w.same("sent", w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w." + text}).Reply.Text, text)
	}
	w.relay(late)
	w.judge()
	w.same("an old message", w.state(conv), (*gateway.Taken)(nil))
	w.later(time.Second)
	w.human("e3", "1")
	w.judge()
	if w.state(conv) == nil {
		w.Error("a new message took nothing")
	}
	old := w.echo("e4", "2", "w.old", "")
	old.Event.OccurredAt = w.now.Add(-2 * time.Hour)
	w.relay(old)
	w.judge()
	w.same("taken", w.counter("taken"), int64(1))
	w.takeover = gateway.Takeover{}
	w.human("e5", "3")
	w.judge()
	w.same("taken where nothing is", w.counter("taken"), int64(1))
	log, err := w.l.AuditLog(w.ctx, 10)
	w.must(err)
	w.same("audit", log[0].What+" "+log[0].Target+" "+log[0].By, "release "+conv+" ops")
	w.balanced()
}

// A session of customer service that ended, and one that we handed back, end it too.
func takeoverSessions(w *world) {
	w.takeover = gateway.Takeover{For: time.Hour, Then: gateway.ThenDrop}
	kf := func(it gateway.ItemRow) gateway.ItemRow {
		it.Event.Platform, it.Event.Account = "wecom", "desk"
		it.Chat.Identities = []gateway.Identity{{Kind: "external_userid", Value: "wm1"}}
		return it
	}
	r := w.relay(kf(w.message("a1", "")))
	conv := r.Pending[0].Conv
	take := func(id string) {
		it := kf(w.echo(id, "", "w."+id, ""))
		it.Event.OccurredAt = w.later(time.Second)
		w.relay(it)
		w.judge()
		if w.state(conv) == nil {
			w.Fatal("not taken")
		}
	}
	session := func(id string, s gateway.SessionState, at time.Time) {
		it := kf(w.message(id, ""))
		it.Event.Kind, it.Event.Chat, it.Wanted, it.Event.OccurredAt = gateway.KindState, gateway.ChatAccount, nil, at
		it.Chat = gateway.Chat{Kind: gateway.ChatAccount, Identities: []gateway.Identity{{Kind: "session", Value: "wm1"}}}
		it.Note = &gateway.StateNote{Session: s}
		w.relay(it)
		w.judge()
	}
	take("e1")
	session("s0", gateway.SessionEnded, w.now.Add(-time.Minute)) // of the session before
	session("s1", gateway.SessionHuman, w.now)
	if w.state(conv) == nil {
		w.Error("over too early")
	}
	session("s2", gateway.SessionEnded, w.later(time.Second))
	w.same("after the session", w.state(conv), (*gateway.Taken)(nil))
	take("e2")
	_, err := w.l.Submit(w.ctx, &gateway.Submission{Platform: "wecom", Account: "desk", Conv: conv, EvenInTakeover: true,
		Replies: []gateway.Reply{{Type: gateway.ReplyTransfer, Transfer: &gateway.TransferReply{To: gateway.SessionEnded}}}}, w.now)
	w.must(err)
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.t"})
	w.judge()
	w.same("after our transfer", w.state(conv), (*gateway.Taken)(nil))
	w.balanced()
}

// Events of a taken conversation say so; who does not want them is settled with the
// reason, and the sums hold.
func takeoverEvents(w *world) {
	w.takeover = gateway.Takeover{For: time.Hour, Then: gateway.ThenDrop}
	conv := w.say("a1", "1")
	w.human("e1", "1")
	w.judge()
	it := w.message("a2", "1")
	it.Event.Content = []byte(`{"type":"text","text":"hello"}`)
	it.Wanted, it.SkipTaken = []string{"bot", "shy"}, []string{"shy"}
	r := w.relay(it)
	if len(r.Pending) != 1 || r.Pending[0].App != "bot" {
		w.Fatalf("offered to %+v", r.Pending)
	}
	rows, err := w.l.Events(w.ctx, []int64{r.Pending[0].N})
	w.must(err)
	ev, err := gateway.DecodeEvent(rows[r.Pending[0].N].Body("d"))
	w.must(err)
	w.same("the event", ev.Takeover, &gateway.Taken{By: "ChenHao", Since: w.now, Until: w.now.Add(time.Hour)})
	w.same("its text is there", ev.Text, "hello")
	c, err := w.l.Conversation(w.ctx, conv, 10)
	w.must(err)
	w.same("states", c.Events[2].States, map[string]gateway.EventState{"bot": gateway.EventPending, "shy": gateway.EventSettled})
	s := w.balanced()
	w.same("shy", s.Apps["shy"], gateway.AppSums{Wanted: 1, Settled: 1})
	w.answer(r.Pending[0], done())
	w.inTakeover(map[string]bool{conv: true}, conv, "nobody")
	w.later(time.Hour) // over, though nobody looked yet
	w.inTakeover(map[string]bool{}, conv)
	it = w.message("a3", "1")
	it.Wanted, it.SkipTaken = []string{"shy"}, []string{"shy"}
	if r := w.relay(it); len(r.Pending) != 1 || string(r.Pending[0].Row.Content) != string(it.Event.Content) {
		w.Errorf("afterwards: %+v", r.Pending)
	}
	w.balanced()
}

// Two conversations that turn out to be one are taken together.
func takeoverMerged(w *world) {
	w.takeover = gateway.Takeover{For: time.Hour, Then: gateway.ThenSend}
	old, young := w.pair("a")
	older, younger := old.Conv, young.Conv
	w.answer(old, done("1"))
	w.answer(young, done("2"))
	w.humanTo("e1", bsuid("a"))
	w.judge()
	w.same("held", w.because(gateway.MessageHeld, gateway.ReasonTakeover), []string{"2"})
	w.join("a")
	w.same("held of both", w.because(gateway.MessageHeld, gateway.ReasonTakeover), []string{"1", "2"})
	w.same("taken", w.counter("taken"), int64(1))
	w.same("who has it", w.state(younger).Until, w.now.Add(time.Hour))
	w.inTakeover(map[string]bool{older: true, younger: true}, older, younger)
	w.later(time.Hour)
	w.judge()
	w.same("sent first", w.send(younger, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.2"}).Reply.Text, "2")
	w.same("sent then", w.send(older, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.1"}).Reply.Text, "1")
	w.balanced()
}

func (w *world) inTakeover(want map[string]bool, convs ...string) {
	w.Helper()
	got, err := w.l.InTakeover(w.ctx, convs, w.now)
	w.must(err)
	w.same("in takeover", got, want)
}
