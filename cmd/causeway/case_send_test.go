package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// Case 16: a burst of five messages, each answered by a slow and a quick one,
// and twenty other customers. The burst's sends leave one after another in
// order, and nobody else waits for it.
func TestCase16Burst(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker, env: []string{callEnv + "=2m"}})
	others := make(chan struct{}) // closed when all others are answered
	w.fault(sandbox.Fault{Until: others, Text: "image"})
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if ev.Text == "alone" {
			return worker.Text("to one"), nil
		}
		return worker.Text("image "+ev.Text, "text "+ev.Text), nil
	}, 64)
	want := []string{}
	for i := 1; i <= 5; i++ {
		w.says(customer(16), fmt.Sprint(i))
		want = append(want, fmt.Sprint("image ", i), fmt.Sprint("text ", i))
	}
	w.until(time.Minute, "the first of the burst is on its way", func() bool { return len(w.calls(customer(16))) == 1 })
	for i := range 20 {
		w.says(customer(100+i), "alone")
	}
	for i := range 20 {
		w.replied(customer(100+i), 1)
	}
	close(others)
	w.settled(time.Minute)
	burst := w.calls(customer(16))
	if got := texts(burst); !slices.Equal(got, want) {
		t.Fatalf("sent %v, want %v", got, want)
	}
	w.oncePerMessage()
	for i, ev := range ordered(w.customerConv(customer(16))) {
		if ev.Seq != int64(i+1) {
			t.Errorf("event %d has seq %d", i, ev.Seq)
		}
	}
}

// ordered are the events of a conversation that have a seq, oldest first.
func ordered(c *gateway.Conversation) []gateway.ConversationEvent {
	list := slices.DeleteFunc(slices.Clone(c.Events), func(e gateway.ConversationEvent) bool { return e.Seq == 0 })
	slices.SortFunc(list, func(a, b gateway.ConversationEvent) int { return int(a.Seq - b.Seq) })
	return list
}

// Case 20: read comes first, then delivered, sent and delivered again. The
// message is read, with three transitions; a failure is kept beside.
func TestCase20StatusOrder(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	w.says(customer(20), "hello")
	w.settled(30 * time.Second)
	call := w.calls(customer(20))[0]
	body := strings.ReplaceAll(string(w.sample("whatsapp", "case-20-status-order.json")), "wamid.S20", call.MessageID)
	w.taken([]byte(strings.ReplaceAll(body, "15550100001", customer(20))))
	state := func() gateway.ConversationMessage {
		c := w.customerConv(customer(20))
		if len(c.Messages) != 1 {
			t.Fatalf("%d messages, want 1", len(c.Messages))
		}
		return c.Messages[0]
	}
	w.until(20*time.Second, "the message is read", func() bool { return state().Delivery == gateway.StatusRead && len(state().Statuses) == 3 })
	for _, s := range state().Statuses {
		want := map[gateway.StatusState]int64{"sent": 1760000001, "delivered": 1760000002, "read": 1760000003}[s.State]
		if s.At.Unix() != want {
			t.Errorf("%s at %d, want the platform's time %d", s.State, s.At.Unix(), want)
		}
	}
	if s := w.sums(); s.Items.Duplicate != 1 {
		t.Errorf("%d duplicate items, want the repeated status", s.Items.Duplicate)
	}
	w.taken(w.wa.StatusBody(call.MessageID, "", customer(20), "failed", 131026))
	w.taken(w.wa.StatusBody(call.MessageID, "", customer(20), "sent", 0))
	w.until(20*time.Second, "the failure is known", func() bool { return state().Failed != nil })
	w.until(20*time.Second, "all is relayed", func() bool { return w.sums().Payloads.Pending == 0 })
	if m := state(); m.Failed == nil || m.Failed.Code != 131026 || m.Delivery != gateway.StatusRead || m.State != gateway.MessageAccepted {
		t.Errorf("the message is %s, %s, %+v", m.State, m.Delivery, m.Failed)
	}
}

// Case 21: all statuses come while the answer to the send call is still on its
// way. None is lost, nothing is sent again, nothing stays parked.
func TestCase21StatusEarly(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	w.wa.Faults().Remove("no statuses")
	w.fault(sandbox.Fault{Stage: sandbox.After, DelayMS: 1200})
	w.says(customer(21), "hi")
	w.settled(30 * time.Second)
	w.until(5*time.Second, "the message is read", func() bool {
		c := w.customerConv(customer(21))
		return len(c.Messages) == 1 && c.Messages[0].State == gateway.MessageAccepted && c.Messages[0].Delivery == gateway.StatusRead
	})
	calls := w.calls(customer(21))
	if len(calls) != 1 {
		t.Fatalf("%d sends, want 1", len(calls))
	}
	early := 0
	for _, ev := range w.customerConv(customer(21)).Events {
		if ev.Kind == gateway.KindStatus && ev.ReceivedAt.Before(calls[0].End) {
			early++
		}
	}
	if early == 0 {
		t.Error("no status came before the answer: nothing was tested")
	}
	if dead, parked := w.deadLetters(), w.counter("parked"); len(dead) != 0 || parked != 0 {
		t.Errorf("%d dead letters, %d parked; want none", len(dead), parked)
	}
}

// Case 24, in one conversation: the answer is lost without an end, the
// connection is reset after the message was taken, the platform says 500. None of
// them is sent again; each waits for evidence and then the next one leaves; a
// status settles what is unknown, however late.
func TestCase24Ambiguous(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	w.fault(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropHang, Text: "t1"})
	w.fault(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropReset, Text: "t2 first"})
	w.fault(sandbox.Fault{Status: http.StatusInternalServerError, Text: "t3"})
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if ev.Text == "t2" {
			return worker.Text("t2 first", "t2 second"), nil
		}
		return worker.Text(ev.Text), nil
	}, 8)
	for i := 1; i <= 4; i++ {
		w.says(customer(24), fmt.Sprint("t", i))
	}
	w.settled(time.Minute)
	calls := w.calls(customer(24))
	if got, want := texts(calls), []string{"t1", "t2 first", "t3", "t4"}; !slices.Equal(got, want) {
		t.Fatalf("the platform saw %v, want %v", got, want)
	}
	w.oncePerMessage()
	if got := w.states(customer(24)); !slices.Equal(got, []string{"unknown", "unknown", "cancelled", "unknown", "accepted"}) {
		t.Errorf("states %v", got)
	}
	for i := range 3 { // no evidence can come: the wait is the configured 3 s
		if gap := calls[i+1].Start.Sub(calls[i].Start); gap < 3*time.Second {
			t.Errorf("%s left %s after %s, without waiting for evidence", calls[i+1].Text, gap, calls[i].Text)
		}
	}
	w.taken(w.wa.StatusBody(calls[0].MessageID, calls[0].Marker, customer(24), "delivered", 0))
	w.until(20*time.Second, "the late status settles the first message", func() bool { return w.states(customer(24))[0] == "accepted" })
	if got := len(w.calls(customer(24))); got != 4 {
		t.Errorf("%d sends after the status, want 4", got)
	}
}

// states are those of a customer's messages in the order of sending.
func (w *world) states(number string) []string {
	w.t.Helper()
	list := w.customerConv(number).Messages
	slices.SortFunc(list, func(a, b gateway.ConversationMessage) int { return strings.Compare(a.Message, b.Message) })
	out := make([]string, 0, len(list))
	for i := range list {
		out = append(out, string(list[i].State))
	}
	return out
}

// Case 24, a refused connection: certainly not sent, so it is tried again and
// taken once; what was unknown by a reset is settled by its own status at once.
func TestCase24Refused(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	w.wa.Faults().Remove("no statuses")
	if err := w.wa.Refuse(); err != nil {
		t.Fatal(err)
	}
	w.says(customer(24), "t3")
	w.until(30*time.Second, "two attempts were refused", func() bool {
		c := w.customerConv(customer(24))
		return len(c.Messages) == 1 && c.Messages[0].Attempts >= 2 && c.Messages[0].State == gateway.MessageWaiting
	})
	if err := w.wa.Listen(""); err != nil {
		t.Fatal(err)
	}
	w.fault(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropReset, Text: "t4"})
	w.says(customer(24), "t4")
	w.says(customer(24), "t5")
	w.settled(time.Minute)
	if got := texts(w.calls(customer(24))); !slices.Equal(got, []string{"t3", "t4", "t5"}) {
		t.Errorf("the platform saw %v", got)
	}
	if got := w.states(customer(24)); !slices.Equal(got, []string{"accepted", "accepted", "accepted"}) {
		t.Errorf("states %v", got)
	}
	w.oncePerMessage()
}

// Case 30, failing handlers: 64 conversations whose handler fails do not hold a
// healthy one; after mending, each of them gets its answers in order, once.
func TestCase30FailingHandlers(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: "  - {name: echo, ack_wait: 5s, tries: 100, delays: [1h]}\n"})
	mended := make(chan struct{})
	var failed atomic.Int64
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		select {
		case <-mended:
		default:
			if strings.HasPrefix(ev.Text, "message") {
				failed.Add(1)
				return nil, errors.New("cannot yet")
			}
		}
		return worker.Text(ev.Text), nil
	}, 16)
	// On a machine that stood still it is tripped, and what is healthy is found by a probe.
	healthyAmong(t, w, func() bool { return failed.Load() >= failingOnes || w.appNamed("echo").Tripped }, func() { close(mended) })
}

// Case 30, failing sends: the platform refuses each of 64 customers twice, first for a
// second, then for an hour.
func TestCase30FailingSends(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	var mu sync.Mutex
	refused, waiting := map[string]int{}, 0
	refuses := func(n int) func(*sandbox.Call) bool {
		return func(c *sandbox.Call) bool {
			mu.Lock()
			defer mu.Unlock()
			if refused[c.To] != n-1 {
				return false
			}
			refused[c.To] = n
			if n == 2 {
				waiting++
			}
			return true
		}
	}
	// The later one stands first: a call is asked about by each of them.
	w.fault(sandbox.Fault{Code: 131056, RetryAfterS: 3600, Text: "message", Match: refuses(2)})
	w.fault(sandbox.Fault{Code: 131056, Text: "message", Match: refuses(1)})
	healthyAmong(t, w, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return waiting == failingOnes
	}, func() {})
}

const failingOnes = 64 // customers

// healthyAmong lets 64 customers write messages that fail, wants a healthy one
// answered while all of them wait for an hour, mends, lets the hour pass, and looks at
// order and number. Had they held the places of others, the healthy one would not be
// answered at all.
func healthyAmong(t *testing.T, w *world, failed func() bool, mend func()) {
	t.Helper()
	for c := range failingOnes {
		w.says(customer(c), text(0))
	}
	w.until(time.Minute, "all of them failed", failed)
	w.says(customer(9001), "healthy")
	w.replied(customer(9001), 1)
	for c := range failingOnes {
		w.says(customer(c), text(1))
	}
	if s := w.sums(); s.Messages.Accepted != 1 {
		t.Errorf("messages %+v, want only the healthy customer's accepted", s.Messages)
	}
	mend()
	w.stop()
	w.env = append(w.env, laterEnv+"=1h")
	w.start("")
	w.up()
	w.settled(time.Minute)
	for c := range failingOnes {
		if got := texts(accepted(w.calls(customer(c)))); !slices.Equal(got, []string{text(0), text(1)}) {
			t.Errorf("customer %d was sent %v", c, got)
		}
	}
	w.oncePerMessage()
	if dead := w.deadLetters(); len(dead) != 0 {
		t.Errorf("%d dead letters, first %+v", len(dead), dead[0])
	}
}

// Case 36: 1,500 conversations of two messages with one whose handler is slow:
// every reply in its conversation's order, and the slow one delays nobody.
func TestCase36ManyConversations(t *testing.T) {
	begin(t)
	const convs, slow = 1500, 700
	w := newCase(t, worldOptions{apps: "  - {name: echo, ack_wait: 30s}\n", account: noPace})
	others := make(chan struct{}) // closed when all others are answered
	w.bot(func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if strings.HasSuffix(ev.From.Identities[len(ev.From.Identities)-1].Value, customer(slow)) {
			select {
			case <-others:
			case <-ctx.Done():
			}
		}
		return worker.Text(ev.Text), nil
	}, 64)
	var wg sync.WaitGroup
	for lane := range 8 {
		wg.Go(func() {
			for i := range 2 {
				for c := lane; c < convs; c += 8 {
					_, body := w.wa.CustomerBody(customer(c), text(i))
					w.post(t.Context(), body)
				}
			}
		})
	}
	wg.Wait()
	w.until(2*time.Minute, "all but the slow conversation are answered", func() bool {
		return w.sums().Messages.Accepted == 2*(convs-1)
	})
	if got := w.calls(customer(slow)); len(got) != 0 {
		t.Errorf("the slow customer was answered %d times already", len(got))
	}
	close(others)
	w.settled(30 * time.Second)
	by := map[string][]string{}
	for _, c := range callsTo(accepted(w.wa.Calls()), "") {
		by[c.To] = append(by[c.To], c.Text)
	}
	for c := range convs {
		if !slices.Equal(by[customer(c)], []string{text(0), text(1)}) {
			t.Errorf("customer %d was sent %v", c, by[customer(c)])
		}
	}
	w.oncePerMessage()
}
