package handlers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/causewayhq/causeway/gateway"
)

// Archive is what the front door asks of the store.
type Archive interface {
	// Append returns after the fsync of the commit that holds p, or with an
	// error.
	Append(ctx context.Context, p *gateway.Payload) error
	// AppendReject keeps a refused callback, bounded.
	AppendReject(ctx context.Context, r *gateway.Reject) error
}

// Options are what a router is made of; every field but Schemas and
// TrustedProxies is needed.
type Options struct {
	// Endpoint finds a configured endpoint. It is asked once per request, so
	// that a reload needs no new router, and must not block.
	Endpoint func(platform, name string) (Endpoint, bool)
	Archive  Archive
	// ClientCerts says for an endpoint which client certificates it wants
	// beside the signature, nil for none; a nil func is none for all. Only
	// callbacks are asked for one, not the platform's GET. An operator may
	// readmit what came without: its signature is verified then.
	ClientCerts func(platform, name string) *ClientCerts
	// Ready says whether callbacks are taken; it must not block.
	Ready   func() bool
	Limits  Limits
	Log     *zap.Logger
	Metrics *Metrics
	Now     func() time.Time
	// Schemas are served under /schemas/.
	Schemas Schemas
	// TrustedProxies are the addresses or networks whose X-Forwarded-For is
	// believed for the address in the log; none is believed by default.
	TrustedProxies []string
}

// NewRouter returns the public surface:
//
//	GET  /webhooks/{platform}/{endpoint}   the platform's verification
//	POST /webhooks/{platform}/{endpoint}   a callback
//	GET  /healthz, /readyz                 without details
//	GET  /schemas/{name}                   the JSON Schemas of events and answers
//
// There is no middleware: the one handler does its own recovery, request id,
// counting and logging, since every callback pays for what stands before it.
// Errors: a trusted proxy that is neither an address nor a network.
func NewRouter(o Options) (http.Handler, error) {
	ids, err := newRequestIDs()
	if err != nil {
		return nil, err
	}
	d := &door{
		Options:  o,
		bodies:   &bodies{limit: o.Limits.Body, memory: o.Limits.BodyMemory},
		ids:      ids,
		patience: &patience{length: o.Limits.AckTimeout},
		rejects:  make(chan struct{}, max(o.Limits.RejectsAtOnce, 1)),
		lines:    rate.NewLimiter(10, 10),
	}
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.HandleMethodNotAllowed = true
	if err := e.SetTrustedProxies(o.TrustedProxies); err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	e.NoRoute(empty(http.StatusNotFound))
	e.NoMethod(empty(http.StatusMethodNotAllowed))
	e.GET("/webhooks/:platform/:endpoint", d.challenge)
	e.POST("/webhooks/:platform/:endpoint", d.callback)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		e.Handle(method, "/healthz", func(c *gin.Context) { c.String(http.StatusOK, "ok\n") })
		e.Handle(method, "/readyz", d.ready)
	}
	o.Schemas.Route(e)
	return e, nil
}

// empty answers a status and nothing else.
func empty(status int) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Status(status)
		c.Writer.WriteHeaderNow()
	}
}

func (d *door) ready(c *gin.Context) {
	if d.Ready() {
		c.String(http.StatusOK, "ready\n")
		return
	}
	c.String(http.StatusServiceUnavailable, "not ready\n")
}
