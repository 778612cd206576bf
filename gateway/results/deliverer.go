package results

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// Ledger keeps the changes and the places of the receivers.
type Ledger interface {
	// ResultsFrom is the receiver's place; one that was never seen is put at the end.
	ResultsFrom(ctx context.Context, receiver string) (n int64, err error)
	// ResultsAfter lists changes of messages behind a place, in order. last is how far
	// it looked.
	ResultsAfter(ctx context.Context, n int64, limit int) (rows []gateway.Result, last int64, err error)
	// KeepResults moves the place, and counts what was given up.
	KeepResults(ctx context.Context, receiver string, n int64, undelivered int) error
}

// Receiver is who is told.
type Receiver struct {
	Name string
	URL  string
	Keys gateway.WebhookKeys
	// Accounts and Results are what it wants; none means all, of Results but waiting
	// and sending. Results are words of gateway.Message.Result.
	Accounts []string
	Results  []string
	// OnRequest: only of messages that name it as their callback.
	OnRequest bool
}

// wants says whether a receiver is told of a change. A message that names one is told to
// that one alone.
func (r *Receiver) wants(c *gateway.Result) bool {
	if len(r.Results) > 0 && !slices.Contains(r.Results, c.Result) ||
		len(r.Results) == 0 && (c.Result == string(gateway.MessageWaiting) || c.Result == string(gateway.MessageSending)) {
		return false
	}
	if c.Callback != "" || r.OnRequest {
		return c.Callback == r.Name
	}
	return len(r.Accounts) == 0 || slices.Contains(r.Accounts, c.Account)
}

// Answer is what came back of a post: Status 0 when nothing did, for Word's reason.
type Answer struct {
	Status int
	// RetryAfter is the least pause that the receiver asks for; 0 for none.
	RetryAfter time.Duration
	Word       string
}

// Options of a Deliverer; all required.
type Options struct {
	Receivers []Receiver
	Ledger    Ledger
	// Post makes one call, bounded in time; it follows no redirect.
	Post func(ctx context.Context, url string, header http.Header, body []byte) Answer
	// IDPrefix makes ids differ from those of another ledger, or an earlier life of it.
	IDPrefix string
	Boundary func(step string)
	Now      func() time.Time
	Log      *zap.Logger
}

// Deliverer posts results to receivers.
type Deliverer struct {
	o     Options
	lines []*line
}

// New makes a Deliverer; it does nothing before Run.
func New(o Options) *Deliverer {
	d := &Deliverer{o: o}
	for i := range o.Receivers {
		d.lines = append(d.lines, &line{o: &d.o, r: &o.Receivers[i], slots: make(chan struct{}, parallel), kick: make(chan struct{}, 1),
			chains: map[string][]gateway.Result{}, open: map[int64]struct{}{}, log: o.Log.With(zap.String("receiver", o.Receivers[i].Name))})
	}
	return d
}

// Kick says that something changed. It never blocks.
func (d *Deliverer) Kick() {
	for _, l := range d.lines {
		l.wake()
	}
}

// Run posts until ctx ends, and then keeps how far it came.
func (d *Deliverer) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, l := range d.lines {
		all.Go(func() { l.run(ctx) })
	}
	<-ctx.Done()
	all.Wait()
	return ctx.Err()
}

// State is how a receiver stands, for doctor.
type State struct {
	Receiver string
	// Open is how many results are under way, Failing since when none got through, and
	// Word why.
	Open    int
	Failing time.Time
	Word    string
}

// States lists the receivers.
func (d *Deliverer) States() []State {
	out := make([]State, 0, len(d.lines))
	for _, l := range d.lines {
		l.mu.Lock()
		out = append(out, State{l.r.Name, len(l.open), l.failing, l.word})
		l.mu.Unlock()
	}
	return out
}
