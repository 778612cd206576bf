package handlers_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// What the front door costs beside a bare gin handler that checks the same
// signature and hands the same payload to the same archive, without network and
// without disk. The difference is the price of limits, request id, counting and
// logging.
func BenchmarkFrontDoor(b *testing.B) {
	metrics, err := handlers.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	h, err := handlers.NewRouter(handlers.Options{
		Endpoint: endpoints(map[string]handlers.Endpoint{"whatsapp/meta": meta()}), Archive: &kept{},
		Ready: func() bool { return true }, Limits: handlers.DefaultLimits(), Log: zap.NewNop(), Metrics: metrics, Now: time.Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	callbacks(b, h)
}

func BenchmarkBareGin(b *testing.B) {
	gin.SetMode(gin.ReleaseMode)
	e, k := gin.New(), &kept{}
	e.POST("/webhooks/whatsapp/:endpoint", func(c *gin.Context) {
		body, err := io.ReadAll(io.LimitReader(c.Request.Body, 3<<20))
		if err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		m := hmac.New(sha256.New, []byte(appSecret))
		m.Write(body)
		given, err := hex.DecodeString(strings.TrimPrefix(c.GetHeader("X-Hub-Signature-256"), "sha256="))
		if err != nil || !hmac.Equal(given, m.Sum(nil)) {
			c.Status(http.StatusUnauthorized)
			return
		}
		if err := k.Append(c.Request.Context(), &gateway.Payload{Body: body}); err != nil {
			c.Status(http.StatusServiceUnavailable)
			return
		}
		c.Status(http.StatusOK)
	})
	callbacks(b, e)
}

func callbacks(b *testing.B, h http.Handler) {
	b.Helper()
	body := []byte(`{"object":"whatsapp_business_account","entry":[{"text":"` + strings.Repeat("x", 900) + `"}]}`)
	signature := []string{sign(body)}
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/webhooks/whatsapp/meta", bytes.NewReader(body))
		req.Header["X-Hub-Signature-256"] = signature
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
