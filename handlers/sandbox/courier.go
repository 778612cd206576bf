package sandbox

import (
	"container/heap"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Callback is one POST to the gateway.
type Callback struct {
	// Kind is a word for the log: "message", "status", "echo".
	Kind string
	// After is the wait before the first try.
	After time.Duration
	// Build makes the signed request of a try (from 1).
	Build func(ctx context.Context, try int) (*http.Request, error)
}

// Distortion is what the network does to callbacks.
type Distortion struct {
	// Copies is how many more times every callback is delivered.
	Copies int `json:"copies"`
	// DelayMS delays every callback; JitterMS adds up to so much more, at
	// random, so that they overtake each other. Milliseconds.
	DelayMS  int64 `json:"delay_ms"`
	JitterMS int64 `json:"jitter_ms"`
	// Reverse delivers the callbacks of one group (the statuses of one
	// message) in the reverse order.
	Reverse bool `json:"reverse"`
}

// Delivered counts what became of callbacks.
type Delivered struct {
	OK      int64 `json:"ok"`       // answered 200
	Failed  int64 `json:"failed"`   // tries that were not
	GivenUp int64 `json:"given_up"` // callbacks dropped after the last try
	Waiting int   `json:"waiting"`
}

// CourierOptions of a Courier.
type CourierOptions struct {
	// Retry is the wait after try n (from 1); false gives up.
	Retry func(n int) (time.Duration, bool)
	// Timeout is the platform's patience with one try.
	Timeout time.Duration
	// Workers is how many are delivered at once. 0 means 16.
	Workers int
	Log     *zap.Logger
}

// Courier delivers callbacks and tries those again that are not answered 200.
// It owns one goroutine for the queue and at most Workers for deliveries.
type Courier struct {
	o      CourierOptions
	client *http.Client
	ctx    context.Context //nolint:containedctx // the courier's own life, ended by Close
	cancel context.CancelFunc
	slots  chan struct{}
	wake   chan struct{}
	wg     sync.WaitGroup

	mu         sync.Mutex
	queue      parcels
	count      Delivered
	order      int64
	distortion Distortion
	idle       []chan struct{}
	closed     bool
}

// parcel is a callback on its way.
type parcel struct {
	Callback
	due   time.Time
	order int64 // of queueing, for equal times
	try   int
}

// parcels is a heap by due time.
type parcels []*parcel

func (p parcels) Len() int { return len(p) }
func (p parcels) Less(i, j int) bool {
	if p[i].due.Equal(p[j].due) {
		return p[i].order < p[j].order
	}
	return p[i].due.Before(p[j].due)
}
func (p parcels) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *parcels) Push(x any) {
	if one, ok := x.(*parcel); ok {
		*p = append(*p, one)
	}
}

func (p *parcels) Pop() any {
	old := *p
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*p = old[:len(old)-1]
	return last
}

// NewCourier makes a courier that works until Close.
func NewCourier(o CourierOptions) *Courier {
	if o.Workers <= 0 {
		o.Workers = 16
	}
	c := &Courier{
		o:     o,
		slots: make(chan struct{}, o.Workers),
		wake:  make(chan struct{}, 1),
		client: &http.Client{
			Timeout:       o.Timeout,
			Transport:     &http.Transport{MaxIdleConnsPerHost: o.Workers, IdleConnTimeout: time.Minute, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wg.Add(1)
	go c.run()
	return c
}

// Distort sets what happens to callbacks queued from now on.
func (c *Courier) Distort(d Distortion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.distortion = d
}

// Distortion tells what is set.
func (c *Courier) Distortion() Distortion {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.distortion
}

// Queue hands over callbacks that belong together, in their order; false after
// Close.
func (c *Courier) Queue(group ...Callback) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	d, now := c.distortion, time.Now()
	for i, cb := range group {
		after := cb.After
		if d.Reverse {
			after = group[len(group)-1-i].After
		}
		after += time.Duration(d.DelayMS) * time.Millisecond
		for range 1 + d.Copies {
			due := now.Add(after)
			if d.JitterMS > 0 {
				due = due.Add(rand.N(time.Duration(d.JitterMS) * time.Millisecond)) //nolint:gosec // not a secret
			}
			c.order++
			order := c.order
			if d.Reverse {
				order = -order
			}
			heap.Push(&c.queue, &parcel{Callback: cb, due: due, order: order, try: 1})
			c.count.Waiting++
		}
	}
	c.nudge()
	return true
}

func (c *Courier) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Count tells what became of callbacks so far.
func (c *Courier) Count() Delivered {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// Flush waits until nothing is queued or on its way.
func (c *Courier) Flush(ctx context.Context) error {
	c.mu.Lock()
	if c.count.Waiting == 0 {
		c.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	c.idle = append(c.idle, idle)
	c.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return fmt.Errorf("sandbox: courier closed: %w", c.ctx.Err())
	}
}

// Close drops what is queued, ends what is on its way and waits for both.
func (c *Courier) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
	c.client.CloseIdleConnections()
}

// Send makes one request at once and reads the answer, at most 64 KiB of it.
func (c *Courier) Send(req *http.Request) (status int, body []byte, err error) {
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // what counts was read
	body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp.StatusCode, body, err
}

// run takes parcels out when they are due and a slot is free.
func (c *Courier) run() {
	defer c.wg.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		p, wait := c.next()
		if p == nil {
			timer.Reset(wait)
			select {
			case <-c.wake:
			case <-timer.C:
			case <-c.ctx.Done():
				return
			}
			continue
		}
		select {
		case c.slots <- struct{}{}:
		case <-c.ctx.Done():
			return
		}
		c.wg.Add(1)
		go func() {
			defer c.wg.Done()
			defer func() { <-c.slots }()
			c.deliver(p)
		}()
	}
}

// next takes the first parcel when it is due, else tells how long to wait.
func (c *Courier) next() (*parcel, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return nil, time.Hour
	}
	if wait := time.Until(c.queue[0].due); wait > 0 {
		return nil, wait
	}
	p := c.queue[0]
	heap.Pop(&c.queue)
	return p, 0
}

func (c *Courier) deliver(p *parcel) {
	status := 0
	req, err := p.Build(c.ctx, p.try)
	if err == nil {
		status, _, err = c.Send(req)
	}
	if err == nil && status == http.StatusOK {
		c.done(func() { c.count.OK++ })
		return
	}
	if c.ctx.Err() != nil {
		c.done(func() {})
		return
	}
	wait, again := c.o.Retry(p.try)
	if !again {
		c.o.Log.Warn("callback.given_up", zap.String("kind", p.Kind), zap.Int("try", p.try), zap.Int("status", status))
		c.done(func() { c.count.Failed++; c.count.GivenUp++ })
		return
	}
	c.o.Log.Debug("callback.again", zap.String("kind", p.Kind), zap.Int("try", p.try), zap.Int("status", status), zap.Duration("wait", wait))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count.Failed++
	p.try++
	p.due = time.Now().Add(wait)
	heap.Push(&c.queue, p)
	c.nudge()
}

// done takes a parcel off the books.
func (c *Courier) done(count func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count()
	if c.count.Waiting--; c.count.Waiting == 0 {
		for _, idle := range c.idle {
			close(idle)
		}
		c.idle = nil
	}
}
