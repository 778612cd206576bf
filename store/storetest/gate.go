package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

func publishCursors(w *world) {
	w.relay(w.message("a1", "1"), w.message("a2", "1"), w.status("s1", "1", "x", "", gateway.StatusSent))
	un, err := w.l.Unpublished(w.ctx, 10)
	w.must(err)
	var ns []int64
	for _, e := range un {
		ns = append(ns, e.N)
	}
	w.same("unpublished", ns, []int64{1, 2, 3})
	w.must(w.l.SetPublished(w.ctx, 2))
	w.must(w.l.SetPublished(w.ctx, 1)) // a late word does not move it back
	un, err = w.l.Unpublished(w.ctx, 10)
	w.must(err)
	w.same("unpublished after 2", len(un), 1)
	// A replay is not published, and does not hide what comes after it.
	_, err = w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", At: w.now})
	w.must(err)
	p := w.payload(w.message("a1", "1"))
	w.pos--
	w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{p}})
	w.must(w.l.SetPublished(w.ctx, 3))
	for range 2 {
		un, err = w.l.Unpublished(w.ctx, 10)
		w.must(err)
		w.same("unpublished after all", len(un), 0)
	}
	w.relay(w.message("a4", "1"))
	un, err = w.l.Unpublished(w.ctx, 10)
	w.must(err)
	w.same("unpublished after a replay", len(un), 1)

	conv := w.say("b1", "2", "hello")
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.1"})
	ch := w.changes()
	if len(ch) != 1 || ch[0].State != gateway.MessageAccepted || ch[0].By != "answer" || ch[0].ExternalID != "w.1" || ch[0].Conv != conv {
		w.Fatalf("changes: %+v", ch)
	}
	w.must(w.l.SetChangesPublished(w.ctx, ch[0].N))
	w.same("changes afterwards", len(w.changes()), 0)
}

func gateHeads(w *world) {
	convs := make(map[string]int64)
	for i := range 30 {
		var items []gateway.ItemRow
		for j := range 5 {
			it := w.message(fmt.Sprintf("%d.%d", i, j), fmt.Sprint(i))
			it.Wanted = []string{"bot", "other"}
			items = append(items, it)
		}
		r := w.relay(items...)
		w.same("pending rows", len(r.Pending), 10)
		convs[r.Pending[0].Conv] = r.Pending[0].N
	}
	for _, limit := range []int{1, 7, 1000} {
		var all []gateway.Pending
		for after := ""; ; {
			heads, err := w.l.Heads(w.ctx, "bot", after, limit)
			w.must(err)
			all = append(all, heads...)
			if len(heads) < limit {
				break
			}
			after = heads[len(heads)-1].Conv
		}
		w.same("heads", len(all), 30)
		if !slices.IsSortedFunc(all, func(a, b gateway.Pending) int { return cmp.Compare(a.Conv, b.Conv) }) {
			w.Error("heads are not in the order of conversations")
		}
		for _, h := range all {
			if h.App != "bot" || h.Seq != 1 || convs[h.Conv] != h.N {
				w.Errorf("head %+v", h)
			}
		}
	}
	heads, err := w.l.Heads(w.ctx, "nobody", "", 10)
	w.must(err)
	w.same("heads of an unknown application", len(heads), 0)
}

func gateResolve(w *world) {
	p := w.relay(w.message("a1", "1")).Pending[0]
	w.relay(w.message("a2", "1"), w.message("a3", "1"))
	at := w.now.Add(time.Minute)
	r, err := w.l.Resolve(w.ctx, p, gateway.Decision{State: gateway.EventPending, Tries: 1, NextAt: at}, w.now)
	w.must(err)
	want := p
	want.Tries, want.NextAt, want.Round = 1, at, 1
	if r.Late || r.Head == nil {
		w.Fatalf("resolved: %+v", r)
	}
	w.same("the head is the same event", *r.Head, want)
	r, err = w.l.Resolve(w.ctx, p, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonSilent}, w.now)
	w.must(err)
	w.same("an old round is late", r.Late, true)
	r, err = w.l.Resolve(w.ctx, want, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonWatchdog, Tries: 4}, w.now)
	w.must(err)
	if r.Late || r.Dead == "" || r.Head == nil || r.Head.Event != "ev_a2" {
		w.Errorf("dead: %+v", r)
	}
	// The handler answers after all.
	s := w.answer(p, done("too late"))
	w.same("late", s.Late, true)
	w.same("overruns", w.counter("overrun"), int64(1))
	// One that is not the head.
	heads, err := w.l.Heads(w.ctx, "bot", "", 10)
	w.must(err)
	last := heads[0]
	last.Seq, last.N, last.Event = 3, 3, "ev_a3"
	r, err = w.l.Resolve(w.ctx, last, gateway.Decision{State: gateway.EventSettled, Reason: "ack"}, w.now)
	w.must(err)
	if r.Late || r.Head == nil || r.Head.Event != "ev_a2" {
		w.Errorf("resolved behind the head: %+v", r)
	}
	w.balanced()
}

func gateBrakes(w *world) {
	b := gateway.Brake{Scope: "app", Name: "bot", At: w.now, By: "ops"}
	w.must(w.l.SetBrake(w.ctx, b, true))
	again := b
	again.At = w.now.Add(time.Hour)
	w.must(w.l.SetBrake(w.ctx, again, true)) // the first one stands
	got, err := w.l.Brakes(w.ctx)
	w.must(err)
	w.same("brakes", got, []gateway.Brake{b})
	w.must(w.l.SetBrake(w.ctx, b, false))
	got, err = w.l.Brakes(w.ctx)
	w.must(err)
	w.same("brakes afterwards", len(got), 0)
	log, err := w.l.AuditLog(w.ctx, 10)
	w.must(err)
	w.same("audit entries", len(log), 3)
	loop := gateway.Brake{Scope: gateway.BrakeConversation, Name: "conv", At: w.now, By: "gateway", Reason: "loop"}
	w.must(w.l.SetBrake(w.ctx, loop, true))
	w.must(w.l.SetBrake(w.ctx, b, true)) // of another scope
	got, err = w.l.Brakes(w.ctx)
	w.must(err)
	w.same("brakes of two scopes", got, []gateway.Brake{b, loop})
}

func gateBreakers(w *world) {
	list := func() []gateway.Breaker {
		got, err := w.l.Breakers(w.ctx)
		w.must(err)
		return got
	}
	b := gateway.Breaker{App: "bot", Since: w.now, ProbeAt: w.now.Add(5 * time.Second), Wait: 5 * time.Second}
	w.must(w.l.SetBreaker(w.ctx, b))
	w.same("tripped", list(), []gateway.Breaker{b})
	b.ProbeAt, b.Wait = w.now.Add(time.Minute), 10*time.Second
	w.must(w.l.SetBreaker(w.ctx, b))
	w.same("probed", list(), []gateway.Breaker{b})
	w.must(w.l.SetBreaker(w.ctx, gateway.Breaker{App: "bot"}))
	w.same("closed", len(list()), 0)
}

// gateBlocked: since when an event blocks is kept with it, and gone when it is
// requeued.
func gateBlocked(w *world) {
	p := w.relay(w.message("a1", "1")).Pending[0]
	w.relay(w.message("a2", "1"), w.message("b1", "2"))
	blocked := func() int64 {
		n, err := w.l.Blocked(w.ctx)
		w.must(err)
		return n["bot"]
	}
	since := w.now
	s := w.answer(p, gateway.Decision{State: gateway.EventPending, Reason: "blocked", Tries: 4, NextAt: w.later(time.Minute), Blocked: since})
	want := p
	want.Tries, want.Round, want.NextAt, want.Blocked = 4, 1, w.now, since
	w.same("the head", *s.Head, want)
	w.same("blocked", blocked(), int64(1))
	heads, err := w.l.Heads(w.ctx, "bot", "", 10)
	w.must(err)
	at := slices.IndexFunc(heads, func(h gateway.Pending) bool { return h.Conv == p.Conv })
	w.same("as it is read", heads[at], want)
	c, err := w.l.Conversation(w.ctx, p.Conv, 10)
	w.must(err)
	w.same("as it is shown", [2]gateway.EventState{c.Events[0].States["bot"], c.Events[1].States["bot"]}, [2]gateway.EventState{gateway.EventBlocked, gateway.EventPending})
	r, err := w.l.Resolve(w.ctx, want, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonBlockFor, Tries: 5}, w.now)
	w.must(err)
	w.same("blocked afterwards", blocked(), int64(0))
	re, err := w.l.Requeue(w.ctx, r.Dead, "ops", w.now)
	w.must(err)
	w.same("requeued", [2]bool{re.Pending.Blocked.IsZero(), re.Pending.Tries == 0}, [2]bool{true, true})
	w.balanced()
}

func gateReround(w *world) {
	ps := w.relay(w.message("a1", "1"), w.message("b1", "2"), w.message("c1", "3"), w.message("c2", "3")).Pending
	w.answer(ps[1], done())
	old := ps[0]
	old.Round = 7
	got, err := w.l.Reround(w.ctx, []gateway.Pending{old, ps[1], ps[2]})
	w.must(err)
	want := ps[2]
	want.Round = 1
	w.same("rows with a new round", got, []gateway.Pending{want})
	heads, err := w.l.Heads(w.ctx, "bot", "", 10)
	w.must(err)
	rounds := map[string]int{}
	for _, h := range heads {
		rounds[h.Event] = h.Round
	}
	w.same("rounds", rounds, map[string]int{"ev_a1": 0, "ev_c1": 1})
	// An answer to the round before counts; a decision of the gate about it is late.
	r, err := w.l.Resolve(w.ctx, ps[2], gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonSilent}, w.now)
	w.must(err)
	w.same("the round before is late", r.Late, true)
	s := w.answer(ps[2], done("hello"))
	w.same("its answer counts", [2]any{s.Late, s.Head.Event}, [2]any{false, "ev_c2"})
	w.balanced()
}
