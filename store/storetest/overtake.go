package storetest

import (
	"github.com/causewayhq/causeway/gateway"
)

// relayOvertakes: payloads go ahead of one that is not wholly relayed. The ledger
// tells the names of their conversations, keeps the position, and knows them again.
func relayOvertakes(w *world) {
	both := w.message("a1", "1")
	both.Chat.Identities = append(both.Chat.Identities, phone("11"))
	conv := w.relay(both).Pending[0].Conv
	large := w.payload(w.message("l1", "2"), w.message("l2", "1"), w.message("l3", "3"))
	first := large
	first.Items, first.Last = large.Items[:1], false
	w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{first}})
	free, held, sealed := w.payload(w.message("b1", "4")), w.payload(w.message("c1", "11")), w.payload()
	sealed.State, sealed.Reason = gateway.PayloadSealed, "no key"

	told := map[int64][]gateway.Name{}
	ahead := gateway.RelayBatch{Payloads: []gateway.RelayedPayload{free, held, sealed}}
	ahead.Held = func(p *gateway.RelayedPayload, names []gateway.Name) bool {
		told[p.Pos] = names
		return p.Pos == held.Pos
	}
	r := w.batch(&ahead)
	w.same("events that overtook", r.Events, 1)
	name := func(v string) gateway.Name {
		return gateway.Name{Platform: "whatsapp", Account: "shop", Chat: gateway.ChatSingle, Kind: "phone", Value: v}
	}
	w.same("names of the conversations", told, map[int64][]gateway.Name{free.Pos: nil, held.Pos: {name("1"), name("11")}, sealed.Pos: nil})
	w.at("behind the large one", gateway.RelayPosition{Pos: 1, Item: 1, Ahead: 2})
	w.states("relayed", "pending", "relayed", "pending", "sealed")

	// The same again, as after a death: only the one that was held is asked about.
	clear(told)
	w.same("events the second time", w.batch(&ahead).Events, 0)
	w.same("asked the second time", len(told), 1)
	// A key is mended before the position comes to it.
	w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: sealed.Pos, Item: -1, Reason: "sealed"}}, "ops", w.now))
	opened := sealed
	opened.State, opened.Reason, opened.Items = "", "", []gateway.ItemRow{w.message("d1", "5")}
	w.same("events of what was sealed", w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{opened}}).Events, 1)
	w.at("after a second reading", gateway.RelayPosition{Pos: 1, Item: 1, Ahead: 2})
	w.balanced()

	// The rest in turn, all of it handed over once more.
	r = w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{large, free}})
	w.same("events of the rest", r.Events, 2)
	w.at("over the one that overtook", gateway.RelayPosition{Pos: 3, Ahead: 1})
	r = w.batch(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{held}})
	w.same("conversation and seq of the one that was held", [2]any{r.Pending[0].Conv, r.Pending[0].Seq}, [2]any{conv, int64(3)})
	w.at("at the end", gateway.RelayPosition{Pos: 5})
	w.states("relayed", "relayed", "relayed", "relayed", "relayed")
	w.balanced()
}

// at checks the position of the relay.
func (w *world) at(what string, want gateway.RelayPosition) {
	w.Helper()
	at, err := w.l.Position(w.ctx)
	w.must(err)
	w.same("position "+what, at, want)
}

// states checks those of the first payloads.
func (w *world) states(want ...gateway.PayloadState) {
	w.Helper()
	var got []gateway.PayloadState
	for i := range want {
		s, err := w.l.PayloadState(w.ctx, int64(i+1))
		w.must(err)
		got = append(got, s.State)
	}
	w.same("states of the payloads", got, want)
}
