package egress_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/handlers/egress"
)

// internet is a TLS server that every public name leads to, with its own DNS.
type internet struct {
	*httptest.Server
	mu    sync.Mutex
	names map[string][]string
	asked []string // host and path of each request, with its token
	dials []string
}

func newInternet(t *testing.T, h http.HandlerFunc) *internet {
	t.Helper()
	n := &internet{names: map[string][]string{}}
	n.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.asked = append(n.asked, r.Host+r.URL.Path+" "+r.Header.Get("Authorization"))
		n.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *internet) fetcher(t *testing.T, o egress.FetchOptions) *egress.Fetcher {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(n.Certificate())
	o.TLS = &tls.Config{RootCAs: pool, ServerName: "example.com", MinVersion: tls.VersionTLS12}
	if o.Route.Hosts == nil {
		o.Route.Hosts = meta().Hosts
	}
	if o.Token == "" {
		o.Token, o.TokenHosts = "secret-token", []string{"graph.facebook.com", "lookaside.fbsbx.com"}
	}
	o.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		addrs := []netip.Addr{}
		for _, a := range n.names[host] {
			addrs = append(addrs, netip.MustParseAddr(a))
		}
		if len(addrs) == 0 {
			addrs = append(addrs, netip.MustParseAddr("157.240.1.1"))
		}
		return addrs, nil
	}
	o.Connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		n.mu.Lock()
		n.dials = append(n.dials, address)
		n.mu.Unlock()
		var d net.Dialer
		return d.DialContext(ctx, network, n.Listener.Addr().String())
	}
	f := egress.NewFetcher(o)
	t.Cleanup(f.Close)
	return f
}

func word(err error) string {
	var e *egress.FetchError
	if errors.As(err, &e) {
		return e.Word
	}
	return fmt.Sprint(err)
}

func TestFetchTheFile(t *testing.T) {
	n := newInternet(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the bytes") })
	var b bytes.Buffer
	out, err := n.fetcher(t, egress.FetchOptions{}).Get(t.Context(), "https://lookaside.fbsbx.com/a?b", 100, &b)
	if err != nil || out.Status != 200 || out.Size != 9 || b.String() != "the bytes" {
		t.Fatalf("%+v %v %q", out, err, b.String())
	}
	if n.asked[0] != "lookaside.fbsbx.com/a Bearer secret-token" || n.dials[0] != "157.240.1.1:443" {
		t.Errorf("asked %v at %v", n.asked, n.dials)
	}
}

// A token in a header of its own stands there as it is, for the same hosts.
func TestFetchTokenHeader(t *testing.T) {
	var got []string
	n := newInternet(t, func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Host+" "+r.Header.Get("X-Vendor")) })
	f := n.fetcher(t, egress.FetchOptions{Token: "as it is", TokenHeader: "X-Vendor", TokenHosts: []string{"lookaside.fbsbx.com"}})
	for _, host := range []string{"lookaside.fbsbx.com", "video.fbsbx.com"} {
		if _, err := f.Get(t.Context(), "https://"+host+"/a", 10, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if want := "lookaside.fbsbx.com as it is|video.fbsbx.com "; strings.Join(got, "|") != want || strings.Contains(strings.Join(n.asked, ""), "as it is") {
		t.Errorf("told %q", got)
	}
}

// Where errors come under 200 too, what is no file is an answer and not written.
func TestFetchTellsFilesFromErrors(t *testing.T) {
	n := newInternet(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-File", r.URL.Query().Get("file"))
		_, _ = io.WriteString(w, "0123456789")
	})
	f := n.fetcher(t, egress.FetchOptions{IsFile: func(h http.Header) bool { return h.Get("X-File") == "yes" }})
	var b bytes.Buffer
	out, err := f.Get(t.Context(), "https://lookaside.fbsbx.com/?file=no", 5, &b)
	if err != nil || out.File || string(out.Body) != "0123456789" || b.Len() != 0 {
		t.Errorf("%+v %v, %d bytes written", out, err, b.Len())
	}
	out, err = f.Get(t.Context(), "https://lookaside.fbsbx.com/?file=yes", 10, &b)
	if err != nil || !out.File || out.Size != 10 || b.String() != "0123456789" {
		t.Errorf("%+v %v %q", out, err, b.String())
	}
}

// Redirects are followed to hosts of the platform, three at most, and the token
// goes to documented hosts only.
func TestFetchRedirects(t *testing.T) {
	var to string
	n := newInternet(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/start":
			http.Redirect(w, r, to, http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/again"):
			http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, "bytes")
		}
	})
	n.names["private.fbcdn.net"] = []string{"10.0.0.1"}
	n.names["mixed.fbcdn.net"] = []string{"157.240.1.1", "127.0.0.1"}
	n.names["six.fbcdn.net"] = []string{"::ffff:169.254.169.254"}
	n.names["nat64.fbcdn.net"] = []string{"64:ff9b::7f00:1"}
	f := n.fetcher(t, egress.FetchOptions{})
	for _, c := range []struct{ to, word, last string }{
		{"https://scontent.fbcdn.net/v", "", "scontent.fbcdn.net/v "},
		{"/next", "", "lookaside.fbsbx.com/next Bearer secret-token"},
		{"//video.fbsbx.com/v", "", "video.fbsbx.com/v "},
		{"/again", egress.WordRedirects, "lookaside.fbsbx.com/againxx Bearer secret-token"},
		{"https://evil.test/", egress.WordForbidden, ""},
		{"http://lookaside.fbsbx.com/plain", egress.WordForbidden, ""},
		{"https://127.0.0.1/", egress.WordForbidden, ""},
		{"https://169.254.169.254/latest", egress.WordForbidden, ""},
		{"https://localhost/", egress.WordForbidden, ""},
		{"https://metadata.google.internal/", egress.WordForbidden, ""},
		{"file:///etc/passwd", egress.WordForbidden, ""},
		{"https://private.fbcdn.net/", egress.WordForbidden, ""},
		{"https://mixed.fbcdn.net/", egress.WordForbidden, ""},
		{"https://six.fbcdn.net/", egress.WordForbidden, ""},
		{"https://nat64.fbcdn.net/", egress.WordForbidden, ""},
	} {
		to, n.asked = c.to, nil
		var b bytes.Buffer
		_, err := f.Get(t.Context(), "https://lookaside.fbsbx.com/start", 100, &b)
		if c.word == "" && err != nil || c.word != "" && word(err) != c.word {
			t.Errorf("to %s: %v", c.to, err)
		}
		if err != nil && strings.Contains(err.Error(), "fbcdn") {
			t.Errorf("the error names the address: %v", err)
		}
		if last := n.asked[len(n.asked)-1]; c.last != "" && last != c.last || c.last == "" && len(n.asked) != 1 {
			t.Errorf("to %s: asked %v", c.to, n.asked)
		}
		if c.word != "" && b.Len() > 0 {
			t.Errorf("to %s: %d bytes written", c.to, b.Len())
		}
	}
}

// A platform's name that leads into our own networks is refused by the real
// dialler before anything is connected.
func TestFetchChecksTheAddress(t *testing.T) {
	own := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("was asked") }))
	defer own.Close()
	f := egress.NewFetcher(egress.FetchOptions{Route: meta(), Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	defer f.Close()
	_, err := f.Get(t.Context(), "https://lookaside.fbsbx.com/", 10, io.Discard)
	if word(err) != egress.WordForbidden || !errors.Is(err, egress.ErrForbidden) {
		t.Errorf("%v", err)
	}
}

func TestFetchLimits(t *testing.T) {
	release := make(chan struct{})
	n := newInternet(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/declared":
			w.Header().Set("Content-Length", "11")
			_, _ = io.WriteString(w, "12345678901")
		case "/undeclared":
			for range 11 {
				_, _ = io.WriteString(w, "1")
				w.(http.Flusher).Flush()
			}
		case "/exact":
			_, _ = io.WriteString(w, "1234567890")
		case "/short":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "123")
		case "/silent":
			_, _ = io.WriteString(w, "1")
			w.(http.Flusher).Flush()
			<-release
		case "/mute":
			<-release
		case "/gone":
			w.WriteHeader(404)
			_, _ = io.WriteString(w, strings.Repeat("x", 100<<10))
		}
	})
	defer close(release)
	f := n.fetcher(t, egress.FetchOptions{Idle: 100 * time.Millisecond})
	for path, want := range map[string]string{"declared": egress.WordTooLarge, "undeclared": egress.WordTooLarge, "exact": "<nil>",
		"short": egress.WordReset, "silent": egress.WordTimeout, "mute": egress.WordTimeout} {
		var b bytes.Buffer
		_, err := f.Get(t.Context(), "https://lookaside.fbsbx.com/"+path, 10, &b)
		if word(err) != want || b.Len() > 10 {
			t.Errorf("%s: %v, want %s; %d bytes written", path, err, want, b.Len())
		}
	}
	out, err := f.Get(t.Context(), "https://lookaside.fbsbx.com/gone", 10, io.Discard)
	if err != nil || out.Status != 404 || len(out.Body) != 64<<10 || out.Size != 0 {
		t.Errorf("a refusal: %v", err)
	}
	if _, err := f.Get(t.Context(), "https://lookaside.fbsbx.com/exact", 10, brokenSink{}); word(err) != egress.WordSink || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a broken sink: %v", err)
	}
	total := n.fetcher(t, egress.FetchOptions{Timeout: 100 * time.Millisecond})
	if _, err := total.Get(t.Context(), "https://lookaside.fbsbx.com/mute", 10, io.Discard); word(err) != egress.WordTimeout {
		t.Errorf("the whole time: %v", err)
	}
}

type brokenSink struct{}

func (brokenSink) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// The operator's own address may be called as it stands, and nothing beside it.
func TestFetchOwnBase(t *testing.T) {
	var asked []string
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization"))
		if r.URL.Path == "/other" {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}
	}))
	defer own.Close()
	base, err := url.Parse(own.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := egress.NewFetcher(egress.FetchOptions{Route: egress.Route{Base: base, Hosts: meta().Hosts}, Token: "secret"})
	defer f.Close()
	if _, err := f.Get(t.Context(), own.URL+"/x", 10, io.Discard); err != nil {
		t.Error(err)
	}
	if _, err := f.Get(t.Context(), own.URL+"/other", 10, io.Discard); word(err) != egress.WordForbidden {
		t.Errorf("another port of this machine: %v", err)
	}
	if len(asked) != 2 || asked[0] != "Bearer secret" {
		t.Errorf("asked %v", asked)
	}
}
