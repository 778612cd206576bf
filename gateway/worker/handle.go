package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

const (
	answerWait  = 5 * time.Second  // for one acknowledgement of an answer
	answerTotal = 30 * time.Second // for all of them, or AckWait when that is longer
)

// handle takes one delivery from start to acknowledgement. Its place is free for
// another event as soon as the handler has ended, so that a slot does not stand
// idle for the time that an answer takes; at most Concurrency of those.
func (r *run) handle(d delivery) {
	released := false
	defer func() {
		if !released {
			d.p.Release(1)
		}
	}()
	if !r.guard.fresh(d.epoch) {
		r.log.Debug("worker.dropped_late")
		return
	}
	handlerMax := time.Duration(r.handlerMax.Load())
	c := r.claims.begin(d.m, d.at, handlerMax)
	defer r.claims.end(c)
	info := readDelivery(d.m)
	to, ok := stream.ReplySubjectFor(d.m.Subject)
	if !ok || info.ID == "" {
		r.log.Error("worker.not_an_offer") // left to the gate's net
		return
	}
	a, fresh := r.placed(d, info, handlerMax)
	if !fresh {
		r.log.Debug("worker.dropped_late")
		return
	}
	a.Build, a.Delivered, a.Try = r.opts.Build, info.Delivered, info.Try
	if released = r.ending.Add(1) <= int64(r.opts.Concurrency); released {
		d.p.Release(1)
	}
	defer r.ending.Add(-1)
	r.opts.Boundary("worker.handled")
	if a.Verdict != verdictAnswered && !r.publish(c, to, &a) {
		return
	}
	r.opts.Boundary("worker.answered")
	if !r.claims.sure(c, r.getAckWait()) {
		// It may be with another worker: an acknowledgement would take it
		// away from there and let the next event pass. The answer counts.
		r.log.Warn("worker.too_late_to_ack", "event", info.ID)
		return
	}
	if err := r.nc.Publish(d.m.Reply, []byte("+ACK")); err != nil {
		r.log.Warn("worker.not_acked", "event", info.ID, "error", err)
	}
}

// placed calls the handler when there is a place for it; else the event is given back.
// Not fresh: the process stood still meanwhile, and the event may be with another worker.
func (r *run) placed(d delivery, info Delivery, handlerMax time.Duration) (a gateway.Answer, fresh bool) {
	a = gateway.Answer{Event: info.ID, Verdict: gateway.VerdictHandback, Error: errStopping.Error()}
	if !r.place() {
		if r.goesOn() {
			a.Error = errNoPlace.Error()
		}
		return a, true
	}
	defer func() { <-r.slots }()
	if !r.guard.fresh(d.epoch) {
		return a, false
	}
	if r.goesOn() {
		r.begun.Add(1)
		a = r.turn(d.m, info, handlerMax)
	}
	return a, true
}

// goesOn says that Run was not asked to stop.
func (r *run) goesOn() bool {
	select {
	case <-r.stopping:
		return false
	default:
		return true
	}
}

// turn decodes the event and calls the handler.
func (r *run) turn(m *nats.Msg, info Delivery, handlerMax time.Duration) gateway.Answer {
	ev, err := gateway.DecodeEvent(m.Data)
	if err != nil {
		return gateway.Answer{Event: info.ID, Verdict: gateway.VerdictDead, Error: "the body is not the JSON of an event"}
	}
	ev.Delivery = info.ID
	ctx := context.WithValue(WithDelivery(r.hard, info), askKey{}, r)
	if !info.Deadline.IsZero() {
		left := info.Deadline.Sub(r.opts.Now())
		if left <= 0 {
			return gateway.Answer{Event: info.ID, Verdict: gateway.VerdictDead, Error: ErrTooLate.Error()}
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, left, ErrTooLate)
		defer cancel()
	}
	if handlerMax > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, handlerMax, ErrHandlerMax)
		defer cancel()
	}
	r.running.Add(1)
	defer r.running.Add(-1)
	replies, err := r.handler(ctx, ev)
	if p := (*PanicError)(nil); errors.As(err, &p) { // a bug is told of, also where no middleware logs
		r.log.Error("worker.panicked", "event", info.ID, "stack", string(p.Stack))
	}
	return settle(ctx, ev, replies, err)
}

// publish stores the answer, again and again while this worker surely has the
// event: the first answer counts, and one that ends nothing says which try it
// speaks of, so a second copy does no harm.
func (r *run) publish(c *claim, to string, a *gateway.Answer) bool {
	body, err := Encode(*a)
	if err != nil {
		r.log.Error("worker.answer_not_encodable", "event", a.Event)
		return false
	}
	deadline := r.opts.Now().Add(max(answerTotal, r.getAckWait()))
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		ack := r.pub.Publish(context.WithoutCancel(r.hard), answerWait, &nats.Msg{Subject: to, Data: body})[0]
		if ack.Err == nil {
			return true
		}
		if errors.Is(ack.Err, nats.ErrMaxPayload) && len(a.Replies) > 0 {
			small := *a
			small.Verdict, small.Replies, small.Error = gateway.VerdictRetry, nil, "the answer is larger than the broker takes"
			return r.publish(c, to, &small)
		}
		if !r.claims.sure(c, r.getAckWait()) || r.opts.Now().After(deadline) || !sleep(r.hard, wait) {
			r.log.Warn("worker.answer_lost", "event", a.Event, "error", ack.Err)
			return false
		}
	}
}

// Encode renders an answer as it is published; replies is never null. Used by Run
// and by tests of bots.
func Encode(a gateway.Answer) ([]byte, error) {
	if a.Replies == nil {
		a.Replies = []gateway.Reply{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// readDelivery takes what headers and the acknowledgement subject say.
func readDelivery(m *nats.Msg) Delivery {
	d := Delivery{ID: m.Header.Get(stream.HeaderID), Try: 1, Delivered: 1, Body: m.Data, Header: m.Header}
	if n, err := strconv.Atoi(m.Header.Get(stream.HeaderTry)); err == nil && n > 0 {
		d.Try = n
	}
	if n, err := strconv.Atoi(m.Header.Get(stream.HeaderRound)); err == nil && n > 0 {
		d.Round = n
	}
	d.Traceparent = m.Header.Get(stream.HeaderTrace)
	if at, err := time.Parse(time.RFC3339Nano, m.Header.Get(stream.HeaderDeadline)); err == nil {
		d.Deadline = at
	}
	if meta, err := m.Metadata(); err == nil {
		d.Delivered = int(min(meta.NumDelivered, 1<<20))
	}
	return d
}
