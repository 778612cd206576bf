package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

func relayOrders(w *world) {
	r := w.relay(w.message("a1", "1"), w.message("b1", "2"), w.message("a2", "1"))
	w.same("events", r.Events, 3)
	r2 := w.relay(w.message("a3", "1"))
	all := append(r.Pending, r2.Pending...)
	if len(all) != 4 || all[0].Conv == all[1].Conv || all[0].Conv != all[2].Conv || all[0].Conv != all[3].Conv {
		w.Fatalf("conversations are mixed up: %+v", all)
	}
	for i, want := range []int64{1, 1, 2, 3} {
		if p := all[i]; p.Seq != want || p.Lane != gateway.LaneLive || p.App != "bot" || p.N != int64(i+1) || p.Round != 0 {
			w.Errorf("pending %d: %+v", i, p)
		}
	}
	w.same("length of a conversation's id", len(all[0].Conv), 26)
	rows, err := w.l.Events(w.ctx, []int64{all[2].N, 99})
	w.must(err)
	e := w.message("a2", "1").Event
	e.N, e.Conv, e.Seq, e.Origin, e.Payload = all[2].N, all[2].Conv, 2, gateway.OriginLive, store.PayloadID(w.now, 1)
	w.same("event", rows, map[int64]*gateway.EventRow{e.N: &e})
	pos, err := w.l.Position(w.ctx)
	w.must(err)
	w.same("position", pos, gateway.RelayPosition{Pos: 2})
	w.balanced()
}

func relayDuplicates(w *world) {
	w.relay(w.message("a1", "1"), w.message("a1", "1"))
	r := w.relay(w.message("a1", "1"))
	if r.Events != 0 || r.Duplicates != 1 || len(r.Pending) != 0 {
		w.Errorf("a known event: %+v", r)
	}
	r = w.relay(w.message("a1", "7")) // the event is known under another number: no conversation is made
	w.same("duplicates", r.Duplicates, 1)
	r = w.relay(w.message("a2", "1"))
	w.same("seq after duplicates", r.Pending[0].Seq, int64(2))
	s := w.balanced()
	w.same("payloads", [2]int64{s.Payloads.Relayed, s.Payloads.Duplicate}, [2]int64{2, 2})
	w.same("items", [3]int64{s.Items.Decoded, s.Items.Events, s.Items.Duplicate}, [3]int64{5, 2, 3})

	// The same call again, as after an error whose commit went through.
	again := &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{w.payload(w.message("a3", "1"))}}
	w.batch(again)
	if r := w.batch(again); r.Events != 0 || r.Duplicates != 0 {
		w.Errorf("a repeated batch: %+v", r)
	}
	w.balanced()
}

func relayConcurrentDuplicates(w *world) {
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := w.a.Append(w.ctx, w.callback(0)); err != nil {
				w.Error(err)
			}
		})
	}
	wg.Wait()
	ps, err := w.a.Read(w.ctx, 0, 100, 1<<20)
	w.must(err)
	b := &gateway.RelayBatch{}
	for range ps {
		b.Payloads = append(b.Payloads, w.payload(w.message("same", "1")))
	}
	r := w.batch(b)
	if len(ps) != 20 || r.Events != 1 || r.Duplicates != 19 || len(r.Pending) != 1 {
		w.Errorf("%d payloads gave %+v", len(ps), r)
	}
	w.balanced()
}

func relayStates(w *world) {
	dead := gateway.ItemRow{State: gateway.ItemDead, Reason: gateway.ReasonNoAccount, Detail: "account 123"}
	ignored := gateway.ItemRow{State: gateway.ItemIgnored, Reason: "not wanted"}
	w.relay(w.message("a1", "1"), dead, ignored)
	w.relay(dead, ignored, w.message("a1", "1"))
	w.relay(ignored, w.message("a1", "1"))
	w.relay(w.message("a1", "1"))
	w.relay()
	for _, s := range []gateway.PayloadState{gateway.PayloadSealed, gateway.PayloadDead, gateway.PayloadIgnored} {
		p := w.payload()
		p.State, p.Reason, p.Detail = s, "why", "more"
		w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{p}})
	}
	want := []gateway.PayloadState{"relayed", "dead", "ignored", "duplicate", "ignored", "sealed", "dead", "ignored"}
	for i, state := range want {
		s, err := w.l.PayloadState(w.ctx, int64(i+1))
		w.must(err)
		w.same(fmt.Sprintf("state of payload %d", i+1), s.State, state)
	}
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{})
	w.must(err)
	var kinds []string
	for _, d := range dl {
		kinds = append(kinds, fmt.Sprintf("%s %s %d.%d", d.Kind, d.Reason, d.Pos, d.Item))
	}
	w.same("dead letters, newest first", kinds, []string{"payload why 7.-1", "item no_account 2.0", "item no_account 1.1"})
	s, err := w.l.PayloadState(w.ctx, 99)
	w.must(err)
	w.same("state of an unknown payload", s.State, gateway.PayloadPending)
	sealed, err := w.l.Sealed(w.ctx, "meta", 0, 10)
	w.must(err)
	w.same("sealed", sealed, []int64{6})
	w.balanced()
}

func relaySlices(w *world) {
	p := w.payload(w.message("a1", "1"), w.message("a2", "1"), w.message("a3", "1"))
	one := p
	one.Items, one.Last = p.Items[:2], false
	before := w.payload(w.message("b1", "2"))
	before.Pos, p.Pos = 1, 2
	one.Pos = 2
	w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{before, one}})
	pos, err := w.l.Position(w.ctx)
	w.must(err)
	w.same("position inside a payload", pos, gateway.RelayPosition{Pos: 1, Item: 2})
	st, err := w.l.PayloadState(w.ctx, 2)
	w.must(err)
	w.same("state before the last slice", st.State, gateway.PayloadPending)
	w.same("items so far", len(st.Items), 2)
	// The whole payload again: only what is missing is taken.
	r := w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{p}})
	w.same("events of the rest", r.Events, 1)
	pos, err = w.l.Position(w.ctx)
	w.must(err)
	w.same("position", pos, gateway.RelayPosition{Pos: 2})
	st, err = w.l.PayloadState(w.ctx, 2)
	w.must(err)
	w.same("state", st.State, gateway.PayloadRelayed)
	// A duplicate last slice does not hide the events of the first.
	q := w.payload(w.message("c1", "3"), w.message("c1", "3"))
	first, last := q, q
	first.Items, first.Last, last.Items = q.Items[:1], false, q.Items[1:]
	w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{first}})
	w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{last}})
	st, err = w.l.PayloadState(w.ctx, q.Pos)
	w.must(err)
	w.same("state by all slices", st.State, gateway.PayloadRelayed)
	w.balanced()
}

func relayIdentities(w *world) {
	chat := func(id string, ids ...gateway.Identity) gateway.ItemRow {
		it := w.message(id, "0")
		it.Chat.Identities = ids
		return it
	}
	bsuid := gateway.Identity{Kind: "bsuid", Value: "b.1"}
	first := w.relay(chat("1", phone("100"))).Pending[0].Conv
	// A better identity comes along: the conversation stays.
	same := w.relay(chat("2", bsuid, phone("100"))).Pending[0].Conv
	w.same("conversation with a new alias", same, first)
	// The customer changes the number: the alias leads to the conversation.
	w.same("after a change of number", w.relay(chat("3", bsuid, phone("200"))).Pending[0].Conv, first)
	w.same("by the new number alone", w.relay(chat("4", phone("200"))).Pending[0].Conv, first)
	other := w.relay(chat("5", phone("300"))).Pending[0].Conv
	if other == first {
		w.Error("two customers in one conversation")
	}
	// Names of two conversations in one item: they become one, the older.
	w.same("the older lives", w.relay(chat("6", bsuid, phone("300"))).Pending[0].Conv, first)
	w.same("the other name leads there too", w.relay(chat("7", phone("300"))).Pending[0].Conv, first)
	w.same("merges", w.counter("merged"), int64(1))

	group := chat("8", gateway.Identity{Kind: "phone", Value: "100"})
	group.Chat.Kind = gateway.ChatGroup
	if c := w.relay(group).Pending[0].Conv; c == first {
		w.Error("a group shares the conversation of a single chat")
	}
	account := chat("9", phone("100"))
	account.Event.Account = "shop-b"
	if c := w.relay(account).Pending[0].Conv; c == first {
		w.Error("two accounts share a conversation")
	}
	// The newest spelling, and the newest number first.
	w.relay(chat("10", gateway.Identity{Kind: "bsuid", Value: "b.1", As: "B.1"}, gateway.Identity{Kind: "phone", Value: "200", As: "+200"}))
	c, err := w.l.Conversation(w.ctx, first, 100)
	w.must(err)
	w.same("identities", c.Identities, []gateway.Identity{
		{Kind: "bsuid", Value: "b.1", As: "B.1"}, {Kind: "phone", Value: "200", As: "+200"}, {Kind: "phone", Value: "300"}, {Kind: "phone", Value: "100"}})
	w.same("last seq", c.LastSeq, int64(7))
	found, err := w.l.FindConversation(w.ctx, "whatsapp", "shop", phone("200"))
	w.must(err)
	w.same("found by number", found, first)
	w.balanced()
}

// A conversation that is answered and goes on as fast as machines do is stopped; one
// with any pause between, or without answers, is not.
func relayLoops(w *world) {
	loop := gateway.Loop{Turns: 3, Within: 2 * time.Second, Rest: time.Hour}
	ask := func(id, who string) gateway.RelayResult {
		return w.batch(&gateway.RelayBatch{Loop: loop, Payloads: []gateway.RelayedPayload{w.payload(w.message(id, who))}})
	}
	turn := func(id, who string, think time.Duration) gateway.RelayResult {
		r := ask(id, who)
		w.answer(r.Pending[0], done("x"))
		if len(r.Braked) == 0 {
			w.send(r.Pending[0].Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w." + id})
		}
		w.later(think)
		return r
	}
	for i := range 12 {
		think := time.Second
		if i%3 == 2 {
			think = 3 * time.Second // somebody reads
		}
		w.same("a person", len(turn(fmt.Sprintf("p%d", i), "1", think).Braked), 0)
	}
	for i := range 12 {
		w.same("without answers", len(ask(fmt.Sprintf("q%d", i), "2").Braked), 0)
	}
	var r gateway.RelayResult
	for i := range 4 {
		w.same("turns so far", len(r.Braked), 0)
		ask(fmt.Sprintf("r%d-again", i), "4") // of another conversation
		r = turn(fmt.Sprintf("r%d", i), "3", 100*time.Millisecond)
	}
	want := []gateway.Brake{{Scope: gateway.BrakeConversation, Name: r.Pending[0].Conv, At: w.now.Add(-100 * time.Millisecond), By: "gateway", Reason: "loop"}}
	w.same("stopped", r.Braked, want)
	brakes, err := w.l.Brakes(w.ctx)
	w.must(err)
	w.same("in the ledger", brakes, want)
	w.same("counted", w.counter("loops"), int64(1))
	log, err := w.l.AuditLog(w.ctx, 1)
	w.must(err)
	w.same("audit", log[0].What+" "+log[0].Target+" "+log[0].By, "pause conversation "+r.Pending[0].Conv+" gateway")
	// What an application waits by itself is no part of a turn.
	for _, waits := range []time.Duration{0, 3 * time.Second} {
		loop.Waits = map[string]time.Duration{"bot": waits, "other": time.Minute}
		braked := 0
		for i := range 4 {
			braked += len(turn(fmt.Sprintf("w%d-%s", i, waits), "5", 4*time.Second).Braked)
		}
		w.same("slow turns of an application that waits "+waits.String(), braked, map[bool]int{true: 1}[waits > 0])
	}
	w.balanced()
}

func relayOutOfOrder(w *world) {
	at := w.now
	for i, minutes := range []int{1, 5, 3, 5, 6} {
		it := w.message(fmt.Sprint(i), "1")
		it.Event.OccurredAt = at.Add(time.Duration(minutes) * time.Minute)
		w.same(fmt.Sprintf("message %d out of order", i), w.relay(it).OutOfOrder, map[bool]int{true: 1}[i == 2])
	}
	none := w.message("none", "1")
	none.Event.OccurredAt = time.Time{}
	w.same("a message without a time", w.relay(none).OutOfOrder, 0)
	w.same("counter", w.counter("out_of_order"), int64(1))
}

func relayUnfit(w *world) {
	chat := w.message("1", "1")
	chat.Chat.Identities = nil
	id := w.message("2", "1")
	id.Event.ID = ""
	kind := w.message("3", "1")
	kind.Event.Kind = "poem"
	room := w.message("4", "1")
	room.Chat.Kind = "room"
	r := w.relay(chat, id, kind, room, w.message("5", "1"))
	w.same("events beside unfit items", r.Events, 1)
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "item", Reason: gateway.ReasonBadItem})
	w.must(err)
	w.same("dead items", len(dl), 4)
	w.balanced()
}
