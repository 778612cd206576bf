package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

const testKf = "wkTestDesk000001"

// newKfWorld is a world with an account of customer service beside; it is not
// started.
func newKfWorld(t *testing.T, o worldOptions) (*world, *wecomtest.Sandbox) {
	t.Helper()
	wc, err := wecomtest.New(wecomtest.Options{CorpID: testCorp, AgentID: testAgent, Secret: testWCSecret,
		Token: testWCToken, EncodingAESKey: testWCKey, Kf: []string{testKf}})
	if err != nil {
		t.Fatal(err)
	}
	if err := wc.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wc.Close() })
	o.endpoints += fmt.Sprintf("  - {name: corp, platform: wecom, kind: app, receive_ids: [%s], token: %s, encoding_aes_key: %s}\n",
		testCorp, testWCToken, testWCKey)
	o.accounts += fmt.Sprintf("  - {name: desk, platform: wecom, kind: kf, corp_id: %s, open_kfid: %s, secret: %s, api_base: %q}\n",
		testCorp, testKf, testWCSecret, wc.URL())
	w := newWorld(t, o)
	wc.SetCallbackURL(strings.Replace(w.url, "/whatsapp/meta", "/wecom/corp", 1))
	return w, wc
}

func kfWrites(t *testing.T, wc *wecomtest.Sandbox, in wecomtest.KfItem) string {
	t.Helper()
	in.Kf = testKf
	id, err := wc.Kf(in)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The process dies after a page was fetched, and after it was archived with its
// cursor, and is started again: every message is one event and is answered once,
// in order, and what was written before the account was known is not answered.
func TestKfKilledAroundThePage(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"pull.fetched:1", "pull.archived:1", "pull.archived:3"} {
		t.Run(step, func(t *testing.T) {
			begin(t)
			w, wc := newKfWorld(t, worldOptions{apps: appByWorker}) // its worker comes later: no send is open when it dies
			wc.SetKfPage(2)
			kfWrites(t, wc, wecomtest.KfItem{Customer: "wm0", Text: "long ago", At: time.Now().Add(-time.Hour), Silent: true})
			want := map[string][]string{}
			for i := range 3 { // a customer's message allows five answers
				for c := range 3 {
					to := fmt.Sprint("wm", c)
					kfWrites(t, wc, wecomtest.KfItem{Customer: to, Text: text(i), Silent: true})
					want[to] = append(want[to], text(i))
				}
			}
			p := w.start(step)
			select {
			case <-p.done:
			case <-time.After(2 * time.Minute):
				t.Fatalf("never came to %s", step)
			}
			w.start("")
			w.up()
			w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) { return worker.Text(ev.Text), nil }, 4)
			w.until(time.Minute, "every message is an event", func() bool { return w.sums().Items.Events == 10 })
			w.settled(time.Minute)
			for to, said := range want {
				var got []string
				for _, c := range callsTo(wc.Calls(), to) {
					got = append(got, c.Text)
					if !c.Accepted || !gateway.OurMarker(c.Marker) {
						t.Errorf("%s %q: accepted %v", to, c.Marker, c.Accepted)
					}
				}
				if !slices.Equal(got, said) {
					t.Errorf("%s was answered %q, want %q", to, got, said)
				}
			}
			s := w.sums()
			if s.Items.Duplicate != 0 || s.Items.Dead != 0 || len(w.deadLetters()) != 0 {
				t.Errorf("%+v", s.Items)
			}
			// Started once more, it goes on at the cursor and fetches nothing twice.
			archived := s.Payloads.Archived
			w.stop()
			w.start("")
			w.up()
			kfWrites(t, wc, wecomtest.KfItem{Customer: "wm9", Text: "after"})
			w.until(time.Minute, "the bell is answered", func() bool { return len(accepted(callsTo(wc.Calls(), "wm9"))) == 1 })
			w.settled(time.Minute)
			if s := w.sums(); s.Payloads.Archived != archived+2 || s.Items.Duplicate != 0 { // the bell and its page
				t.Errorf("%d payloads, %d before; %d duplicates", s.Payloads.Archived, archived, s.Items.Duplicate)
			}
			for _, secret := range []string{"long ago", "wm0", testWCSecret, "access_token", "ENC"} {
				if strings.Contains(w.said(), secret) {
					t.Errorf("the log holds %q", secret)
				}
			}
		})
	}
}

// A customer is greeted by the code of the event; a colleague takes the session
// over while an answer is thought about, and it is held and not sent; what was
// taken and not delivered is told. A page that comes again makes nothing twice.
func TestKfTakeover(t *testing.T) {
	begin(t)
	thinking, speak := make(chan struct{}), make(chan struct{})
	w, wc := newKfWorld(t, worldOptions{apps: "  - {name: echo, ack_wait: 20s, kinds: [message, notice], chats: [single]}\n"})
	w.start("")
	w.up()
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		switch {
		case ev.Handle != nil:
			return worker.With(ev.Handle, worker.Buttons("Welcome!", worker.Button("y", "Order"))), nil
		case ev.Kind != gateway.KindMessage:
			return nil, nil
		case ev.Text == "think":
			close(thinking)
			<-speak
		}
		return worker.Text("answer to " + ev.Text), nil
	}, 2)
	w.until(30*time.Second, "the account is asked", func() bool { return wc.KfSyncs() > 0 })
	const who = "wmTakeover1"
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Event: "enter_session"})
	w.until(30*time.Second, "the customer is greeted", func() bool { return len(accepted(callsTo(wc.Calls(), who))) == 1 })
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Text: "Order", Content: map[string]any{"menu_id": "y"}})
	w.until(30*time.Second, "the choice is answered", func() bool { return len(accepted(callsTo(wc.Calls(), who))) == 2 })
	answered := accepted(callsTo(wc.Calls(), who))[1]

	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Text: "think"})
	<-thinking
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Event: "session_status_change", Content: map[string]any{"change_type": 1, "new_servicer_userid": "ChenHao"}})
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Staff: "ChenHao", Text: "I take this"})
	w.until(30*time.Second, "the conversation is taken", func() bool { return w.counter("taken") == 1 })
	close(speak)
	w.until(30*time.Second, "the answer is held", func() bool {
		c := w.conversation("wecom", "desk", "external_userid", who)
		last := c.Messages[len(c.Messages)-1]
		return last.State == gateway.MessageHeld && last.Reason == gateway.ReasonTakeover
	})

	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Event: "msg_send_fail", Content: map[string]any{"fail_msgid": answered.Marker, "fail_type": 10}})
	var c *gateway.Conversation
	w.until(30*time.Second, "the failure is known, and that a colleague wrote", func() bool {
		c = w.conversation("wecom", "desk", "external_userid", who)
		i := slices.IndexFunc(c.Messages, func(m gateway.ConversationMessage) bool { return m.Message == answered.Marker })
		return i >= 0 && c.Messages[i].Failed != nil && c.Messages[i].Failed.Code == 10 && c.LastHumanAt != nil
	})
	w.settled(30 * time.Second)

	events := w.sums().Items.Events
	wc.ForgetKfCursors() // all comes again
	kfWrites(t, wc, wecomtest.KfItem{Customer: "wmOther", Text: "hello"})
	w.until(30*time.Second, "the next message is answered", func() bool { return len(accepted(callsTo(wc.Calls(), "wmOther"))) == 1 })
	w.settled(30 * time.Second)
	if s := w.sums(); s.Items.Events != events+2 || s.Items.Duplicate != 6 { // the message and its bell are new, the six items before it known
		t.Errorf("%+v, %d events before", s.Items, events)
	}
	if n := len(callsTo(wc.Calls(), who)); n != 2 {
		t.Errorf("%d calls after everything came again", n)
	}
}

// An answer hands the session over after its text. The platform's answer to that is
// lost: it is not done twice, and known to be done. A colleague who is off duty is not
// given anybody: the code is told, and what was to follow is not sent.
func TestKfHandsOver(t *testing.T) {
	begin(t)
	w, wc := newKfWorld(t, worldOptions{apps: appByWorker})
	wc.SetKfAway("LiSi", true)
	if _, err := wc.Faults().Add(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropReset, Type: "transfer", Next: 1}); err != nil {
		t.Fatal(err)
	}
	w.start("")
	w.up()
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Join(worker.Text("One moment"), worker.Transfer(gateway.SessionHuman, ev.Text), worker.Text("Bye")), nil
	}, 2)
	w.until(30*time.Second, "the account is asked", func() bool { return wc.KfSyncs() > 0 })
	for _, c := range []struct {
		who, staff string
		want       []string
		code       string // of the last call
		state      int
	}{
		{"wmHands1", "ChenHao", []string{"One moment", "3 ChenHao", "Bye"}, "95018", wecomtest.KfHuman},
		{"wmHands2", "LiSi", []string{"One moment", "3 LiSi"}, "95014", wecomtest.KfNew},
	} {
		who, before := c.who, len(w.deadLetters())
		kfWrites(t, wc, wecomtest.KfItem{Customer: who, Text: c.staff})
		w.until(time.Minute, "the last part is refused", func() bool { return len(w.deadLetters()) == before+1 })
		w.settled(time.Minute)
		calls := callsTo(wc.Calls(), who)
		if got := texts(calls); !slices.Equal(got, c.want) || len(accepted(calls)) != len(c.want)-1 || calls[len(calls)-1].Code != c.code {
			t.Errorf("%s: %q, %d accepted, the last %+v", who, got, len(accepted(calls)), calls[len(calls)-1])
		}
		if state, staff := wc.KfState(testKf, who); state != c.state || state == wecomtest.KfHuman && staff != c.staff {
			t.Errorf("%s: stands at %d %q", who, state, staff)
		}
	}
}

// The process dies when the session was handed over and nobody heard the answer: the
// next one asks WeCom, and the message is accepted without a second call.
func TestKfHandsOverKilled(t *testing.T) {
	begin(t)
	w, wc := newKfWorld(t, worldOptions{apps: appByWorker})
	w.start("outbox.called:1")
	w.up()
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Transfer(gateway.SessionHuman, ev.Text), nil
	}, 1)
	w.until(30*time.Second, "the account is asked", func() bool { return wc.KfSyncs() > 0 })
	kfWrites(t, wc, wecomtest.KfItem{Customer: "wmHands1", Text: "ChenHao"})
	w.until(time.Minute, "the session was handed over and the gateway died", func() bool {
		state, _ := wc.KfState(testKf, "wmHands1")
		return state == wecomtest.KfHuman && w.proc.ended()
	})
	w.start("")
	w.up()
	w.until(90*time.Second, "the message is accepted", func() bool { return w.sums().Messages.Accepted == 1 })
	w.settled(time.Minute)
	if s := w.sums().Messages; s.Taken != 1 || s.Unknown != 0 || len(accepted(callsTo(wc.Calls(), "wmHands1"))) != 1 {
		t.Errorf("%+v, calls %+v", s, callsTo(wc.Calls(), "wmHands1"))
	}
}

// An account that WeCom refuses is seen by an operator and harms nobody else.
func TestKfRefusedIsSeen(t *testing.T) {
	begin(t)
	w, wc := newKfWorld(t, worldOptions{})
	wc.RefuseKf(testKf, 95012)
	w.start("")
	w.up()
	w.until(30*time.Second, "doctor tells", func() bool {
		out, _ := w.cli("doctor", "--token", testToken, "--admin", w.api)
		return strings.Contains(out, "customers' messages are not fetched") && strings.Contains(out, "95012")
	})
	if _, said := w.raw("GET", "/metrics", testToken, nil); !strings.Contains(said, `causeway_pull_up{account="desk"} 0`) {
		t.Error("the metric does not tell")
	}
	w.fault(sandbox.Fault{Name: "no statuses", Stage: sandbox.After, NoStatuses: true})
	w.says(customer(1), "hello")
	w.settled(30 * time.Second)
	if n := len(accepted(w.calls(customer(1)))); n != 1 {
		t.Errorf("the other account was answered %d times", n)
	}
}
