package unifiedtest

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/unified"
)

// Plays is how the vendor plays back what we sent.
type Plays string

// The ways.
const (
	PlaysMarker  Plays = "marker"  // with the marker, and the id of the answer
	PlaysID      Plays = "id"      // with the id of the answer alone
	PlaysManual  Plays = "manual"  // with neither, as if a colleague had written it
	PlaysNothing Plays = "nothing" // not at all
)

// Options of a Sandbox. Endpoint must be set.
type Options struct {
	Endpoint unified.EndpointConfig
	// Account is that of which calls are taken; without Sending none are.
	Account unified.ClientConfig
	// MediaHeader must come with each call for a file; the zero one need not.
	MediaHeader unified.Header
	// OwnID is our side's id as a sender. Empty means "1688850000000001".
	OwnID string
	// CallbackURL is the gateway's; may be set later by SetCallbackURL. Without one no
	// callback is made.
	CallbackURL string
	// Plays is PlaysMarker when empty; EchoAfter the wait before an echo, from the
	// moment on at which the message is taken, which is before the answer leaves.
	Plays     Plays
	EchoAfter time.Duration
	// Retry are the waits before the second and third try of a callback. Default:
	// 1 s each.
	Retry   []time.Duration
	Workers int // callbacks at once; 0 means 16
	LogSize int // calls kept; 0 means 1,000,000
	Now     func() time.Time
	Log     *zap.Logger
}

// Sandbox is the fake vendor.
type Sandbox struct {
	*sandbox.Server
	o        Options
	desk     *sandbox.Desk
	courier  *sandbox.Courier
	closed   chan struct{}
	close    sync.Once
	callback atomic.Pointer[string]
	plays    atomic.Pointer[Plays]
	ids      atomic.Int64
	shelf    shelf
	origin   string
}

// New makes a sandbox. It serves by Handler, or on an address of its own after
// Listen.
func New(o Options) (*Sandbox, error) {
	if _, err := unified.NewEndpoint(o.Endpoint); err != nil {
		return nil, fmt.Errorf("unifiedtest: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.OwnID == "" {
		o.OwnID = "1688850000000001"
	}
	if o.Plays == "" {
		o.Plays = PlaysMarker
	}
	if len(o.Retry) == 0 {
		o.Retry = []time.Duration{time.Second, time.Second}
	}
	s := &Sandbox{o: o, closed: make(chan struct{}), shelf: shelf{files: map[string]file{}}, origin: rand.Text()[:10]}
	s.desk = &sandbox.Desk{Calls: sandbox.NewCallLog(o.LogSize), Faults: &sandbox.Faults{}, Now: o.Now, Closed: s.closed}
	s.courier = sandbox.NewCourier(sandbox.CourierOptions{
		Retry: func(n int) (time.Duration, bool) {
			if n > len(o.Retry) {
				return 0, false
			}
			return o.Retry[n-1], true
		},
		Timeout: 5 * time.Second, Workers: o.Workers, Log: o.Log,
	})
	s.SetCallbackURL(o.CallbackURL)
	s.SetPlays(o.Plays)
	mux := http.NewServeMux()
	mux.Handle(sandbox.ControlPrefix, s.control())
	mux.HandleFunc("GET /files/{file}", s.handOut)
	mux.HandleFunc("/", s.send)
	s.Server = sandbox.NewServer(mux, o.Log)
	return s, nil
}

// Handler serves the API and, below /_sandbox/, the control endpoint.
func (s *Sandbox) Handler() http.Handler { return s.Server }

// SetCallbackURL sets where callbacks go from now on.
func (s *Sandbox) SetCallbackURL(u string) { s.callback.Store(&u) }

// SetPlays sets how messages are played back from now on.
func (s *Sandbox) SetPlays(p Plays) { s.plays.Store(&p) }

// Calls is the log of send calls, oldest first.
func (s *Sandbox) Calls() []sandbox.Call { return s.desk.Calls.Calls() }

// CallLog gives counts, overlaps and the summary.
func (s *Sandbox) CallLog() *sandbox.CallLog { return s.desk.Calls }

// Faults are the faults in force.
func (s *Sandbox) Faults() *sandbox.Faults { return s.desk.Faults }

// Courier delivers the callbacks.
func (s *Sandbox) Courier() *sandbox.Courier { return s.courier }

// Close ends the sandbox: it stops serving, drops what callbacks are left and waits
// for every goroutine.
func (s *Sandbox) Close() error {
	s.close.Do(func() { close(s.closed) })
	err := s.Server.Close()
	s.courier.Close()
	return err
}
