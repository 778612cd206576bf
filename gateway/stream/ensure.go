package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// Ensure makes every stream and consumer that is missing. It asks the broker for
// each of them, whatever is believed. Errors as of Open.
func (s *Streams) Ensure(ctx context.Context) error {
	s.mu.Lock()
	clear(s.ready)
	clear(s.tried)
	s.other = nil
	s.mu.Unlock()
	var errs []error
	for _, name := range s.names() {
		err := s.need(ctx, name)
		if errors.Is(err, ErrOtherLife) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// need returns nil when the stream, as far as is known, is there. Otherwise it
// makes it, one caller at a time and at most once a second; callers in between
// get the last error.
func (s *Streams) need(ctx context.Context, name string) error {
	if done, err := s.known(name); done {
		return err
	}
	select {
	case s.making <- struct{}{}:
		defer func() { <-s.making }()
	case <-ctx.Done():
		return unavailable(name, ctx.Err())
	}
	if done, err := s.known(name); done { // somebody else made it meanwhile
		return err
	}
	p := s.part(name)
	if !s.nc.IsConnected() {
		return fmt.Errorf("%w: not connected to the broker", gateway.ErrUnavailable)
	}
	mctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	made, err := s.make(mctx, p)
	err = unavailable(name, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	var other *OtherLifeError
	switch {
	case errors.As(err, &other):
		s.other = other
	case err != nil:
		s.tried[name] = attempt{s.opts.Now(), err}
	default:
		s.ready[name] = true
		delete(s.tried, name)
		if made {
			s.log.Info("stream.made", zap.String("stream", name))
		}
	}
	return err
}

// known answers need without the broker where it can.
func (s *Streams) known(name string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.other != nil {
		return true, s.other
	}
	if s.ready[name] {
		return true, nil
	}
	if s.parts[name] == nil {
		return true, fmt.Errorf("%w: stream %s is not configured", gateway.ErrNotFound, name)
	}
	if a, ok := s.tried[name]; ok && s.opts.Now().Sub(a.at) < makeAgain {
		return true, a.err
	}
	return false, nil
}

// check looks at the error of a call: when the stream or its consumer was not
// there, the next call makes it. It returns err as gateway.ErrUnavailable.
func (s *Streams) check(name string, err error) error {
	if err == nil {
		return nil
	}
	if isMissing(err) {
		s.mu.Lock()
		if s.ready[name] {
			delete(s.ready, name)
			s.log.Warn("stream.missing", zap.String("stream", name))
		}
		s.mu.Unlock()
	}
	return unavailable(name, err)
}

// make makes or changes a stream and its consumer; made says that the stream
// was not there.
func (s *Streams) make(ctx context.Context, p *part) (made bool, err error) {
	str, err := s.js.Stream(ctx, p.stream.Name)
	switch {
	case isMissing(err):
		if str, err = s.js.CreateStream(ctx, p.stream); err != nil {
			return false, err
		}
		made = true
	case err != nil:
		return false, err
	default:
		if err := s.sameLife(str.CachedInfo()); err != nil {
			return false, err
		}
		if cfg, changed := mergeStream(str.CachedInfo().Config, p.stream); changed {
			if _, err := s.js.UpdateStream(ctx, cfg); err != nil {
				return false, err
			}
		}
	}
	if p.consumer == nil {
		return made, nil
	}
	return made, s.makeConsumer(ctx, str, p)
}

func (s *Streams) makeConsumer(ctx context.Context, str jetstream.Stream, p *part) error {
	want := *p.consumer
	c, err := str.Consumer(ctx, want.Durable)
	switch {
	case isMissing(err):
		if until, held := s.heldUntil(p.app); held {
			want.PauseUntil = &until
		}
		_, err = str.CreateConsumer(ctx, want)
		return err
	case err != nil:
		return err
	}
	if cfg, changed := mergeConsumer(c.CachedInfo().Config, want); changed {
		_, err = str.UpdateConsumer(ctx, cfg)
		return err
	}
	return nil
}

// sameLife compares a stream's metadata with the store's identity.
func (s *Streams) sameLife(info *jetstream.StreamInfo) error {
	have := info.Config.Metadata[metaStore]
	epoch, _ := strconv.ParseInt(info.Config.Metadata[metaEpoch], 10, 64)
	if have == s.opts.StoreID && epoch == s.opts.Epoch {
		return nil
	}
	return &OtherLifeError{
		Stream: info.Config.Name, Have: have, HaveEpoch: epoch,
		Want: s.opts.StoreID, WantEpoch: s.opts.Epoch,
	}
}

// Adopt deletes the streams of this product, whoever made them, with everything
// in them, and makes them anew for this store. Streams with other names stay.
func (s *Streams) Adopt(ctx context.Context) error {
	lister := s.js.StreamNames(ctx)
	var names []string
	for name := range lister.Name() {
		if isOurs(name) {
			names = append(names, name)
		}
	}
	if err := lister.Err(); err != nil && !errors.Is(err, jetstream.ErrEndOfData) {
		return unavailable("list streams", err)
	}
	for _, name := range names {
		dctx, cancel := context.WithTimeout(ctx, apiWait)
		err := s.js.DeleteStream(dctx, name)
		cancel()
		if err != nil && !isMissing(err) {
			return unavailable("delete "+name, err)
		}
		s.log.Warn("stream.adopted", zap.String("stream", name))
	}
	return s.Ensure(ctx)
}

func isOurs(name string) bool {
	switch name {
	case EventStream, ReplyStream, ResultStream, StateStream, AdvisoryStream:
		return true
	}
	return strings.HasPrefix(name, readyPrefix)
}

// heldUntil says whether the application's consumer is to be paused.
func (s *Streams) heldUntil(app string) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Now().Add(holdFor), s.held[app]
}
