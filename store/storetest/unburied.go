package storetest

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// RefusedUnread is Refused for items and payloads: refuse makes the file take no dead
// letter with a reason. What they stand in waits for the letter, and nothing else.
func RefusedUnread(t *testing.T, a store.Archive, l store.Ledger, refuse func(reason string), allow func()) {
	w := newWorld(t, a, l)
	refuse("large")
	dead := func(id, who string) gateway.ItemRow {
		it := w.message(id, who)
		it.State, it.Reason, it.Detail = gateway.ItemDead, "large", "the item is larger than an event may be"
		return it
	}
	// In one payload: a conversation that exists, one that does not yet, one beside, and
	// an item that names nobody.
	before := w.relay(w.message("a1", "1")).Pending[0].Conv
	nobody := gateway.ItemRow{State: gateway.ItemDead, Reason: "large"}
	r := w.relay(w.message("a2", "1"), dead("a3", "1"), w.message("b1", "2"), dead("c1", "3"), w.message("c2", "3"), nobody, w.message("a4", "1"))
	if len(r.Unburied) != 3 || len(r.Buried) != 0 || r.Events != 4 || len(r.Pending) != 4 {
		t.Fatalf("refused: %+v", r)
	}
	after := r.Pending[2].Conv // c2 came behind c1
	w.same("seq behind what is dead", []int64{r.Pending[0].Seq, r.Pending[1].Seq, r.Pending[2].Seq, r.Pending[3].Seq}, []int64{2, 1, 1, 3})
	brake := func(conv, reason, by string, at time.Time) gateway.Brake {
		return gateway.Brake{Scope: gateway.BrakeConversation, Name: conv, At: at, By: by, Reason: reason}
	}
	held := []gateway.Brake{brake(before, gateway.ReasonNotBuried, gateway.BrakeByGateway, w.now), brake(after, gateway.ReasonNotBuried, gateway.BrakeByGateway, w.now)}
	w.same("stopped", r.Braked, held)

	// A payload that cannot be read, and everybody else.
	p := w.payload()
	p.State, p.Reason = gateway.PayloadDead, "large"
	r = w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{p, w.payload(w.message("b2", "2"))}})
	if len(r.Unburied) != 1 || len(r.Braked) != 0 || len(r.Pending) != 1 {
		t.Errorf("a payload: %+v", r)
	}
	pos, err := w.l.Position(w.ctx)
	w.must(err)
	w.same("the relay's position", pos, gateway.RelayPosition{Pos: 4})
	w.same("owed", w.counter("unburied"), int64(4))
	sums := w.balanced()
	w.same("items and payloads are dead all the same", [2]int64{sums.Items.Dead, sums.Payloads.Dead}, [2]int64{3, 1})
	w.stuck("not buried", "item", 3)
	w.stuck("not buried", "payload", 1)

	// Refused again: later, and later still.
	out, err := w.l.BuryAgain(w.ctx, w.now, w.now)
	w.must(err)
	w.same("not due", out, gateway.Reburied{Next: w.now.Add(5 * time.Second)})
	out, err = w.l.BuryAgain(w.ctx, w.later(5*time.Second), w.now)
	w.must(err)
	w.same("refused again", out, gateway.Reburied{Refused: 4, Next: w.now.Add(10 * time.Second)})
	for range 20 {
		out, err = w.l.BuryAgain(w.ctx, w.later(5*time.Minute), w.now)
		w.must(err)
	}
	w.same("at the latest", out, gateway.Reburied{Refused: 4, Next: w.now.Add(5 * time.Minute)})
	w.brakes(held)

	// A person stops one of them: that is not ours to end.
	stop := brake(after, "", "ops", w.now)
	w.must(w.l.SetBrake(w.ctx, stop, true))
	w.must(w.l.SetBrake(w.ctx, brake(after, "loop", gateway.BrakeByGateway, w.now), true))
	allow()
	out, err = w.l.BuryAgain(w.ctx, w.now.Add(time.Hour), w.now) // before they are due
	w.must(err)
	if len(out.Buried) != 4 || out.Refused != 0 || !out.Next.IsZero() {
		t.Errorf("buried afterwards: %+v", out)
	}
	w.same("released", out.Released, []gateway.Brake{brake(before, gateway.ReasonNotBuried, gateway.BrakeByGateway, w.now)})
	w.brakes([]gateway.Brake{stop})
	letters, err := w.l.Dead(w.ctx, store.DeadQuery{Reason: "large"})
	w.must(err)
	for i := range letters {
		if d := &letters[i]; d.Payload == "" || d.At != w.now || (d.Kind == "item") != (d.Item >= 0) {
			t.Errorf("letter %+v", d)
		}
	}
	w.same("letters", len(letters), 4)
	w.same("owed nothing", w.counter("unburied"), int64(0))
	out, err = w.l.BuryAgain(w.ctx, w.now.Add(time.Hour), w.now)
	w.must(err)
	w.same("and again", out, gateway.Reburied{})
	w.balanced()
	w.forgiven(refuse, dead)
}

// forgiven: an item whose letter is owed is read again with success, which is what the
// letter was for.
func (w *world) forgiven(refuse func(string), dead func(id, who string) gateway.ItemRow) {
	w.Helper()
	refuse("large")
	first := w.relay(w.message("d1", "4")).Pending[0]
	p := w.payload(dead("d2", "4"), dead("d3", "4"))
	w.same("owed", len(w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{p}}).Unburied), 2)
	w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: p.Pos, Item: 0, Reason: "mended"}}, "ops", w.now))
	p.Items = []gateway.ItemRow{w.message("d2", "4")}
	r := w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{p}})
	if len(r.Pending) != 1 || r.Pending[0].Conv != first.Conv || len(r.Released) != 0 {
		w.Errorf("one of two read again: %+v", r)
	}
	w.same("owed still", w.counter("unburied"), int64(1))
	w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: p.Pos, Item: -1, Reason: "mended"}}, "ops", w.now))
	p.Items = []gateway.ItemRow{w.message("d2", "4"), w.message("d3", "4")}
	p.Items[1].Index = 1
	r = w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{p}})
	if len(r.Pending) != 1 || len(r.Released) != 1 || r.Released[0].Name != first.Conv {
		w.Errorf("all of it read again: %+v", r)
	}
	w.same("owed nothing", w.counter("unburied"), int64(0))
	w.balanced()
}

// brakes compares what is stopped, in any order.
func (w *world) brakes(want []gateway.Brake) {
	w.Helper()
	got, err := w.l.Brakes(w.ctx)
	w.must(err)
	want = slices.Clone(want)
	slices.SortFunc(want, func(a, b gateway.Brake) int { return cmp.Compare(a.Name, b.Name) })
	w.same("stopped", got, want)
}

func (w *world) stuck(what, name string, count int64) {
	w.Helper()
	list, err := w.l.Stuck(w.ctx, w.now)
	w.must(err)
	if !slices.ContainsFunc(list, func(s store.StuckThing) bool { return s.What == what && s.Name == name && s.Count == count }) {
		w.Errorf("doctor does not tell of %d %s %s: %+v", count, name, what, list)
	}
}
