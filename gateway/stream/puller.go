package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
)

// PullOptions say what a Puller asks for.
type PullOptions struct {
	Stream, Consumer string
	// Room is how many messages the owner can hold; never more than that are
	// asked for or held, so nothing ages in a buffer of ours.
	Room int
	// MaxBytes bounds the bytes of one request; 0 means no bound.
	MaxBytes int
	// Expires is how long one request stays open; 0 means 30 s. A heartbeat
	// comes at a sixth of it, and after two missing ones the Puller ends.
	Expires time.Duration
	// Into gets every message, in order, in the connection's goroutine: it
	// must not block. Each message holds one place until Release.
	Into func(*Puller, *nats.Msg)
}

// Puller keeps requests for messages open at a pull consumer. It ends by itself
// when the broker or the consumer is gone; its owner then makes a new one, which
// listens on a new inbox, so that what was sent to the old one is never mistaken
// for an answer to the new one. Used by the intake of answers and by workers.
type Puller struct {
	nc   *nats.Conn
	opts PullOptions
	sub  *nats.Subscription

	wake   chan struct{}
	status chan nats.Status
	stop   chan struct{}
	ended  chan struct{}

	mu      sync.Mutex // guards what follows
	held    int        // given to Into, not released
	asked   int        // requested, not yet come
	heard   time.Time  // last sign of the broker
	err     error
	stopped bool // ask for no more
	closed  bool
}

const pullTogether = 300 * time.Microsecond // how long places gather before they are asked for

// NewPuller subscribes and starts asking. Close it.
func NewPuller(nc *nats.Conn, opts PullOptions) (*Puller, error) {
	if opts.Room <= 0 || opts.Into == nil {
		return nil, errors.New("puller: Room and Into are needed")
	}
	if opts.Expires <= 0 {
		opts.Expires = 30 * time.Second
	}
	if !nc.IsConnected() {
		return nil, fmt.Errorf("%w: not connected to the broker", gateway.ErrUnavailable)
	}
	p := &Puller{
		nc: nc, opts: opts, heard: time.Now(),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	sub, err := nc.Subscribe(nc.NewInbox(), p.take)
	if err != nil {
		return nil, unavailable("subscribe", err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil { // bounded by what was asked for
		return nil, unavailable("subscribe", err)
	}
	p.sub = sub
	p.status = nc.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED)
	p.wake <- struct{}{}
	go p.run()
	return p, nil
}

// SetRoom changes how many messages the owner can hold. What it holds beyond a smaller
// number stays.
func (p *Puller) SetRoom(n int) {
	p.mu.Lock()
	changed := p.opts.Room != n
	p.opts.Room = n
	p.mu.Unlock()
	if changed {
		p.poke()
	}
}

// Release frees the places of n messages.
func (p *Puller) Release(n int) {
	p.mu.Lock()
	p.held -= n
	p.mu.Unlock()
	p.poke()
}

func (p *Puller) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Done is closed when the Puller has ended; Err then says why.
func (p *Puller) Done() <-chan struct{} { return p.ended }

// Err is why it ended: an error wrapping gateway.ErrUnavailable, or nil after
// Close.
func (p *Puller) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// run asks for what there is room for until it is stopped or the broker is gone.
func (p *Puller) run() {
	defer close(p.ended)
	beat := time.NewTicker(p.opts.Expires / 6)
	defer beat.Stop()
	gather, gathering := time.NewTimer(time.Hour), false
	gather.Stop()
	defer gather.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-p.status:
			p.fail(fmt.Errorf("%w: connection lost", gateway.ErrUnavailable))
		case <-p.wake:
			if wait := p.ask(false); wait && !gathering { // later places do not put the first one off
				gathering = true
				gather.Reset(pullTogether)
			}
		case <-gather.C:
			gathering = false
			p.ask(true)
		case <-beat.C:
			p.checkHeard()
		}
		if p.Err() != nil {
			return
		}
	}
}

// ask opens a request for the free places. A few are left to gather for a
// moment, since a request for each would cost as much as the message.
func (p *Puller) ask(now bool) (wait bool) {
	p.mu.Lock()
	n := p.opts.Room - p.held - p.asked
	// With half of the room asked for already there is no hurry: requests that
	// pile up cost the broker a look at each for every message.
	if p.stopped || n <= 0 || p.asked > p.opts.Room/2 {
		p.mu.Unlock()
		return false
	}
	if !now && n < max(p.opts.Room/4, 1) {
		p.mu.Unlock()
		return true
	}
	if p.asked == 0 {
		p.heard = time.Now()
	}
	p.asked += n
	p.mu.Unlock()
	body, err := json.Marshal(struct {
		Batch     int           `json:"batch"`
		MaxBytes  int           `json:"max_bytes,omitempty"`
		Expires   time.Duration `json:"expires"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
	}{n, p.opts.MaxBytes, p.opts.Expires, p.opts.Expires / 6})
	if err == nil {
		err = p.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+p.opts.Stream+"."+p.opts.Consumer, p.sub.Subject, body)
	}
	if err != nil {
		p.fail(unavailable("pull", err))
	}
	return false
}

// checkHeard ends the Puller when requests are open and the broker is silent.
func (p *Puller) checkHeard() {
	p.mu.Lock()
	silent := p.asked > 0 && time.Since(p.heard) > p.opts.Expires/2
	p.mu.Unlock()
	if silent {
		p.fail(fmt.Errorf("%w: no heartbeat of the consumer", gateway.ErrUnavailable))
	}
}

func (p *Puller) fail(err error) {
	p.mu.Lock()
	if p.err == nil && !p.closed {
		p.err = err
	}
	p.mu.Unlock()
	p.poke()
}

// take gets what comes on the inbox: messages, and words about the requests
// (ADR-13: 100 heartbeat, 408 and 409 with how many are still open).
func (p *Puller) take(m *nats.Msg) {
	// A message has the subject of its acknowledgement; words about requests
	// have not. A header of a message proves nothing, since anyone may set it.
	isMessage := strings.HasPrefix(m.Reply, "$JS.ACK.")
	p.mu.Lock()
	p.heard = time.Now()
	if p.closed {
		p.mu.Unlock()
		return
	}
	if isMessage {
		p.asked = max(p.asked-1, 0)
		p.held++
		again := p.asked == p.opts.Room/2
		p.mu.Unlock()
		p.opts.Into(p, m)
		if again {
			p.poke()
		}
		return
	}
	p.mu.Unlock()
	switch m.Header.Get("Status") {
	case "100":
	case "503":
		p.fail(fmt.Errorf("%w: %w", gateway.ErrUnavailable, errNoStream))
	default:
		p.requestEnded(m)
	}
}

// requestEnded takes the word that a request is closed. With a count it is
// ordinary (expired, or enough bytes); without one the consumer cannot serve.
func (p *Puller) requestEnded(m *nats.Msg) {
	open, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if err != nil {
		p.fail(fmt.Errorf("%w: consumer answered %s %s", gateway.ErrUnavailable, m.Header.Get("Status"), m.Header.Get("Description")))
		return
	}
	p.mu.Lock()
	p.asked = max(p.asked-open, 0)
	p.mu.Unlock()
	p.poke()
}

// Drain asks for no more and takes what the broker has sent already, at most for
// wait. Into is not called after it. Then Close.
func (p *Puller) Drain(wait time.Duration) {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	gone := p.sub.StatusChanged(nats.SubscriptionClosed)
	if err := p.sub.Drain(); err == nil {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-gone:
		case <-timer.C:
		}
	}
}

// Close ends the Puller and waits for its goroutine. What comes later is
// dropped: the broker hands it out again after its AckWait.
func (p *Puller) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		<-p.ended
		return
	}
	p.closed, p.stopped = true, true
	p.mu.Unlock()
	close(p.stop)
	_ = p.sub.Unsubscribe() // the connection may be gone
	p.nc.RemoveStatusListener(p.status)
	<-p.ended
}
