package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// burial makes dead letters of all kinds: of events for two conversations, with one
// more event of each waiting, of an item, and of a message.
func burial(w *world) (ids []string, convs [2]string) {
	for i, who := range []string{"1", "2"} {
		r := w.relay(w.message(fmt.Sprint("a", who), who), w.message(fmt.Sprint("b", who), who), w.message(fmt.Sprint("c", who), who))
		convs[i] = r.Pending[0].Conv
		for _, p := range r.Pending[:2] {
			s := w.answer(p, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 4})
			ids = append(ids, s.Dead)
			w.later(time.Hour)
		}
	}
	item := w.message("d", "3")
	item.State, item.Reason, item.Event.Account = gateway.ItemDead, gateway.ReasonNoAccount, ""
	w.relay(item)
	w.later(time.Hour)
	w.send(w.say("e", "4", "text"), gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131047"})
	all, err := w.l.Dead(w.ctx, store.DeadQuery{})
	w.must(err)
	if len(all) != 6 {
		w.Fatalf("%d dead letters, want 6", len(all))
	}
	return append(ids, all[1].ID, all[0].ID), convs
}

func deadList(w *world) {
	begun := w.now
	ids, convs := burial(w)
	for _, c := range []struct {
		name string
		q    store.DeadQuery
		want []int
	}{
		{"all", store.DeadQuery{}, []int{5, 4, 3, 2, 1, 0}},
		{"page", store.DeadQuery{Before: ids[4], Limit: 2}, []int{3, 2}},
		{"app", store.DeadQuery{App: "bot"}, []int{5, 3, 2, 1, 0}},
		{"account", store.DeadQuery{Account: "shop"}, []int{5, 3, 2, 1, 0}},
		{"platform", store.DeadQuery{Platform: "whatsapp", Limit: 1}, []int{5}},
		{"no such platform", store.DeadQuery{Platform: "wecom"}, nil},
		{"conversation", store.DeadQuery{Conv: convs[1]}, []int{3, 2}},
		{"conversation and more", store.DeadQuery{Conv: convs[1], App: "bot", Kind: "event", Since: begun.Add(3 * time.Hour)}, []int{3}},
		{"kind", store.DeadQuery{Kind: "item"}, []int{4}},
		{"reason", store.DeadQuery{Reason: gateway.ReasonTries, Before: ids[3]}, []int{2, 1, 0}},
		{"reason and app", store.DeadQuery{Reason: gateway.ReasonRejected, App: "bot"}, []int{5}},
		{"reason of another app", store.DeadQuery{Reason: gateway.ReasonNoAccount, App: "bot"}, nil},
		{"since", store.DeadQuery{Since: begun.Add(3 * time.Hour)}, []int{5, 4, 3}},
		{"app since", store.DeadQuery{App: "bot", Since: begun.Add(3 * time.Hour)}, []int{5, 3}},
		{"until", store.DeadQuery{Until: begun.Add(time.Hour)}, []int{0}},
		{"span", store.DeadQuery{App: "bot", Since: begun.Add(time.Hour), Until: begun.Add(3 * time.Hour)}, []int{2, 1}},
		{"dropped", store.DeadQuery{State: "dropped"}, nil},
	} {
		var want, got []string
		for _, i := range c.want {
			want = append(want, ids[i])
		}
		list, err := w.l.Dead(w.ctx, c.q)
		w.must(err)
		for _, d := range list {
			got = append(got, d.ID)
		}
		w.same(c.name, got, want)
	}
}

func deadCounted(w *world) {
	begun := w.now
	ids, convs := burial(w)
	s, err := w.l.DeadStats(w.ctx, store.DeadQuery{})
	w.must(err)
	w.same("stats", s, gateway.DeadStats{
		Total:    6,
		Reasons:  []gateway.DeadCount{{Name: "tries", Count: 4}, {Name: "no_account", Count: 1}, {Name: "rejected", Count: 1}},
		Kinds:    []gateway.DeadCount{{Name: "event", Count: 4}, {Name: "item", Count: 1}, {Name: "message", Count: 1}},
		Apps:     []gateway.DeadCount{{Name: "bot", Count: 5}, {Name: "", Count: 1}},
		Accounts: []gateway.DeadCount{{Name: "shop", Count: 5}, {Name: "", Count: 1}},
		Hours:    hours(begun, 5, 1, 1, 1, 1, 1, 1),
	})
	s, err = w.l.DeadStats(w.ctx, store.DeadQuery{State: "dropped"})
	w.must(err)
	w.same("stats of nothing", s, gateway.DeadStats{Reasons: []gateway.DeadCount{}, Kinds: []gateway.DeadCount{}, Apps: []gateway.DeadCount{},
		Accounts: []gateway.DeadCount{}, Hours: []gateway.DeadHour{}})
	plan, err := w.l.DeadPlan(w.ctx, store.DeadQuery{Kind: "event", State: "dropped", Limit: 1})
	w.must(err)
	if plan.Letters != 4 || plan.Conversations != 2 || len(plan.Convs) != 2 || plan.Convs[0].Letters != 2 || plan.Convs[0].Waiting != 1 {
		w.Errorf("plan %+v", plan)
	}
	w.opened(map[gateway.DeadOpen]int64{{Kind: "event", App: "bot", Account: "shop", Reason: "tries"}: 4,
		{Kind: "item", Reason: "no_account"}: 1, {Kind: "message", App: "bot", Account: "shop", Reason: "rejected"}: 1})

	_, err = w.l.Requeue(w.ctx, ids[0], "ops", w.now)
	w.must(err)
	w.must(w.l.Drop(w.ctx, ids[1], "ops", "a test of ours", w.now))
	d, err := w.l.DeadLetter(w.ctx, ids[1])
	w.must(err)
	if d.Note != "a test of ours" || d.By != "ops" || d.State != "dropped" || d.Conv != convs[0] {
		w.Errorf("dropped: %+v", d)
	}
	log, err := w.l.AuditLog(w.ctx, 1)
	w.must(err)
	w.same("audit", log, []gateway.AuditEntry{{At: w.now, By: "ops", What: "drop", Target: ids[1], Note: "a test of ours"}})
	w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: 3, Item: -1, Reason: "again"}}, "ops", w.now))
	p := w.payload(w.message("d", "3"))
	p.Pos = 3
	w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{p}})
	w.opened(map[gateway.DeadOpen]int64{{Kind: "event", App: "bot", Account: "shop", Reason: "tries"}: 2,
		{Kind: "message", App: "bot", Account: "shop", Reason: "rejected"}: 1})
	w.balanced()
}

func hours(begun time.Time, newest int, counts ...int64) (out []gateway.DeadHour) {
	for i, n := range counts {
		out = append(out, gateway.DeadHour{At: begun.Truncate(time.Hour).Add(time.Duration(newest-i) * time.Hour), Count: n})
	}
	return out
}

// opened compares the kept counts of open dead letters.
func (w *world) opened(want map[gateway.DeadOpen]int64) {
	w.Helper()
	list, err := w.l.DeadOpen(w.ctx)
	w.must(err)
	got := map[gateway.DeadOpen]int64{}
	for _, d := range list {
		n := d.Count
		d.Count = 0
		got[d] = n
	}
	w.same("open dead letters", got, want)
}

// Many are moved in slices, each with its number in the one audit entry; events come
// back in their old places, before what waits, and what was moved by somebody else
// holds no other.
func deadMany(w *world) {
	const each = 300 // more than a slice
	var convs []string
	var requeued []gateway.Requeued
	for who := range 2 {
		var items []gateway.ItemRow
		for i := range each + 1 {
			items = append(items, w.message(fmt.Sprintf("%dx%d", who, i), fmt.Sprint(who)))
		}
		r := w.relay(items...)
		convs = append(convs, r.Pending[0].Conv)
		for _, p := range r.Pending[:each] {
			w.answer(p, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 4})
		}
	}
	moved := func(list []gateway.Requeued) { requeued = append(requeued, list...) }
	done, err := w.l.RequeueAll(w.ctx, store.DeadQuery{Conv: convs[1], Limit: 10}, "ops", w.now, moved)
	w.must(err)
	w.same("ten of one conversation", done, gateway.DeadMoved{Moved: 10})
	for i, r := range requeued {
		if r.Pending == nil || r.Pending.Conv != convs[1] || r.Pending.Seq != int64(i+1) {
			w.Fatalf("requeued %d: %+v", i, r.Pending)
		}
	}
	heads, err := w.l.Heads(w.ctx, "bot", "", 10)
	w.must(err)
	for _, h := range heads {
		if want := map[string]int64{convs[0]: each + 1, convs[1]: 1}[h.Conv]; h.Seq != want {
			w.Errorf("head of a conversation has seq %d, want %d", h.Seq, want)
		}
	}
	done, err = w.l.DropAll(w.ctx, store.DeadQuery{Conv: convs[1], App: "bot"}, "ops", "no use", w.now)
	w.must(err)
	w.same("dropped the rest of it", done, gateway.DeadMoved{Moved: each - 10})
	done, err = w.l.RequeueAll(w.ctx, store.DeadQuery{}, "ops", w.now, moved)
	w.must(err)
	w.same("requeued all", done, gateway.DeadMoved{Moved: each})
	done, err = w.l.RequeueAll(w.ctx, store.DeadQuery{}, "ops", w.now, moved)
	w.must(err)
	w.same("nothing is left", done, gateway.DeadMoved{})
	log, err := w.l.AuditLog(w.ctx, 10)
	w.must(err)
	w.same("audit", log, []gateway.AuditEntry{
		{At: w.now, By: "ops", What: "requeue", Target: "dead letters", Count: each},
		{At: w.now, By: "ops", What: "drop", Target: "dead letters app=bot conv=" + convs[1], Count: each - 10, Note: "no use"},
		{At: w.now, By: "ops", What: "requeue", Target: "dead letters conv=" + convs[1] + " limit=10", Count: 10},
	})
	sums := w.balanced()
	w.same("sums", sums.Apps["bot"], gateway.AppSums{Wanted: 2*each + 2, Dropped: each - 10, Pending: each + 12})
	w.opened(map[gateway.DeadOpen]int64{})
}

// Refused is the part of the specification that needs a fault in the file: refuse
// makes it take no dead letter with a value, allow takes that back. What cannot
// be buried waits, and holds its conversation only.
func Refused(t *testing.T, a store.Archive, l store.Ledger, refuse func(column, value string), allow func()) {
	w := newWorld(t, a, l)
	first := w.relay(w.message("a1", "1"), w.message("a2", "1")).Pending
	other := w.relay(w.message("b1", "2")).Pending
	conv := first[0].Conv
	refuse("conv", conv)
	dead := gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonVerdict, Tries: 3}
	answers := []gateway.Settlement{
		{App: "bot", Conv: conv, Answer: gateway.Answer{Event: first[0].Delivery()}},
		{App: "bot", Conv: other[0].Conv, Answer: gateway.Answer{Event: other[0].Delivery()}},
	}
	at := gateway.ReplyPosition{Created: w.now, Seq: 2}
	out, err := w.l.Settle(w.ctx, at, answers, func(*gateway.Pending, *gateway.Answer) gateway.Decision { return dead }, w.now)
	w.must(err)
	if out[1].Dead == "" || out[1].Head != nil {
		w.Errorf("the other conversation is held: %+v", out[1])
	}
	head := out[0].Head
	if out[0].Dead != "" || out[0].Decision.Reason != gateway.ReasonNotBuried || head == nil || head.Event != "ev_a1" ||
		head.Tries != 0 || head.Round != 1 || !head.NextAt.After(w.now) {
		w.Fatalf("refused by an answer: %+v, head %+v", out[0], head)
	}
	taken, err := w.l.Taken(w.ctx)
	w.must(err)
	w.same("taken", taken, at)
	w.balanced()

	s, err := w.l.Resolve(w.ctx, *head, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonWatchdog, Tries: 1}, w.now)
	w.must(err)
	if s.Dead != "" || s.Late || s.Head == nil || s.Head.Event != "ev_a1" || s.Head.Round != 2 || s.Decision.State != gateway.EventPending {
		w.Fatalf("refused by the gate: %+v", s)
	}
	w.same("counted", w.counter(gateway.ReasonNotBuried), int64(2))
	allow()
	s, err = w.l.Resolve(w.ctx, *s.Head, dead, w.now)
	w.must(err)
	if s.Dead == "" || s.Head == nil || s.Head.Event != "ev_a2" {
		w.Errorf("buried afterwards: %+v", s)
	}
	w.balanced()

	refusedBundle(w, refuse, allow)

	// A message that the platform refused.
	w.answer(*s.Head, done("one", "two"))
	refuse("conv", conv)
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131047"})
	next, open := w.next(conv)
	if next == nil || next.ID != m.ID || open != nil || next.State != gateway.MessageWaiting || next.Tries() != 0 || !next.NextAt.After(w.now) {
		w.Fatalf("refused by the outbox: %+v", next)
	}
	w.balanced()
	allow()
	w.later(time.Minute)
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131047"})
	if left, err := w.l.Dead(w.ctx, store.DeadQuery{Conv: conv, Kind: "message"}); err != nil || len(left) != 1 {
		w.Errorf("buried afterwards: %+v, %v", left, err)
	}
	w.balanced()
}

// refusedBundle: of a bundle all are buried, or none. Its second event is refused.
func refusedBundle(w *world, refuse func(column, value string), allow func()) {
	ps := w.written("3", "c1", "c2", "c3")
	head := w.collect(collecting(), ps[0]).Rows[0]
	dead := gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonVerdict, Tries: 1}
	refuse("event", "ev_c2")
	s := w.answer(head, dead)
	if s.Late || s.Dead != "" || s.Decision.Reason != gateway.ReasonNotBuried || len(s.Also) != 2 || s.Also[0].Dead != "" || s.Head == nil || s.Head.Delivery() != head.Delivery() {
		w.Fatalf("a refused bundle: %+v", s)
	}
	w.balanced()
	allow()
	if s = w.answer(*s.Head, dead); s.Dead == "" || len(s.Also) != 2 || s.Also[0].Dead == "" || s.Also[1].Dead == "" || s.Head != nil {
		w.Fatalf("and then buried: %+v", s)
	}
	w.balanced()
}
