package storetest

import (
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// collecting is the rule of these tests: three at most, a second of quiet.
func collecting() gateway.Collect {
	return gateway.Collect{Wait: time.Second, Longest: 4 * time.Second, Max: 3}
}

// written relays messages of one customer, each in a payload of its own.
func (w *world) written(who string, ids ...string) (out []gateway.Pending) {
	w.Helper()
	for _, id := range ids {
		out = append(out, w.relay(w.message(id, who)).Pending...)
	}
	if len(out) != len(ids) {
		w.Fatalf("%d rows for %d messages", len(out), len(ids))
	}
	return out
}

func (w *world) collect(rule gateway.Collect, head gateway.Pending) gateway.Bundle {
	w.Helper()
	out, err := w.l.Collect(w.ctx, []gateway.Pending{head}, rule, w.now)
	w.must(err)
	if len(out) != 1 {
		w.Fatalf("%d bundles for one head", len(out))
	}
	for i := range out[0].Rows {
		if out[0].Rows[i].Row == nil {
			w.Fatal("a row of a bundle without its event")
		}
		w.withRow(&out[0].Rows[i])
	}
	return out[0]
}

func ids(rows []gateway.Pending) (out []string) {
	for i := range rows {
		out = append(out, rows[i].Event)
	}
	return out
}

func headOf(w *world, app string) gateway.Pending {
	w.Helper()
	heads, err := w.l.Heads(w.ctx, app, "", 10)
	w.must(err)
	if len(heads) != 1 {
		w.Fatalf("%d heads", len(heads))
	}
	return heads[0]
}

// What belongs together is written down once: what comes afterwards is not part of
// it, whatever is asked, and an answer settles just what it carried.
func collectOnce(w *world) {
	ps := w.written("1", "a", "b")
	if b := w.collect(collecting(), ps[0]); len(b.Rows) > 0 || !b.NotBefore.Equal(w.now.Add(time.Second)) {
		w.Fatalf("nothing is quiet yet: %+v", b)
	}
	w.later(time.Second)
	b := w.collect(collecting(), ps[0])
	w.same("bundle", ids(b.Rows), []string{"ev_a", "ev_b"})
	w.same("delivery", b.Rows[0].Delivery(), "ev_b.c1")
	late := w.written("1", "c")[0]
	w.later(time.Minute)
	for _, rule := range []gateway.Collect{collecting(), {}} {
		w.same("asked again", ids(w.collect(rule, ps[0]).Rows), []string{"ev_a", "ev_b"})
	}
	head := headOf(w, "bot")
	w.same("the head leads", []any{head.Delivery(), head.Lead}, []any{"ev_b.c1", head.N})
	for _, wrong := range []string{"ev_b", "ev_b.c2", "ev_c.c1", "ev_a.c1", "ev_c.q1.c1"} { // never handed out
		p := gateway.Pending{App: "bot", Conv: late.Conv, Event: wrong}
		if s := w.answer(p, done("x")); !s.Late || s.Head == nil || s.Head.N != ps[0].N {
			w.Fatalf("answer to %s: %+v", wrong, s)
		}
	}
	s := w.answer(head, done("x"))
	if s.Late || s.Messages != 1 || len(s.Also) != 1 || s.Also[0].Was.Event != "ev_b" || s.Head == nil || s.Head.Event != "ev_c" || s.Head.Lead != 0 {
		w.Fatalf("settled: %+v", s)
	}
	if s := w.answer(head, done("x")); !s.Late {
		w.Error("the second answer of a bundle was taken")
	}
	sums, err := w.l.Sums(w.ctx)
	w.must(err)
	w.same("sums", sums.Apps["bot"], gateway.AppSums{Wanted: 3, Settled: 2, Pending: 1})
	conv, err := w.l.Conversation(w.ctx, late.Conv, 10)
	w.must(err)
	w.same("why", []string{conv.Events[0].Verdicts["bot"].Reason, conv.Events[1].Verdicts["bot"].Reason}, []string{gateway.ReasonCollected, "done"})
	m, _ := w.next(late.Conv)
	if m == nil || m.Event != "ev_b.c1" || m.Parts != 1 {
		w.Errorf("the reply: %+v", m)
	}
}

// A try of a bundle is one of each of its events; the last one makes a dead letter of
// each, and what is requeued goes alone.
func collectTries(w *world) {
	ps := w.written("1", "a", "b", "c", "d")
	b := w.collect(collecting(), ps[0]) // it is full
	w.same("bundle", ids(b.Rows), []string{"ev_a", "ev_b", "ev_c"})
	again := gateway.Decision{State: gateway.EventPending, Reason: "retry", Tries: 1, NextAt: w.now.Add(time.Minute), Failed: true}
	s := w.answer(b.Rows[0], again)
	if s.Late || s.Head == nil || s.Head.Round != 1 || s.Head.Tries != 1 || s.Head.Delivery() != "ev_c.c1" || len(s.Also) != 2 {
		w.Fatalf("after a try: %+v", s)
	}
	rows, err := w.l.Reround(w.ctx, []gateway.Pending{*s.Head})
	w.must(err)
	w.same("rounds", len(rows), 1)
	b = w.collect(collecting(), rows[0])
	w.same("bundle in its next round", ids(b.Rows), []string{"ev_a", "ev_b", "ev_c"})
	for i := range b.Rows {
		w.same("tries", b.Rows[i].Tries, 1)
	}
	counts, err := w.l.AppCounts(w.ctx)
	w.must(err)
	w.same("tries counted", counts["bot"].Tries, int64(1))
	dead := gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 2, Detail: "no", Failed: true}
	s, err = w.l.Resolve(w.ctx, b.Rows[0], dead, w.now)
	w.must(err)
	if s.Late || s.Dead == "" || len(s.Also) != 2 || s.Also[0].Dead == "" || s.Also[1].Dead == "" || s.Head == nil || s.Head.Event != "ev_d" {
		w.Fatalf("buried: %+v", s)
	}
	letters := map[string]string{s.Was.Event: s.Dead}
	for _, also := range s.Also {
		letters[also.Was.Event] = also.Dead
	}
	w.same("letters", len(letters), 3)
	q, err := w.l.Requeue(w.ctx, letters["ev_b"], "test", w.now)
	w.must(err)
	if q.Pending == nil || q.Pending.Delivery() != "ev_b.q1" || q.Pending.Lead != 0 {
		w.Fatalf("requeued: %+v", q.Pending)
	}
	head := headOf(w, "bot")
	w.same("alone", ids(w.collect(collecting(), head).Rows), []string{"ev_b"})
	if s := w.answer(head, done()); s.Late || len(s.Also) > 0 || s.Head == nil || s.Head.Event != "ev_d" {
		w.Fatalf("the requeued one: %+v", s)
	}
	sums, err := w.l.Sums(w.ctx)
	w.must(err)
	w.same("sums", sums.Apps["bot"], gateway.AppSums{Wanted: 4, Settled: 1, Dead: 2, Pending: 1})
}

// An event that was offered alone before the application collected may be answered
// when its bundle is made: that answer is for this one, and the others are free.
func collectSwitchedOn(w *world) {
	ps := w.written("1", "a", "b", "c")
	b := w.collect(collecting(), ps[0])
	w.same("bundle", len(b.Rows), 3)
	s := w.answer(ps[0], done("x")) // names ev_a
	if s.Late || len(s.Also) > 0 || s.Was.Event != "ev_a" || s.Head == nil || s.Head.Event != "ev_b" || s.Head.Lead != 0 {
		w.Fatalf("settled: %+v", s)
	}
	if s := w.answer(b.Rows[0], done("x")); !s.Late {
		w.Error("an answer to a bundle that is no more was taken")
	}
	w.later(time.Minute)
	b = w.collect(collecting(), *s.Head)
	w.same("the next bundle", ids(b.Rows), []string{"ev_b", "ev_c"})
	w.same("its name", b.Rows[0].Delivery(), "ev_c.c2")

	one := w.written("2", "x")[0]
	w.later(time.Minute)
	w.same("a bundle of one", w.collect(collecting(), one).Rows[0].Delivery(), "ev_x")
	w.written("2", "y")
	w.later(time.Minute)
	w.same("stays so", ids(w.collect(collecting(), one).Rows), []string{"ev_x"})
	if b := w.collect(collecting(), gateway.Pending{App: "bot", Conv: one.Conv, Seq: 9, N: 999}); !b.Moved || b.Head == nil || b.Head.Event != "ev_x" {
		w.Errorf("of another head: %+v", b)
	}
	if b := w.collect(collecting(), gateway.Pending{App: "bot", Conv: "nobody's"}); !b.Moved || b.Head != nil {
		w.Errorf("of no conversation: %+v", b)
	}
}

// Bundles out of a backlog that is longer than what is remembered of it: in order,
// without a gap, each settled whole.
func collectBacklog(w *world) {
	const n = 150
	rule := gateway.Collect{Wait: time.Second, Longest: time.Second, Max: 100}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("m%03d", i))
	}
	head := w.written("1", names...)[0]
	w.later(time.Minute)
	var got []string
	for {
		b := w.collect(rule, head)
		got = append(got, ids(b.Rows)...)
		s := w.answer(b.Rows[0], done())
		if s.Late || len(s.Also) != len(b.Rows)-1 {
			w.Fatalf("settled %d of %d: %+v", 1+len(s.Also), len(b.Rows), s)
		}
		if s.Head == nil {
			break
		}
		head = *s.Head
	}
	w.same("events", len(got), n)
	for i, id := range got {
		w.same("order", id, "ev_"+names[i])
	}
	sums, err := w.l.Sums(w.ctx)
	w.must(err)
	w.same("sums", sums.Apps["bot"], gateway.AppSums{Wanted: n, Settled: n})
}

// collectSome asks what is handed out with the head of ps, and marks it there.
func (m *model) collectSome(ps []gateway.Pending) {
	rule := collecting()
	b := m.collect(rule, ps[0])
	n, due := rule.Bundle(ps, m.now)
	switch {
	case ps[0].Last != "":
		for i := range b.Rows {
			m.same("of the same bundle", b.Rows[i].Lead, ps[0].N)
		}
		m.same("its last one", b.Rows[len(b.Rows)-1].Event, ps[0].Last)
	case ps[0].Lead != 0 || !ps[0].Collectable():
		m.same("alone", ids(b.Rows), ids(ps[:1]))
	case due.After(m.now):
		m.same("waits until", []any{b.NotBefore, b.Waiting, len(b.Rows)}, []any{due, n, 0})
	default:
		m.same("a bundle", ids(b.Rows), ids(ps[:n]))
		m.bundles++
		for i := range n {
			ps[i].Lead, ps[i].Last = ps[0].N, b.Rows[i].Last
		}
	}
}
