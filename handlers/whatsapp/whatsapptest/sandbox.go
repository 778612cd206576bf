package whatsapptest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// Options of a Sandbox. AppSecret, AccessToken and PhoneNumberID must be set.
type Options struct {
	AppSecret     string
	AccessToken   string
	PhoneNumberID string
	// WABAID and DisplayNumber appear in callbacks; made up when empty.
	WABAID        string
	DisplayNumber string
	// CallbackURL is the gateway's; may be set later by SetCallbackURL.
	// Without one no callback is made.
	CallbackURL string

	// Sent, Delivered, Read and Played (of voice notes) are the waits from
	// acceptance to the statuses. 0 means 20, 60, 150 and 250 ms; negative: that
	// status never comes.
	Sent, Delivered, Read, Played time.Duration
	// WebhookVersion is the Graph version of callbacks, 26 when 0: up to 23
	// statuses tell of a conversation.
	WebhookVersion int
	// Retry are the waits between tries of a callback, the last one repeated
	// until Close. Default: 1 s doubling to 1 min, like Meta's decreasing
	// frequency over 7 days.
	Retry []time.Duration
	// Workers is how many callbacks are delivered at once. 0 means 16.
	Workers int
	// Rules are kept from the beginning.
	Rules Rules
	// WaID maps a number as addressed to the wa_id that the answer tells
	// (Brazil's and Mexico's differ); nil or "" for the number itself.
	WaID func(number string) string
	// LogSize is how many calls are kept; 0 means 1,000,000.
	LogSize int
	Now     func() time.Time
	Log     *zap.Logger
}

// Sandbox is the fake platform.
type Sandbox struct {
	*sandbox.Server
	o        Options
	desk     *sandbox.Desk
	shelf    shelf
	courier  *sandbox.Courier
	closed   chan struct{}
	close    sync.Once
	callback atomic.Pointer[string]
	rules    atomic.Pointer[Rules]

	ids    atomic.Uint64
	origin string // makes the ids of this sandbox unlike another one's

	people    people
	templates templates
	way       atomic.Pointer[Statuses]
	standing  atomic.Pointer[Standing]

	mu    sync.Mutex
	pairs map[string]*rate.Limiter // by recipient
	wrote map[string]time.Time     // by number and BSUID: their last message
	named map[string]struct{}      // ids of messages that callers chose
}

// New makes a sandbox. It serves by Handler, or on an address of its own after
// Listen.
func New(o Options) (*Sandbox, error) {
	if o.AppSecret == "" || o.AccessToken == "" || o.PhoneNumberID == "" {
		return nil, errors.New("whatsapptest: AppSecret, AccessToken and PhoneNumberID must be set")
	}
	if o.WABAID == "" {
		o.WABAID = "100000000000001"
	}
	if o.DisplayNumber == "" {
		o.DisplayNumber = "15550100099"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if len(o.Retry) == 0 {
		for d := time.Second; d < time.Minute; d *= 2 {
			o.Retry = append(o.Retry, d)
		}
		o.Retry = append(o.Retry, time.Minute)
	}
	var origin [6]byte
	if _, err := rand.Read(origin[:]); err != nil {
		return nil, err
	}
	s := &Sandbox{o: o, closed: make(chan struct{}), pairs: make(map[string]*rate.Limiter), wrote: make(map[string]time.Time),
		named: make(map[string]struct{}), origin: hex.EncodeToString(origin[:])}
	s.SetRules(o.Rules)
	s.SetStanding(goodStanding())
	if err := s.SetTemplate(Template{Name: "hello_world", Language: "en_US"}); err != nil {
		return nil, err
	}
	s.SetStatuses(Statuses{Version: o.WebhookVersion, SentMS: o.Sent.Milliseconds(), DeliveredMS: o.Delivered.Milliseconds(),
		ReadMS: o.Read.Milliseconds(), PlayedMS: o.Played.Milliseconds()})
	s.desk = &sandbox.Desk{Calls: sandbox.NewCallLog(o.LogSize), Faults: &sandbox.Faults{}, Now: o.Now, Closed: s.closed}
	s.courier = sandbox.NewCourier(sandbox.CourierOptions{
		Retry:   func(n int) (time.Duration, bool) { return o.Retry[min(n, len(o.Retry))-1], true },
		Timeout: 20 * time.Second,
		Workers: o.Workers,
		Log:     o.Log,
	})
	s.SetCallbackURL(o.CallbackURL)
	s.Server = sandbox.NewServer(s.routes(), o.Log)
	return s, nil
}

// Handler serves the API and, below /_sandbox/, the control endpoint.
func (s *Sandbox) Handler() http.Handler { return s.Server }

// SetCallbackURL sets where callbacks go from now on.
func (s *Sandbox) SetCallbackURL(u string) { s.callback.Store(&u) }

// Calls is the log of send calls, oldest first.
func (s *Sandbox) Calls() []sandbox.Call { return s.desk.Calls.Calls() }

// CallLog gives counts, overlaps and the summary.
func (s *Sandbox) CallLog() *sandbox.CallLog { return s.desk.Calls }

// Faults are the faults in force.
func (s *Sandbox) Faults() *sandbox.Faults { return s.desk.Faults }

// Courier delivers the callbacks.
func (s *Sandbox) Courier() *sandbox.Courier { return s.courier }

// Close ends the sandbox: it stops serving, drops what callbacks are left and
// waits for every goroutine.
func (s *Sandbox) Close() error {
	s.close.Do(func() { close(s.closed) })
	err := s.Server.Close()
	s.courier.Close()
	return err
}
