package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/worker"
)

func TestOfferStates(t *testing.T) {
	r := newRig(t)
	first := r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferTaken)
	again := r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferDuplicate)
	if again.Seq != first.Seq {
		t.Errorf("duplicate names sequence %d, the offer has %d", again.Seq, first.Seq)
	}
	r.wantOffer(offer("bot", 1, 2, 0), gateway.OfferClosed)
	r.wantOffer(offer("bot", 1, 1, 1), gateway.OfferClosed)
	r.wantOffer(offer("bot", 2, 1, 0), gateway.OfferTaken) // nobody waits for another conversation
	if err := r.s.Withdraw(r.ctx(), "bot", first.Seq); err != nil {
		t.Fatal(err)
	}
	if err := r.s.Withdraw(r.ctx(), "bot", first.Seq); err != nil {
		t.Errorf("withdrawing twice: %v", err)
	}
	if err := r.s.Withdraw(r.ctx(), "bot", 1_000_000); err != nil {
		t.Errorf("withdrawing what never was: %v", err)
	}
	r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferDuplicate) // stores nothing
	r.wantOffer(offer("bot", 1, 1, 1), gateway.OfferTaken)
	bad := offer("bot", 3, 1, 0)
	bad.Event.Conv = "a.>"
	good := offer("bot", 4, 1, 0)
	both := r.s.Offer(r.ctx(), "bot", []gateway.Offer{bad, good})
	if both[0].State != gateway.OfferFailed || !errors.Is(both[0].Err, stream.ErrBadToken) || both[1].State != gateway.OfferTaken {
		t.Errorf("hostile conversation: %+v", both)
	}
	if got := r.s.Offer(r.ctx(), "none", []gateway.Offer{good}); got[0].State != gateway.OfferFailed {
		t.Errorf("offer for an unknown application: %+v", got)
	}
}

func TestFullGate(t *testing.T) {
	r := newRig(t)
	opts := r.opts
	opts.Sizes.Ready = 64 << 10
	s := r.open(opts)
	var full bool
	for i := range 200 {
		got := s.Offer(r.ctx(), "bot", []gateway.Offer{offer("bot", i, 1, 0)})[0]
		if got.State == gateway.OfferFull {
			full = true
			break
		}
		if got.State != gateway.OfferTaken {
			t.Fatalf("offer %d: %s %v", i, got.State, got.Err)
		}
	}
	if !full {
		t.Error("a gate of 64 KiB took 200 offers")
	}
	if got := s.Offer(r.ctx(), "bot", []gateway.Offer{offer("bot", 0, 2, 0)})[0]; got.State != gateway.OfferClosed && got.State != gateway.OfferFull {
		t.Errorf("second event of a conversation at a full gate: %s", got.State)
	}
}

func TestOpenOffers(t *testing.T) {
	r := newRig(t)
	if got, err := r.s.OpenOffers(r.ctx(), "bot"); err != nil || len(got) != 0 {
		t.Fatalf("empty gate: %v, %v", got, err)
	}
	const n = 10_000
	offers := make([]gateway.Offer, n)
	for i := range offers {
		offers[i] = offer("bot", i, 1, i%4)
	}
	for i, got := range r.s.Offer(r.ctx(), "bot", offers) {
		if got.State != gateway.OfferTaken || got.Seq != uint64(i)+1 {
			t.Fatalf("offer %d: %s at %d, %v", i, got.State, got.Seq, got.Err)
		}
	}
	open, err := r.s.OpenOffers(r.ctx(), "bot")
	if err != nil || len(open) != n {
		t.Fatalf("%d open offers, %v; want %d", len(open), err, n)
	}
	for i, o := range open {
		if want := (gateway.OpenOffer{Account: account, Conv: convID(i), Delivery: offers[i].Pending.Event, Round: i % 4, Seq: uint64(i) + 1}); o != want {
			t.Fatalf("open offer %d: %+v, want %+v", i, o, want)
		}
	}
	one, err := r.s.OpenOffer(r.ctx(), "bot", platform, account, convID(77))
	if err != nil || one != open[77] {
		t.Errorf("one offer: %+v, %v; want %+v", one, err, open[77])
	}
	if _, err := r.s.OpenOffer(r.ctx(), "bot", platform, account, convID(n)); !errors.Is(err, gateway.ErrNotFound) {
		t.Errorf("no offer: %v, want ErrNotFound", err)
	}
}

// pull takes one offer as a plain client does; nil when none comes in wait.
func pull(t *testing.T, nc *nats.Conn, wait time.Duration) *nats.Msg {
	t.Helper()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	body := fmt.Appendf(nil, `{"batch":1,"expires":%d}`, wait.Nanoseconds())
	if err := nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.CW_READY_bot.bot", inbox, body); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsg(wait + 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if m.Header.Get("Status") != "" {
		return nil
	}
	return m
}

func TestGateState(t *testing.T) {
	r := newRig(t)
	r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferTaken)
	r.wantOffer(offer("bot", 2, 1, 0), gateway.OfferTaken)
	m := pull(t, r.nc, 5*time.Second)
	if m == nil {
		t.Fatal("no offer came")
	}
	s, err := r.s.GateState(r.ctx(), "bot")
	if err != nil || s.LastSeq != 2 || s.Messages != 2 || s.Delivered != 1 || s.Unacked != 1 || s.Paused || s.Created.IsZero() {
		t.Errorf("state %+v, %v", s, err)
	}
	if err := m.Ack(); err != nil {
		t.Fatal(err)
	}
	until(t, "the acknowledged offer leaves the gate", func() bool {
		s, err := r.s.GateState(r.ctx(), "bot")
		return err == nil && s.Messages == 1 && s.Unacked == 0 && s.LastSeq == 2
	})
	r.wantOffer(offer("bot", 1, 2, 0), gateway.OfferTaken)
}

func TestHold(t *testing.T) {
	r := newRig(t)
	if err := r.s.Hold(r.ctx(), "bot", true); err != nil {
		t.Fatal(err)
	}
	r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferTaken)
	if m := pull(t, r.nc, 200*time.Millisecond); m != nil {
		t.Fatal("a held application got an offer")
	}
	// The consumer vanishes: the one made instead is held, too.
	if err := jet(t, r).DeleteConsumer(r.ctx(), "CW_READY_bot", "bot"); err != nil {
		t.Fatal(err)
	}
	until(t, "the consumer is made again", func() bool {
		s, err := r.s.GateState(r.ctx(), "bot")
		return err == nil && s.Paused
	})
	if m := pull(t, r.nc, 200*time.Millisecond); m != nil {
		t.Fatal("the consumer made again is not held")
	}
	if err := r.s.Hold(r.ctx(), "bot", false); err != nil {
		t.Fatal(err)
	}
	if m := pull(t, r.nc, 5*time.Second); m == nil {
		t.Fatal("a resumed application gets nothing")
	}
	s, err := r.s.GateState(r.ctx(), "bot")
	if err != nil || s.Paused {
		t.Errorf("state %+v, %v", s, err)
	}
}

// A delivery that nobody ends, again and again: the broker's word comes, is
// handed on until it is taken, and the offer is still there to be withdrawn.
func TestExhausted(t *testing.T) {
	app := bot()
	app.Tries, app.AckWait = 1, 100*time.Millisecond // 10 deliveries
	r := newRig(t, app)
	got := r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferTaken)
	ctx, cancel := context.WithCancel(r.ctx())
	defer cancel()
	var silent sync.WaitGroup
	silent.Go(func() { // a worker that takes and never says a word
		sub, err := r.nc.SubscribeSync(r.nc.NewInbox())
		if err != nil {
			t.Error(err)
			return
		}
		for ctx.Err() == nil {
			if err := r.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.CW_READY_bot.bot", sub.Subject, []byte(`{"batch":1,"expires":300000000}`)); err != nil {
				t.Error(err)
				return
			}
			_, _ = sub.NextMsg(300 * time.Millisecond) // a message, a status, or nothing
		}
	})
	calls := make(chan gateway.Exhausted, 10)
	first := true
	silent.Go(func() {
		err := r.s.Exhausted(ctx, func(e gateway.Exhausted) error {
			calls <- e
			if first {
				first = false
				return errors.New("the ledger is away")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	for i := range 2 { // refused once, then taken
		select {
		case e := <-calls:
			if e.App != "bot" || e.Seq != got.Seq || e.Deliveries < 10 {
				t.Errorf("call %d: %+v", i, e)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no word of the broker")
		}
	}
	until(t, "the word is forgotten when it was taken", func() bool {
		str, err := jet(t, r).Stream(r.ctx(), stream.AdvisoryStream)
		return err == nil && str.CachedInfo().State.Msgs == 0
	})
	cancel()
	silent.Wait()
	if s, err := r.s.GateState(r.ctx(), "bot"); err != nil || s.Messages != 1 {
		t.Errorf("the offer: %+v, %v; want it in the gate still", s, err)
	}
	if err := r.s.Withdraw(r.ctx(), "bot", got.Seq); err != nil {
		t.Fatal(err)
	}
	r.wantOffer(offer("bot", 1, 2, 0), gateway.OfferTaken)
}

// 1,600 conversations with two events each, one consumer, three workers of which
// one dies without a word while it has events: every conversation in order.
func TestManyConversationsAndADeath(t *testing.T) {
	const convs, perConv = 1600, 2
	app := bot()
	r := newRig(t, app)
	ctx, cancel := context.WithCancel(r.ctx())
	defer cancel()

	var mu sync.Mutex
	last := map[string]int64{}
	seen := map[string]bool{}
	handler := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ev.Seq < last[ev.Conv]:
			t.Errorf("conversation %s: %d after %d", ev.Conv, ev.Seq, last[ev.Conv])
		case ev.Seq > last[ev.Conv]+1:
			t.Errorf("conversation %s: %d before %d", ev.Conv, ev.Seq, last[ev.Conv]+1)
		}
		last[ev.Conv] = ev.Seq
		seen[ev.Event] = true
		return nil, nil
	}
	var parts sync.WaitGroup
	for range 2 {
		w, err := worker.New(worker.Options{Conn: connect(t, r.srv), App: "bot"})
		if err != nil {
			t.Fatal(err)
		}
		parts.Go(func() {
			if err := w.Run(ctx, handler); err != nil {
				t.Error(err)
			}
		})
	}
	dying := connect(t, r.srv)
	l := newLoop(r.s, convs, convs*perConv)
	parts.Go(func() { l.offerAll(ctx) })
	parts.Go(func() {
		if err := r.s.TakeAnswers(ctx, gateway.ReplyPosition{}, l.taken); err != nil {
			t.Error(err)
		}
	})
	for range 20 {
		pull(t, dying, 100*time.Millisecond)
	}
	dying.Close()
	select {
	case <-l.done:
	case <-r.ctx().Done():
		t.Fatalf("%d of %d answers", l.count(), convs*perConv)
	}
	cancel()
	parts.Wait()
	if len(seen) != convs*perConv {
		t.Errorf("%d events handled, want %d", len(seen), convs*perConv)
	}
	str, err := jet(t, r).Stream(r.ctx(), "CW_READY_bot")
	if err != nil || str.CachedInfo().State.Consumers != 1 {
		t.Errorf("consumers: %+v, %v; want one", str.CachedInfo().State, err)
	}
}

// An offer and a copy carry the headers of the contract.
func TestHeaders(t *testing.T) {
	r := newRig(t)
	row := event(1, 7)
	row.OccurredAt = time.Date(2026, 3, 1, 11, 59, 58, 0, time.UTC)
	o := gateway.Offer{Pending: gateway.Pending{App: "bot", Conv: row.Conv, Event: row.ID, Tries: 2, Round: 5, Requeue: 1}, Event: row}
	r.wantOffer(o, gateway.OfferTaken)
	offered := pull(t, r.nc, 5*time.Second)
	if offered == nil {
		t.Fatal("no offer")
	}
	sub, err := r.nc.SubscribeSync("cw.event.>")
	if err != nil {
		t.Fatal(err)
	}
	if errs := r.s.PublishEvents(r.ctx(), []gateway.EventRow{row}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	copied, err := sub.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	type shown struct {
		Subject string
		Header  nats.Header
		Body    json.RawMessage
	}
	b, err := json.MarshalIndent([]shown{
		{offered.Subject, offered.Header, offered.Data}, {copied.Subject, copied.Header, copied.Data},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "headers.golden.json", b)
}

func TestPublishEventsAndChanges(t *testing.T) {
	r := newRig(t)
	rows := []gateway.EventRow{event(1, 1), event(2, 1), event(3, 1)}
	rows[1].Account = "a.b"
	for range 2 { // the second time all are known, which is fine
		errs := r.s.PublishEvents(r.ctx(), rows)
		if errs[0] != nil || !errors.Is(errs[1], stream.ErrBadToken) || errs[2] != nil {
			t.Fatalf("errors %v", errs)
		}
	}
	str, err := jet(t, r).Stream(r.ctx(), stream.EventStream)
	if err != nil || str.CachedInfo().State.Msgs != 2 {
		t.Errorf("stored %d, %v; want 2", str.CachedInfo().State.Msgs, err)
	}
	many := make([]gateway.Change, 6000) // more than may be in flight
	for i := range many {
		many[i] = change(int64(i) + 1)
	}
	for i, err := range r.s.PublishChanges(r.ctx(), many) {
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	last, err := jet(t, r).Stream(r.ctx(), stream.ResultStream)
	if err != nil || last.CachedInfo().State.Msgs != uint64(len(many)) {
		t.Errorf("stored %d changes, %v", last.CachedInfo().State.Msgs, err)
	}
	if got := r.s.PublishEvents(r.ctx(), nil); len(got) != 0 {
		t.Errorf("no rows: %v", got)
	}
}

// Without a broker every call says so, soon, and names no secret.
func TestWithoutBroker(t *testing.T) {
	r := newRig(t)
	if err := r.srv.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "the connection is seen to be lost", func() bool { return !r.nc.IsConnected() })
	begun := time.Now()
	if got := r.offerOne(offer("bot", 1, 1, 0)); got.State != gateway.OfferFailed || !errors.Is(got.Err, gateway.ErrUnavailable) {
		t.Errorf("offer: %+v", got)
	}
	if errs := r.s.PublishEvents(r.ctx(), []gateway.EventRow{event(1, 1)}); !errors.Is(errs[0], gateway.ErrUnavailable) {
		t.Errorf("event: %v", errs)
	}
	ctx, cancel := context.WithTimeout(r.ctx(), time.Second)
	defer cancel()
	if _, err := r.s.GateState(ctx, "bot"); !errors.Is(err, gateway.ErrUnavailable) || strings.Contains(err.Error(), "ev_") {
		t.Errorf("state: %v", err)
	}
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("it took %s to say so", d)
	}
	if h := r.s.Health(); h.Connected || h.OK() {
		t.Errorf("health %+v", h)
	}
}
