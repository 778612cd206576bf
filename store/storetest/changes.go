package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// change is an item that changes a message.
func (w *world) change(id, who, target, kind string, at time.Time) gateway.ItemRow {
	it := w.message(id, who)
	it.Event.Kind, it.Event.OccurredAt = gateway.KindChange, at
	it.Event.Content = []byte(`{"type":"` + kind + `"}`)
	it.Change = &gateway.ChangeRow{Target: target, Type: kind}
	return it
}

// told relays an item that the application wants, and says why it is superseded
// ("" when it is offered).
func (w *world) told(it gateway.ItemRow) string {
	w.Helper()
	r := w.relay(it)
	un, err := w.l.Unpublished(w.ctx, 10_000)
	w.must(err)
	row := un[len(un)-1]
	var c gateway.Content
	w.must(json.Unmarshal(row.Content, &c))
	if (c.Superseded == "") != (len(r.Pending) == 1) || row.Seq == 0 || c.Type == "" {
		w.Errorf("superseded %q with %d pending rows, seq %d, type %q", c.Superseded, len(r.Pending), row.Seq, c.Type)
	}
	return c.Superseded
}

func changesNewest(w *world) {
	at := w.now
	for i, c := range []struct {
		target, kind string
		second       int
		want         string
	}{
		{"m1", "reaction", 5, ""},
		{"m1", "reaction", 4, gateway.SupersededNewer},
		{"m1", "reaction", 5, ""}, // of the same second the later archived
		{"m1", "edit", 1, ""},     // another type
		{"m2", "reaction", 1, ""}, // another message
		{"m1", "reaction", 9, ""},
		{"m1", "reaction", 8, gateway.SupersededNewer},
		{"m1", "edit", 3, ""},
		{"m1", "revoke", 2, ""},
		{"m1", "edit", 20, gateway.SupersededRevoked}, // final, whatever the time says
		{"m1", "reaction", 21, gateway.SupersededRevoked},
		{"m1", "revoke", 22, gateway.SupersededRevoked},
		{"m2", "reaction", 2, ""},
	} {
		got := w.told(w.change(fmt.Sprint("c", i), "1", c.target, c.kind, at.Add(time.Duration(c.second)*time.Second)))
		w.same(fmt.Sprintf("change %d, %s of %s at %d", i, c.kind, c.target, c.second), got, c.want)
	}
	w.same("counted", w.counter("superseded"), int64(5))
	w.balanced()

	// The same again is a duplicate and changes nothing.
	r := w.relay(w.change("c5", "1", "m1", "reaction", at.Add(9*time.Second)))
	w.same("again", [2]int{r.Events, r.Duplicates}, [2]int{0, 1})

	// An operator sees what was not offered, and why.
	conv, err := w.l.FindConversation(w.ctx, "whatsapp", "shop", phone("1"))
	w.must(err)
	c, err := w.l.Conversation(w.ctx, conv, 100)
	w.must(err)
	n := 0
	for _, e := range c.Events {
		if e.Superseded != "" {
			n++
			w.same("states of a superseded one", len(e.States), 0)
		}
	}
	w.same("superseded in the history", n, 5)
}

// A change may come before its message: a revoke holds the message back, an edit
// does not, since an application may want messages only.
func changesFirst(w *world) {
	message := func(id, wamid string) gateway.ItemRow {
		it := w.message(id, "1")
		it.MessageID, it.Event.Content = wamid, []byte(`{"type":"text"}`)
		return it
	}
	w.same("edit before its message", w.told(w.change("c1", "1", "m1", "edit", w.now)), "")
	w.same("message after its edit", w.told(message("1", "m1")), "")
	w.same("revoke before its message", w.told(w.change("c2", "1", "m2", "revoke", w.now)), "")
	w.same("message after its revoke", w.told(message("2", "m2")), gateway.SupersededRevoked)
	w.same("another message", w.told(message("3", "m3")), "")

	// The same id at another account is another message.
	other := message("4", "m2")
	other.Event.Account = "shop-b"
	w.same("at another account", w.told(other), "")

	// A replay hands out what counted, and nothing that did not.
	p := w.payload(w.change("c2", "1", "m2", "revoke", w.now), message("2", "m2"), message("3", "m3"))
	_, err := w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now})
	w.must(err)
	r := w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{p}})
	var got []string
	for _, p := range r.Pending {
		got = append(got, p.Event)
	}
	w.same("replayed", got, []string{"ev_c2", "ev_3"})
	w.balanced()
}

// In a group each member's reaction is their own, under whatever name they come.
func changesActors(w *world) {
	n := 0
	by := func(second int, names ...gateway.Identity) string {
		n++
		it := w.change(fmt.Sprint("g", n), "room", "m1", "reaction", w.now.Add(time.Duration(second)*time.Second))
		it.Chat = gateway.Chat{Kind: gateway.ChatGroup, Identities: []gateway.Identity{{Kind: "group", Value: "room"}}}
		it.Event.Chat, it.Change.Actor = gateway.ChatGroup, names
		return w.told(it)
	}
	w.same("ann", by(5, bsuid("b.1"), phone("100")), "")
	w.same("bob, earlier", by(3, bsuid("b.2")), "")
	w.same("ann, earlier", by(4, bsuid("b.1")), gateway.SupersededNewer)
	w.same("ann by number, earlier", by(4, phone("100")), gateway.SupersededNewer)
	w.same("bob, later", by(6, bsuid("b.2"), phone("200")), "")
	w.same("bob by number, earlier", by(5, phone("200")), gateway.SupersededNewer)
}

// Whatever the order in which they come, what is offered last is the newest, and
// after a revoke nothing is.
func changesAnyOrder(w *world) {
	r := rand.New(rand.NewPCG(3, 7)) //nolint:gosec // a seeded test must repeat itself
	base := w.now
	for round := range 40 {
		target := fmt.Sprint("m", round)
		var newest int
		revoked := false
		for _, i := range r.Perm(6) {
			kind := "reaction"
			if i == 5 && round%2 == 0 {
				kind = "revoke"
			}
			why := w.told(w.change(fmt.Sprint("r", round, ".", i), "1", target, kind, base.Add(time.Duration(i)*time.Minute)))
			want := ""
			switch {
			case revoked:
				want = gateway.SupersededRevoked
			case kind == "reaction" && i < newest:
				want = gateway.SupersededNewer
			}
			w.same(fmt.Sprintf("round %d, change %d", round, i), why, want)
			if kind == "revoke" {
				revoked = true
			} else if want == "" {
				newest = i
			}
		}
	}
	w.balanced()
}

// What is known of a message is known for 30 days, and forgotten some time after.
func changesForgotten(w *world) {
	w.told(w.change("c1", "1", "m1", "revoke", w.now))
	w.told(w.change("c2", "1", "m2", "reaction", w.now))
	base := w.now
	w.later(30 * 24 * time.Hour)
	w.same("after 30 days", w.told(w.change("c3", "1", "m1", "edit", w.now)), gateway.SupersededRevoked)
	w.same("an older reaction", w.told(w.change("c4", "1", "m2", "reaction", base.Add(-time.Second))), gateway.SupersededNewer)
	w.later(2 * 24 * time.Hour)
	w.told(w.change("c5", "1", "m5", "reaction", w.now)) // takes along what is over
	w.same("forgotten", w.told(w.change("c6", "1", "m1", "edit", w.now)), "")
	w.same("forgotten too", w.told(w.change("c7", "1", "m2", "reaction", base.Add(-time.Minute))), "")
}
