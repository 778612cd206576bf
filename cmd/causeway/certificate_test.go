package main

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	logs "go.uber.org/zap/zaptest/observer"

	"github.com/causewayhq/causeway/config"
)

// A renewed certificate is shown from the next handshake on; open connections stay.
// Files that do not belong together, as while the key is not yet written, change
// nothing, are told in the log once and by doctor, and are forgotten when they do.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := issue(t, nil, "root", time.Now().Add(time.Hour), 0)
	server := func(name string, until time.Duration) (cert, key []byte, serial string) {
		i := issue(t, root, "localhost", time.Now().Add(until), x509.ExtKeyUsageServerAuth)
		c, k := i.write(t, t.TempDir(), name)
		return contents(t, c), contents(t, k), i.cert.SerialNumber.String()
	}
	cfg := config.TLS{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	edits := 0
	put := func(path string, b []byte) { // as certbot and cert-manager do: another file under the name
		t.Helper()
		edits++
		at := time.Now().Add(time.Duration(edits) * time.Second) // also on file systems that count seconds
		if err := os.WriteFile(path+".new", b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path+".new", at, at); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	cert1, key1, first := server("one", time.Hour)
	cert2, key2, second := server("two", 2*time.Hour)
	put(cfg.Cert, cert1)
	put(cfg.Key, key1)
	var moved atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(moved.Load())) }
	core, logged := logs.New(zapcore.InfoLevel)
	p, err := loadTLS(&cfg, now, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test on loopback
	if err != nil {
		t.Fatal(err)
	}
	_ = srv.Listener.Close()
	srv.Listener = tls.NewListener(l, p.config)
	srv.Start()
	t.Cleanup(srv.Close)
	get := func(c *http.Client) (serial string) {
		t.Helper()
		resp, err := c.Get("https://" + l.Addr().String()) //nolint:noctx // a test on loopback
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.TLS.PeerCertificates[0].SerialNumber.String()
	}
	open := secureClient(t, root, nil)
	shown := func(when, want string) {
		t.Helper()
		moved.Add(int64(certLook))
		if got := get(secureClient(t, root, nil)); got != want {
			t.Errorf("%s: another certificate is shown", when)
		}
		if got := get(open); got != first {
			t.Errorf("%s: the open connection was dropped", when)
		}
	}
	told := func(when, want string) {
		t.Helper()
		var all []string
		p.check(now(), func(level, what, _, _ string) { all = append(all, level+": "+what) })
		if got := strings.Join(all, "\n"); (want == "") == strings.Contains(got, "cannot be used") {
			t.Errorf("%s: doctor says %q", when, got)
		}
	}
	shown("at first", first)
	told("at first", "")
	put(cfg.Cert, cert2)
	shown("the key is not yet written", first)
	shown("still not", first)
	told("the key is not yet written", "cannot be used")
	put(cfg.Key, key2)
	shown("both are written", second)
	told("both are written", "")
	put(cfg.Key, []byte("nothing"))
	shown("a broken file", second)
	if err := os.Remove(cfg.Cert); err != nil {
		t.Fatal(err)
	}
	shown("no file", second)
	told("no file", "cannot be used")
	put(cfg.Cert, cert1)
	put(cfg.Key, key1)
	told("doctor looks by itself", "")
	shown("the first one again", first)
	words := map[string]int{}
	for _, e := range logged.All() {
		words[e.Message]++
	}
	if words["tls.renewed"] != 2 || words["tls.kept"] != 3 {
		t.Errorf("logged %v", words)
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path) //nolint:gosec // a file of this test
	if err != nil {
		t.Fatal(err)
	}
	return b
}
