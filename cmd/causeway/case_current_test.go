package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// appOfStates is told of customers.
const appOfStates = "  - {name: echo, kinds: [state], chats: [account], ack_wait: 30s, tries: 4, delays: [200ms]}\n"

const theCustomer = "wmMadeUpCustomerOfCurrent000000001"

// tellsOf lets the platform have it happen and posts the callback.
func (w *world) tellsOf(wc *wecomtest.Sandbox, variant, who string, at time.Time) {
	w.t.Helper()
	w.arrives(wc, w.happens(wc, variant, who, at))
}

// happens is what arrives later.
func (w *world) happens(wc *wecomtest.Sandbox, variant, who string, at time.Time) []byte {
	w.t.Helper()
	_, inner, err := wc.Make(wecomtest.Event{Kind: "customer", Variant: variant, From: who, Customer: theCustomer, Code: "code-" + who, At: at})
	if err != nil {
		w.t.Fatal(err)
	}
	return inner
}

func (w *world) arrives(wc *wecomtest.Sandbox, inner []byte) {
	w.t.Helper()
	if status, _, err := wc.Post(w.t.Context(), inner); err != nil || status != http.StatusOK {
		w.t.Fatalf("a callback was answered %d (%v)", status, err)
	}
}

// customerKey is the key of the customer's state, in whichever app of the corp stands
// first.
func (w *world) customerKey() *gateway.Conversation {
	w.t.Helper()
	for _, account := range []string{"corp-a", "approvals"} {
		q := url.Values{"platform": {"wecom"}, "account": {account}, "kind": {"customer"}, "identity": {theCustomer}}
		if w.get("/api/v1/conversations:find?"+q.Encode(), nil) == nil {
			return w.conversation("wecom", account, "customer", theCustomer)
		}
	}
	w.t.Fatal("the customer is not known")
	return nil
}

func (w *world) relayedAll() {
	w.t.Helper()
	w.until(20*time.Second, "everything is relayed", func() bool { return w.sums().Payloads.Pending == 0 })
}

// A word of the customer waits with its worker while the customer is handed over:
// whoever asks then gets the new owner, by the platform also before the transfer's
// callbacks came, and with the platform away by the rows, which say so.
func TestOwnerAtHandlingTime(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{apps: appOfStates})
	asks, answers := make(chan bool), make(chan gateway.State)
	w.bot(func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if ev.Change.What != "edit_external_contact" {
			return nil, nil
		}
		for range asks {
			s, err := worker.Current(ctx, ev)
			if err != nil {
				t.Errorf("no state: %v", err)
			}
			answers <- s
		}
		return nil, nil
	}, 4)
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	w.tellsOf(wc, "add_external_contact", "XuAn", at)
	w.tellsOf(wc, "edit_external_contact", "XuAn", at.Add(time.Minute)) // the word that waits
	transfer := at.Add(2 * time.Minute)
	gain := w.happens(wc, "add_external_contact", "BaiLu", transfer)
	loss := w.happens(wc, "transferred", "XuAn", transfer)
	now := func() gateway.State { asks <- true; return <-answers }

	if s := now(); s.Owner != "BaiLu" || s.Source != gateway.SourcePlatform || s.At == nil || time.Since(*s.At) > time.Minute || len(s.Members) != 1 {
		t.Errorf("the platform says %+v", s)
	}
	if err := wc.Refuse(); err != nil {
		t.Fatal(err)
	}
	w.until(20*time.Second, "what the platform said is forgotten", func() bool { return now().Source == gateway.SourceLedger })
	if s := now(); s.Owner != "XuAn" || s.At == nil || !s.At.Equal(at.Add(time.Minute)) {
		t.Errorf("with the platform away, before the callbacks: %+v", s)
	}
	w.arrives(wc, loss) // in the order that harms most
	w.arrives(wc, gain)
	w.relayedAll()
	if s := now(); s.Owner != "BaiLu" || s.Source != gateway.SourceLedger || s.At == nil || !s.At.Equal(transfer) {
		t.Errorf("with the platform away, after them: %+v", s)
	}
	close(asks)
	w.settled(30 * time.Second)
	c := w.customerKey()
	if out, _ := w.cli("conv", "show", c.Conv, "--token", testToken, "--admin", w.api); !strings.Contains(out, "BaiLu") {
		t.Errorf("conv show does not tell the owner:\n%s", out)
	}
	for _, secret := range []string{theCustomer, "BaiLu", "XuAn", testWCSecret, "access_token"} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// A plain client asks by one request and reads the bucket; the bucket is filled again
// after the broker lost everything.
func TestCurrentByPlainClient(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{apps: appOfStates + "  - {name: other, accounts: [shop-a], kinds: [state]}\n"})
	w.edit("apps: [echo]", "apps: [echo, other]")
	w.stop()
	w.start("")
	w.up()
	dial := func() *nats.Conn {
		brokerUp(t, w.nats)
		nc, err := nats.Connect("nats://"+w.nats, nats.UserInfo("bot", "bot-password"), nats.CustomInboxPrefix("_INBOX_bot"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	nc := dial()
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	w.tellsOf(wc, "add_external_contact", "XuAn", at)
	w.tellsOf(wc, "add_half_external_contact", "BaiLu", at.Add(time.Minute))
	w.relayedAll()
	conv := w.customerKey().Conv
	ask := func(subject, body string) (got map[string]any) {
		t.Helper()
		w.until(30*time.Second, "somebody answers", func() bool { // the gateway is up before its part at the broker is
			m, err := nc.Request(subject, []byte(body), 10*time.Second)
			if errors.Is(err, nats.ErrNoResponders) {
				return false
			}
			if err != nil || json.Unmarshal(m.Data, &got) != nil {
				t.Fatalf("%s %s: %v", subject, body, err)
			}
			return true
		})
		return got
	}
	if got := ask("cw.current.echo", `{"conv":"`+conv+`"}`); got["owner"] != "BaiLu" || got["source"] != "platform" || got["conv"] != conv {
		t.Errorf("a request was answered %v", got)
	}
	for _, c := range []struct{ subject, body, word string }{
		{"cw.current.echo", `{"conv":"aaaaaaaaaaaaaaaaaaaaaaaaaa"}`, "not_found"},
		{"cw.current.echo", `{}`, "bad_request"},
		{"cw.current.echo", `no JSON`, "bad_request"},
		{"cw.current.other", `{"conv":"` + conv + `"}`, "not_yours"},
	} {
		if got := ask(c.subject, c.body); got["error"] != c.word || len(got) != 1 {
			t.Errorf("%s %s: %v", c.subject, c.body, got)
		}
	}
	inBucket := func(nc *nats.Conn) (s gateway.State) {
		t.Helper()
		w.until(30*time.Second, "the bucket has the state", func() bool {
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			kv, err := js.KeyValue(t.Context(), stream.StateBucket)
			if err != nil {
				return false
			}
			e, err := kv.Get(t.Context(), conv)
			return err == nil && json.Unmarshal(e.Value(), &s) == nil && len(s.Members) == 2
		})
		return s
	}
	if s := inBucket(nc); s.Owner != "BaiLu" || s.Source != gateway.SourceLedger || s.Rev == 0 {
		t.Errorf("the bucket says %+v", s)
	}
	w.stop()
	if err := os.RemoveAll(filepath.Join(w.dir, "nats")); err != nil {
		t.Fatal(err)
	}
	w.start("")
	w.up()
	if s := inBucket(dial()); s.Owner != "BaiLu" {
		t.Errorf("after the loss of the broker the bucket says %+v", s)
	}
}

// A new customer is greeted in one call; when the platform did not take it nothing is
// tried again, and what comes too late is not tried at all and said.
func TestGreetingInTime(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{apps: appOfStates})
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Welcome(ev.Handle, "welcome, "+ev.Change.Member.Value), nil
	}, 4)
	welcomes := func() (out []sandbox.Call) {
		for _, c := range wc.Calls() {
			if c.Type == "welcome" {
				out = append(out, c)
			}
		}
		return out
	}
	w.tellsOf(wc, "add_external_contact", "in-time", time.Now())
	w.settled(30 * time.Second)
	if got := welcomes(); len(got) != 1 || !got[0].Accepted || got[0].Text != "welcome, in-time" {
		t.Errorf("%+v", got)
	}
	if _, err := wc.Faults().Add(sandbox.Fault{Op: sandbox.OpSend, Code: -1, Next: 1}); err != nil {
		t.Fatal(err)
	}
	w.tellsOf(wc, "add_external_contact", "refused", time.Now())
	w.settled(30 * time.Second)
	w.tellsOf(wc, "add_external_contact", "late", time.Now().Add(-21*time.Second))
	w.settled(30 * time.Second)
	if got := welcomes(); len(got) != 2 || got[1].Accepted {
		t.Errorf("%d calls, want one for each in time: %+v", len(got), got)
	}
	dead := w.deadLetters()
	if len(dead) != 2 || !hasDead(dead, "message", gateway.ReasonRejected) || !hasDead(dead, "event", gateway.ReasonTooLate) {
		t.Errorf("%+v", dead)
	}
	if s := w.sums(); s.Messages.Accepted != 1 || s.Messages.Rejected != 1 || s.Messages.Taken != 2 {
		t.Errorf("%+v", s.Messages)
	}
	for _, secret := range []string{"code-in-time", "code-late", "welcome, "} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// A colleague takes a customer of customer service over while the customer's message
// waits with its worker.
func TestSessionAtHandlingTime(t *testing.T) {
	begin(t)
	w, wc := newKfWorld(t, worldOptions{apps: appByWorker})
	w.start("")
	w.up()
	asks, answers := make(chan bool), make(chan gateway.State)
	w.bot(func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		for range asks {
			s, err := worker.Current(ctx, ev)
			if err != nil {
				t.Errorf("no state: %v", err)
			}
			answers <- s
		}
		return nil, nil
	}, 4)
	kfWrites(t, wc, wecomtest.KfItem{Customer: theCustomer, Text: "is anybody there?"})
	select {
	case asks <- true: // the message is with its worker
	case <-time.After(leastLimit):
		t.Fatal("the message did not come")
	}
	if s := <-answers; s.Source != gateway.SourcePlatform || s.Session == gateway.SessionHuman {
		t.Errorf("before: %+v", s)
	}
	wc.SetKfState(testKf, theCustomer, 3, "ChenHao")
	var s gateway.State
	w.until(20*time.Second, "the colleague is seen", func() bool {
		asks <- true
		s = <-answers
		return s.Session == gateway.SessionHuman
	})
	if s.Servicer != "ChenHao" || s.Source != gateway.SourcePlatform {
		t.Errorf("after: %+v", s)
	}
	close(asks)
	w.settled(30 * time.Second)
}
