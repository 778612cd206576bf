package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"
)

// Options of a Client. The zero value is ready to use.
type Options struct {
	// Timeout bounds a whole call, answer included. Default 30 s: waiting for
	// an answer is cheaper than not knowing it.
	Timeout time.Duration
	// DialTimeout bounds making a connection, TLSTimeout the handshake.
	// Default 5 s each.
	DialTimeout, TLSTimeout time.Duration
	// IdleTimeout closes connections that nobody used. Default 30 s, below
	// the usual patience of servers, so that we close first.
	IdleTimeout time.Duration
	// IdlePerHost is how many idle connections to a host are kept. Default 1024: many
	// accounts share a host, and a connection that is closed and made again costs more
	// than one that is kept for IdleTimeout.
	IdlePerHost int
	// MaxBody bounds an answer in bytes. Default 1 MiB.
	MaxBody int64
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// TLS is the configuration for https; nil for Go's default.
	TLS *tls.Config
	// Proxy chooses a proxy, as in http.Transport; nil for none.
	Proxy func(*http.Request) (*url.URL, error)
	// Dial makes the connections; nil for TCP with DialTimeout.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client sends requests. Both platform clients share one.
type Client struct {
	transport *http.Transport
	timeout   time.Duration
	maxBody   int64
	now       func() time.Time
}

// Response is an answer, read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// New makes a Client.
func New(o Options) *Client {
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: orDuration(o.DialTimeout, 5*time.Second), KeepAlive: 15 * time.Second}).DialContext
	}
	c := &Client{timeout: orDuration(o.Timeout, 30*time.Second), maxBody: o.MaxBody, now: o.Now}
	if c.maxBody <= 0 {
		c.maxBody = 1 << 20
	}
	if c.now == nil {
		c.now = time.Now
	}
	perHost := o.IdlePerHost
	if perHost <= 0 {
		perHost = 1024
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	c.transport = &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			s, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &conn{Conn: s}, nil
		},
		Protocols:              &protocols,
		Proxy:                  o.Proxy,
		OnProxyConnectResponse: refusedByProxy,
		TLSClientConfig:        o.TLS,
		TLSHandshakeTimeout:    orDuration(o.TLSTimeout, 5*time.Second),
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        orDuration(o.IdleTimeout, 30*time.Second),
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
		// A request of ours fits, so it leaves in one write.
		WriteBufferSize: 32 << 10,
	}
	return c
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// Now tells the client's clock, for the platform clients that share it.
func (c *Client) Now() time.Time { return c.now() }

// Close drops idle connections. Calls in flight end as they would.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Do makes one call. No byte of the request is written at or after voidAfter
// (zero: no limit). Any status is an answer, redirects included. The error is
// an *Error; see its Written for what is known. The request's context ends the
// call early.
func (c *Client) Do(req *http.Request, voidAfter time.Time) (*Response, error) {
	g := newGuard(c.now, voidAfter)
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	ctx, stop := context.WithTimeout(ctx, c.timeout)
	defer stop()
	if left, ok := g.left(); ok {
		// The clock handed in decides; the timer only wakes.
		timer := time.AfterFunc(left, func() {
			if g.expire() {
				cancel(errVoid)
			}
		})
		defer timer.Stop()
	}
	var held *conn
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			ours, overTLS := unwrap(info.Conn)
			g.attach(ours != nil)
			if ours != nil {
				held = ours
				ours.hold(g, info.Reused, overTLS)
			}
		},
		WroteHeaders: g.wroteHeaders,
	})
	out := req.Clone(ctx)
	// Either header makes Go's transport repeat a POST by itself.
	out.Header.Del("Idempotency-Key")
	out.Header.Del("X-Idempotency-Key")

	resp, err := c.roundTrip(out)
	written, voided := g.end()
	if err == nil && !written {
		// Bytes that came before we wrote anything answer nothing of ours.
		resp, err = nil, errStale
	}
	if err == nil && resp.Status == http.StatusProxyAuthRequired && c.proxied(out) {
		// The proxy said so, and passes on nothing of who may not use it.
		resp, err, written = nil, errProxy, false
	}
	if err != nil {
		return nil, c.failure(ctx, req, err, written, voided)
	}
	if held != nil {
		held.free(g)
	}
	return resp, nil
}

// roundTrip calls the transport, which neither follows redirects nor keeps
// cookies, and reads the answer.
func (c *Client) roundTrip(req *http.Request) (*Response, error) {
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // what counts was read
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.maxBody+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > c.maxBody {
		return nil, errTooLarge
	}
	return &Response{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// errProxy: the proxy did not do what it is there for.
var errProxy = errors.New("refused by the proxy") //nolint:gochecknoglobals // a sentinel error is a constant

// refusedByProxy is for https, where a proxy is asked for a connection first.
func refusedByProxy(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	return errProxy
}

// proxied says whether a proxy answers in the place of the server.
func (c *Client) proxied(req *http.Request) bool {
	if c.transport.Proxy == nil {
		return false
	}
	u, err := c.transport.Proxy(req)
	return err == nil && u != nil
}

var errTooLarge = errors.New("answer too large") //nolint:gochecknoglobals // a sentinel error is a constant

// failure is the one place where an error text is made of a call.
func (c *Client) failure(ctx context.Context, req *http.Request, err error, written, voided bool) *Error {
	e := &Error{Written: written, method: req.Method, host: req.URL.Host, cause: contextError(err)}
	switch {
	case voided || errors.Is(context.Cause(ctx), errVoid):
		e.Word, e.cause = WordVoid, nil
	case errors.Is(err, errTooLarge):
		e.Word = WordTooLarge
	case ctx.Err() != nil && req.Context().Err() == nil:
		e.Word, e.cause = WordTimeout, context.DeadlineExceeded
	default:
		e.Word = wordOf(err)
	}
	return e
}
