package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/media"
	"github.com/causewayhq/causeway/gateway/outbox"
	"github.com/causewayhq/causeway/gateway/relay"
	"github.com/causewayhq/causeway/gateway/results"
	live "github.com/causewayhq/causeway/gateway/tail"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/store/files"
)

// appOptions are what serve, the demo and tests hand in.
type appOptions struct {
	Config *config.Config
	Log    *zap.Logger
	Now    func() time.Time
	// LockWait is how long to wait for the folder of another process.
	LockWait time.Duration
	// Boundary is told each step (boundaries); tests die there.
	Boundary func(step string)
	// Relayed is told of each commit of the relay before anybody else; for measuring.
	Relayed func(gateway.RelayResult)
	// RelayOff keeps the relay still, for measuring ingest alone.
	RelayOff bool
	// MaxStorage limits the embedded server's streams, in bytes; 0 is its own
	// default.
	MaxStorage int64
	// CallTimeout and UnknownWait replace the sender's defaults when set.
	CallTimeout time.Duration
	UnknownWait func(platform, account string) time.Duration
	// PullEvery is how often accounts that are fetched are asked without a bell;
	// 0 is the puller's own default.
	PullEvery time.Duration
}

// app is one gateway: store, stages and listeners. It is made by newApp, runs
// in Run and is over when Run returned.
type app struct {
	o   appOptions
	dir *directory

	archive store.Archive
	ledger  store.Ledger
	closers []func() error

	registry  *prometheus.Registry
	relay     *relay.Relay
	publisher *relay.Publisher
	judge     *outbox.Judge
	sender    *outbox.Sender
	broker    *broker
	bridges   bridges
	brakes    *brakes
	parts     *parts
	replays   *replays
	results   *results.Deliverer
	files     *files.Store
	fetcher   *media.Fetcher
	uploader  *media.Uploader
	creds     *credentials
	turns     turns
	puller    *wecom.Puller
	activity  *activity
	tail      *live.Hub
	watched   chan struct{} // something may have changed for those who watch

	public, admin net.Listener
	tls           publicTLS
	adminTokens   []adminToken
	ready         readyProbe
	room          room
}

// newApp opens the store and listens; nothing runs yet. Errors are for the
// operator: what is wrong with the configuration, the folder or the ports.
func newApp(ctx context.Context, o appOptions) (_ *app, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Boundary == nil {
		o.Boundary = func(string) {}
	}
	if o.Relayed == nil {
		o.Relayed = func(gateway.RelayResult) {}
	}
	a := &app{o: o, registry: prometheus.NewRegistry(), parts: newParts(o.Now), watched: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if a.dir, err = newDirectory(o.Config, o.Now); err != nil {
		return nil, err
	}
	if err := a.openStore(ctx); err != nil {
		return nil, err
	}
	if a.adminTokens, err = adminTokens(o.Config); err != nil {
		return nil, err
	}
	if a.tls, err = loadTLS(o.Config.TLS, o.Now, o.Log); err != nil {
		return nil, err
	}
	if a.public, err = listen("listen", o.Config.Listen); err != nil {
		return nil, err
	}
	if a.admin, err = listen("admin.listen", o.Config.Admin.Listen); err != nil {
		return nil, err
	}
	if err := a.keepApplications(ctx); err != nil {
		return nil, err
	}
	if a.brakes, err = loadBrakes(ctx, a); err != nil {
		return nil, err
	}
	if a.bridges, err = newBridges(a); err != nil {
		return nil, err
	}
	a.wire()
	if err := a.wireResults(); err != nil {
		return nil, err
	}
	return a, nil
}

// wire connects the stages: each knows only the few methods it needs.
func (a *app) wire() {
	o := a.o
	a.activity, a.tail = newActivity(o.Now), live.New()
	a.broker = newBroker(a)
	a.publisher = relay.NewPublisher(a.ledger, a.broker, o.Log, o.Boundary, a.rest)
	a.sender = outbox.NewSender(outbox.SenderOptions{
		Ledger: a.ledger, Queue: a.ledger, Client: a.dir.client, UnknownWait: a.unknownWait, OnUnknown: a.onUnknown, Unread: a.unread, Shares: sharing(o.Config.Accounts), Changed: func() { a.publisher.Kick(); a.judge.Kick(); a.results.Kick(); a.watchers() },
		Merged: a.broker.merged, Attempted: a.tailAttempted,
		Accounts: a.ledger, Limits: a.limits, Paced: a.accountNames(), Retry: o.Config.Retry, KeyFP: a.keyFP, Probe: a.tryAccount,
		Stopped: a.brakes.silenced,
		Window:  a.dir.window, Windows: a.ledger,
		CallTimeout: o.CallTimeout, NewID: newAttemptID, Boundary: o.Boundary, Now: o.Now, Log: o.Log,
	})
	a.dir.progress.set(a.ledger, func(convs ...string) {
		a.sender.Wake(convs...)
		a.publisher.Kick()
	}, o.Now)
	a.judge = outbox.NewJudge(outbox.JudgeOptions{
		Ledger: a.ledger, Takeover: a.takeover, Taken: func([]string) { a.tookOver() }, Failed: a.failedLater, Wake: a.sender.Wake, Boundary: o.Boundary, Now: o.Now, Log: o.Log,
		Changed: func() { a.publisher.Kick(); a.publisher.KickStates(); a.results.Kick(); a.watchers() },
	})
	a.relay = relay.New(relay.Options{
		Archive: a.archive, Ledger: a.ledger, Decoder: a.dir, Directory: a.dir,
		Loop: loopRule(o.Config.Loop.Rule(), a.dir.apps), Relayed: a.relayed, Boundary: o.Boundary, Crowded: newCrowd().seen, MaxContent: a.broker.maxContent, Now: o.Now, Log: o.Log,
		Relaxed: o.Config.Dedup.Relaxed, MediaLife: a.mediaLife, Media: a.mediaOf,
	})
	a.wireMedia()
	a.wirePuller()
	a.replays = newReplays(a)
	a.creds = newCredentials(o.Config.Accounts, a.dir, o.Now)
	a.registerMetrics()
}

// Run serves until ctx ends or a listener fails. It stops taking callbacks
// first, then lets the stages end; calls to platforms in flight are waited for.
func (a *app) Run(ctx context.Context) error {
	defer a.close()
	front, err := a.publicHandler()
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	a.serveHTTP(gctx, g, "webhooks", a.public, front, a.tls.config)
	a.serveHTTP(gctx, g, "admin", a.admin, a.adminHandler(), nil)
	run := func(name string, f func(context.Context) error) {
		g.Go(func() error { return a.parts.run(gctx, name, f) })
	}
	run("probe", a.probe)
	run("memory", collectWhenCalm)
	run("tail", a.tail.Run)
	run("watch", a.followChanges)
	if !a.o.RelayOff {
		run("relay", a.relay.Run)
		run("burials", a.relay.RunBurials)
	}
	run("applications", a.tendApplications)
	run("judge", a.judge.Run)
	run("brakes", a.brakes.rest)
	run("sender", a.sender.Run)
	run("puller", a.puller.Run)
	run("media", a.fetcher.Run)
	run("uploads", a.uploader.Run)
	run("results", a.results.Run)
	run("replays", a.replays.run)
	run("broker", a.broker.run)
	err = g.Wait()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// serveHTTP serves on l until ctx ends, then lets requests in flight finish. With
// secure it speaks TLS, and HTTP/1 as without: the limits are per connection.
func (a *app) serveHTTP(ctx context.Context, g *errgroup.Group, name string, l net.Listener, h http.Handler, secure *tls.Config) {
	srv := handlers.NewServer(l.Addr().String(), h, a.o.Config.HandlerLimits())
	serve := srv.Serve
	if secure != nil {
		srv.TLSConfig, srv.Protocols = secure, new(http.Protocols)
		srv.Protocols.SetHTTP1(true)
		serve = func(l net.Listener) error { return srv.ServeTLS(l, "", "") }
	}
	g.Go(func() error {
		err := serve(l)
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("%s listener: %w", name, err)
	})
	g.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := srv.Shutdown(grace); err != nil {
			_ = srv.Close() // the grace is over; what is still open is cut
		}
		return nil
	})
}

func (a *app) close() {
	for i := len(a.closers) - 1; i >= 0; i-- {
		if err := a.closers[i](); err != nil {
			a.o.Log.Error("close.failed", zap.Error(err))
		}
	}
	a.closers = nil
	for _, l := range []net.Listener{a.public, a.admin} {
		if l != nil {
			_ = l.Close() // closed already when it was served
		}
	}
}

// parts remembers which parts of the process run, for readyz and doctor.
type parts struct {
	now   func() time.Time
	mu    sync.Mutex
	state map[string]partState
}

type partState struct {
	Running bool
	Since   time.Time
	Err     string
}

func newParts(now func() time.Time) *parts {
	return &parts{now: now, state: map[string]partState{}}
}

// run runs a part and notes how it ended. A stage returns only when ctx ends;
// one that returns earlier ends the process, since a gateway without one of its
// stages looks alive and is not.
func (p *parts) run(ctx context.Context, name string, f func(context.Context) error) error {
	p.set(name, partState{Running: true, Since: p.now()})
	err := f(ctx)
	s := partState{Since: p.now()}
	if ctx.Err() == nil {
		if err == nil {
			err = errors.New("ended by itself")
		}
		s.Err = err.Error()
		err = fmt.Errorf("%s stopped: %w", name, err)
	}
	p.set(name, s)
	return err
}

func (p *parts) set(name string, s partState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state[name] = s
}

func (p *parts) snapshot() map[string]partState {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]partState, len(p.state))
	for k, v := range p.state {
		out[k] = v
	}
	return out
}
