package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// maxRedirects is how many redirects a fetch follows.
const maxRedirects = 3

// FetchOptions of a Fetcher. Route is needed; the rest has defaults.
type FetchOptions struct {
	Route Route
	// Token is sent as a bearer to TokenHosts and to the route's Base, and to no
	// other host, whatever leads there.
	Token      string
	TokenHosts []string
	// TokenHeader carries the token as it stands [Authorization, as a bearer].
	TokenHeader string
	// IsFile says by the header of a 200 whether its body is the file, for
	// platforms that answer errors under 200 too; nil: each is. What is not comes
	// in Fetched.Body, as under any other status.
	IsFile func(http.Header) bool
	// Timeout bounds a fetch as a whole [5 min], Idle the silence of the other
	// side [30 s], Dial making a connection [5 s].
	Timeout, Idle, Dial time.Duration
	TLS                 *tls.Config
	// Proxy is what every hop goes through; nil for none. See Fetcher.
	Proxy *url.URL
	// Lookup finds the addresses of a host [the system's resolver]; Connect makes
	// the connection to one that passed [TCP]. For tests.
	Lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Fetcher gets files from addresses that somebody else named.
//
// Promise: every hop is checked as a URL (Route.Target), and its address once
// more when the connection is made, so that a name that leads elsewhere between
// two looks does not matter; the address that was checked is the one that is
// called. No proxy is used but the one that the operator named: that looks up the name
// by itself, so then the names alone are checked here, and where they lead is the
// proxy's to guard. At most three redirects, no more bytes than the limit, no longer
// than the time.
type Fetcher struct {
	o         FetchOptions
	transport *http.Transport
}

// NewFetcher makes a fetcher. It keeps connections; Close drops them.
func NewFetcher(o FetchOptions) *Fetcher {
	o.Timeout, o.Idle, o.Dial = orDuration(o.Timeout, 5*time.Minute), orDuration(o.Idle, 30*time.Second), orDuration(o.Dial, 5*time.Second)
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	f := &Fetcher{o: o}
	dial, proxy := f.dial, (func(*http.Request) (*url.URL, error))(nil)
	if o.Proxy != nil { // all that is dialled is the proxy
		dial, proxy = (&net.Dialer{Timeout: o.Dial}).DialContext, http.ProxyURL(o.Proxy)
	}
	f.transport = &http.Transport{
		DialContext:            dial,
		Proxy:                  proxy,
		TLSClientConfig:        o.TLS,
		TLSHandshakeTimeout:    o.Dial,
		ResponseHeaderTimeout:  o.Idle,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    8,
		DisableCompression:     true, // the bytes as they are, and no bomb
		MaxResponseHeaderBytes: 64 << 10,
	}
	return f
}

// Close drops idle connections.
func (f *Fetcher) Close() { f.transport.CloseIdleConnections() }

// Fetched is an answer. One that is not the file (another status than 200, or
// none by IsFile) is an answer too; the first bytes of its body are in Body,
// nothing was written.
type Fetched struct {
	Status int
	Header http.Header
	File   bool
	Size   int64 // written
	Body   []byte
}

// maxRefusal is how much is read of an answer that is not the file.
const maxRefusal = 64 << 10

// FetchError is why there is no answer, or not all of it. Word is one of the
// Word constants, or WordForbidden, WordRedirects; the text holds no URL.
type FetchError struct {
	Word  string
	cause error
}

// More words of a fetch.
const (
	WordForbidden = "forbidden" // the address may not be called
	WordRedirects = "redirects" // too many
	WordSink      = "sink"      // what was to take the bytes failed
)

func (e *FetchError) Error() string { return "fetch: " + e.Word }

// Unwrap returns the sink's error, ErrForbidden, or a context error.
func (e *FetchError) Unwrap() error { return e.cause }

// Get fetches raw into w, at most limit bytes: more is WordTooLarge, declared or
// not. After an error w may have got a part. Errors are *FetchError.
func (f *Fetcher) Get(ctx context.Context, raw string, limit int64, w io.Writer) (*Fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	for range maxRedirects + 1 {
		u, err := f.o.Route.Target(raw)
		if err != nil {
			return nil, &FetchError{Word: WordForbidden, cause: ErrForbidden}
		}
		out, next, err := f.hop(ctx, u, limit, w)
		if err != nil || next == "" {
			return out, err
		}
		raw = next
	}
	return nil, &FetchError{Word: WordRedirects}
}

// hop makes one request; next is where it leads when it is a redirect.
func (f *Fetcher) hop(ctx context.Context, u *url.URL, limit int64, w io.Writer) (out *Fetched, next string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", &FetchError{Word: WordForbidden, cause: ErrForbidden}
	}
	req.Header.Set("User-Agent", "causeway")
	switch {
	case !f.takesToken(u):
	case f.o.TokenHeader != "":
		req.Header.Set(f.o.TokenHeader, f.o.Token)
	default:
		req.Header.Set("Authorization", "Bearer "+f.o.Token)
	}
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return nil, "", fetchError(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // what counts was read
	body := &watched{r: resp.Body, idle: f.o.Idle, stop: func() { cancel(errIdle) }}
	defer body.close()
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode/100 == 3 {
		ref, err := u.Parse(to)
		if err != nil {
			return nil, "", &FetchError{Word: WordForbidden, cause: ErrForbidden}
		}
		return nil, ref.String(), nil
	}
	out = &Fetched{Status: resp.StatusCode, Header: resp.Header}
	out.File = out.Status == http.StatusOK && (f.o.IsFile == nil || f.o.IsFile(out.Header))
	switch {
	case !out.File:
		out.Body, err = io.ReadAll(io.LimitReader(body, maxRefusal))
	case resp.ContentLength > limit:
		return nil, "", &FetchError{Word: WordTooLarge}
	default:
		out.Size, err = copyAtMost(w, body, limit)
	}
	if err != nil {
		return nil, "", fetchError(ctx, err)
	}
	return out, "", nil
}

// takesToken says whether a host is told who we are.
func (f *Fetcher) takesToken(u *url.URL) bool {
	if f.o.Token == "" {
		return false
	}
	if f.o.Route.isBase(u.Scheme, u.Host) {
		return true
	}
	for _, h := range f.o.TokenHosts {
		if strings.TrimSuffix(u.Host, ":443") == h {
			return true
		}
	}
	return false
}

// dial looks the host up, checks every address and connects to one that passed.
func (f *Fetcher) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, f.o.Dial)
	defer cancel()
	own := f.o.Route.Base != nil && !f.o.Route.allows(f.o.Route.Base.Hostname()) && address == withPort(f.o.Route.Base)
	connect := dialer(own).DialContext
	if f.o.Connect != nil {
		connect = f.o.Connect
	}
	if own {
		return connect(ctx, network, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, ErrForbidden
	}
	found, err := f.o.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		// One address that is not public spoils the name: it is not the platform's.
		if !Public(a) {
			return nil, ErrForbidden
		}
	}
	err = &net.DNSError{Err: "no address", Name: "", IsNotFound: true}
	for _, a := range found {
		var c net.Conn
		if c, err = connect(ctx, network, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// dialer is how sockets are opened. The last word is said on the address that a
// socket is given, whatever a name led to before; own is the operator's own host,
// which may be anywhere.
func dialer(own bool) *net.Dialer {
	d := &net.Dialer{}
	if !own {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if a, err := netip.ParseAddrPort(address); err != nil || !Public(a.Addr()) {
				return ErrForbidden
			}
			return nil
		}
	}
	return d
}

// withPort is the host and port a URL is dialled at.
func withPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Errors inside a fetch; they leave it as words.
//
//nolint:gochecknoglobals // sentinel errors are constants
var (
	errIdle = errors.New("silence")
	errSink = errors.New("sink")
)

// copyAtMost copies and tells the sink's failure from the other side's.
func copyAtMost(w io.Writer, r io.Reader, limit int64) (int64, error) {
	sink := &sinkWriter{w: w}
	n, err := io.Copy(sink, io.LimitReader(r, limit))
	if sink.err != nil {
		return n, errors.Join(errSink, sink.err)
	}
	if err != nil {
		return n, err
	}
	if n == limit {
		var one [1]byte
		if more, err := io.ReadFull(r, one[:]); more > 0 {
			return n, errTooLarge
		} else if !errors.Is(err, io.EOF) {
			return n, err
		}
	}
	return n, nil
}

type sinkWriter struct {
	w   io.Writer
	err error
}

func (s *sinkWriter) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		s.err = err
	}
	return n, err
}

// watched ends the call when the other side is silent for too long.
type watched struct {
	r     io.Reader
	idle  time.Duration
	stop  func()
	timer *time.Timer
}

func (w *watched) Read(b []byte) (int, error) {
	if w.timer == nil {
		w.timer = time.AfterFunc(w.idle, w.stop)
	} else {
		w.timer.Reset(w.idle)
	}
	n, err := w.r.Read(b)
	// Writing what came may take long; that is not the other side's silence.
	w.timer.Stop()
	return n, err
}

func (w *watched) close() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// fetchError sorts what went wrong.
func fetchError(ctx context.Context, err error) *FetchError {
	switch {
	case errors.Is(err, errSink):
		return &FetchError{Word: WordSink, cause: err}
	case errors.Is(err, ErrForbidden):
		return &FetchError{Word: WordForbidden, cause: ErrForbidden}
	case errors.Is(err, errTooLarge):
		return &FetchError{Word: WordTooLarge}
	case errors.Is(context.Cause(ctx), errIdle):
		return &FetchError{Word: WordTimeout}
	}
	return &FetchError{Word: wordOf(err), cause: contextError(err)}
}
