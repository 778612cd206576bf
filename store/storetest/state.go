package storetest

import (
	"math/rand/v2"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// toldOf is an item about a customer that says who looks after them.
func (w *world) toldOf(id, customer string, at time.Time, n gateway.StateNote) gateway.ItemRow {
	it := w.message(id, "x")
	it.Event.Platform, it.Event.Kind, it.Event.Chat, it.Event.OccurredAt, it.Wanted = "wecom", gateway.KindState, gateway.ChatAccount, at, nil
	it.Chat = gateway.Chat{Kind: gateway.ChatAccount, Identities: []gateway.Identity{{Kind: "customer", Value: customer}}}
	it.Note = &n
	return it
}

func member(name string) gateway.Identity {
	if name == "" {
		return gateway.Identity{}
	}
	return gateway.Identity{Kind: "userid", Value: name, As: "As-" + name}
}

func (w *world) subject(customer string) gateway.Subject {
	w.Helper()
	conv, err := w.l.FindConversation(w.ctx, "wecom", "shop", gateway.Identity{Kind: "customer", Value: customer})
	w.must(err)
	s, err := w.l.Subject(w.ctx, conv)
	w.must(err)
	return s
}

// owner is the newest one, and all.
func (w *world) owner(customer string) (string, []string) {
	w.Helper()
	s := w.subject(customer)
	var all []string
	for _, m := range s.Members {
		all = append(all, m.UserID)
	}
	return s.Owner, all
}

// stateTransfer: a hand-over comes in any order and twice; the newest by the
// platform's time is the owner.
func stateTransfer(w *world) {
	at := func(s int) time.Time { return w.now.Truncate(time.Second).Add(time.Duration(s) * time.Second) }
	type told struct {
		at   int
		word gateway.NoteWord
		who  string
	}
	for name, c := range map[string]struct {
		told  []told
		owner string
		all   []string
	}{
		"hand-over":                    {[]told{{0, "has", "a"}, {10, "has", "b"}, {10, "gone", "a"}}, "As-b", []string{"As-b"}},
		"gone first":                   {[]told{{0, "has", "a"}, {10, "gone", "a"}, {10, "has", "b"}}, "As-b", []string{"As-b"}},
		"the old word comes last":      {[]told{{10, "has", "b"}, {10, "gone", "a"}, {0, "has", "a"}}, "As-b", []string{"As-b"}},
		"both have the customer":       {[]told{{5, "has", "b"}, {0, "has", "a"}, {9, "seen", "a"}}, "As-b", []string{"As-b", "As-a"}},
		"the newer one left":           {[]told{{0, "has", "a"}, {5, "has", "b"}, {6, "gone", "b"}}, "As-a", []string{"As-a"}},
		"nobody":                       {[]told{{0, "has", "a"}, {6, "gone", "a"}}, "", nil},
		"back again":                   {[]told{{0, "has", "a"}, {6, "gone", "a"}, {7, "has", "a"}}, "As-a", []string{"As-a"}},
		"only seen":                    {[]told{{3, "seen", "a"}}, "As-a", []string{"As-a"}},
		"seen after the end was lost":  {[]told{{0, "has", "a"}, {6, "gone", "a"}, {8, "seen", "a"}}, "As-a", []string{"As-a"}},
		"seen in the second of an end": {[]told{{0, "has", "a"}, {6, "gone", "a"}, {6, "seen", "a"}}, "", nil},
		"moved to nobody knows whom":   {[]told{{0, "has", "a"}, {6, "moved", ""}}, "", nil},
	} {
		for again := range 2 {
			for i, e := range c.told {
				w.relay(w.toldOf(name+string(rune('0'+i)), name, at(e.at), gateway.StateNote{Word: e.word, Member: member(e.who)}))
			}
			owner, all := w.owner(name)
			if again == 0 || !w.Failed() {
				w.same(name+": owner", owner, c.owner)
				w.same(name+": all", all, c.all)
			}
		}
	}
	if s := w.subject("both have the customer"); s.At == nil || !s.At.Equal(at(9)) || s.Source != gateway.SourceLedger || s.Members[0].Since == nil || !s.Members[0].Since.Equal(at(5)) || len(s.Identities) != 1 {
		w.Errorf("the row says %+v", s)
	}
	c, err := w.l.Conversation(w.ctx, w.subject("hand-over").Conv, 10)
	w.must(err)
	if c.State == nil || c.State.Owner != "As-b" {
		w.Errorf("an operator sees %+v", c.State)
	}
	w.balanced()
}

// stateAnyOrder: words of different seconds give the same whatever comes first.
func stateAnyOrder(w *world) {
	r := rand.New(rand.NewPCG(8, 8)) //nolint:gosec // the same every time
	words := []gateway.NoteWord{gateway.NoteHas, gateway.NoteSeen, gateway.NoteGone}
	for n := range 40 {
		notes := make([]gateway.StateNote, 6)
		for i := range notes {
			notes[i] = gateway.StateNote{Word: words[r.IntN(3)], Member: member(string(rune('a' + r.IntN(2))))}
		}
		var want []string
		for try := range 3 {
			order := r.Perm(len(notes))
			if try == 0 {
				order = []int{0, 1, 2, 3, 4, 5}
			}
			customer := string(rune('A'+n)) + string(rune('0'+try))
			for _, i := range order {
				w.relay(w.toldOf(customer+string(rune('0'+i)), customer, w.now.Add(time.Duration(i)*time.Second), notes[i]))
			}
			_, all := w.owner(customer)
			if try == 0 {
				want = all
				continue
			}
			if len(all) != len(want) { // who has the customer; since when a lost word may hide
				w.Errorf("%+v in the order %v: %v, want %v", notes, order, all, want)
			}
		}
	}
}

// stateSessions: the newest word on a session wins; a human's hand is part of the
// state; what is not live says nothing.
func stateSessions(w *world) {
	at := w.now.Truncate(time.Second)
	say := func(id string, sec int, s gateway.SessionState, who string) {
		w.relay(w.toldOf(id, "c", at.Add(time.Duration(sec)*time.Second), gateway.StateNote{Session: s, Servicer: member(who)}))
	}
	say("s1", 5, gateway.SessionHuman, "a")
	say("s2", 9, gateway.SessionEnded, "")
	say("s3", 7, gateway.SessionHuman, "b")
	s := w.subject("c")
	w.same("session", [2]string{string(s.Session), s.Servicer}, [2]string{"ended", ""})
	observed := w.toldOf("s4", "c", at.Add(time.Hour), gateway.StateNote{Session: gateway.SessionNew})
	observed.Observed = gateway.ObservedHistory
	w.relay(observed)
	w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{w.payload(w.toldOf("s2", "c", at.Add(2*time.Hour), gateway.StateNote{Session: gateway.SessionNew}))}})
	w.same("after a copy and a replay", w.subject("c").Session, gateway.SessionEnded)

	w.relay(w.echo("e1", "7", "wamid.human", ""))
	_, err := w.l.Judge(w.ctx, w.later(time.Minute), 100, w.rule)
	w.must(err)
	conv, err := w.l.FindConversation(w.ctx, "whatsapp", "shop", phone("7"))
	w.must(err)
	states, err := w.l.UnpublishedStates(w.ctx, time.UnixMilli(1), 100)
	w.must(err)
	last := states[len(states)-1]
	if len(states) != 2 || last.Conv != conv || last.LastHumanAt == nil {
		w.Errorf("to be published: %+v", states)
	}
}

// statePublished: what changed stands behind the cursor, and all of it for a bucket
// made anew.
func statePublished(w *world) {
	life, other := time.UnixMilli(1000), time.UnixMilli(2000)
	pending := func(of time.Time) (out []string) {
		w.Helper()
		list, err := w.l.UnpublishedStates(w.ctx, of, 10)
		w.must(err)
		for i := range list {
			if i > 0 && list[i].Rev <= list[i-1].Rev {
				w.Errorf("not in order: %+v", list)
			}
			out = append(out, list[i].Owner)
		}
		return out
	}
	done := func(of time.Time) {
		w.Helper()
		list, err := w.l.UnpublishedStates(w.ctx, of, 10)
		w.must(err)
		w.must(w.l.SetStatesPublished(w.ctx, of, list[len(list)-1].Rev))
	}
	w.relay(w.toldOf("1", "c1", w.now, gateway.StateNote{Word: gateway.NoteHas, Member: member("a")}),
		w.toldOf("2", "c2", w.now, gateway.StateNote{Word: gateway.NoteHas, Member: member("b")}))
	w.same("new", pending(life), []string{"As-a", "As-b"})
	done(life)
	w.same("none", pending(life), []string(nil))
	w.relay(w.toldOf("3", "c1", w.now.Add(-time.Hour), gateway.StateNote{Word: gateway.NoteHas, Member: member("z")}))
	w.same("an older word changes who has them, not the owner", pending(life), []string{"As-a"})
	w.relay(w.toldOf("4", "c1", w.now.Add(time.Hour), gateway.StateNote{Word: gateway.NoteHas, Member: member("b")}))
	w.same("changed", pending(life), []string{"As-b"})
	w.same("in another bucket", pending(other), []string{"As-b", "As-b"})
	done(other)
	w.same("none left there", pending(other), []string(nil))
	w.same("the first bucket again", len(pending(life)), 2)
}
