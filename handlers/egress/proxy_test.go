package egress_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/handlers/egress"
)

// relayed joins two connections until both end.
func relayed(a, b net.Conn) {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(a, b)
		_ = a.Close()
		close(done)
	}()
	_, _ = io.Copy(b, a)
	_ = b.Close()
	<-done
}

// httpProxy is an HTTP proxy, itself behind TLS or not, that wants a user or none; it
// counts what went through.
func httpProxy(t *testing.T, through *atomic.Int64, secure bool, user *url.Userinfo) *url.URL {
	t.Helper()
	wants := ""
	if user != nil {
		wants = "Basic " + base64.StdEncoding.EncodeToString([]byte(user.String()))
	}
	start := httptest.NewServer
	if secure {
		start = httptest.NewTLSServer
	}
	s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != wants {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		through.Add(1)
		if r.Method != http.MethodConnect {
			r.RequestURI = ""
			r.Header.Del("Proxy-Authorization")
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			w.WriteHeader(resp.StatusCode)
			_, _ = io.Copy(w, resp.Body)
			return
		}
		up, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		down, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		relayed(down, up)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = user
	return u
}

// socksProxy is a SOCKS5 proxy without users (RFC 1928).
func socksProxy(t *testing.T, through *atomic.Int64) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				head := make([]byte, 2)
				if _, err := io.ReadFull(c, head); err != nil {
					return
				}
				_, _ = io.CopyN(io.Discard, c, int64(head[1]))
				_, _ = c.Write([]byte{5, 0})
				ask := make([]byte, 4)
				if _, err := io.ReadFull(c, ask); err != nil {
					return
				}
				var host string
				switch ask[3] {
				case 1:
					ip := make([]byte, 4)
					_, _ = io.ReadFull(c, ip)
					host = net.IP(ip).String()
				case 3:
					n := make([]byte, 1)
					_, _ = io.ReadFull(c, n)
					name := make([]byte, n[0])
					_, _ = io.ReadFull(c, name)
					host = string(name)
				}
				port := make([]byte, 2)
				_, _ = io.ReadFull(c, port)
				up, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))))
				if err != nil {
					_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
					return
				}
				through.Add(1)
				_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
				relayed(c, up)
			}()
		}
	}()
	return &url.URL{Scheme: "socks5", Host: l.Addr().String()}
}

// Calls and files go through the account's proxy, with and without TLS, and what is
// known about bytes that left is known there too.
func TestProxies(t *testing.T) {
	var through atomic.Int64
	user := url.UserPassword("user", "LEAKMARK")
	for name, proxy := range map[string]*url.URL{
		"http": httpProxy(t, &through, false, nil), "http, user": httpProxy(t, &through, false, user),
		"https": httpProxy(t, &through, true, nil), "https, user": httpProxy(t, &through, true, user), "socks5": socksProxy(t, &through),
	} {
		t.Run(name, func(t *testing.T) {
			answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_, _ = w.Write(append([]byte("got "), body...))
			})
			plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
			defer plain.Close()
			defer secure.Close()
			trust := secure.Client().Transport.(*http.Transport).TLSClientConfig
			c := egress.New(egress.Options{Proxy: http.ProxyURL(proxy), TLS: trust})
			defer c.Close()
			for _, target := range []string{plain.URL, secure.URL} {
				before := through.Load()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target+"/x", strings.NewReader("text"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := c.Do(req, time.Now().Add(time.Minute))
				if err != nil || string(resp.Body) != "got text" || through.Load() == before {
					t.Fatalf("%s: %+v, %v, %d through the proxy", target, resp, err, through.Load()-before)
				}
				base, err := url.Parse(target)
				if err != nil {
					t.Fatal(err)
				}
				var file bytes.Buffer
				f := egress.NewFetcher(egress.FetchOptions{Route: egress.Route{Base: base}, Proxy: proxy, TLS: trust})
				got, err := f.Get(t.Context(), target+"/file", 100, &file)
				if err != nil || !got.File || file.String() != "got " {
					t.Errorf("%s: file %+v, %v", target, got, err)
				}
				f.Close()
			}
		})
	}
}

// A proxy that cannot be used means that nothing was sent; no word of an error holds
// its password.
func TestProxyDown(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	for _, scheme := range []string{"http", "https", "socks5"} {
		u := &url.URL{Scheme: scheme, Host: strings.TrimPrefix(dead.URL, "http://"), User: url.UserPassword("user", "LEAKMARK")}
		c := egress.New(egress.Options{Proxy: http.ProxyURL(u)})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://platform.example/x", strings.NewReader("text"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(req, time.Time{})
		var e *egress.Error
		if !errors.As(err, &e) || e.Written || e.Word != egress.WordProxy || strings.Contains(err.Error(), "LEAKMARK") {
			t.Errorf("%s: %v", scheme, err)
		}
		c.Close()
	}
	var through atomic.Int64
	tls := httptest.NewTLSServer(http.NotFoundHandler()) // has the certificate of all
	defer tls.Close()
	for _, secure := range []bool{false, true} {
		for name, says := range map[string]*url.Userinfo{"wrong": url.UserPassword("user", "LEAKMARK-wrong"), "none": nil} {
			wrong := httpProxy(t, &through, secure, url.UserPassword("user", "LEAKMARK"))
			wrong.User = says
			c := egress.New(egress.Options{Proxy: http.ProxyURL(wrong), TLS: tls.Client().Transport.(*http.Transport).TLSClientConfig})
			for _, target := range []string{"https://platform.example/x", "http://platform.example/x"} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader("text"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := c.Do(req, time.Time{})
				var e *egress.Error
				if !errors.As(err, &e) || e.Written || e.Word != egress.WordProxy || strings.Contains(err.Error(), "LEAKMARK") {
					t.Errorf("%s, %s: refused by the proxy: %+v, %v", target, name, resp, err)
				}
			}
			c.Close()
		}
	}
	if through.Load() != 0 {
		t.Error("something went through")
	}
	// A proxy whose certificate nobody vouches for is not told the password.
	stranger := httpProxy(t, &through, true, url.UserPassword("user", "LEAKMARK"))
	c := egress.New(egress.Options{Proxy: http.ProxyURL(stranger)})
	defer c.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://platform.example/x", strings.NewReader("text"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(req, time.Time{})
	var e *egress.Error
	if !errors.As(err, &e) || e.Written || through.Load() != 0 || strings.Contains(err.Error(), "LEAKMARK") {
		t.Errorf("a proxy without a trusted certificate: %v", err)
	}
}
