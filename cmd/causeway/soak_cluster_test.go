package main

import (
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// soakServers is the cluster under a soak's gateway.
type soakServers struct {
	w  *world
	c  *cluster
	js jetstream.JetStream
}

func newSoakServers(w *world) *soakServers {
	c := newCluster(w.t, w.dir)
	_, js := c.serves(w)
	return &soakServers{w: w, c: c, js: js}
}

// leader is the server that leads the gate, once every copy of it is whole: two that
// are away at once are a cluster that stands still.
func (s *soakServers) leader() int {
	s.w.until(2*time.Minute, "the cluster has the gate", func() bool {
		_, err := s.js.Stream(s.w.t.Context(), readyOfEcho)
		return err == nil
	})
	return s.c.leader(s.js, readyOfEcho)
}

func (s *soakServers) killLeader() {
	at := s.leader()
	s.c.processes[at].kill()
	s.c.start(at)
}

func (s *soakServers) restart(at int) {
	s.leader()
	_ = s.c.processes[at].cmd.Process.Signal(syscall.SIGTERM)
	_ = s.c.processes[at].cmd.Wait()
	s.c.start(at)
}
