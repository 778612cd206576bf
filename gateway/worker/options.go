package worker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// Options of a Worker.
type Options struct {
	// URL is the broker, "nats://host:4222"; several with commas between.
	URL string
	// User and Password are those of the gateway's configuration. CredsFile or
	// NkeyFile (a seed) are for brokers with NATS credentials; with them User is the
	// name whose inbox may be listened on.
	User, Password      string
	CredsFile, NkeyFile string
	// TLS is for addresses that begin with tls and certificates that the system does
	// not know; nil for the system's authorities.
	TLS *tls.Config
	// Conn is an open connection to use instead; it is not closed by Run.
	Conn *nats.Conn
	// App is the application whose events are taken.
	App string
	// Concurrency is how many events, of different conversations, are worked on
	// at a time; 0 means 64. A busy worker fetches some before it has places for them,
	// as many as it begins in 4 ms.
	Concurrency int
	// Grace is how long handlers may work on when Run's context ended; 0 means
	// 20 s. Then their contexts end, and 2 s later Run returns.
	Grace time.Duration
	// Build names this version of the bot in its answers, for the operator.
	Build string
	// Log is told what an operator of the bot should know, such as a broker that is
	// away; no texts. nil means nothing is logged.
	Log *slog.Logger
	// Now is the clock by which a freeze of the process is seen; nil means
	// time.Now.
	Now func() time.Time
	// Boundary is told each step ("worker.handled", "worker.answered"); tests
	// end the process there.
	Boundary func(step string)
}

// Worker takes and answers events of one application.
type Worker struct {
	opts Options
	use  []Middleware
}

const (
	defaultConcurrency = 64
	maxConcurrency     = 10_000
	defaultGrace       = 20 * time.Second
)

// New checks the options; it does not connect.
func New(opts Options) (*Worker, error) {
	switch {
	case !gateway.ValidName(opts.App):
		return nil, fmt.Errorf("worker: App %q cannot name an application (lower-case letters, digits, inner hyphens)", opts.App)
	case opts.URL == "" && opts.Conn == nil:
		return nil, errors.New("worker: URL is empty, for example nats://127.0.0.1:4222")
	case opts.Concurrency < 0 || opts.Concurrency > maxConcurrency:
		return nil, fmt.Errorf("worker: Concurrency must be 0 to %d", maxConcurrency)
	case opts.Grace < 0:
		return nil, errors.New("worker: Grace must not be negative")
	}
	if opts.Concurrency == 0 {
		opts.Concurrency = defaultConcurrency
	}
	if opts.Grace == 0 {
		opts.Grace = defaultGrace
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Boundary == nil {
		opts.Boundary = func(string) {}
	}
	return &Worker{opts: opts}, nil
}

// connect waits until the broker is there. Credentials that it refuses are an
// error at once.
func (w *Worker) connect(ctx context.Context) (nc *nats.Conn, own bool, err error) {
	if w.opts.Conn != nil {
		return w.opts.Conn, false, nil
	}
	opts := []nats.Option{
		nats.Name("causeway worker " + w.opts.App),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.ReconnectBufSize(-1), // an answer is published again by the worker itself
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			w.opts.Log.Warn("worker.broker_said", "error", err)
		}),
	}
	if w.opts.User != "" {
		opts = append(opts, nats.CustomInboxPrefix(stream.InboxPrefix(w.opts.User)))
	}
	switch {
	case w.opts.CredsFile != "":
		opts = append(opts, nats.UserCredentials(w.opts.CredsFile))
	case w.opts.NkeyFile != "":
		nkey, err := nats.NkeyOptionFromSeed(w.opts.NkeyFile)
		if err != nil {
			return nil, false, fmt.Errorf("worker: %s: %w", w.opts.NkeyFile, err)
		}
		opts = append(opts, nkey)
	case w.opts.User != "":
		opts = append(opts, nats.UserInfo(w.opts.User, w.opts.Password))
	}
	if w.opts.TLS != nil {
		opts = append(opts, nats.Secure(w.opts.TLS))
	}
	for wait, told := firstWait, false; ; wait = min(2*wait, mostWait) {
		nc, err := nats.Connect(w.opts.URL, opts...)
		switch {
		case err == nil:
			return nc, true, nil
		case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
			return nil, false, fmt.Errorf("worker: the broker refused user %q: %w", w.opts.User, err)
		}
		if !told {
			told = true
			w.opts.Log.Warn("worker.broker_away", "error", err)
		}
		if !sleep(ctx, wait) {
			return nil, false, ctx.Err()
		}
	}
}

const (
	firstWait = 100 * time.Millisecond
	mostWait  = 5 * time.Second
)

// sleep waits; false when ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
