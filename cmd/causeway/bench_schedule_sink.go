package main

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// scheduleSink is the least of the Cloud API: it takes text messages at once and
// notes when each came. It tells no statuses.
type scheduleSink struct {
	listener net.Listener

	mu      sync.Mutex
	at      []time.Time // of the first arrival, by serial
	doubles int
	strange int // messages that nobody asked for
	arrived int
	want    int
	all     chan struct{}
}

func newScheduleSink(count int) (*scheduleSink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &scheduleSink{listener: l, at: make([]time.Time, count), want: -1, all: make(chan struct{})}, nil
}

func (s *scheduleSink) base() string { return "http://" + s.listener.Addr().String() }

// reached is closed when so many have arrived. It is asked for once.
func (s *scheduleSink) reached(n int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.want = n; s.arrived >= n {
		close(s.all)
	}
	return s.all
}

// arrivals are the times of the first arrivals, by serial.
func (s *scheduleSink) arrivals() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.at)
}

// run serves until ctx ends.
func (s *scheduleSink) run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	serveUntil(gctx, g, s.listener, http.HandlerFunc(s.serve))
	return g.Wait()
}

func (s *scheduleSink) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	if m, ok := readSend(w, r); ok {
		s.took(m.serial, m.known, at)
		m.accept(w)
	}
}

func (s *scheduleSink) took(serial int64, ok bool, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !ok || serial < 0 || serial >= int64(len(s.at)):
		s.strange++
	case !s.at[serial].IsZero():
		s.doubles++
	default:
		s.at[serial] = at
		if s.arrived++; s.arrived == s.want {
			close(s.all)
		}
	}
}
