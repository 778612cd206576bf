package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
)

// errNoStream: no stream listens on the subject.
var errNoStream = errors.New("no stream takes this subject") //nolint:gochecknoglobals // a sentinel error is a constant

// maxInFlight bounds the messages of one Publish call that wait for their
// acknowledgement, well below what the server queues per stream.
const maxInFlight = 4096

// Ack is the server's word on one published message.
type Ack struct {
	Stream    string
	Seq       uint64
	Duplicate bool
	// Err is nil when the message is stored. It wraps gateway.ErrUnavailable
	// when there was no answer: the message may be stored or not.
	Err error
}

// Publisher publishes into streams and waits for the acknowledgements, many
// messages at a time and nothing repeated by itself: a repeat after a lost
// acknowledgement could overtake a later message of its conversation. Safe for
// concurrent use.
type Publisher struct {
	nc     *nats.Conn
	prefix string // reply subjects are prefix + number
	sub    *nats.Subscription
	lost   chan nats.Status
	ended  chan struct{}

	mu      sync.Mutex
	waiting map[uint64]slot
	next    uint64
}

// slot is the place of one acknowledgement in its batch.
type slot struct {
	b *pubBatch
	i int
}

// pubBatch is one Publish call. Its fields are guarded by Publisher.mu until
// done is closed; room has one token per message in flight.
type pubBatch struct {
	acks  []Ack
	left  int
	moved time.Time // when the last one came
	done  chan struct{}
	room  chan struct{} // nil for small batches
}

// NewPublisher listens for acknowledgements on an inbox of its own. Close it.
func NewPublisher(nc *nats.Conn) (*Publisher, error) {
	p := &Publisher{nc: nc, prefix: nc.NewInbox() + ".", waiting: map[uint64]slot{}, ended: make(chan struct{})}
	sub, err := nc.Subscribe(p.prefix+"*", p.take)
	if err != nil {
		return nil, unavailable("subscribe", err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil { // bounded by what is in flight
		return nil, unavailable("subscribe", err)
	}
	p.sub = sub
	p.lost = nc.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED)
	go p.failLost()
	return p, nil
}

// failLost ends what waits when the connection is lost: its acknowledgements
// will not come.
func (p *Publisher) failLost() {
	defer close(p.ended)
	for range p.lost {
		p.failAll(fmt.Errorf("%w: connection lost", gateway.ErrUnavailable))
	}
}

func (p *Publisher) failAll(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, s := range p.waiting {
		delete(p.waiting, n)
		s.b.set(s.i, Ack{Err: err})
	}
}

// set stores one acknowledgement; Publisher.mu is held.
func (b *pubBatch) set(i int, a Ack) {
	b.acks[i] = a
	b.moved = time.Now()
	if b.left--; b.left == 0 {
		close(b.done)
	}
	if b.room != nil {
		<-b.room
	}
}

// take reads one acknowledgement.
func (p *Publisher) take(m *nats.Msg) {
	n, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, p.prefix), 36, 64)
	if err != nil {
		return
	}
	a := readAck(m)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.waiting[n]; ok {
		delete(p.waiting, n)
		s.b.set(s.i, a)
	}
}

// readAck reads {"stream":…,"seq":…,"duplicate":…} or {"error":{…}}; an empty
// message with status 503 means that nobody listened.
func readAck(m *nats.Msg) Ack {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return Ack{Err: fmt.Errorf("%w: %w", gateway.ErrUnavailable, errNoStream)}
	}
	if a, ok := plainAck(m.Data); ok {
		return a
	}
	var r struct {
		Error     *jetstream.APIError `json:"error"`
		Stream    string              `json:"stream"`
		Seq       uint64              `json:"seq"`
		Duplicate bool                `json:"duplicate"`
	}
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return Ack{Err: fmt.Errorf("%w: the acknowledgement is not readable", gateway.ErrUnavailable)}
	}
	if r.Error != nil {
		return Ack{Err: r.Error}
	}
	if r.Stream == "" {
		return Ack{Err: fmt.Errorf("%w: the acknowledgement names no stream", gateway.ErrUnavailable)}
	}
	return Ack{Stream: r.Stream, Seq: r.Seq, Duplicate: r.Duplicate}
}

// plainAck reads the ordinary form, {"stream":"NAME","seq":1}, as the server
// writes it; false for any other. Two of them come for every event.
func plainAck(b []byte) (Ack, bool) {
	rest, ok := bytes.CutPrefix(b, []byte(`{"stream":"`))
	name, rest, found := bytes.Cut(rest, []byte(`","seq":`))
	number, ended := bytes.CutSuffix(rest, []byte("}"))
	if !ok || !found || !ended || bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r > '~' }) {
		return Ack{}, false
	}
	seq, err := strconv.ParseUint(string(number), 10, 64)
	return Ack{Stream: string(name), Seq: seq}, err == nil && len(name) > 0
}

// Publish sends the messages in order and returns one Ack for each, in order.
// It returns when all are acknowledged, when for wait nothing was acknowledged,
// or when ctx ends. The messages' Reply is set by it.
func (p *Publisher) Publish(ctx context.Context, wait time.Duration, msgs ...*nats.Msg) []Ack {
	if len(msgs) == 0 {
		return nil
	}
	b := &pubBatch{acks: make([]Ack, len(msgs)), left: len(msgs), done: make(chan struct{}), moved: time.Now()}
	if len(msgs) > maxInFlight {
		b.room = make(chan struct{}, maxInFlight)
	}
	first := p.reserve(len(msgs))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	sent := 0
	for {
		var room chan<- struct{} // nil, which is never ready, when all are sent
		if sent < len(msgs) {
			if b.room == nil {
				p.send(b, first+uint64(sent), sent, msgs[sent])
				sent++
				continue
			}
			room = b.room
		}
		select {
		case room <- struct{}{}:
			p.send(b, first+uint64(sent), sent, msgs[sent])
			sent++
		case <-b.done:
			return b.acks
		case <-ctx.Done():
			return p.abandon(b, first, sent, ctx.Err())
		case <-timer.C:
			still := p.stillFor(b, wait)
			if still <= 0 {
				return p.abandon(b, first, sent, errNoAnswer)
			}
			timer.Reset(still)
		}
	}
}

// stillFor is how long the batch may go on waiting.
func (p *Publisher) stillFor(b *pubBatch, wait time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return wait - time.Since(b.moved)
}

var errNoAnswer = errors.New("no acknowledgement in time") //nolint:gochecknoglobals // a sentinel error is a constant

func (p *Publisher) reserve(n int) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.next
	p.next += uint64(n)
	return first
}

func (p *Publisher) send(b *pubBatch, n uint64, i int, m *nats.Msg) {
	m.Reply = p.prefix + strconv.FormatUint(n, 36)
	p.mu.Lock()
	p.waiting[n] = slot{b, i}
	p.mu.Unlock()
	err := nats.ErrDisconnected
	if p.nc.IsConnected() {
		err = p.nc.PublishMsg(m)
	}
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, ok := p.waiting[n]; ok {
			delete(p.waiting, n)
			b.set(i, Ack{Err: unavailable("publish", err)})
		}
	}
}

// abandon gives up what is still open: of the sent messages those without an
// answer, and all that were not sent.
func (p *Publisher) abandon(b *pubBatch, first uint64, sent int, why error) []Ack {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := Ack{Err: fmt.Errorf("%w: %w", gateway.ErrUnavailable, why)}
	for i := range b.acks {
		if i >= sent {
			b.acks[i] = a
			continue
		}
		n := first + uint64(i)
		if _, ok := p.waiting[n]; ok {
			delete(p.waiting, n)
			b.acks[i] = a
		}
	}
	return b.acks
}

// Close stops listening; what waits fails. It does not close the connection.
func (p *Publisher) Close() {
	p.nc.RemoveStatusListener(p.lost)
	<-p.ended
	_ = p.sub.Unsubscribe()
	p.failAll(fmt.Errorf("%w: closed", gateway.ErrUnavailable))
}
