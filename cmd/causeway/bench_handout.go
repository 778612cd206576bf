package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// What `bench latency` and `bench neighbour` have in common: a gateway and a worker, a
// process each, and how long an event takes from the commit that relayed it to the
// beginning of its handler. Both processes read the clock of one machine.

// handoutSide is a gateway with its worker.
type handoutSide struct {
	gateway, worker *benchChild
	maker           *callbackMaker
	buffer          []byte
	took            int64 // callbacks
}

// handout is what one load has shown.
type handout struct {
	Handout latency // from the relay's commit to the handler
	Ack     latency // of the callback
	Events  int
	hist    *histogram
}

const (
	handoutConns    = 16
	handoutPatience = 30 * time.Second
	slowName        = "Slow Customer"
)

// startHandout starts both; the worker is slow with the customer of slowName.
func (b *bench) startHandout(ctx context.Context, dir, name string, customers, slots int, slow time.Duration) (_ *handoutSide, err error) {
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	path, err := benchConfig{dir: dir, workers: true}.write()
	if err != nil {
		return nil, err
	}
	args := []string{"child-gateway", "-c", path, "--commits"}
	if p := b.profilePath(name); p != "" {
		args = append(args, "--profile", p)
	}
	s := &handoutSide{maker: newCallbackMaker(customers)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.gateway, err = b.startChild(ctx, args...); err != nil {
		return nil, err
	}
	state, err := s.gateway.until(ctx, "the streams", handoutPatience, func(c childState) bool { return c.NATS != "" })
	if err != nil {
		return nil, err
	}
	o := workerChildOptions{url: state.NATS, slots: slots, slow: slowName, handler: slow}
	if s.worker, err = b.spawn(ctx, o.args()...); err != nil {
		return nil, err
	}
	_, err = s.gateway.until(ctx, "a worker", handoutPatience, func(c childState) bool { return c.Workers > 0 })
	return s, err
}

func (s *handoutSide) stop() (err error) {
	for _, c := range []*benchChild{s.worker, s.gateway} {
		if c != nil {
			err = errors.Join(err, c.stop())
		}
	}
	return err
}

// fill lets n events of the slow customer wait.
func (s *handoutSide) fill(ctx context.Context, n int) error {
	slow := whatsapptest.Customer{Phone: benchCustomer(len(s.maker.texts)), Name: slowName}
	took, err := newBatchMaker().send(ctx, s.gateway.addr, n, func(int) whatsapptest.Customer { return slow }, func(int) error { return nil })
	if s.took += took; err != nil {
		return err
	}
	if _, err := s.gateway.relayed(ctx, s.took, time.Duration(n)*time.Millisecond+handoutPatience); err != nil {
		return err
	}
	return s.forget()
}

// forget passes over what was noted so far.
func (s *handoutSide) forget() error {
	var at map[string]int64
	return errors.Join(s.gateway.ask("commits", &at), s.worker.ask("begun", &at))
}

// load offers callbacks at a rate and looks how long each event took to its handler.
func (s *handoutSide) load(ctx context.Context, rate float64, d time.Duration) (*handout, error) {
	n := max(int(rate*d.Seconds()), 1)
	l := benchLoad{addr: s.gateway.addr, conns: handoutConns, rate: rate, limit: d}
	l.requests, _, s.buffer = s.maker.requests(n, s.gateway.addr, s.buffer)
	res, err := l.run(ctx)
	if err != nil {
		return nil, err
	}
	if s.took += res.OK; res.OK != int64(n) {
		return nil, fmt.Errorf("%d of %d callbacks were taken", res.OK, n)
	}
	if _, err := s.gateway.relayed(ctx, s.took, handoutPatience); err != nil {
		return nil, err
	}
	return s.match(ctx, n, res.Latency)
}

// match waits until every event that was committed has come to its handler.
func (s *handoutSide) match(ctx context.Context, n int, ack latency) (*handout, error) {
	var commits map[string]int64
	if err := s.gateway.ask("commits", &commits); err != nil {
		return nil, err
	}
	if len(commits) != n {
		return nil, fmt.Errorf("%d events were committed of %d callbacks", len(commits), n)
	}
	out := &handout{Ack: ack, Events: n, hist: newHistogram()}
	for late := time.Now().Add(handoutPatience); len(commits) > 0; {
		var begun map[string]int64
		if err := s.worker.ask("begun", &begun); err != nil {
			return nil, err
		}
		for event, at := range begun {
			if from, ok := commits[event]; ok {
				out.hist.add(time.Duration(at - from))
				delete(commits, event)
			}
		}
		if len(commits) > 0 && (time.Now().After(late) || !wait(ctx, 10*time.Millisecond)) {
			return nil, errors.Join(fmt.Errorf("%d of %d events did not come to a handler", len(commits), n), ctx.Err())
		}
	}
	out.Handout = out.hist.latency()
	return out, nil
}
