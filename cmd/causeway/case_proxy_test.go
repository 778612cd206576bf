package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// tunnels is a proxy that does nothing but CONNECT, for one user or anybody.
type tunnels struct {
	wants   string // of Proxy-Authorization; "" for nothing
	refuses atomic.Bool

	mu   sync.Mutex
	from map[string]bool // local addresses of the connections it made
	to   map[string]int
}

func (p *tunnels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodConnect:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case p.refuses.Load() || r.Header.Get("Proxy-Authorization") != p.wants:
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	up, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = up.Close() }()
	p.mu.Lock()
	p.from[up.LocalAddr().String()] = true
	p.to[r.Host]++
	p.mu.Unlock()
	down, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = down.Close() }()
	_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(up, in)
		_ = up.Close()
		close(done)
	}()
	_, _ = io.Copy(down, up)
	_ = down.Close()
	<-done
}

func (p *tunnels) made(addr string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.from[addr]
}

// Whatever an account calls its platform for goes through its proxy, with TLS to the
// platform inside and to the proxy outside, with a user or without. While the proxy
// refuses, messages wait and are not lost; its password is in no log and no answer.
func TestProxyOfAnAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secure bool
		user   *url.Userinfo
	}{
		"https with a user": {true, url.UserPassword("gate", "LEAKMARK-proxy")},
		"http without":      {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			w := newWorld(t, worldOptions{dir: t.TempDir()})
			ca := issue(t, nil, "authority", time.Now().Add(time.Hour), 0)
			trust, _ := ca.write(t, w.dir, "authority")
			pair := issue(t, ca, "localhost", time.Now().Add(time.Hour), x509.ExtKeyUsageServerAuth).pair()
			proxy := &tunnels{from: map[string]bool{}, to: map[string]int{}}
			if c.user != nil {
				proxy.wants = "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user.String()))
			}
			gate := httptest.NewUnstartedServer(proxy)
			gate.TLS = &tls.Config{Certificates: []tls.Certificate{*pair}, MinVersion: tls.VersionTLS12}
			scheme := "http"
			if start := gate.Start; c.secure {
				scheme = "https"
				gate.StartTLS()
			} else {
				start()
			}
			t.Cleanup(gate.Close)

			inside, err := url.Parse(w.wa.URL())
			if err != nil {
				t.Fatal(err)
			}
			var straight atomic.Int64 // calls that did not come through the proxy
			behind := httputil.NewSingleHostReverseProxy(inside)
			platform := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if !proxy.made(r.RemoteAddr) {
					straight.Add(1)
				}
				behind.ServeHTTP(rw, r)
			}))
			platform.TLS = gate.TLS
			platform.StartTLS()
			t.Cleanup(platform.Close)

			port := func(s *httptest.Server) string { return s.Listener.Addr().String()[len("127.0.0.1:"):] }
			address := url.URL{Scheme: scheme, User: c.user, Host: "localhost:" + port(gate)}
			w.edit(fmt.Sprintf("api_base: %q", w.wa.URL()), fmt.Sprintf("api_base: \"https://localhost:%s\", proxy: %q", port(platform), address.String()))
			w.env = []string{"SSL_CERT_FILE=" + trust}
			proxy.refuses.Store(true)
			w.start("")
			w.up()
			out := w.writes("shop-a", "16660500002", "waits for the proxy")
			w.until(30*time.Second, "the account is not reached", func() bool { return w.fares("shop-a").Reason == gateway.BlameReach })
			w.until(30*time.Second, "the message waits, since nothing of it left", func() bool {
				m := w.message(out.ID)
				return m.State == string(gateway.MessageWaiting) && m.Attempts > 0
			})
			said, _ := w.cli("messages", "show", out.ID)
			more, _ := w.cli("accounts", "show", "shop-a")
			checked, _ := w.cli("doctor", "account", "shop-a")
			proxy.refuses.Store(false)
			if text, code := w.cli("accounts", "resume", "shop-a"); code != exitOK {
				t.Fatalf("%d %s", code, text)
			}
			w.until(30*time.Second, "the message is taken", func() bool { return w.sums().Messages.Accepted == 1 })
			w.says("16660500001", "hello")
			w.until(30*time.Second, "the reply is taken", func() bool { return w.sums().Messages.Accepted == 2 })
			if n := straight.Load(); n > 0 {
				t.Errorf("%d calls went around the proxy", n)
			}
			proxy.mu.Lock()
			if n := proxy.to["localhost:"+port(platform)]; n < 1 || len(proxy.to) != 1 {
				t.Errorf("tunnels to %v", proxy.to)
			}
			proxy.mu.Unlock()
			w.stop()
			w.mu.Lock()
			defer w.mu.Unlock()
			for from, text := range map[string]string{"the log": w.logs.String(), "messages show": said, "accounts show": more, "doctor": checked} {
				if strings.Contains(text, "LEAKMARK") || proxy.wants != "" && strings.Contains(text, strings.TrimPrefix(proxy.wants, "Basic ")) {
					t.Errorf("the proxy's password is in %s", from)
				}
			}
			if !bytes.Contains(w.logs.Bytes(), []byte("message.attempted")) {
				t.Error("the log holds nothing")
			}
		})
	}
}
