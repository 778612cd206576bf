package relay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/relay"
	"github.com/causewayhq/causeway/store/sqlite"
)

// rig is a relay over a real store; decoding is a function of the body.
type rig struct {
	t     *testing.T
	store *sqlite.Store
	relay *relay.Relay

	mu       sync.Mutex
	decode   func(body string) ([]gateway.Item, string, error)
	accounts map[string]string
	batches  int
	ahead    int // batches that overtook
	die      func(step string)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := &rig{t: t, store: s, accounts: map[string]string{"1": "shop"}}
	r.relay = relay.New(relay.Options{Archive: s.Archive, Ledger: s.Ledger, Decoder: r, Directory: r, Now: time.Now, Log: zap.NewNop(),
		Boundary: func(step string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if step == "relay.decoded" {
				r.batches++
			}
			if step == "relay.overtook" {
				r.ahead++
			}
			if r.die != nil {
				r.die(step)
			}
		}})
	return r
}

// Decode is for relay.Decoder.
func (r *rig) Decode(p *gateway.Payload) ([]gateway.Item, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decode(string(p.Body))
}

// Account is for relay.Directory.
func (r *rig) Account(_, id string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, ok := r.accounts[id]
	return name, ok
}

// Applications is for relay.Directory.
func (r *rig) Applications() []gateway.Application { return []gateway.Application{{Name: "bot"}} }

func (r *rig) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *rig) archive(body string) int64 {
	r.t.Helper()
	p := &gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Now(), Body: []byte(body)}
	if err := r.store.Archive.Append(r.t.Context(), p); err != nil {
		r.t.Fatal(err)
	}
	return p.Pos
}

// run relays until the payload at pos has the state.
func (r *rig) run(pos int64, want gateway.PayloadState) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	done := make(chan struct{})
	go func() { _ = r.relay.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := r.store.Ledger.PayloadState(ctx, pos)
		if err == nil && st.State == want {
			return
		}
		select {
		case <-ctx.Done():
			r.t.Fatalf("payload %d is %+v (%v), want %s", pos, st, err, want)
		case <-tick.C:
			r.relay.Kick()
		}
	}
}

func message(key, customer string) gateway.Item {
	return gateway.Item{AccountID: "1", Kind: gateway.KindMessage, Key: key, Content: gateway.Content{Type: "text"},
		Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: customer}}}}
}

func messages(n int) []gateway.Item {
	var out []gateway.Item
	for i := range n {
		out = append(out, message(fmt.Sprintf("m%d", i), fmt.Sprint(i%7)))
	}
	return out
}

// A payload with many items is cut into transactions of at most 100, and goes on
// where it was when the process ends between two of them.
func TestLongPayloadResumes(t *testing.T) {
	r := newRig(t)
	r.decode = func(string) ([]gateway.Item, string, error) { return messages(250), "fp", nil }
	pos := r.archive("long")
	ctx, cancel := context.WithCancel(t.Context())
	commits := 0
	r.die = func(step string) {
		if step == "relay.committed" {
			if commits++; commits == 2 {
				cancel()
			}
		}
	}
	_ = r.relay.Run(ctx)
	at, err := r.store.Ledger.Position(t.Context())
	if err != nil || at.Pos != pos-1 || at.Item != 200 {
		t.Fatalf("position %+v, %v", at, err)
	}
	r.set(func() { r.die, r.batches = nil, 0 })
	r.run(pos, gateway.PayloadRelayed)
	s, err := r.store.Ledger.Sums(t.Context())
	if err != nil || s.Items.Decoded != 250 || s.Items.Events != 250 || s.Items.Duplicate != 0 || r.batches != 1 {
		t.Errorf("%+v after %d more batches, %v", s.Items, r.batches, err)
	}
}

// What cannot be read gets a state and harms no neighbour; a decoder that panics
// is one of those.
func TestEveryPayloadGetsAState(t *testing.T) {
	r := newRig(t)
	r.decode = func(body string) ([]gateway.Item, string, error) {
		switch body {
		case "sealed":
			return nil, "", fmt.Errorf("no key: %w", gateway.ErrSealed)
		case "broken":
			return nil, "fp", fmt.Errorf("not JSON: %w", gateway.ErrUndecodable)
		case "panic":
			panic("a decoder's fault")
		case "nothing":
			return nil, "fp", nil
		case "stranger":
			it := message("s", "1")
			it.AccountID = "2"
			return []gateway.Item{it}, "fp", nil
		case "odd":
			bad := message("o", "1")
			bad.Err = "no id"
			return []gateway.Item{bad, message("good", "1")}, "fp", nil
		}
		return []gateway.Item{message("m", "1")}, "fp", nil
	}
	want := map[string]gateway.PayloadState{"sealed": "sealed", "broken": "dead", "panic": "dead", "nothing": "ignored",
		"stranger": "dead", "odd": "relayed", "plain": "relayed", "again": "duplicate"}
	pos := map[string]int64{}
	for _, body := range []string{"sealed", "broken", "panic", "nothing", "stranger", "odd", "plain", "again"} {
		pos[body] = r.archive(body)
	}
	r.run(pos["again"], gateway.PayloadDuplicate)
	for body, state := range want {
		st, err := r.store.Ledger.PayloadState(t.Context(), pos[body])
		if err != nil || st.State != state {
			t.Errorf("%s is %+v, want %s (%v)", body, st, state, err)
		}
	}
	dead, err := r.store.Ledger.Dead(t.Context(), storeDead())
	var reasons []string
	for _, d := range dead {
		reasons = append(reasons, d.Kind+" "+d.Reason)
	}
	slices.Sort(reasons)
	if err != nil || !slices.Equal(reasons, []string{"item bad_item", "item no_account", "payload bad_payload", "payload bad_payload"}) {
		t.Errorf("dead letters %v, %v", reasons, err)
	}
}

// A mended key and an added account: what was sealed or dead becomes events, with
// the sums kept.
func TestReadAgain(t *testing.T) {
	r := newRig(t)
	mended := false
	r.decode = func(body string) ([]gateway.Item, string, error) {
		if body == "sealed" && !mended {
			return nil, "", gateway.ErrSealed
		}
		it := message(body, "1")
		if body == "stranger" {
			it.AccountID = "2"
		}
		return []gateway.Item{it}, "fp", nil
	}
	sealed, stranger := r.archive("sealed"), r.archive("stranger")
	r.run(stranger, gateway.PayloadDead)
	r.set(func() { mended, r.accounts["2"] = true, "new" })
	dead, err := r.store.Ledger.Dead(t.Context(), storeDead())
	if err != nil || len(dead) != 1 {
		t.Fatalf("%v, %v", dead, err)
	}
	if _, err := r.store.Ledger.Requeue(t.Context(), dead[0].ID, "ops", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := r.store.Ledger.ReadAgain(t.Context(), []gateway.AgainRow{{Pos: sealed, Item: -1, Reason: "sealed"}}, "ops", time.Now()); err != nil {
		t.Fatal(err)
	}
	r.run(sealed, gateway.PayloadRelayed)
	r.run(stranger, gateway.PayloadRelayed)
	s, err := r.store.Ledger.Recount(t.Context())
	s.Payloads.Archived = 2
	if b := s.Broken(); err != nil || len(b) > 0 || s.Items.Events != 2 || s.Payloads.Sealed != 0 || s.Payloads.Dead != 0 {
		t.Errorf("%v %v, %v", b, s.Lines(), err)
	}
}

// A replay makes events of its own once per run, however often it is asked for.
func TestReplayIsIdempotentPerRun(t *testing.T) {
	r := newRig(t)
	r.decode = func(string) ([]gateway.Item, string, error) { return messages(3), "fp", nil }
	pos := r.archive("three")
	r.run(pos, gateway.PayloadRelayed)
	p, err := r.store.Archive.Get(t.Context(), pos)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"run_a", "run_b"} {
		if _, err := r.store.Ledger.StartRun(t.Context(), gateway.ReplayRun{ID: run, By: "ops", At: time.Now(), HoldReplies: true}); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		run  string
		want int
	}{{"run_a", 3}, {"run_a", 0}, {"run_b", 3}} {
		res, err := r.relay.Replay(t.Context(), c.run, "", p)
		if err != nil || res.Events != c.want {
			t.Errorf("replay %d: %+v, %v", i, res, err)
		}
	}
	r.set(func() { r.decode = func(string) ([]gateway.Item, string, error) { return nil, "", gateway.ErrSealed } })
	if _, err := r.relay.Replay(t.Context(), "run_a", "", p); !errors.Is(err, gateway.ErrConflict) {
		t.Errorf("a sealed payload was replayed: %v", err)
	}
}
