package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Server serves a sandbox on a TCP address and can refuse connections there.
type Server struct {
	handler http.Handler
	log     *zap.Logger

	mu     sync.Mutex
	addr   string
	server *http.Server
	done   chan struct{} // closed when the running server has ended
	closed bool

	running sync.Mutex // guards calls
	idle    *sync.Cond
	calls   int
}

// NewServer makes a server that does not listen yet.
func NewServer(h http.Handler, log *zap.Logger) *Server {
	s := &Server{handler: h, log: log}
	s.idle = sync.NewCond(&s.running)
	return s
}

// ServeHTTP counts the calls that run, so that stopping can wait for them.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.running.Lock()
	s.calls++
	s.running.Unlock()
	defer func() {
		s.running.Lock()
		defer s.running.Unlock()
		s.calls--
		s.idle.Broadcast()
	}()
	s.handler.ServeHTTP(w, r)
}

// Listen accepts connections at addr; empty means the address of the time
// before, the first time a free port on 127.0.0.1. It returns when connections
// are accepted.
func (s *Server) Listen(addr string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errors.New("sandbox: server is closed")
	case s.server != nil:
		return errors.New("sandbox: server listens already")
	}
	if addr == "" {
		addr = s.addr
	}
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return fmt.Errorf("sandbox: listen: %w", err)
	}
	s.addr = l.Addr().String()
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: zap.NewStdLog(s.log),
	}
	done := make(chan struct{})
	s.server, s.done = server, done
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("sandbox.stopped", zap.Error(err))
		}
	}()
	return nil
}

// URL is the base address, without a slash at the end; empty before the first
// Listen.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addr == "" {
		return ""
	}
	return "http://" + s.addr
}

// Refuse closes the listener and every connection and waits for the calls that
// run: callers are refused until Listen is called again. It must not be called
// from a handler.
func (s *Server) Refuse() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop()
}

func (s *Server) stop() error {
	if s.server == nil {
		return nil
	}
	err := s.server.Close()
	<-s.done
	s.server = nil
	// Closing the connections ended the contexts of the calls.
	s.running.Lock()
	defer s.running.Unlock()
	for s.calls > 0 {
		s.idle.Wait()
	}
	return err
}

// Close ends the server for good.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.stop()
}
