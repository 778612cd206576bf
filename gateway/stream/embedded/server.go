package embedded

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

const (
	// MaxPayload is the largest message: an event with its raw part, or an
	// answer. 4 MiB.
	MaxPayload = 4 << 20
	// maxStorageCap bounds the default storage limit.
	maxStorageCap = 10 << 30
	// gatewayUser is the in-process connection; it cannot name a User, since a
	// valid name has no underscore.
	gatewayUser = "_gateway"

	limitName = "max_storage" // file in Dir: MaxStorage of the first start

	readyWait     = 30 * time.Second // recovery of the streams at start
	handshakeWait = 5 * time.Second
)

// Options say how the server runs.
type Options struct {
	// Dir holds the streams and the lock file; it is made when missing.
	Dir string
	// Listen is host:port for workers; "" means in-process only. Port 0 takes
	// a free one, which stays the same over restarts.
	Listen string
	// Users may connect over TCP. With Listen and no users nobody can.
	Users []User
	// TLS makes every connection over TCP use it; nil for none. Its certificate is
	// asked for at each handshake.
	TLS *tls.Config
	// MaxStorage limits what all streams may use, in bytes; 0 means a quarter
	// of the space that was free at the first start, at most 10 GiB. That number
	// is kept in the directory: the streams reserve it, so it must not shrink
	// with the free space.
	MaxStorage int64
	// Reserve is how many bytes must be free before Watch restarts a frozen
	// server; 0 means 1 GiB or a tenth of what was free at the start,
	// whichever is less.
	Reserve int64
	// Log receives the server's warnings and errors; nil means none.
	Log *zap.Logger
	// Now is the clock of Watch; nil means time.Now.
	Now func() time.Time
}

// Server is a running NATS server. Its methods are safe for concurrent use.
type Server struct {
	opts   Options
	secret string
	lock   *os.File
	log    *zap.Logger

	restart sync.Mutex // one restart or close at a time
	mu      sync.Mutex // guards what follows
	srv     *natsserver.Server
	listen  string // resolved host:port, "" for none
	closed  bool
}

// Start locks the directory and starts the server; it returns when the streams
// are recovered. Errors: ErrLocked; a bad option, naming it; the server's own.
func Start(opts Options) (*Server, error) {
	if opts.Dir == "" {
		return nil, errors.New("embedded NATS: Dir is empty")
	}
	if err := checkUsers(opts.Users); err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	lock, err := lockDir(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	s := &Server{opts: opts, lock: lock, log: opts.Log, listen: opts.Listen}
	if err := s.prepare(); err != nil {
		_ = lock.Close()
		return nil, err
	}
	if s.srv, err = s.start(context.Background()); err != nil {
		_ = lock.Close()
		return nil, err
	}
	s.listen = listenAddr(s.srv, s.listen)
	return s, nil
}

// prepare fills the sizes from the disk and makes the gateway's own password.
func (s *Server) prepare() error {
	free, err := freeBytes(s.opts.Dir)
	if err != nil {
		return fmt.Errorf("embedded NATS: free space: %w", err)
	}
	if s.opts.MaxStorage <= 0 {
		if s.opts.MaxStorage, err = keptLimit(s.opts.Dir, min(free/4, maxStorageCap)); err != nil {
			return fmt.Errorf("embedded NATS: storage limit: %w", err)
		}
	}
	if s.opts.Reserve <= 0 {
		s.opts.Reserve = min(free/10, 1<<30)
	}
	var b [24]byte
	if _, err := rand.Read(b[:]); err != nil {
		return fmt.Errorf("embedded NATS: %w", err)
	}
	s.secret = hex.EncodeToString(b[:])
	return nil
}

// keptLimit is the limit of the first start.
func keptLimit(dir string, first int64) (int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }()
	if b, err := root.ReadFile(limitName); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			return n, nil
		}
	}
	return first, root.WriteFile(limitName, fmt.Appendf(nil, "%d\n", first), 0o600)
}

// start runs one server of s.opts and waits until it takes connections.
func (s *Server) start(ctx context.Context) (*natsserver.Server, error) {
	o := &natsserver.Options{
		ServerName: "causeway",
		JetStream:  true,
		StoreDir:   filepath.Join(s.opts.Dir, "streams"),
		MaxPayload: MaxPayload,
		// Memory streams hold nothing of ours but consumers' positions.
		JetStreamMaxMemory: 64 << 20,
		JetStreamMaxStore:  s.opts.MaxStorage,
		// Since 2.15 a stream has 1,000 consumers by default, and -1 on the
		// stream does not lift it.
		JetStreamLimits:            natsserver.JSLimitOpts{DefaultMaxConsumers: -1},
		CustomClientAuthentication: newDoor(s.opts.Users, s.secret),
		NoSigs:                     true,
		NoSystemAccount:            true,
		DontListen:                 s.listen == "",
		MaxPending:                 256 << 20,
	}
	if s.opts.TLS != nil {
		o.TLS, o.TLSConfig, o.TLSTimeout = true, s.opts.TLS.Clone(), handshakeWait.Seconds()
	}
	if s.listen != "" {
		host, port, err := net.SplitHostPort(s.listen)
		if err != nil {
			return nil, errors.New("embedded NATS: listen must be host:port")
		}
		o.Host = host
		if o.Port, err = strconv.Atoi(port); err != nil {
			return nil, errors.New("embedded NATS: the port of listen is not a number")
		}
		if err := canListen(ctx, s.listen); err != nil {
			return nil, fmt.Errorf("embedded NATS: %w", err)
		}
		if o.Port == 0 {
			o.Port = natsserver.RANDOM_PORT
		}
	}
	srv, err := natsserver.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	srv.SetLoggerV2(serverLog{s.log.Named("nats").Sugar()}, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(readyWait) || !srv.JetStreamEnabled() {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, fmt.Errorf("%w: the embedded NATS did not get ready (disk full, or %s not writable?)",
			gateway.ErrUnavailable, s.opts.Dir)
	}
	return srv, nil
}

// canListen tries the address first: the server itself would only log that it
// is taken, and be waited for in vain.
func canListen(ctx context.Context, addr string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return l.Close()
}

// listenAddr keeps the port that was given for port 0.
func listenAddr(srv *natsserver.Server, listen string) string {
	if listen == "" {
		return ""
	}
	if a := srv.Addr(); a != nil {
		return a.String()
	}
	return listen
}

// Restart stops the server and starts it again with the same options, port and
// passwords. Connections made with ConnectOptions find the new one. When the
// new one does not start, the error is returned and the next Restart may.
func (s *Server) Restart(ctx context.Context) error {
	s.restart.Lock()
	defer s.restart.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	old, closed := s.srv, s.closed
	s.srv = nil
	s.mu.Unlock()
	if closed {
		return fmt.Errorf("%w: the embedded NATS is closed", gateway.ErrUnavailable)
	}
	if old != nil {
		old.Shutdown()
		old.WaitForShutdown()
	}
	srv, err := s.start(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.srv = srv
	s.mu.Unlock()
	return nil
}

// Close stops the server, waits for it, and frees the directory.
func (s *Server) Close() error {
	s.restart.Lock()
	defer s.restart.Unlock()
	s.mu.Lock()
	srv, closed := s.srv, s.closed
	s.srv, s.closed = nil, true
	s.mu.Unlock()
	if closed {
		return nil
	}
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
	return s.lock.Close()
}

// ClientURL is what workers connect to; "" when there is no listener.
func (s *Server) ClientURL() string {
	if s.listen == "" {
		return ""
	}
	if s.opts.TLS != nil {
		return "tls://" + s.listen
	}
	return "nats://" + s.listen
}

// MaxStorage is the limit for all streams, in bytes; the client side shares it
// out among its streams.
func (s *Server) MaxStorage() int64 { return s.opts.MaxStorage }

// Provider makes in-process connections to whichever server runs now.
func (s *Server) Provider() nats.InProcessConnProvider { return provider{s} }

// provider follows restarts: nats.go asks it again at every reconnect.
type provider struct{ s *Server }

// InProcessConn implements nats.InProcessConnProvider.
func (p provider) InProcessConn() (net.Conn, error) {
	srv := p.s.current()
	if srv == nil {
		return nil, fmt.Errorf("%w: the embedded NATS is not running", gateway.ErrUnavailable)
	}
	return srv.InProcessConn()
}

func (s *Server) current() *natsserver.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.srv
}

// ConnectOptions connect the gateway itself, in process and with full rights,
// and keep it connected over restarts: nats.Connect("", srv.ConnectOptions()...).
// Publishing while there is no connection is an error at once and not a buffer,
// because the ledger offers again by itself.
func (s *Server) ConnectOptions() []nats.Option {
	return []nats.Option{
		nats.Name("causeway"),
		nats.InProcessServer(s.Provider()),
		nats.UserInfo(gatewayUser, s.secret),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(20*time.Millisecond, 20*time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(),
	}
}
