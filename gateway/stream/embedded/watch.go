package embedded

import (
	"context"
	"strings"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"go.uber.org/zap"
)

const (
	watchEvery   = 2 * time.Second
	restartFirst = 5 * time.Second // wait after a restart that did not help, doubled
	restartMost  = 2 * time.Minute
)

// Watch restarts the server in process when it cannot write any more although
// the disk has room again, or when it is gone after a failed Restart. It runs
// until ctx ends and returns nil. One Watch per server.
func (s *Server) Watch(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	wait, next := restartFirst, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		why := s.Frozen()
		now := s.opts.Now()
		if why == "" {
			if now.After(next) {
				wait = restartFirst
			}
			continue
		}
		if now.Before(next) || !s.hasRoom() {
			continue
		}
		begun := now
		err := s.Restart(ctx)
		next, wait = s.opts.Now().Add(wait), min(2*wait, restartMost)
		if err != nil {
			s.log.Error("broker.restart_failed", zap.String("why", why), zap.Error(err))
			continue
		}
		s.log.Warn("broker.restarted", zap.String("why", why), zap.Duration("took", s.opts.Now().Sub(begun)))
	}
}

// Frozen says in a few words why the server cannot store anything; "" means it
// can. The server itself tells: a stream whose store had a write error refuses
// every later write without a word to the publisher, and its health report
// names it (nats-server 2.15 server/monitor.go healthz, server/stream.go
// setWriteErrLocked).
func (s *Server) Frozen() string {
	srv := s.current()
	switch {
	case srv == nil || !srv.Running():
		return "not running"
	case !srv.JetStreamEnabled():
		return "JetStream switched itself off"
	}
	h := srv.Healthz(&natsserver.HealthzOptions{Details: true})
	if h == nil {
		return ""
	}
	for _, e := range h.Errors {
		if strings.Contains(e.Error, "write error") {
			return "a stream has a write error"
		}
	}
	return ""
}

func (s *Server) hasRoom() bool {
	free, err := freeBytes(s.opts.Dir)
	return err == nil && free >= s.opts.Reserve
}
