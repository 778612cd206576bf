package current_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/current"
	"github.com/causewayhq/causeway/store/sqlite"
)

// wecom is a platform that a test writes.
type wecom struct {
	calls atomic.Int64
	open  atomic.Int64
	most  atomic.Int64
	say   func(ctx context.Context, id gateway.Identity) (gateway.State, error)
}

func (p *wecom) Ask(ctx context.Context, id gateway.Identity) (gateway.State, error) {
	p.calls.Add(1)
	p.most.Store(max(p.most.Load(), p.open.Add(1)))
	defer p.open.Add(-1)
	return p.say(ctx, id)
}

// rig is a real ledger with a customer of corp-a, a session and a conversation of
// desk, and a conversation of shop.
type rig struct {
	*testing.T
	store               *sqlite.Store
	apps                []gateway.Application
	corp, desk          *wecom
	customer, talk, web string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := &rig{T: t, store: s, corp: &wecom{}, desk: &wecom{}, apps: []gateway.Application{{Name: "bot"}, {Name: "shop", Accounts: []string{"shop"}}}}
	r.corp.say = func(context.Context, gateway.Identity) (gateway.State, error) {
		return gateway.State{Owner: "new", Members: []gateway.Member{{UserID: "new"}}}, nil
	}
	r.desk.say = func(context.Context, gateway.Identity) (gateway.State, error) {
		return gateway.State{Session: gateway.SessionHuman, Servicer: "new"}, nil
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	who := func(kind string) []gateway.Identity { return []gateway.Identity{{Kind: kind, Value: "wm1"}} }
	old := gateway.Identity{Kind: "userid", Value: "old"}
	r.customer = r.relay(1, "wecom", "corp-a", gateway.ChatAccount, who("customer"), at, &gateway.StateNote{Word: gateway.NoteHas, Member: old})
	r.relay(2, "wecom", "desk", gateway.ChatAccount, who("session"), at.Add(time.Minute), &gateway.StateNote{Session: gateway.SessionAssistant, Servicer: old})
	r.talk = r.relay(3, "wecom", "desk", gateway.ChatSingle, who("external_userid"), at, nil)
	r.web = r.relay(4, "whatsapp", "shop", gateway.ChatSingle, []gateway.Identity{{Kind: "phone", Value: "1"}}, at, nil)
	return r
}

func (r *rig) relay(pos int64, platform, account string, chat gateway.ChatKind, ids []gateway.Identity, at time.Time, n *gateway.StateNote) string {
	r.Helper()
	it := gateway.ItemRow{State: gateway.ItemEvent, Wanted: []string{"bot"}, Chat: gateway.Chat{Kind: chat, Identities: ids}, Note: n,
		Event: gateway.EventRow{ID: "ev_" + account + string(chat), Platform: platform, Account: account, Chat: chat, Kind: gateway.KindState, ReceivedAt: at, OccurredAt: at, Content: []byte("{}")}}
	res, err := r.store.Ledger.Relay(r.Context(), &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{Pos: pos, Platform: platform, Endpoint: "e", ReceivedAt: at, Items: []gateway.ItemRow{it}, Last: true}}}, at)
	if err != nil {
		r.Fatal(err)
	}
	return res.Pending[0].Conv
}

func (r *rig) current() *current.Current {
	return current.New(current.Options{Ledger: r.store.Ledger, Apps: r.apps, Parallel: 4, Now: time.Now,
		Platform: func(_, account string) current.Platform {
			return map[string]current.Platform{"corp-a": r.corp, "desk": r.desk}[account]
		},
		Customers: func(platform, _ string) string {
			if platform == "wecom" {
				return "corp-a"
			}
			return ""
		}})
}

func down(context.Context, gateway.Identity) (gateway.State, error) {
	return gateway.State{}, errors.New("away")
}

func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type want struct {
		owner, servicer string
		source          gateway.Source
		at              time.Time
	}
	check := func(what, conv string, w want) {
		t.Helper()
		s, word := r.current().State(t.Context(), "bot", conv)
		if word != "" || s.Conv != conv || s.Owner != w.owner || s.Servicer != w.servicer || s.Source != w.source {
			t.Errorf("%s: %+v, %q", what, s, word)
			return
		}
		if w.source == gateway.SourceLedger && (s.At == nil) != w.at.IsZero() || s.At != nil && !w.at.IsZero() && !s.At.Equal(w.at) {
			t.Errorf("%s: as of %v, want %v", what, s.At, w.at)
		}
	}
	check("a customer", r.customer, want{"new", "", gateway.SourcePlatform, time.Time{}})
	check("a conversation of customer service", r.talk, want{"new", "new", gateway.SourcePlatform, time.Time{}})
	check("one that nobody is asked for", r.web, want{"", "", gateway.SourceLedger, time.Time{}})
	r.corp.say = down
	check("a customer, the platform away", r.customer, want{"old", "", gateway.SourceLedger, at})
	check("half of it away", r.talk, want{"old", "new", gateway.SourceLedger, at.Add(time.Minute)})
	r.desk.say = down
	check("all of it away", r.talk, want{"old", "old", gateway.SourceLedger, at.Add(time.Minute)})
	r.corp.say = func(context.Context, gateway.Identity) (gateway.State, error) { return gateway.State{}, nil }
	check("nobody has the customer any more", r.customer, want{"", "", gateway.SourcePlatform, time.Time{}})
	for _, c := range []struct{ app, conv, word string }{
		{"bot", "aaaaaaaaaaaaaaaaaaaaaaaaaa", current.WordNotFound}, {"shop", r.customer, current.WordNotYours}, {"nobody", r.web, current.WordNotYours},
	} {
		if s, word := r.current().State(t.Context(), c.app, c.conv); s != nil || word != c.word {
			t.Errorf("%s: %+v, %q, want %q", c.app, s, word, c.word)
		}
	}
}

// One call serves all who ask for a key within 2 s, a refusal too.
func TestOneCallForAll(t *testing.T) {
	r := newRig(t)
	synctest.Test(t, func(t *testing.T) {
		for _, fails := range []bool{false, true} {
			r.corp.calls.Store(0)
			r.corp.say = func(context.Context, gateway.Identity) (gateway.State, error) {
				time.Sleep(100 * time.Millisecond)
				if fails {
					return gateway.State{}, errors.New("away")
				}
				return gateway.State{Owner: "new"}, nil
			}
			c := r.fake()
			ask := func() { _, _ = c.State(t.Context(), "bot", "conv") }
			var all sync.WaitGroup
			for range 50 {
				all.Go(ask)
			}
			all.Wait()
			ask()
			time.Sleep(2*time.Second - time.Nanosecond)
			ask()
			if n := r.corp.calls.Load(); n != 1 {
				t.Errorf("fails %v: %d calls, want 1", fails, n)
			}
			time.Sleep(time.Nanosecond)
			ask()
			if n := r.corp.calls.Load(); n != 2 {
				t.Errorf("fails %v: %d calls after 2 s, want 2", fails, n)
			}
		}
	})
}

// A platform that hangs costs nobody more than 2 s, and no more calls than allowed
// run at once.
func TestPlatformThatHangs(t *testing.T) {
	r := newRig(t)
	synctest.Test(t, func(t *testing.T) {
		r.corp.say = func(ctx context.Context, _ gateway.Identity) (gateway.State, error) {
			<-ctx.Done()
			return gateway.State{}, ctx.Err()
		}
		c := r.fake()
		begin := time.Now()
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				s, word := c.State(t.Context(), "bot", string(rune('A'+i)))
				if word != "" || s.Source != gateway.SourceLedger {
					t.Errorf("%+v %q", s, word)
				}
			})
		}
		all.Wait()
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
		if most := r.corp.most.Load(); most > 4 {
			t.Errorf("%d calls at once, want at most 4", most)
		}
	})
}

// fake is a Current over rows in memory, for virtual time: each conv is a customer.
func (r *rig) fake() *current.Current {
	return current.New(current.Options{Ledger: rows{}, Apps: r.apps, Parallel: 4, Now: time.Now,
		Platform: func(string, string) current.Platform { return r.corp }})
}

type rows struct{}

func (rows) Subject(_ context.Context, conv string) (gateway.Subject, error) {
	return gateway.Subject{State: gateway.State{Conv: conv, Platform: "wecom", Account: "corp-a", Chat: gateway.ChatAccount, Source: gateway.SourceLedger},
		Identities: []gateway.Identity{{Kind: "customer", Value: conv}}}, nil
}

func (rows) FindConversation(context.Context, string, string, gateway.Identity) (string, error) {
	return "", gateway.ErrNotFound
}
