package worker

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway/stream"
)

// claims keeps the deliveries this worker has: it tells the broker every
// AckWait/4 that they are worked on, and knows when the broker last confirmed
// that. Its methods are safe for concurrent use.
type claims struct {
	nc     *nats.Conn
	prefix string
	sub    *nats.Subscription
	now    func() time.Time

	mu   sync.Mutex
	next uint64
	open map[uint64]*claim
}

// claim is one delivery from start to acknowledgement. Guarded by claims.mu.
type claim struct {
	id        uint64
	m         *nats.Msg
	until     time.Time // no heartbeat after this; zero for no end
	sent      time.Time
	beat      int
	confirmed time.Time
}

func newClaims(nc *nats.Conn, now func() time.Time) (*claims, error) {
	c := &claims{nc: nc, prefix: nc.NewInbox() + ".", now: now, open: map[uint64]*claim{}}
	sub, err := nc.Subscribe(c.prefix+"*", c.confirm)
	if err != nil {
		return nil, err
	}
	c.sub = sub
	return c, nil
}

// begin claims a message that came at the given time. After handlerMax (0 = no
// limit) the broker is not told any more, so that it gives the event away.
func (c *claims) begin(m *nats.Msg, at time.Time, handlerMax time.Duration) *claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	cl := &claim{id: c.next, m: m, sent: at, confirmed: at}
	if handlerMax > 0 {
		cl.until = at.Add(handlerMax)
	}
	c.open[cl.id] = cl
	return cl
}

// end forgets the claim.
func (c *claims) end(cl *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, cl.id)
}

// sure says that the broker cannot have given the message away: its last
// confirmation is at most 3/4 AckWait old.
func (c *claims) sure(cl *claim, ackWait time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return elapsed(cl.confirmed, c.now()) <= ackWait*3/4
}

// beat tells the broker about every claim whose turn it is.
func (c *claims) beat(ackWait time.Duration) {
	type due struct{ to, reply string }
	var list []due
	now := c.now()
	c.mu.Lock()
	for _, cl := range c.open {
		if elapsed(cl.sent, now) < ackWait/4 || !cl.until.IsZero() && now.After(cl.until) {
			continue
		}
		cl.sent = now
		cl.beat++
		list = append(list, due{cl.m.Reply, c.prefix + strconv.FormatUint(cl.id, 36) + "-" + strconv.Itoa(cl.beat)})
	}
	c.mu.Unlock()
	for _, d := range list {
		// What cannot be sent is not confirmed, and then not acknowledged.
		_ = c.nc.PublishRequest(d.to, d.reply, []byte("+WPI"))
	}
}

// confirm takes the broker's answer to a heartbeat. Only the last one counts.
func (c *claims) confirm(m *nats.Msg) {
	id, beat, ok := strings.Cut(strings.TrimPrefix(m.Subject, c.prefix), "-")
	n, err := strconv.ParseUint(id, 36, 64)
	if !ok || err != nil || m.Header.Get("Status") != "" { // 503: nobody has the consumer
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cl := c.open[n]; cl != nil && strconv.Itoa(cl.beat) == beat {
		cl.confirmed = cl.sent
	}
}

func (c *claims) close() { _ = c.sub.Unsubscribe() }

// delivery is a message on its way to a handler.
type delivery struct {
	m     *nats.Msg
	p     *stream.Puller
	at    time.Time
	epoch int
}
