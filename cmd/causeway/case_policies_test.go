package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// does runs a command that must succeed.
func (w *world) does(args ...string) string {
	w.t.Helper()
	out, code := w.cli(args...)
	if code != exitOK {
		w.t.Fatalf("causeway %v: %d %s", args, code, out)
	}
	return out
}

func (w *world) appNamed(name string) (found admin.ApplicationState) {
	w.t.Helper()
	var list appList
	if err := w.get("/api/v1/apps", &list); err != nil {
		w.t.Fatal(err)
	}
	for _, a := range list.Apps {
		if a.Name == name {
			return a
		}
	}
	w.t.Fatalf("no application %s", name)
	return found
}

// replied waits until a customer has so many replies.
func (w *world) replied(number string, n int) {
	w.t.Helper()
	w.until(60*time.Second, fmt.Sprintf("%d replies", n), func() bool { return len(accepted(w.calls(number))) >= n })
}

// What is paused stays so over a death; everything is received, others go on, and
// what waited goes on in order.
func TestPause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		pause   func(w *world) []string
		handed  bool // events are handed out meanwhile
		others  bool // another customer of the account is answered meanwhile
		message string
	}{
		{"account", func(*world) []string { return []string{"account", "shop-a"} }, false, false, "account paused by"},
		{"conversation", func(w *world) []string { return []string{"conversation", w.customerConv(customer(1)).Conv} }, false, true, "conversation paused by"},
		{"replies", func(*world) []string { return []string{"replies", "echo"} }, true, false, "replies paused by"},
		{"all replies", func(*world) []string { return []string{"replies", "all"} }, true, false, "replies paused by"},
		{"app", func(*world) []string { return []string{"app", "echo"} }, false, false, "paused by"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			w.start("")
			w.up()
			w.says(customer(1), "one")
			w.replied(customer(1), 1)
			w.quiet(time.Minute)
			what := c.pause(w)
			w.does(append([]string{"pause"}, what...)...)
			w.says(customer(1), "two")
			w.says(customer(1), "three")
			w.kill()
			w.start("")
			w.up()
			if out := w.does("pause", "ls"); !strings.Contains(out, what[1]) || !strings.Contains(out, "test") {
				t.Errorf("pause ls: %s", out)
			}
			if out, _ := w.cli("doctor"); !strings.Contains(out, c.message) {
				t.Errorf("doctor: %s", out)
			}
			w.says(customer(2), "hello")
			switch {
			case c.others:
				w.replied(customer(2), 1)
			case c.handed:
				w.until(time.Minute, "all are settled", func() bool { return w.sums().Apps["echo"].Pending == 0 })
			default:
				w.until(time.Minute, "all are received", func() bool { return w.sums().Apps["echo"].Pending == 3 })
			}
			if n := len(w.calls(customer(1))); n != 1 {
				t.Errorf("%d messages left", n)
			}
			if c.others && w.sums().Apps["echo"].Pending != 2 || !c.others && len(w.calls(customer(2))) != 0 {
				t.Errorf("sums %+v, calls %d", w.sums().Apps["echo"], len(w.calls(customer(2))))
			}
			w.does(append([]string{"resume"}, what...)...)
			w.replied(customer(1), 3)
			w.replied(customer(2), 1)
			w.quiet(time.Minute)
			if got := texts(accepted(w.calls(customer(1)))); strings.Join(got, " ") != "one two three" {
				t.Errorf("replies %v", got)
			}
			if out := w.does("pause", "ls"); !strings.Contains(out, "nothing is stopped") {
				t.Errorf("pause ls: %s", out)
			}
			w.oncePerMessage()
		})
	}
}

// An offer that lies in the gate when its conversation is paused is taken back, also
// when the process dies in the middle of that; later it is handed out, once.
func TestKillWhileAnOfferIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 30s}\n"})
	w.start("")
	w.up()
	for i := range 3 {
		w.says(customer(i), "one")
		w.says(customer(i), "two")
	}
	w.until(time.Minute, "the heads are offered", func() bool { return w.appNamed("echo").Offered == 3 })
	w.stop()
	p := w.start("recall.committed:1")
	w.up()
	w.until(time.Minute, "it dies while it takes them back", func() bool {
		_ = w.call("POST", "/api/v1/brakes/account/shop-a/pause", nil, nil) // not up yet, or dead
		return p.ended()
	})
	w.start("")
	w.up()
	w.until(time.Minute, "the offers are taken back", func() bool { return w.appNamed("echo").Offered == 0 })
	var handed atomic.Int64
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		handed.Add(1)
		return worker.Text(ev.Text), nil
	}, 8)
	w.until(time.Minute, "the worker asks", func() bool { return w.appNamed("echo").Workers > 0 })
	if handed.Load() != 0 {
		t.Errorf("%d events of a paused account were handed out", handed.Load())
	}
	w.does("resume", "account", "shop-a")
	w.quiet(time.Minute)
	for i := range 3 {
		if got := texts(accepted(w.calls(customer(i)))); strings.Join(got, " ") != "one two" {
			t.Errorf("replies %v", got)
		}
	}
	if handed.Load() != 6 || len(w.deadLetters()) != 0 {
		t.Errorf("%d handed out, dead %v", handed.Load(), w.deadLetters())
	}
}

// A bot that is down as a whole costs no event: the application is tripped, also
// after a death, and goes on in order when the bot works again.
func TestBotDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 2s}\n"})
	w.start("")
	w.up()
	l := &load{w: w, convs: 40, each: 5}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var down atomic.Bool
	down.Store(true)
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if down.Load() {
			return nil, errors.New("the model does not answer")
		}
		return worker.Text(ev.Text), nil
	}, 16)
	l.run(ctx)
	w.until(time.Minute, "it is tripped", func() bool { return w.appNamed("echo").Tripped })
	if out := w.does("apps"); !strings.Contains(out, "tripped") || !strings.Contains(out, "every try failed") {
		t.Errorf("apps: %s", out)
	}
	w.kill()
	w.start("")
	w.up()
	w.until(time.Minute, "it is tripped after a restart", func() bool { return w.appNamed("echo").Tripped })
	if out, code := w.cli("doctor"); code != exitFailed || !strings.Contains(out, "one at a time is tried") {
		t.Errorf("doctor: %s", out)
	}
	down.Store(false)
	w.quiet(2 * time.Minute)
	if w.appNamed("echo").Tripped || len(w.deadLetters()) > 0 {
		t.Errorf("%+v, %d dead letters", w.appNamed("echo"), len(w.deadLetters()))
	}
	l.verify()
}

// An event that keeps failing holds its conversation, visibly, until a cap is
// reached; others go on.
func TestBlockedConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 2s, tries: 2, delays: [100ms], on_exhausted: block, block_for: 720h, block_tries: 50}\n"})
	w.start("")
	w.up()
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if ev.Text == poison {
			return nil, errors.New("this one I cannot answer")
		}
		return worker.Text(ev.Text), nil
	}, 4)
	w.says(customer(1), poison)
	w.says(customer(1), "behind it")
	w.until(time.Minute, "it is blocked", func() bool { return w.appNamed("echo").Blocked == 1 })
	if out := w.does("conv", "show", w.customerConv(customer(1)).Conv); !strings.Contains(out, "echo=blocked") || !strings.Contains(out, "echo=pending") {
		t.Errorf("conv show: %s", out)
	}
	w.says(customer(2), "hello")
	w.replied(customer(2), 1)
	w.until(time.Minute, "the cap is reached", func() bool { return len(w.deadLetters()) == 1 })
	w.replied(customer(1), 1)
	if d := w.deadLetters()[0]; d.Reason != gateway.ReasonBlockTries || d.Tries != 50 {
		t.Errorf("dead letter %+v", d)
	}
	w.quiet(time.Minute)
}

// An application that comes later is handed the past in order, one that goes leaves
// nothing waiting, and the process dies at each slice of that.
func TestApplicationsComeAndGo(t *testing.T) {
	t.Parallel()
	const (
		before = "  - {name: echo, ack_wait: 2s}\n"
		after  = "  - {name: echo, ack_wait: 2s, from: beginning}\n"
		other  = "  - {name: other, replies: false}\n"
	)
	w := newWorld(t, worldOptions{apps: other})
	w.edit("apps: [echo]", "apps: [other]")
	w.start("")
	w.up()
	for i := range 3 {
		for j := range 4 {
			w.says(customer(i), text(j))
		}
	}
	w.until(time.Minute, "they wait", func() bool { return w.sums().Apps["other"].Pending == 12 })
	w.stop()
	w.edit(other, after)
	w.edit("apps: [other]", "apps: [echo]")
	for range 2 { // a slice of each of the two
		p := w.start("tend.committed:1")
		w.until(time.Minute, "it dies behind a slice", p.ended)
	}
	w.start("")
	w.up()
	w.until(time.Minute, "the old ones are dropped", func() bool { return w.sums().Apps["other"] == gateway.AppSums{Wanted: 12, Dropped: 12} })
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) { return worker.Text(ev.Text), nil }, 4)
	for i := range 3 {
		w.says(customer(i), text(4))
	}
	w.quiet(time.Minute)
	for i := range 3 {
		if got := texts(accepted(w.calls(customer(i)))); strings.Join(got, ",") != strings.Join([]string{text(0), text(1), text(2), text(3), text(4)}, ",") {
			t.Errorf("replies %v", got)
		}
	}
	// It goes and comes back: from now on.
	w.stop()
	w.edit(after, other)
	w.edit("apps: [echo]", "apps: [other]")
	w.start("")
	w.up()
	w.says(customer(1), "to nobody")
	w.until(time.Minute, "it is received", func() bool { return w.sums().Apps["other"].Pending > 0 })
	w.stop()
	w.edit(other, before)
	w.edit("apps: [other]", "apps: [echo]")
	w.start("")
	w.up()
	w.says(customer(1), "to the bot")
	w.quiet(time.Minute)
	if got := texts(accepted(w.calls(customer(1)))); len(got) != 6 || got[5] != "to the bot" {
		t.Errorf("replies %v", got)
	}
}

// A message that could not be read in time is handed out when its customer may still
// wait for an answer, and listed when not.
func TestRecoveredMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, builtin: echo, ack_wait: 2s, answer_within: 10m}\n"})
	const right = "phone_number_id: \"" + testPhone + "\""
	w.edit(right, `phone_number_id: "900000000000077"`)
	w.start("")
	w.up()
	w.says(customer(1), "one")
	w.says(customer(1), "two")
	w.says(customer(2), "alone")
	w.until(time.Minute, "nobody has the account", func() bool { return len(w.deadLetters()) == 3 })
	w.stop()
	// A name is for ever: the account that has the number is another one.
	w.edit("name: shop-a", "name: shop-b")
	w.edit(`phone_number_id: "900000000000077"`, right)
	w.start("")
	w.up()
	w.does("dead", "requeue", "--all", "--reason", "no_account")
	w.replied(customer(1), 2)
	w.replied(customer(2), 1)
	w.quiet(time.Minute)
	if got := texts(accepted(w.calls(customer(1)))); strings.Join(got, " ") != "one two" {
		t.Errorf("replies %v", got)
	}
	if out := w.does("conv", "unanswered"); !strings.Contains(out, "nothing was recovered too late") {
		t.Errorf("conv unanswered: %s", out)
	}
}

// An old one is not answered: nobody waits for it any more.
func TestRecoveredTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{apps: "  - {name: echo, builtin: echo, ack_wait: 2s, answer_within: 1ns}\n"})
	const right = "phone_number_id: \"" + testPhone + "\""
	w.edit(right, `phone_number_id: "900000000000077"`)
	w.start("")
	w.up()
	w.says(customer(1), "one")
	w.until(time.Minute, "nobody has the account", func() bool { return len(w.deadLetters()) == 1 })
	w.stop()
	w.edit("name: shop-a", "name: shop-b")
	w.edit(`phone_number_id: "900000000000077"`, right)
	w.start("")
	w.up()
	w.does("dead", "requeue", "--all")
	w.until(time.Minute, "it is recorded", func() bool { return w.sums().Apps["echo"] == gateway.AppSums{Wanted: 1, Dropped: 1} })
	out := w.does("conv", "unanswered", "--app", "echo")
	conv := w.conversation("whatsapp", "shop-b", "phone", customer(1))
	if !strings.Contains(out, conv.Conv) || conv.Events[0].States["echo"] != gateway.EventDropped || len(w.calls("")) != 0 {
		t.Errorf("%s\n%+v", out, conv.Events)
	}
	if out, _ := w.cli("doctor"); !strings.Contains(out, "unanswered") {
		t.Errorf("doctor: %s", out)
	}
}

// With dedup relaxed the same message twice is two events.
func TestRelaxedDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{extra: "dedup: {message: relaxed}\n"})
	w.start("")
	w.up()
	_, body := w.wa.CustomerBody(customer(1), "twice")
	w.taken(body)
	w.taken(body)
	w.replied(customer(1), 2)
	w.quiet(time.Minute)
	if s := w.sums(); s.Items.Duplicate != 0 || s.Apps["echo"].Settled != 2 || w.counter("relaxed") != 1 {
		t.Errorf("%+v, relaxed %d", s, w.counter("relaxed"))
	}
}

// A number that may begin no conversation just now (131048): its template waits, unspent,
// a customer who asks is answered meanwhile, and doctor says why nothing else leaves.
func TestTemplatesWaitWhileAnswersGo(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	var limited atomic.Bool
	limited.Store(true)
	w.fault(sandbox.Fault{Type: "template", Code: 131048, Match: func(*sandbox.Call) bool { return limited.Load() }})
	_, out, text := w.submit(`{"account":"shop-a","to":{"kind":"phone","value":"16660360001"},"content":{"type":"template","template":{"name":"hello_world","language":"en_US"}}}`)
	if out.ID == "" {
		t.Fatal(text)
	}
	w.until(30*time.Second, "the template was refused", func() bool { m := w.message(out.ID); return m.State == "waiting" && m.Attempts == 1 })
	w.submit(`{"account":"shop-a","to":{"kind":"phone","value":"16660360002"},"content":{"type":"template","template":{"name":"hello_world","language":"en_US"}}}`)
	w.says("16660360003", "are you there?")
	w.replied("16660360003", 1)
	if n := len(w.calls("16660360002")); n != 0 {
		t.Errorf("another template made %d calls", n)
	}
	if said, _ := w.cli("doctor"); !strings.Contains(said, "lets no template of this account through (131048)") {
		t.Error(said)
	}
	if said := w.does("accounts", "show", "shop-a"); !strings.Contains(said, "healthy") || !strings.Contains(said, "templates wait (131048), one is tried at 20") {
		t.Error(said)
	}
	// A person who knows better need not wait.
	limited.Store(false)
	w.does("accounts", "resume", "shop-a")
	w.until(30*time.Second, "both templates are taken", func() bool { return len(accepted(w.calls("16660360001")))+len(accepted(w.calls("16660360002"))) == 2 })
}

// The same, told by the status of a template that was taken: the next one waits. When the
// process dies before it has learned from the status, the next status tells again, and
// the message that failed is failed all the same.
func TestTemplatesWaitAfterAStatus(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"", "judge.judged:1"} {
		t.Run("dies at "+step, func(t *testing.T) {
			begin(t)
			w := newWorld(t, worldOptions{})
			w.fault(sandbox.Fault{Name: "no statuses", Stage: sandbox.After, NoStatuses: true})
			p := w.start(step)
			w.up()
			const body = `{"account":"shop-a","to":{"kind":"phone","value":"%s"},"content":{"type":"template","template":{"name":"hello_world","language":"en_US"}}}`
			_, first, _ := w.submit(fmt.Sprintf(body, "16660370001"))
			_, second, _ := w.submit(fmt.Sprintf(body, "16660370002"))
			fails := func(id, who string) {
				w.until(30*time.Second, "the template is taken", func() bool { return len(accepted(w.calls(who))) == 1 && w.message(id).State == "accepted" })
				w.post(t.Context(), w.wa.StatusBody(w.calls(who)[0].MessageID, "", who, "failed", 131048))
			}
			shown := func() bool {
				return strings.Contains(w.does("accounts", "show", "shop-a"), "templates wait (131048), one is tried at 20")
			}
			fails(first.ID, "16660370001")
			if step != "" {
				w.dies(p, step)
				w.start("")
				w.up()
				if shown() || w.message(first.ID).Result != "failed" {
					t.Errorf("after its death: %+v", w.message(first.ID))
				}
				fails(second.ID, "16660370002")
			}
			w.until(30*time.Second, "templates wait", shown)
			w.submit(fmt.Sprintf(body, "16660370003"))
			w.says("16660370004", "are you there?")
			w.replied("16660370004", 1)
			if n := len(w.calls("16660370003")); n != 0 {
				t.Errorf("another template made %d calls", n)
			}
		})
	}
}
