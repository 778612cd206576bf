package stream

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// exhaustedAgain is how long an advisory waits after fn failed.
const exhaustedAgain = time.Second

// Exhausted hands on, one at a time, the broker's word that it gave up on an
// offer (MaxDeliver), until ctx ends; it returns nil then. The word is kept in a
// stream until fn returned nil, so it outlives a restart of the gateway. The
// broker speaks only while a worker waits for offers, and a broker that crashes
// may forget it: the gate's watchdog is the net below. The offer itself stays in
// the gate until it is withdrawn.
func (s *Streams) Exhausted(ctx context.Context, fn func(gateway.Exhausted) error) error {
	wait, failed := backoffFirst, false
	for {
		begun := s.opts.Now()
		err := s.takeExhausted(ctx, fn)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the caller ended it
		}
		if s.opts.Now().Sub(begun) > backoffMost {
			wait, failed = backoffFirst, false
		}
		if !failed {
			s.log.Warn("advisories.interrupted", zap.Error(err))
		}
		failed = true
		if !sleep(ctx, wait) {
			return nil
		}
		wait = min(2*wait, backoffMost)
	}
}

func (s *Streams) takeExhausted(ctx context.Context, fn func(gateway.Exhausted) error) error {
	if err := s.need(ctx, AdvisoryStream); err != nil {
		return err
	}
	in := make(chan *nats.Msg, 1)
	p, err := NewPuller(s.nc, PullOptions{
		Stream: AdvisoryStream, Consumer: advisoryConsumer, Room: 1,
		Into: func(_ *Puller, m *nats.Msg) {
			select {
			case in <- m:
			default: // comes again after its AckWait
			}
		},
	})
	if err != nil {
		return err
	}
	defer p.Close()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.Done():
			return s.check(AdvisoryStream, p.Err())
		case m := <-in:
			if err := s.oneExhausted(ctx, m, fn); err != nil {
				return s.check(AdvisoryStream, err)
			}
			p.Release(1)
		}
	}
}

func (s *Streams) oneExhausted(ctx context.Context, m *nats.Msg, fn func(gateway.Exhausted) error) error {
	e, ok := readExhausted(m.Data)
	if !ok {
		s.log.Warn("advisory.unreadable")
		return m.Term()
	}
	if err := fn(e); err != nil {
		if ctx.Err() == nil {
			s.log.Warn("advisory.not_taken", zap.String("app", e.App), zap.Error(err))
		}
		return m.NakWithDelay(exhaustedAgain)
	}
	return m.Ack()
}

// readExhausted reads io.nats.jetstream.advisory.v1.max_deliver.
func readExhausted(b []byte) (gateway.Exhausted, bool) {
	var a struct {
		Stream     string `json:"stream"`
		StreamSeq  uint64 `json:"stream_seq"`
		Deliveries int    `json:"deliveries"`
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return gateway.Exhausted{}, false
	}
	app, ok := strings.CutPrefix(a.Stream, readyPrefix)
	if !ok || app == "" || a.StreamSeq == 0 {
		return gateway.Exhausted{}, false
	}
	return gateway.Exhausted{App: app, Seq: a.StreamSeq, Deliveries: a.Deliveries}, true
}
