package results_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/results"
	"github.com/causewayhq/causeway/store/sqlite"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// rig is a real ledger with messages, and receivers that are a function, in virtual time.
type rig struct {
	t     *testing.T
	l     *sqlite.Ledger
	mu    sync.Mutex
	posts []post
	say   func(p post) results.Answer
	d     *results.Deliverer
	stop  func()
	at    int
}

type post struct {
	url, id, message, result, code string
	at                             time.Time
}

func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, l: s.Ledger, say: func(post) results.Answer { return results.Answer{Status: 204} }, stop: func() {}}
		t.Cleanup(func() {
			r.stop()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		f(t, r)
	})
}

func (r *rig) start(receivers ...results.Receiver) {
	r.t.Helper()
	keys, err := gateway.ParseWebhookKeys(secret)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range receivers {
		receivers[i].Keys, receivers[i].URL = keys, "https://"+receivers[i].Name
	}
	r.d = results.New(results.Options{Receivers: receivers, Ledger: r.l, IDPrefix: "rs_1_", Boundary: func(string) {}, Now: time.Now, Log: zap.NewNop(),
		Post: func(_ context.Context, url string, h http.Header, body []byte) results.Answer {
			if err := keys.Verify(h.Get, body, time.Now()); err != nil || h.Get("Content-Type") != "application/cloudevents+json" {
				r.t.Errorf("headers %v: %v", h, err)
			}
			var e struct {
				ID, Type, Subject, Source string
				Data                      gateway.Change
			}
			if err := json.Unmarshal(body, &e); err != nil || e.ID != h.Get("webhook-id") || e.Type != "causeway.result" || e.Subject != e.Data.Conv || e.Source != "/whatsapp/"+e.Data.Account {
				r.t.Errorf("body %s: %v", body, err)
			}
			p := post{url, e.ID, e.Data.Message, e.Data.Result, e.Data.Code, time.Now()}
			r.mu.Lock()
			r.posts = append(r.posts, p)
			say := r.say
			r.mu.Unlock()
			time.Sleep(50 * time.Millisecond)
			return say(p)
		}})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.d.Run(ctx) })
	r.stop = func() {
		cancel()
		wg.Wait()
	}
	time.Sleep(10 * time.Millisecond) // virtual: it has found its place
}

// sent makes a message that the platform takes, and then delivers, as two changes.
func (r *rig) sent(account, callback string) (id string) {
	r.t.Helper()
	r.at++
	s := &gateway.Submission{Platform: "whatsapp", Account: account, By: "ops", Callback: callback, Replies: []gateway.Reply{{Type: "text", Text: "x"}},
		Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: fmt.Sprint(r.at)}}}}
	ctx, now := r.t.Context(), time.Now()
	out, err := r.l.Submit(ctx, s, now)
	if err != nil {
		r.t.Fatal(err)
	}
	a := &gateway.Attempt{Message: out.ID, StartedAt: now, VoidAfter: now.Add(time.Minute)}
	if err := r.l.BeginAttempt(ctx, a, out.Conv); err != nil {
		r.t.Fatal(err)
	}
	end := &gateway.AttemptEnd{Attempt: a.ID, Message: out.ID, At: now, Outcome: gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: fmt.Sprint("x", r.at)}, By: "answer"}
	if err := r.l.EndAttempt(ctx, end); err != nil {
		r.t.Fatal(err)
	}
	return out.ID
}

// got are what a receiver was posted, as "message result", in order.
func (r *rig) got(receiver string) (out []post) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.posts), func(p post) bool { return p.url != "https://"+receiver })
}

func ids(posts []post) (out []string) {
	for _, p := range posts {
		out = append(out, p.message)
	}
	slices.Sort(out)
	return out
}

// Each receiver is told what it wants, once; one that is new is not told of the past; a
// message that names a receiver is told to that one alone.
func TestWhoIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.sent("shop-a", "")
		r.start(results.Receiver{Name: "all"}, results.Receiver{Name: "b", Accounts: []string{"shop-b"}}, results.Receiver{Name: "asked", OnRequest: true},
			results.Receiver{Name: "failures", Results: []string{"failed"}})
		a, b, c := r.sent("shop-a", ""), r.sent("shop-b", ""), r.sent("shop-a", "asked")
		r.d.Kick()
		time.Sleep(5 * time.Second)
		want := map[string][]string{"all": {a, b}, "b": {b}, "asked": {c}, "failures": nil}
		for name, list := range want {
			slices.Sort(list)
			if d := cmp.Diff(list, ids(r.got(name))); d != "" {
				t.Errorf("%s\n%s", name, d)
			}
		}
		if p := r.got("all")[0]; p.result != "accepted" || !strings.HasPrefix(p.id, "rs_1_") {
			t.Errorf("%+v", p)
		}
		// Over a restart nothing comes again, and what came meanwhile does.
		r.stop()
		d := r.sent("shop-a", "")
		r.start(results.Receiver{Name: "all"})
		time.Sleep(5 * time.Second)
		want["all"] = append(want["all"], d)
		slices.Sort(want["all"])
		if d := cmp.Diff(want["all"], ids(r.got("all"))); d != "" {
			t.Error(d)
		}
	})
}

// A receiver that is away is asked again, with growing pauses, and then gets everything,
// with the ids of the first try; nobody else waits.
func TestReceiverIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		back := time.Now().Add(20 * time.Minute)
		r.say = func(p post) results.Answer {
			if p.url == "https://away" && time.Now().Before(back) {
				return results.Answer{Word: "refused"}
			}
			return results.Answer{Status: 200}
		}
		r.start(results.Receiver{Name: "away"}, results.Receiver{Name: "here"})
		for range 20 {
			r.sent("shop-a", "")
		}
		time.Sleep(10 * time.Second)
		if n := len(r.got("here")); n != 20 {
			t.Errorf("%d posts to the one that is here", n)
		}
		if s := r.d.States()[0]; s.Receiver != "away" || s.Open != 20 || s.Failing.IsZero() || s.Word != "refused" {
			t.Errorf("%+v", s)
		}
		time.Sleep(30 * time.Minute)
		tries := r.got("away")
		taken := map[string]string{}
		for _, p := range tries {
			if !p.at.Before(back.Add(-time.Second)) {
				taken[p.message] = p.id
			} else if id, ok := taken[p.message]; ok && id != p.id {
				t.Errorf("%s had the id %s and then %s", p.message, id, p.id)
			}
		}
		if len(taken) != 20 || len(tries) > 20*16 {
			t.Errorf("%d messages came through in %d tries", len(taken), len(tries))
		}
		if s := r.d.States()[0]; s.Open != 0 || !s.Failing.IsZero() {
			t.Errorf("%+v", s)
		}
	})
}

// What a receiver refuses for good is given up at once, what it cannot take after some
// tries, while the others get through; both are counted. In between, a pause it asks for
// is kept.
func TestOneThatCannotBeTaken(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start(results.Receiver{Name: "crm"})
		refused, poison, busy := r.sent("shop-a", ""), r.sent("shop-a", ""), r.sent("shop-a", "")
		r.say = func(p post) results.Answer {
			switch {
			case p.message == refused:
				return results.Answer{Status: 422}
			case p.message == poison:
				return results.Answer{Status: 500}
			case p.message == busy && len(r.got("crm")) < 6:
				return results.Answer{Status: 429, RetryAfter: 40 * time.Second}
			}
			return results.Answer{Status: 200}
		}
		r.d.Kick()
		time.Sleep(time.Minute)
		for range 600 { // more than are under way at once
			r.sent("shop-a", "")
		}
		time.Sleep(time.Hour)
		tries := map[string][]time.Time{}
		for _, p := range r.got("crm") {
			tries[p.message] = append(tries[p.message], p.at)
		}
		if len(tries[refused]) != 1 || len(tries[poison]) != 10 || len(tries) != 603 {
			t.Errorf("%d tries of what is refused, %d of what cannot be taken, %d messages", len(tries[refused]), len(tries[poison]), len(tries))
		}
		if b := tries[busy]; len(b) < 2 || b[1].Sub(b[0]) < 40*time.Second {
			t.Errorf("tries %v", b)
		}
		counters, err := r.l.Counters(t.Context())
		if err != nil || counters["results_undelivered"] != 2 {
			t.Errorf("%v, %v", counters, err)
		}
	})
}

// The results of a message come in order, whatever fails.
func TestResultsOfAMessageInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start(results.Receiver{Name: "crm"})
		fails := 3
		r.say = func(post) results.Answer {
			r.mu.Lock()
			defer r.mu.Unlock()
			if fails--; fails >= 0 {
				return results.Answer{Status: 503}
			}
			return results.Answer{Status: 200}
		}
		id := r.sent("shop-a", "")
		for i, state := range []gateway.StatusState{"sent", "delivered", "read", "failed"} {
			e := gateway.ItemRow{State: gateway.ItemEvent, Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: "1"}}},
				Event: gateway.EventRow{ID: fmt.Sprint("ev_", i), Platform: "whatsapp", Account: "shop-a", Kind: gateway.KindStatus, Chat: gateway.ChatSingle,
					ReceivedAt: time.Now(), Content: []byte(`{}`)},
				Status: &gateway.Status{MessageID: "x1", Marker: id, State: state, Errors: []gateway.Problem{{Code: 131026}}}}
			_, err := r.l.Relay(t.Context(), &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{Pos: int64(i + 1), Platform: "whatsapp", Endpoint: "meta",
				ReceivedAt: time.Now(), Items: []gateway.ItemRow{e}, Last: true}}}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.l.Judge(t.Context(), time.Now(), 10, func(string, string) gateway.Takeover { return gateway.Takeover{} }); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		var taken []string
		for _, p := range r.got("crm")[3:] {
			taken = append(taken, p.result)
		}
		if d := cmp.Diff([]string{"accepted", "sent", "delivered", "read", "failed"}, taken); d != "" {
			t.Error(d)
		}
		if p := r.got("crm"); p[len(p)-1].code != "131026" {
			t.Errorf("code %q", p[len(p)-1].code)
		}
	})
}
