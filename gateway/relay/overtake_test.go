package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// person is a message of somebody under several names.
func by(key string, names ...string) gateway.Item {
	it := message(key, names[0])
	it.Content.ID = key
	it.Chat.Identities = nil
	for _, n := range names {
		kind := "phone"
		if strings.HasPrefix(n, "b") {
			kind = "bsuid"
		}
		it.Chat.Identities = append(it.Chat.Identities, gateway.Identity{Kind: kind, Value: n})
	}
	return it
}

// crowd are messages of n people nobody else is.
func crowd(key string, n int) (out []gateway.Item) {
	for i := range n {
		out = append(out, by(fmt.Sprintf("%s-%d", key, i), fmt.Sprintf("9%s%d", key, i)))
	}
	return out
}

// bodies lets payloads be decoded into items that are known beforehand.
func (r *rig) bodies(m map[string][]gateway.Item) {
	r.set(func() {
		r.decode = func(body string) ([]gateway.Item, string, error) {
			switch {
			case strings.HasPrefix(body, "sealed"):
				return nil, "", gateway.ErrSealed
			case strings.HasPrefix(body, "broken"):
				return nil, "fp", gateway.ErrUndecodable
			}
			return slices.Clone(m[body]), "fp", nil
		}
	})
}

// relayedBy runs the relay until the ledger took so many batches, and then ends it
// as a death would: what it had read is lost.
func (r *rig) relayedBy(batches int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	r.set(func() {
		r.die = func(step string) {
			if step == "relay.committed" || step == "relay.overtook" {
				if batches--; batches == 0 {
					cancel()
				}
			}
		}
	})
	defer r.set(func() { r.die = nil })
	_ = r.relay.Run(ctx)
	if batches > 0 {
		r.t.Fatalf("%d batches did not come", batches)
	}
}

func (r *rig) state(pos int64) gateway.PayloadState {
	r.t.Helper()
	st, err := r.store.Ledger.PayloadState(r.t.Context(), pos)
	if err != nil {
		r.t.Fatal(err)
	}
	return st.State
}

// What has no conversation in common with the rest of a large payload does not wait
// for it; what has waits, also when it is seen only from a name learned before or
// by way of another payload between; and a death in between changes nothing.
func TestSmallPayloadsOvertakeALargeOne(t *testing.T) {
	r := newRig(t)
	large := crowd("l", 350)
	large[300] = by("l-300", "b1")
	m := map[string][]gateway.Item{
		"before":   {by("1", "b1", "100")},
		"large":    large,
		"other":    {by("2", "500")},
		"first":    {by("3", large[20].Chat.Identities[0].Value)},
		"alias":    {by("4", "100")},
		"between":  {by("5", "100", "700")},
		"behind":   {by("6", "700")},
		"same":     {by("l-320", "800")}, // an event that is still to come
		"stranger": {by("7", "900")},
	}
	r.bodies(m)
	r.run(r.archive("before"), gateway.PayloadRelayed)
	pos := map[string]int64{}
	order := []string{"large", "other", "first", "alias", "between", "behind", "same", "sealed", "stranger"}
	for _, body := range order {
		pos[body] = r.archive(body)
	}
	wantAhead := func(after string, want ...string) {
		t.Helper()
		var got []string
		for _, body := range order {
			if r.state(pos[body]) != gateway.PayloadPending {
				got = append(got, body)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %s relayed are %v, want %v", after, got, want)
		}
		at, err := r.store.Ledger.Position(t.Context())
		if err != nil || at.Pos != pos["large"]-1 || at.Ahead != int64(len(want)) {
			t.Errorf("after %s the position is %+v, %v", after, at, err)
		}
	}
	r.relayedBy(1)
	wantAhead("the first batch", "other", "sealed", "stranger")
	r.relayedBy(2) // nothing more overtakes, and a slice
	wantAhead("a slice", "other", "sealed", "stranger")
	r.relayedBy(1)
	wantAhead("what the slice let go", "other", "first", "sealed", "stranger")
	r.run(pos["same"], gateway.PayloadDuplicate)
	at, err := r.store.Ledger.Position(t.Context())
	if err != nil || at != (gateway.RelayPosition{Pos: pos["stranger"]}) {
		t.Errorf("position at the end %+v, %v", at, err)
	}
	conv, err := r.store.Ledger.FindConversation(t.Context(), "whatsapp", "shop", gateway.Identity{Kind: "phone", Value: "700"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.order()[conv], []string{"1", "l-300", "4", "5", "6"}; !slices.Equal(got, want) {
		t.Errorf("order of the conversation %v, want %v", got, want)
	}
}

// order lists the messages of each conversation by seq.
func (r *rig) order() map[string][]string {
	r.t.Helper()
	ns := make([]int64, 20_000)
	for i := range ns {
		ns[i] = int64(i + 1)
	}
	out := map[string][]string{}
	var rows []*gateway.EventRow
	for part := range slices.Chunk(ns, 500) {
		m, err := r.store.Ledger.Events(r.t.Context(), part)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, n := range part {
			if m[n] != nil && m[n].Seq > 0 {
				rows = append(rows, m[n])
			}
		}
		if len(m) == 0 {
			break
		}
	}
	slices.SortFunc(rows, func(a, b *gateway.EventRow) int { return int(a.Seq - b.Seq) })
	for _, e := range rows {
		var c gateway.Content
		if err := json.Unmarshal(e.Content, &c); err != nil {
			r.t.Fatal(err)
		}
		out[e.Conv] = append(out[e.Conv], c.ID+c.Superseded)
	}
	return out
}

// Random payloads, large and small, of people whose names meet: relayed all at
// once, with deaths in between, every conversation is the same as when each payload
// came alone.
func TestOvertakingChangesNoConversation(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // a seeded test must repeat itself
			m, order := mix(rnd)
			alone, all := newRig(t), newRig(t)
			alone.bodies(m)
			all.bodies(m)
			for _, body := range order {
				pos := alone.archive(body)
				alone.runTo(pos)
				all.archive(body)
			}
			last := int64(len(order))
			for range rnd.IntN(12) {
				all.relayedBy(1 + rnd.IntN(2))
			}
			all.runTo(last)
			if all.ahead == 0 {
				t.Error("nothing overtook")
			}
			for pos := int64(1); pos <= last; pos++ {
				a, err := alone.store.Ledger.PayloadState(t.Context(), pos)
				b, err2 := all.store.Ledger.PayloadState(t.Context(), pos)
				if err != nil || err2 != nil || a.State != b.State || len(a.Items) != len(b.Items) {
					t.Fatalf("payload %d (%s): %s with %d items alone, %s with %d beside others (%v %v)", pos, order[pos-1], a.State, len(a.Items), b.State, len(b.Items), err, err2)
				}
				for i := range a.Items {
					if x, y := a.Items[i], b.Items[i]; x.State != y.State || x.Event != y.Event || x.Seq != y.Seq || x.Reason != y.Reason {
						t.Fatalf("payload %d (%s) item %d: %+v alone, %+v beside others", pos, order[pos-1], i, x, y)
					}
				}
			}
			lists := func(r *rig) (out []string) {
				for _, l := range r.order() {
					out = append(out, strings.Join(l, " "))
				}
				slices.Sort(out)
				return out
			}
			a, b := lists(alone), lists(all)
			for i := range a {
				if i >= len(b) || a[i] != b[i] {
					t.Fatalf("a conversation alone:\n%s\nbeside others:\n%s", a[i], b[min(i, len(b)-1)])
				}
			}
			merged, err := all.store.Ledger.Counters(t.Context())
			if err != nil || merged["merged"] < 5 {
				t.Errorf("the run shows little: %d merges, %v", merged["merged"], err)
			}
			s, err := all.store.Ledger.Recount(t.Context())
			s.Payloads.Archived = last
			if b := s.Broken(); err != nil || len(b) > 0 {
				t.Errorf("%v, %v", b, err)
			}
		})
	}
}

// runTo relays until the position is at pos.
func (r *rig) runTo(pos int64) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 60*time.Second)
	defer cancel()
	r.set(func() {
		r.die = func(step string) {
			at, err := r.store.Ledger.Position(ctx)
			if step == "relay.committed" && err == nil && at.Pos == pos {
				cancel()
			}
		}
	})
	defer r.set(func() { r.die = nil })
	_ = r.relay.Run(ctx)
	if at, err := r.store.Ledger.Position(r.t.Context()); err != nil || at.Pos != pos || at.Item != 0 || at.Ahead != 0 {
		r.t.Fatalf("position %+v, want %d (%v)", at, pos, err)
	}
}

// mix makes payloads, each with its items.
func mix(rnd *rand.Rand) (m map[string][]gateway.Item, order []string) {
	m = map[string][]gateway.Item{}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	id := 0
	item := func(people int) gateway.Item {
		id++
		who := rnd.IntN(people)
		names := []string{fmt.Sprint(1000 + who)}
		switch rnd.IntN(6) {
		case 0:
			names = []string{fmt.Sprint("b", who)}
		case 1:
			names = []string{fmt.Sprint("b", who), fmt.Sprint(1000 + who)}
		case 2:
			if rnd.IntN(4) == 0 { // a number that moves, two that are one
				names = append(names, fmt.Sprint(1000+rnd.IntN(people)))
			}
		}
		key := fmt.Sprint("m", id)
		if rnd.IntN(12) == 0 {
			key = fmt.Sprint("m", 1+rnd.IntN(id))
		}
		it := by(key, names...)
		it.OccurredAt = at.Add(time.Duration(id) * time.Second)
		switch rnd.IntN(20) {
		case 0:
			it.Err = "no id"
		case 1:
			it.Kind, it.Content.Type = gateway.KindChange, "revoke"
			it.Content.Target = &gateway.Target{MessageID: fmt.Sprint("m", 1+rnd.IntN(id))}
		case 2:
			it.Kind, it.Content.Status = gateway.KindStatus, &gateway.Status{MessageID: fmt.Sprint("w", id), State: gateway.StatusSent}
		case 3:
			it.AccountID = "2"
		}
		return it
	}
	for i := range 40 {
		body := fmt.Sprint("p", i)
		n, people := 1+rnd.IntN(3), 60
		switch rnd.IntN(10) {
		case 0, 1:
			n = 101 + rnd.IntN(250)
			people = 5 + rnd.IntN(40)
		case 2:
			body, n = fmt.Sprint("sealed", i), 0
		}
		for range n {
			m[body] = append(m[body], item(people))
		}
		order = append(order, body)
	}
	return m, order
}
