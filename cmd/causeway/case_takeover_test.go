package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// chatty answers with several texts and remembers what it was told of takeovers.
type chatty struct {
	w     *world
	parts int

	mu    sync.Mutex
	taken []*gateway.Taken // of events, in order
	asked []*gateway.Taken // by worker.Current
}

func (b *chatty) handle(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
	state, err := worker.Current(ctx, ev)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken, b.asked = append(b.taken, ev.Takeover), append(b.asked, state.Takeover)
	var out []gateway.Reply
	for i := range max(b.parts, 1) {
		out = append(out, worker.Text(ev.Text+" "+text(i))...)
	}
	return out, nil
}

// states are those of the replies to a conversation, in order.
func states(c *gateway.Conversation) (out []gateway.MessageState) {
	for _, m := range c.Messages {
		out = append(out, m.State)
	}
	return out
}

func (w *world) heldFor(number string, n int) *gateway.Conversation {
	w.t.Helper()
	var c *gateway.Conversation
	w.until(30*time.Second, "replies are held", func() bool {
		c = w.customerConv(number)
		held := 0
		for _, m := range c.Messages {
			if m.State == gateway.MessageHeld && m.Reason == gateway.ReasonTakeover {
				held++
			}
		}
		return held == n
	})
	return c
}

// A colleague writes while the bot's five replies leave: what was being sent then is
// the last one, and the rest is held, in order. The bot is told, a request that passes
// leaves, and when a person takes the conversation back the rest follows, each once.
func TestTakeoverWhileReplying(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	b := &chatty{w: w, parts: 5}
	w.bot(b.handle, 4)
	who := customer(71)
	w.fault(sandbox.Fault{Name: "slow", Stage: sandbox.After, DelayMS: 400})
	w.says(who, "hello")
	w.until(30*time.Second, "the first reply is sent", func() bool { return len(w.calls(who)) > 0 })
	w.wa.Echo("wamid.COLLEAGUE-1", who, "I take this")
	var c *gateway.Conversation
	w.until(30*time.Second, "the conversation is taken", func() bool {
		c = w.customerConv(who)
		return c.State != nil && c.State.Takeover != nil
	})
	n := slices.Index(states(c), gateway.MessageHeld)
	if n < 0 || n > 4 {
		t.Fatalf("nothing is held: %v", states(c))
	}
	for _, s := range states(c)[n:] {
		if s != gateway.MessageHeld {
			t.Errorf("after the colleague: %v", states(c))
		}
	}
	w.says(who, "and now?")
	c = w.heldFor(who, 5-n+5)
	status, out, body := w.submit(`{"account":"shop-a","conversation":"` + c.Conv + `","content":{"text":"Your parcel is here."},"even_in_takeover":true}`)
	if status != http.StatusAccepted || out.State != gateway.MessageWaiting {
		t.Fatalf("%d %s", status, body)
	}
	status, out, body = w.submit(`{"account":"shop-a","conversation":"` + c.Conv + `","content":{"text":"By the way."}}`)
	if status != http.StatusAccepted || out.State != gateway.MessageHeld {
		t.Fatalf("%d %s", status, body)
	}
	w.until(30*time.Second, "the request that passes left", func() bool { return slices.Contains(texts(accepted(w.calls(who))), "Your parcel is here.") })
	if got := len(accepted(w.calls(who))); got != n+1 {
		t.Errorf("%d messages left, want %d", got, n+1)
	}
	b.mu.Lock()
	if len(b.taken) != 2 || b.taken[0] != nil || b.taken[1] == nil || b.asked[1] == nil || !b.asked[1].Until.After(time.Now()) {
		t.Errorf("the bot was told %v, and on asking %v", b.taken, b.asked)
	}
	b.mu.Unlock()
	said, code := w.cli("conv", "show", c.Conv)
	if code != exitOK || !strings.Contains(said, "replies are held") {
		t.Errorf("conv show: %s", said)
	}
	if said, _ := w.cli("doctor"); !strings.Contains(said, "held for a colleague") {
		t.Errorf("doctor: %s", said)
	}
	if said, code := w.cli("conv", "release", c.Conv, "--send"); code != exitOK {
		t.Fatal(said)
	}
	w.until(30*time.Second, "all of it left", func() bool { return len(accepted(w.calls(who))) == 12 })
	var want []string
	for i := range 5 {
		want = append(want, "hello "+text(i))
	}
	want = slices.Insert(want, n, "Your parcel is here.")
	for i := range 5 {
		want = append(want, "and now? "+text(i))
	}
	if got := texts(accepted(w.calls(who))); !slices.Equal(got, append(want, "By the way.")) {
		t.Errorf("sent %q", got)
	}
	w.oncePerMessage()
	w.sums()
}

// The colleague writes after the reply left: it stays, the next ones are held and
// dropped when the time is over; a message that a person asked for takes the
// conversation as well.
func TestTakeoverEndsByTime(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{account: "takeover: 4s, "})
	who := customer(72)
	w.says(who, "one")
	w.settled(30 * time.Second)
	w.wa.Echo("wamid.COLLEAGUE-2", who, "I take this")
	w.until(20*time.Second, "the conversation is taken", func() bool { return w.counter("taken") == 1 })
	w.says(who, "two")
	w.heldFor(who, 1)
	w.until(30*time.Second, "it is over", func() bool { return w.counter("taken") == 0 })
	c := w.customerConv(who)
	if last := c.Messages[len(c.Messages)-1]; last.State != gateway.MessageCancelled || last.Reason != gateway.ReasonTakeover || c.State.Takeover != nil {
		t.Errorf("afterwards: %+v", last)
	}
	w.says(who, "three")
	w.settled(30 * time.Second)
	status, _, body := w.submit(`{"account":"shop-a","conversation":"` + c.Conv + `","content":{"text":"It is me."},"author":"human"}`)
	if status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	if state := w.customerConv(who).State; state.Takeover == nil || state.Takeover.By != "test" {
		t.Errorf("a person's message: %+v", state.Takeover)
	}
	w.says(who, "four")
	w.heldFor(who, 1)
	w.until(30*time.Second, "that is over too", func() bool { return w.counter("takeovers") == 2 && w.counter("taken") == 0 })
	if got := texts(accepted(w.calls(who))); len(got) != 3 || got[2] != "It is me." {
		t.Errorf("sent %q", got)
	}
	w.sums()
}

// The gateway dies right after a takeover was judged, and right before: the echo is
// judged at its return, and nothing leaves before that.
func TestTakeoverKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"judge.judging:1", "judge.judged:1"} {
		t.Run(step, func(t *testing.T) {
			begin(t)
			w := newWorld(t, worldOptions{account: "takeover: {for: 1h, then: send}, ", apps: appByWorker})
			p := w.start(step)
			w.up()
			who := customer(73)
			w.says(who, "hello")
			w.until(30*time.Second, "the event is relayed", func() bool { return w.sums().Items.Events == 1 })
			w.wa.Echo("wamid.COLLEAGUE-3", who, "I take this")
			select {
			case <-p.done:
			case <-time.After(time.Minute):
				t.Fatalf("never came to %s", step)
			}
			w.start("")
			w.up()
			b := &chatty{w: w, parts: 2}
			w.bot(b.handle, 1)
			c := w.heldFor(who, 2)
			if got := len(w.calls(who)); got != 0 {
				t.Errorf("%d messages left", got)
			}
			if said, code := w.cli("conv", "release", c.Conv); code != exitOK {
				t.Fatal(said)
			}
			w.until(30*time.Second, "they left", func() bool { return len(accepted(w.calls(who))) == 2 })
			if got := texts(accepted(w.calls(who))); !slices.Equal(got, []string{"hello " + text(0), "hello " + text(1)}) {
				t.Errorf("sent %q", got)
			}
			w.oncePerMessage()
		})
	}
}

// Events wait for a bot that wants none of a taken conversation when a colleague
// writes: none of them is handed out, also when the gateway dies after the takeover's
// commit, or while it takes the offer back from the broker or settles what waited.
// Afterwards the bot is asked again, and another customer was answered all the time.
func TestTakeoverOfWaitingEventsKilled(t *testing.T) {
	for _, step := range []string{"judge.judged:1", "recall.committed:1", "gate.resolving:1", "gate.resolved:1", "gate.resolved:2"} {
		t.Run(step, func(t *testing.T) {
			begin(t)
			w := newWorld(t, worldOptions{apps: "  - {name: echo, in_takeover: skip}\n", account: "takeover: 1h, "})
			p := w.start(step)
			w.up()
			who, other := customer(74), customer(75)
			for i := range 3 {
				w.says(who, text(i))
			}
			w.says(other, "hello")
			w.until(30*time.Second, "the events are offered", func() bool {
				var list appList
				return w.get("/api/v1/apps", &list) == nil && list.Apps[0].Ready == 2
			})
			w.wa.Echo("wamid.COLLEAGUE-4", who, "I take this")
			w.dies(p, step)
			w.start("")
			w.up()
			w.until(30*time.Second, "what waited is settled", func() bool { return w.sums().Apps["echo"].Settled == 3 })
			var mu sync.Mutex
			var asked []string
			w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, ev.Text)
				return worker.Text(ev.Text), nil
			}, 1)
			w.until(30*time.Second, "another customer is answered", func() bool { return len(accepted(w.calls(other))) == 1 })
			c := w.customerConv(who)
			for _, e := range c.Events {
				if v := e.Verdicts["echo"]; e.Kind == gateway.KindMessage && (e.States["echo"] != gateway.EventSettled || v.Reason != gateway.ReasonTakeover) {
					t.Errorf("an event that waited: %+v", e)
				}
			}
			if said, code := w.cli("conv", "release", c.Conv); code != exitOK {
				t.Fatal(said)
			}
			w.until(30*time.Second, "it is over", func() bool { return w.counter("taken") == 0 })
			w.says(who, "and now?")
			w.until(30*time.Second, "the bot answers again", func() bool { return len(accepted(w.calls(who))) == 1 })
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(asked, []string{"hello", "and now?"}) {
				t.Errorf("the bot was asked %q", asked)
			}
			w.oncePerMessage()
			w.sums()
		})
	}
}

// Customer service: a colleague writes in WeCom's client, the session ends, and the
// conversation is the bot's again. An application that skips is not asked meanwhile.
func TestTakeoverOfCustomerService(t *testing.T) {
	begin(t)
	w, wc := newKfWorld(t, worldOptions{apps: "  - {name: echo, builtin: echo, in_takeover: skip}\n"})
	w.start("")
	w.up()
	const who = "wmTaken1"
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Text: "hello"})
	w.until(30*time.Second, "the bot answered", func() bool { return w.sums().Messages.Accepted == 1 })
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Staff: "ChenHao", Text: "I take this"})
	conv := func() *gateway.Conversation { return w.conversation("wecom", "desk", "external_userid", who) }
	w.until(30*time.Second, "it is taken", func() bool { s := conv().State; return s != nil && s.Takeover != nil && s.Takeover.By == "ChenHao" })
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Text: "thank you"})
	w.until(30*time.Second, "the event is settled", func() bool {
		c := conv()
		last := c.Events[len(c.Events)-1]
		return last.Kind == gateway.KindMessage && last.States["echo"] == gateway.EventSettled && len(c.Events) == 3
	})
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Event: "session_status_change", Content: map[string]any{"change_type": 3, "old_servicer_userid": "ChenHao"}})
	w.until(30*time.Second, "the session's end lets go", func() bool { return conv().State.Takeover == nil })
	kfWrites(t, wc, wecomtest.KfItem{Customer: who, Text: "one more question"})
	w.until(30*time.Second, "the bot answers again", func() bool { return w.sums().Messages.Accepted == 2 })
	if s := w.sums().Apps["echo"]; s.Wanted != 3 || s.Settled != 3 {
		t.Errorf("events %+v", s)
	}
}
