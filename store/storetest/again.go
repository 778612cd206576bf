package storetest

import (
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

func relayAgain(w *world) {
	p := w.payload()
	p.State, p.Reason = gateway.PayloadSealed, "no key"
	w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{p}})
	w.relay(w.message("b1", "1"))

	w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: 1, Item: -1, Reason: "sealed"}}, "ops", w.now))
	rows, err := w.l.Again(w.ctx, 10)
	w.must(err)
	w.same("queue", rows, []gateway.AgainRow{{Pos: 1, Item: -1, Reason: "sealed"}})
	w.balanced()

	p.State, p.Reason = "", ""
	p.Items = []gateway.ItemRow{w.message("a1", "1"), w.message("b1", "1")}
	p.Items[1].Index = 1
	again := &gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{p}}
	r := w.batch(again)
	if r.Events != 1 || r.Duplicates != 1 || r.Pending[0].Seq != 2 {
		w.Fatalf("read again: %+v", r)
	}
	e, err := w.l.Events(w.ctx, []int64{r.Pending[0].N})
	w.must(err)
	w.same("origin", e[r.Pending[0].N].Origin, gateway.OriginBackfill)
	pos, err := w.l.Position(w.ctx)
	w.must(err)
	w.same("position", pos, gateway.RelayPosition{Pos: 2})
	s, err := w.l.PayloadState(w.ctx, 1)
	w.must(err)
	w.same("state", s.State, gateway.PayloadRelayed)
	if r := w.batch(again); r.Events != 0 || r.Duplicates != 0 {
		w.Errorf("a repeated batch: %+v", r)
	}
	rows, err = w.l.Again(w.ctx, 10)
	w.must(err)
	w.same("queue afterwards", len(rows), 0)
	w.balanced()

	// A second reading keeps what is its own.
	w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: 1, Item: -1}}, "ops", w.now))
	w.batch(again)
	s, err = w.l.PayloadState(w.ctx, 1)
	w.must(err)
	w.same("states of the items", [2]gateway.ItemState{s.Items[0].State, s.Items[1].State}, [2]gateway.ItemState{"event", "duplicate"})
	w.balanced()

	// In slices: the row stays in the queue until the last.
	w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: 1, Item: -1}}, "ops", w.now))
	one, two := p, p
	one.Items, one.Last, two.Items = p.Items[:1], false, p.Items[1:]
	w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{one}})
	rows, err = w.l.Again(w.ctx, 10)
	w.must(err)
	w.same("queue between slices", len(rows), 1)
	w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{two}})
	w.balanced()

	// What the relay has not come to needs no second reading.
	w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: 3, Item: -1}}, "ops", w.now))
	next := w.payload(w.message("c1", "1"))
	w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{next}})
	w.same("events in their turn", w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{next}}).Events, 1)
	w.balanced()
}

func relayAgainItem(w *world) {
	dead := w.message("a2", "1")
	dead.State, dead.Reason = gateway.ItemDead, gateway.ReasonNoAccount
	p := w.payload(w.message("a1", "1"), dead, w.message("a3", "1"))
	w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{p}})
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{})
	w.must(err)
	re, err := w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now)
	w.must(err)
	w.same("requeued", re, gateway.Requeued{Again: true})
	rows, err := w.l.Again(w.ctx, 10)
	w.must(err)
	w.same("queue", rows, []gateway.AgainRow{{Pos: 1, Item: 1, Reason: "requeue"}})

	p.Items[1].State, p.Items[1].Reason = gateway.ItemEvent, ""
	r := w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{p}})
	if r.Events != 1 || r.Duplicates != 0 || r.Pending[0].Event != "ev_a2" || r.Pending[0].Seq != 3 {
		w.Errorf("read again: %+v", r)
	}
	s := w.balanced()
	w.same("items", [3]int64{s.Items.Decoded, s.Items.Events, s.Items.Dead}, [3]int64{3, 3, 0})
}

func relayReplay(w *world) {
	conv := w.relay(w.message("a1", "1"), w.message("b1", "2")).Pending[0].Conv
	w.relay(w.message("a2", "1"))
	made, err := w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now, What: "conv", HoldReplies: true})
	w.must(err)
	again, err := w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now})
	w.must(err)
	w.same("a run starts once", [2]bool{made, again}, [2]bool{true, false})

	p := w.payload(w.message("a1", "1"), w.message("b1", "2"), w.status("s1", "1", "wamid.1", "", gateway.StatusSent))
	p.Pos = 1
	b := &gateway.RelayBatch{Run: "run_1", OnlyConv: conv, Payloads: []gateway.RelayedPayload{p}}
	r := w.batch(b)
	if len(r.Pending) != 1 || r.Parked != 0 {
		w.Fatalf("replay: %+v", r)
	}
	got := r.Pending[0]
	if got.Lane != gateway.LaneReplay || got.Seq != got.N || got.Run != "run_1" || got.Event != "ev_a1" || got.Conv != conv {
		w.Errorf("pending: %+v", got)
	}
	e, err := w.l.Events(w.ctx, []int64{got.N})
	w.must(err)
	w.same("event", [2]any{e[got.N].Origin, e[got.N].Seq}, [2]any{gateway.OriginReplay, int64(0)})
	w.same("the same run again", w.batch(b).Duplicates, 1)
	heads, err := w.l.Heads(w.ctx, "bot", "", 10)
	w.must(err)
	for _, h := range heads {
		if h.Lane != gateway.LaneLive {
			w.Error("a replay stands before live events")
		}
	}
	pos, err := w.l.Position(w.ctx)
	w.must(err)
	w.same("position", pos, gateway.RelayPosition{Pos: 2})
	un, err := w.l.Unpublished(w.ctx, 10)
	w.must(err)
	w.same("live events for observers", len(un), 3)
	w.balanced()
}

// runs: a run keeps what it reads and its bound until it has ended, and asking
// for it again opens it with the same.
func runs(w *world) {
	span := gateway.ReplayRun{ID: "run_span", By: "ops", At: w.now, What: "range", HoldReplies: true, UpTo: 7,
		Since: w.now.Add(-2 * time.Minute), Until: w.now.Add(-time.Minute), Endpoint: "meta"}
	one := gateway.ReplayRun{ID: "run_one", By: "ops", At: w.now.Add(1), What: "payload", Pos: 3, UpTo: 7}
	talk := gateway.ReplayRun{ID: "run_conv", By: "ops", At: w.now.Add(2), What: "conv", Conv: "c", UpTo: 0}
	for _, r := range []gateway.ReplayRun{one, talk, span} {
		made, err := w.l.StartRun(w.ctx, r)
		w.must(err)
		w.same("started", made, true)
	}
	open := func(what string, want ...gateway.ReplayRun) {
		w.Helper()
		got, err := w.l.OpenRuns(w.ctx, 10)
		w.must(err)
		for i := range got { // instants, whatever their zone
			got[i].At, got[i].Since, got[i].Until = got[i].At.UTC(), got[i].Since.UTC(), got[i].Until.UTC()
		}
		w.same(what, got, want)
	}
	open("oldest first", span, one, talk)
	other := span
	other.UpTo, other.Endpoint, other.Since = 99, "corp", w.now
	made, err := w.l.StartRun(w.ctx, other)
	w.must(err)
	w.same("started again", made, false)
	open("asked for again while open", span, one, talk)
	w.must(w.l.EndRun(w.ctx, "run_span", w.now))
	w.must(w.l.EndRun(w.ctx, "run_one", w.now))
	open("two have ended", talk)
	_, err = w.l.StartRun(w.ctx, other)
	w.must(err)
	open("open again, with what it was", span, talk)
	if err := w.l.EndRun(w.ctx, "run_none", w.now); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("ended nothing: %v", err)
	}
	first, err := w.l.OpenRuns(w.ctx, 1)
	w.must(err)
	w.same("at most one", len(first), 1)
}
