package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// benchSandbox is the least of the Cloud API: it takes text messages at once,
// notes to which turn each belongs and when, and sends one status back.
type benchSandbox struct {
	listener net.Listener
	statuses chan benchStatus

	mu      sync.Mutex
	first   int64
	begun   []time.Time // by serial, from first
	replies []int
	hist    *histogram
	replied int // turns with at least one reply
	doubles int
	strange int           // messages of no turn
	all     chan struct{} // closed when every turn has a reply

	// accepted are messages taken; each gives one status, which is tried once and
	// sent when the gateway answered 200.
	accepted, tried, sent atomic.Int64
}

// benchStatus is a status to be sent.
type benchStatus struct{ customer, id, marker string }

const (
	sandboxCallers = 8
	sandboxQueue   = 1 << 16
)

func newBenchSandbox() (*benchSandbox, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &benchSandbox{listener: l, statuses: make(chan benchStatus, sandboxQueue), hist: newHistogram()}, nil
}

// base is the account's api_base.
func (s *benchSandbox) base() string { return "http://" + s.listener.Addr().String() }

// expect begins a window of n turns with serials from first on; the channel is
// closed when each has a reply.
func (s *benchSandbox) expect(first int64, n int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first, s.begun, s.replies = first, make([]time.Time, n), make([]int, n)
	s.hist, s.replied, s.all = newHistogram(), 0, make(chan struct{})
	return s.all
}

// began notes when turn i of the window came in.
func (s *benchSandbox) began(i int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[i] = at
}

// run serves the API and sends statuses to gateway until ctx ends.
func (s *benchSandbox) run(ctx context.Context, gateway string) error {
	g, gctx := errgroup.WithContext(ctx)
	serveUntil(gctx, g, s.listener, http.HandlerFunc(s.serve))
	for range sandboxCallers {
		g.Go(func() error { return s.call(gctx, gateway) })
	}
	return g.Wait()
}

func (s *benchSandbox) call(ctx context.Context, gateway string) error {
	t := newStatusTeller(gateway)
	defer t.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case st := <-s.statuses:
			taken, err := t.tell(ctx, st, "sent")
			if err != nil {
				return err
			}
			if taken {
				s.sent.Add(1)
			}
			s.tried.Add(1)
		}
	}
}

func (s *benchSandbox) serve(w http.ResponseWriter, r *http.Request) {
	m, ok := readSend(w, r)
	if !ok {
		return
	}
	s.accepted.Add(1) // before it is the last one that was waited for
	s.took(m.serial, m.known, time.Now())
	m.accept(w)
	select {
	case s.statuses <- benchStatus{customer: m.customer, id: m.id(), marker: m.marker}:
	case <-r.Context().Done():
	}
}

// took notes a message.
func (s *benchSandbox) took(serial int64, ok bool, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := serial - s.first
	if !ok || i < 0 || i >= int64(len(s.replies)) {
		s.strange++
		return
	}
	if s.replies[i]++; s.replies[i] > 1 {
		s.doubles++
		return
	}
	s.hist.add(at.Sub(s.begun[i]))
	if s.replied++; s.replied == len(s.replies) {
		close(s.all)
	}
}
