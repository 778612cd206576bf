package admin

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

// maxBody bounds the body of a request to the API.
const maxBody = 64 << 10

// router is the handlers and what they share.
type router struct {
	Options
}

// NewRouter returns the admin surface. Every route but /healthz, /readyz,
// /openapi.json, /schemas and /api/v1/answers needs a token:
//
//	GET  /healthz, /readyz                      readyz with the parts' states
//	GET  /openapi.json                          what is described here, as OpenAPI
//	GET  /schemas/{name}                        the JSON Schemas of events and answers
//	GET  /metrics                               viewer
//	GET  /api/v1/payloads                       viewer; ?endpoint since until before limit
//	GET  /api/v1/payloads/{id}                  viewer; ?body=1 operator, audited
//	GET  /api/v1/events                         operator, audited; ?payload conv since until endpoint; JSON lines
//	GET  /api/v1/rejects, /rejects/{id}         viewer
//	POST /api/v1/rejects/{id}/readmit           operator
//	POST /api/v1/rejects/readmit                operator; ?endpoint
//	POST /api/v1/replays                        operator
//	POST /api/v1/replays/{run}/release          admin
//	GET  /api/v1/dead, /dead/stats, /dead/{id}  viewer; ?app account platform conv kind state reason since until before limit
//	POST /api/v1/dead/{id}/requeue              operator
//	POST /api/v1/dead/requeue                   operator; the same filters; ?limit dry_run
//	POST /api/v1/dead/{id}/drop, /dead/drop     admin; {"reason": "…"}, filters, ?limit dry_run
//	GET  /api/v1/apps                           viewer
//	GET  /api/v1/tail                           viewer; ?app account conv kind; ?text=1 operator, audited; server-sent events
//	POST /api/v1/apps/{name}/pause, /resume     operator
//	GET  /api/v1/brakes                         viewer; what is stopped
//	POST /api/v1/brakes/{scope}/{name}/pause    operator; and /resume. Scope app, account,
//	                                            conversation, or replies with "all" or an application
//	GET  /api/v1/conversations                  viewer; ?list=hot|waiting|unanswered app account after limit
//	GET  /api/v1/conversations/{conv}           viewer; ?limit; ?text=1 operator, audited
//	GET  /api/v1/conversations:find             viewer; ?platform account identity kind
//	POST /api/v1/conversations/{conv}/release   operator; ?then=drop|send
//	GET  /api/v1/unanswered                     viewer; ?app before limit
//	GET  /api/v1/messages                       viewer; ?state account app conv task key due_from due_until after limit
//	GET  /api/v1/messages/{id}                  viewer
//	POST /api/v1/messages                       operator; the body is a SubmitForm
//	POST /api/v1/messages/{id}/cancel           operator; while it waits
//	POST /api/v1/messages/{id}/resolve          operator; an unknown one
//	POST /api/v1/messages:change                operator; many that have not left
//	GET  /api/v1/media                          viewer; ?event account state before limit
//	GET  /api/v1/media/{file}                   viewer; the bytes, ranges too
//	POST /api/v1/media                          operator; the body is a file to be sent
//	GET  /api/v1/sums                           viewer; ?recount=1
//	GET  /api/v1/doctor                         viewer
//	GET  /api/v1/accounts, /accounts/{name}     viewer; how the senders fare
//	POST /api/v1/accounts/{name}/resume         operator
//	GET  /api/v1/accounts/{name}/doctor         operator: it costs calls at the platform
//	GET  /api/v1/audit                          admin; ?limit
//	POST /api/v1/answers                        the replytoken of an event, no other; the body is an answer
//	POST /api/v1/adopt                          admin; where API is an Adopter
//
// The paths below /api/v1 are this release's; fields are added, never changed.
func NewRouter(o Options) http.Handler {
	r := &router{Options: o}
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.HandleMethodNotAllowed = true
	// Nothing is believed about where a request came from.
	e.ForwardedByClientIP = false
	e.Use(r.recovered, noStore)
	e.NoRoute(func(c *gin.Context) { problem(c, http.StatusNotFound, "there is no such path", nil) })
	e.NoMethod(func(c *gin.Context) {
		problem(c, http.StatusMethodNotAllowed, "the path does not take this method", nil)
	})

	e.GET("/healthz", func(c *gin.Context) { c.String(http.StatusOK, "ok\n") })
	e.GET("/readyz", r.ready)
	o.Schemas.Route(e)
	r.document(e)
	metrics := promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{ErrorLog: errorLog{o.Log}})
	e.GET("/metrics", r.allow(RoleViewer), gin.WrapH(metrics))

	viewer := e.Group("/api/v1", r.allow(RoleViewer), bounded)
	viewer.GET("/payloads", r.payloads)
	viewer.GET("/payloads/:id", r.payload)
	viewer.GET("/rejects", r.rejects)
	viewer.GET("/rejects/:id", r.reject)
	viewer.GET("/dead", r.dead)
	viewer.GET("/dead/stats", r.deadStats)
	viewer.GET("/dead/:id", r.deadLetter)
	viewer.GET("/apps", r.apps)
	viewer.GET("/brakes", r.brakes)
	viewer.GET("/conversations", r.conversations)
	viewer.GET("/conversations/:conv", r.conversation)
	viewer.GET(`/conversations\:find`, r.find)
	viewer.GET("/unanswered", r.unanswered)
	viewer.GET("/sums", r.sums)
	viewer.GET("/doctor", r.doctor)

	operator := e.Group("/api/v1", r.allow(RoleOperator), bounded)
	operator.POST("/rejects/:id/readmit", r.bodiless, r.readmit)
	operator.POST("/rejects/readmit", r.bodiless, r.readmitAll)
	operator.POST("/replays", r.replay)
	operator.POST("/dead/:id/requeue", r.bodiless, r.requeue)
	operator.POST("/dead/requeue", r.bodiless, r.requeueAll)
	operator.GET("/accounts/:name/doctor", r.doctorAccount)
	operator.POST("/conversations/:conv/release", r.bodiless, r.releaseConversation)
	operator.POST("/apps/:name/pause", r.bodiless, r.brake(true))
	operator.POST("/apps/:name/resume", r.bodiless, r.brake(false))
	operator.POST("/brakes/:scope/:name/pause", r.bodiless, r.brake(true))
	operator.POST("/brakes/:scope/:name/resume", r.bodiless, r.brake(false))

	admin := e.Group("/api/v1", r.allow(RoleAdmin), bounded)
	admin.POST("/replays/:run/release", r.bodiless, r.release)
	admin.POST("/dead/:id/drop", r.drop)
	admin.POST("/dead/drop", r.dropAll)
	admin.GET("/audit", r.audit)
	if a, ok := o.API.(Adopter); ok {
		admin.POST("/adopt", r.bodiless, r.adopt(a))
	}
	if a, ok := o.API.(Tails); ok {
		viewer.GET("/tail", r.tail(a))
	}
	r.queueRoutes(viewer, operator)
	if a, ok := o.API.(Answers); ok {
		r.answerRoute(a, e)
	}
	if a, ok := o.API.(Submissions); ok {
		r.submissionRoutes(a, e, viewer, operator)
	}
	if x, ok := o.API.(Exports); ok {
		operator.GET("/events", func(c *gin.Context) { r.export(c, x) })
	}
	if a, ok := o.API.(Accounts); ok {
		r.accountRoutes(a, viewer, operator)
	}
	if m, ok := o.API.(Media); ok {
		r.mediaRoutes(m, viewer, e.Group("/api/v1", r.allow(RoleViewer), patient), e.Group("/api/v1", r.allow(RoleOperator), patient))
	}
	return e
}

func (r *router) ready(c *gin.Context) {
	state := r.Ready(c.Request.Context())
	status := http.StatusOK
	if !state.OK {
		status = http.StatusServiceUnavailable
	}
	c.JSON(status, state)
}

// noStore keeps answers out of caches and frames.
func noStore(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// bounded limits the request's body, and lets a recount or a readmission of many
// take longer than the listener's patience with its connection: the patience is
// for clients that do not speak, and this one has.
func bounded(c *gin.Context) { limited(maxBody)(c) }

// limited is bounded for bodies of at most so many bytes.
func limited(bytes int64) gin.HandlerFunc {
	return func(c *gin.Context) {
		patient(c)
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, bytes)
	}
}

// recovered turns a panic into a 500 without its value, which could quote a
// request.
func (r *router) recovered(c *gin.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares this value itself
			panic(p)
		}
		r.Log.Error("admin.panicked", zap.String("route", c.FullPath()), zap.Stack("stack"))
		if !c.Writer.Written() {
			problem(c, http.StatusInternalServerError, "a fault in the gateway; see its log", nil)
		}
	}()
	c.Next()
}

// errorLog lets the metrics handler report a broken collector.
type errorLog struct{ log *zap.Logger }

func (l errorLog) Println(v ...any) {
	for _, x := range v {
		if err, ok := x.(error); ok {
			l.log.Error("metrics.failed", zap.Error(err))
		}
	}
}
