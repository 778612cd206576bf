package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// benchSandbox is the least of the Cloud API: it takes text messages at once,
// notes to which turn each belongs and when, and sends one status back. It keeps
// no log and has no limits, so that it costs little of the machine. (The sandbox
// of Meta for everything else is package whatsapptest.)
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

// statusCaller is one connection to the gateway for statuses.
type statusCaller struct {
	line  *loadLine
	maker *callbackMaker
}

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
	for range sandboxCallers {
		g.Go(func() error {
			c := statusCaller{line: &loadLine{addr: gateway, hist: newHistogram()}, maker: newCallbackMaker(0)}
			defer c.line.close()
			return s.call(gctx, c, gateway)
		})
	}
	return g.Wait()
}

func (s *benchSandbox) call(ctx context.Context, c statusCaller, host string) error {
	business := benchBusiness()
	var request []byte
	for {
		select {
		case <-ctx.Done():
			return nil
		case st := <-s.statuses:
			at := time.Now()
			body, err := business.Callback(whatsapptest.Event{Kind: "status", Variant: "sent", Customer: whatsapptest.Customer{Phone: st.customer},
				ID: st.id, Marker: st.marker, At: at}).Body()
			if err != nil {
				return err
			}
			request = c.maker.request(request[:0], host, body)
			before := c.line.ok
			c.line.call(ctx, request, at)
			s.sent.Add(c.line.ok - before)
			s.tried.Add(1)
		}
	}
}

// serve takes POST /{version}/{phone_number_id}/messages. Shapes: Meta, Cloud API
// reference "messages".
func (s *benchSandbox) serve(w http.ResponseWriter, r *http.Request) {
	var in struct {
		To     string `json:"to"`
		Marker string `json:"biz_opaque_callback_data"`
		Text   struct {
			Body string `json:"body"`
		} `json:"text"`
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/"+benchPhoneID+"/messages") || json.Unmarshal(b, &in) != nil {
		http.Error(w, `{"error":{"message":"Unsupported request","code":100}}`, http.StatusBadRequest)
		return
	}
	serial, ok := serialOf([]byte(in.Text.Body))
	number := strings.TrimPrefix(in.To, "+")
	id := fmt.Sprintf("wamid.OUT%0*d", serialDigits, serial)
	s.took(serial, ok, time.Now())
	s.accepted.Add(1)
	w.Header().Set("Content-Type", "application/json")
	// A caller that is gone does not read its answer.
	_, _ = fmt.Fprintf(w, `{"messaging_product":"whatsapp","contacts":[{"input":%q,"wa_id":%q,"user_id":%q}],"messages":[{"id":%q}]}`,
		in.To, number, whatsapptest.BSUID(number), id)
	select {
	case s.statuses <- benchStatus{customer: number, id: id, marker: in.Marker}:
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
