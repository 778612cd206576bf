package handlers_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// kept counts what an archive in memory was given.
type kept struct{ payloads, rejects int }

func (k *kept) Append(context.Context, *gateway.Payload) error      { k.payloads++; return nil }
func (k *kept) AppendReject(context.Context, *gateway.Reject) error { k.rejects++; return nil }

// Whatever comes, the answer is one of the front door's, never a 500, and only
// what is signed is archived.
func FuzzCallback(f *testing.F) {
	for _, seed := range []struct {
		method, query, signature string
		body                     string
		genuine                  bool
	}{
		{http.MethodPost, "", "", `{"object":"whatsapp_business_account"}`, true},
		{http.MethodPost, "a=%zz;b", "sha256=00", "{", false},
		{http.MethodPost, "", "sha256=\xe9", "\x00\xff", false},
		{http.MethodGet, "hub.mode=subscribe&hub.verify_token=" + verifyToken + "&hub.challenge=1", "", "", false},
		{http.MethodGet, "hub.mode=subscribe&hub.mode=subscribe", "", "", false},
		{"PATCH", "", "", "", true},
	} {
		f.Add(seed.method, seed.query, seed.signature, []byte(seed.body), seed.genuine)
	}
	metrics, err := handlers.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		f.Fatal(err)
	}
	var k kept
	h, err := handlers.NewRouter(handlers.Options{
		Endpoint: endpoints(map[string]handlers.Endpoint{"whatsapp/meta": meta()}), Archive: &k,
		Ready: func() bool { return true }, Limits: handlers.DefaultLimits(), Log: zap.NewNop(), Metrics: metrics, Now: time.Now,
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, query, signature string, body []byte, genuine bool) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhooks/whatsapp/meta", bytes.NewReader(body))
		req.Method, req.URL.RawQuery = method, query
		if genuine {
			signature = sign(body)
		}
		req.Header["X-Hub-Signature-256"] = []string{signature}
		before, w := k, httptest.NewRecorder()
		h.ServeHTTP(w, req)
		switch w.Code {
		case 200, 400, 401, 405, 404, 413:
		default:
			t.Errorf("answer %d", w.Code)
		}
		if stored := k.payloads - before.payloads; stored == 1 != (method == http.MethodPost && signature == sign(body)) {
			t.Errorf("answer %d, %d payloads stored", w.Code, stored)
		}
	})
}
