package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/gate"
	"github.com/causewayhq/causeway/gateway/outbox"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/stream/embedded"
)

// broker is the NATS side of the gateway: server (when embedded), connection,
// streams, and the stages that need them. Everything else goes on without it:
// callbacks are archived and relayed, replies sent, and what was to be offered
// or published waits in the ledger.
type broker struct {
	a      *app
	intake *outbox.Intake
	gates  map[string]*gate.Gate
	adopt  chan chan error

	telling sync.Mutex // of pending rows to the gates, see app.tend

	mu      sync.Mutex
	server  *embedded.Server
	conn    *stream.Conn
	streams *stream.Streams
	state   brokerState
}

// brokerState is what readyz and doctor say about NATS.
type brokerState struct {
	Word   string // "starting", "ok", "away", "other life"
	Detail string
	Since  time.Time
}

func newBroker(a *app) *broker {
	b := &broker{a: a, gates: map[string]*gate.Gate{}, adopt: make(chan chan error)}
	b.setState("starting", "")
	b.intake = outbox.NewIntake(outbox.IntakeOptions{
		Ledger: a.ledger, Replies: b, Apps: a.dir.apps, Settled: b.settled, Tripped: b.tripped,
		Boundary: a.o.Boundary, Now: a.o.Now, Log: a.o.Log,
	})
	for _, app := range a.dir.apps {
		b.gates[app.Name] = gate.New(gate.Options{
			Taken: a.takenFor(&app),
			App:   app, Ledger: a.ledger, Stream: b, Intake: b.intake, Resolved: b.resolved, Rest: a.rest, Stopped: a.brakes.stopped, Breaker: a.brakes.tripped[app.Name],
			Boundary: a.o.Boundary, Now: a.o.Now, Log: a.o.Log,
		})
	}
	return b
}

// run brings the broker up, whatever it takes, and then runs its stages.
func (b *broker) run(ctx context.Context) error {
	defer b.stop()
	for pause := time.Second; ; pause = min(2*pause, 15*time.Second) {
		err := b.open(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var other *stream.OtherLifeError
		word := "away"
		if errors.As(err, &other) {
			word = "other life"
		}
		b.setState(word, err.Error())
		b.a.o.Log.Warn("nats.unavailable", zap.String("state", word), zap.Error(err), zap.Duration("again_in", pause))
		b.waitAdopt(ctx, pause)
	}
	b.setState("ok", "")
	return b.stages(ctx)
}

// open starts the server, connects and makes the streams; each part that is
// there already is kept.
func (b *broker) open(ctx context.Context) error {
	if err := b.connect(); err != nil {
		return err
	}
	s, err := stream.Open(ctx, b.connection(), b.streamOptions())
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.streams = s
	b.mu.Unlock()
	return nil
}

func (b *broker) streamOptions() stream.Options {
	id := b.a.ledger.Identity()
	o := stream.Options{
		StoreID: id.ID, Epoch: id.Epoch, Apps: b.a.dir.apps,
		Replicas: b.a.o.Config.NATS.Replicas, Log: b.a.o.Log, Now: b.a.o.Now,
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server != nil {
		o.StorageLimit = b.server.MaxStorage()
	}
	return o
}

// waitAdopt waits before the next try, or empties the other life's streams when
// an admin says so.
func (b *broker) waitAdopt(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case answer := <-b.adopt:
		answer <- stream.Adopt(ctx, b.connection(), b.streamOptions())
	}
}

// Adopt empties the streams of another store and takes them over. It is
// possible only while the broker's state is "other life".
func (b *broker) Adopt(ctx context.Context) error {
	if b.State().Word != "other life" {
		return fmt.Errorf("the streams belong to this store already: %w", gateway.ErrConflict)
	}
	answer := make(chan error, 1)
	select {
	case b.adopt <- answer:
		return <-answer
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stages runs what needs the broker until ctx ends.
func (b *broker) stages(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	run := func(name string, f func(context.Context) error) {
		g.Go(func() error { return b.a.parts.run(gctx, name, f) })
	}
	run("publish events", b.a.publisher.RunEvents)
	run("publish results", b.a.publisher.RunChanges)
	run("publish states", b.a.publisher.RunStates)
	run("current", b.serveCurrent)
	run("sends", b.serveSends)
	run("intake", b.intake.Run)
	run("nats watch", b.watch)
	run("advisories", func(ctx context.Context) error {
		return b.streams.Exhausted(ctx, func(e gateway.Exhausted) error {
			if g := b.gates[e.App]; g != nil {
				return g.Exhausted(ctx, e)
			}
			return nil
		})
	})
	for name, gt := range b.gates {
		if b.a.brakes.is(gateway.BrakeApp, name) {
			gt.Pause(true)
		}
		run("gate "+name, gt.Run)
	}
	for _, app := range b.a.dir.apps {
		if app.Builtin == "echo" {
			run("bot "+app.Name, func(ctx context.Context) error { return b.runEcho(ctx, app) })
		}
		if br := b.a.bridges[app.Name]; br != nil {
			run("bridge "+app.Name, func(ctx context.Context) error { return br.Run(ctx, b.connection()) })
		}
	}
	return g.Wait()
}

// settled hands the outcome of answers on: to the gates, the sender and the
// publisher.
func (b *broker) settled(list []gateway.Settled) {
	for _, g := range b.gates {
		g.Settled(list)
	}
	b.a.settled(list)
	var convs []string
	for i := range list {
		if list[i].Messages > 0 {
			convs = append(convs, list[i].Conv)
		}
	}
	if len(convs) > 0 {
		b.a.sender.Wake(convs...)
		b.a.publisher.Kick()
	}
}

// tripped says whether an application does not work as a whole.
func (b *broker) tripped(app string) bool {
	g := b.gates[app]
	return g != nil && g.Tripped()
}

// resolved is told what a gate decided by itself.
func (b *broker) resolved(s gateway.Settled) {
	b.a.settled([]gateway.Settled{s})
	b.a.publisher.Kick()
}

// merged tells the gates which conversations became one; rows committed with it are
// handed to them afterwards.
func (b *broker) merged(merges []gateway.Merge) {
	for _, g := range b.gates {
		g.Merged(merges)
	}
}

// added hands new pending rows to the gates.
func (b *broker) added(rows []gateway.Pending) {
	b.telling.Lock()
	defer b.telling.Unlock()
	b.tell(rows)
}

func (b *broker) tell(rows []gateway.Pending) {
	for _, g := range b.gates {
		g.Added(rows)
	}
}

func (b *broker) setState(word, detail string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.Word != word {
		b.state = brokerState{Word: word, Since: b.a.o.Now()}
	}
	b.state.Detail = detail
}

// State says how NATS is.
func (b *broker) State() brokerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

func (b *broker) connection() *stream.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conn
}

// stream returns the open streams, or gateway.ErrUnavailable.
func (b *broker) stream() (*stream.Streams, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.streams == nil {
		return nil, fmt.Errorf("nats is not open yet: %w", gateway.ErrUnavailable)
	}
	return b.streams, nil
}

// maxPayload is the largest message the connected servers take, in bytes; 0 while
// there is no connection.
func (b *broker) maxPayload() int64 {
	c := b.connection()
	if c == nil || !c.IsConnected() {
		return 0
	}
	return c.MaxPayload()
}

// complaints is what is wrong with servers outside; none while they are away, and none
// of the embedded one, which is as it is made.
func (b *broker) complaints(ctx context.Context) []stream.Complaint {
	b.mu.Lock()
	s, own := b.streams, b.server != nil
	b.mu.Unlock()
	if s == nil || own {
		return nil
	}
	return s.Complaints(ctx)
}
