package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// Options say whose streams these are and how large they may grow.
type Options struct {
	// StoreID and Epoch are the store's identity. StoreID must not be empty.
	StoreID string
	Epoch   int64
	// Apps are the configured applications; each gets a gate.
	Apps []gateway.Application
	// Replicas is 1 (embedded; 0 means 1) or 3.
	Replicas int
	// Sizes are the limits of the streams; those that are 0 come from
	// DefaultSizes of StorageLimit.
	Sizes Sizes
	// StorageLimit is what the broker gives all streams together, in bytes
	// (embedded.Server.MaxStorage); 0 means 1 GiB.
	StorageLimit int64
	// Wait is how long an acknowledgement may take; 0 means 5 s.
	Wait time.Duration
	Log  *zap.Logger
	Now  func() time.Time
}

// Streams is the broker as the gateway's stages see it.
type Streams struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	pub  *Publisher
	opts Options
	log  *zap.Logger

	making chan struct{} // one token: who holds it makes streams

	mu     sync.Mutex // guards what follows
	parts  map[string]*part
	apps   []gateway.Application
	ready  map[string]bool
	offers map[string]int // made by application since its anchor was laid
	tried  map[string]attempt
	held   map[string]bool // application paused?
	mute   map[string]bool // took a whole publish without a word
	other  *OtherLifeError
}

// attempt is the last time a stream could not be made; until a second later the
// same error is given.
type attempt struct {
	at  time.Time
	err error
}

const (
	makeAgain = time.Second
	apiWait   = 5 * time.Second
)

// Open makes the streams that are missing and changes those whose settings
// differ. Errors: an error wrapping gateway.ErrUnavailable when the broker is not
// reachable, full, or refuses a setting: open again later; *OtherLifeError when
// the streams belong to another store: see Adopt.
func Open(ctx context.Context, nc *nats.Conn, opts Options) (*Streams, error) {
	return open(nc, opts, func(s *Streams) error { return s.Ensure(ctx) })
}

// Adopt empties the broker's streams of this product, whoever made them, and
// makes them anew for this store. Errors as of Open.
func Adopt(ctx context.Context, nc *nats.Conn, opts Options) error {
	s, err := open(nc, opts, func(s *Streams) error { return s.Adopt(ctx) })
	if err == nil {
		s.Close()
	}
	return err
}

func open(nc *nats.Conn, opts Options, begin func(*Streams) error) (*Streams, error) {
	if opts.StoreID == "" {
		return nil, errors.New("streams: StoreID is empty")
	}
	if err := validApps(opts.Apps); err != nil {
		return nil, err
	}
	opts.defaults()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("streams: %w", err)
	}
	pub, err := NewPublisher(nc)
	if err != nil {
		return nil, fmt.Errorf("streams: %w", err)
	}
	s := &Streams{
		nc: nc, js: js, pub: pub, opts: opts, log: opts.Log,
		making: make(chan struct{}, 1),
		ready:  map[string]bool{}, offers: map[string]int{}, tried: map[string]attempt{}, held: map[string]bool{}, mute: map[string]bool{},
	}
	s.setApps(opts.Apps)
	if err := begin(s); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func validApps(apps []gateway.Application) error {
	for i := range apps {
		if !gateway.ValidName(apps[i].Name) {
			return fmt.Errorf("streams: %q cannot name an application", apps[i].Name)
		}
	}
	return nil
}

func (o *Options) defaults() {
	if o.Replicas <= 0 {
		o.Replicas = 1
	}
	d := DefaultSizes(o.StorageLimit, len(o.Apps))
	for _, f := range []struct{ have, want *int64 }{
		{&o.Sizes.Event, &d.Event}, {&o.Sizes.Reply, &d.Reply}, {&o.Sizes.Result, &d.Result},
		{&o.Sizes.Advisory, &d.Advisory}, {&o.Sizes.State, &d.State}, {&o.Sizes.Ready, &d.Ready},
	} {
		if *f.have <= 0 {
			*f.have = *f.want
		}
	}
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// setApps makes the list of parts for these applications.
func (s *Streams) setApps(apps []gateway.Application) {
	parts := map[string]*part{}
	for _, p := range []*part{s.opts.eventPart(), s.opts.replyPart(), s.opts.resultPart(), s.opts.statePart(), s.opts.advisoryPart(apps)} {
		parts[p.stream.Name] = p
	}
	for i := range apps {
		p := s.opts.readyPart(&apps[i])
		parts[p.stream.Name] = p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts, s.apps = parts, slices.Clone(apps)
	s.ready, s.tried = map[string]bool{}, map[string]attempt{}
}

// Apply takes a changed list of applications: gates of new ones are made,
// settings of others changed, and gates of those that are not in the list any
// more are deleted with the offers in them (their events are the ledger's
// matter).
func (s *Streams) Apply(ctx context.Context, apps []gateway.Application) error {
	if err := validApps(apps); err != nil {
		return err
	}
	s.mu.Lock()
	old := s.parts
	s.mu.Unlock()
	s.setApps(apps)
	if err := s.Ensure(ctx); err != nil {
		return err
	}
	for name := range old {
		if s.part(name) != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, apiWait)
		err := s.js.DeleteStream(ctx, name)
		cancel()
		if err != nil && !isMissing(err) {
			return unavailable("delete "+name, err)
		}
	}
	return nil
}

func (s *Streams) part(name string) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts[name]
}

func (s *Streams) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.parts))
}

// Close ends what this package started; the connection stays the caller's.
func (s *Streams) Close() { s.pub.Close() }

// Health is what is known without asking the broker.
type Health struct {
	Connected bool
	// Missing are the streams that are not there or not as they should be, as
	// far as the last calls saw.
	Missing []string
	// OtherLife is set when the streams belong to another store.
	OtherLife *OtherLifeError
	// Silent are the streams whose last publish got no word from a broker that is
	// connected. A JetStream server that met a full disk stays like that until
	// it is restarted, also when there is room again.
	Silent []string
	// Last is what went wrong with the first of Missing.
	Last string
}

// OK says that everything is usable.
func (h Health) OK() bool {
	return h.Connected && len(h.Missing) == 0 && len(h.Silent) == 0 && h.OtherLife == nil
}

// Health reports the state for /readyz and doctor.
func (s *Streams) Health() Health {
	h := Health{Connected: s.nc.IsConnected()}
	s.mu.Lock()
	defer s.mu.Unlock()
	h.OtherLife = s.other
	if h.Connected {
		h.Silent = slices.Sorted(maps.Keys(s.mute))
	}
	for _, name := range slices.Sorted(maps.Keys(s.parts)) {
		if s.ready[name] {
			continue
		}
		h.Missing = append(h.Missing, name)
		if err := s.tried[name].err; err != nil && h.Last == "" {
			h.Last = err.Error()
		}
	}
	return h
}
