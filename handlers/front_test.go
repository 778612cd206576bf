package handlers_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/store/sqlite"
)

const (
	appSecret   = "made-up-app-secret"
	verifyToken = "made-up-verify-token"
)

// front is a front door over real HTTP with what stands behind it.
type front struct {
	url      string
	archive  *sqlite.Archive
	registry *prometheus.Registry
	logs     *observer.ObservedLogs
}

// endpoints is a lookup over a fixed table.
func endpoints(table map[string]handlers.Endpoint) func(platform, name string) (handlers.Endpoint, bool) {
	return func(platform, name string) (handlers.Endpoint, bool) {
		e, ok := table[platform+"/"+name]
		return e, ok
	}
}

func meta() handlers.Endpoint {
	return whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{appSecret}, VerifyToken: verifyToken})
}

// open starts a front door over a real archive; change adjusts the options.
func open(t *testing.T, change func(*handlers.Options)) *front {
	t.Helper()
	s, err := sqlite.Open(context.Background(), t.TempDir(), sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	core, logs := observer.New(zap.DebugLevel)
	f := &front{archive: s.Archive, registry: prometheus.NewRegistry(), logs: logs}
	metrics, err := handlers.NewMetrics(f.registry)
	if err != nil {
		t.Fatal(err)
	}
	o := handlers.Options{
		Endpoint: endpoints(map[string]handlers.Endpoint{"whatsapp/meta": meta()}),
		Archive:  f.archive,
		Ready:    func() bool { return true },
		Limits:   handlers.DefaultLimits(),
		Log:      zap.New(core),
		Metrics:  metrics,
		Now:      time.Now,
	}
	if change != nil {
		change(&o)
	}
	h, err := handlers.NewRouter(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = handlers.NewServer("", h, o.Limits)
	srv.Start()
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

func sign(body []byte) string {
	m := hmac.New(sha256.New, []byte(appSecret))
	m.Write(body)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// send makes a request and returns the answer with its body.
func (f *front) send(t *testing.T, method, path string, body []byte, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, f.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range header {
		req.Header[name] = v
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func (f *front) archived(t *testing.T) []gateway.Payload {
	t.Helper()
	list, err := f.archive.Read(t.Context(), 0, 1000, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (f *front) rejects(t *testing.T) []gateway.Reject {
	t.Helper()
	list, err := f.archive.Rejects(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// count sums the series of a metric whose labels have all the values.
func (f *front) count(t *testing.T, name string, values ...string) float64 {
	t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			have := make([]string, 0, 3)
			for _, l := range m.GetLabel() {
				have = append(have, l.GetValue())
			}
			if !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(have, v) }) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// shown is everything logged, with all fields.
func (f *front) shown() string {
	var b strings.Builder
	for _, e := range f.logs.All() {
		b.WriteString(e.Message)
		for k, v := range e.ContextMap() {
			if s, ok := v.(string); ok {
				b.WriteString(" " + k + "=" + s)
			}
		}
	}
	return b.String()
}
