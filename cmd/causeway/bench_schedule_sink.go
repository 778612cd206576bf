package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
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
	srv := &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 5 * time.Second}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := srv.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-gctx.Done()
		return srv.Close()
	})
	return g.Wait()
}

// serve takes POST /{version}/{phone_number_id}/messages. Shapes: Meta, Cloud API
// reference "messages".
func (s *scheduleSink) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var in struct {
		To   string `json:"to"`
		Text struct {
			Body string `json:"body"`
		} `json:"text"`
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/"+benchPhoneID+"/messages") || json.Unmarshal(b, &in) != nil {
		http.Error(w, `{"error":{"message":"Unsupported request","code":100}}`, http.StatusBadRequest)
		return
	}
	serial, ok := serialOf([]byte(in.Text.Body))
	s.took(serial, ok, at)
	number := strings.TrimPrefix(in.To, "+")
	w.Header().Set("Content-Type", "application/json")
	// A caller that is gone does not read its answer.
	_, _ = fmt.Fprintf(w, `{"messaging_product":"whatsapp","contacts":[{"input":%q,"wa_id":%q,"user_id":%q}],"messages":[{"id":"wamid.OUT%0*d"}]}`,
		in.To, number, whatsapptest.BSUID(number), serialDigits, serial)
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
