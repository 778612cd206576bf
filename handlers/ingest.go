package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/time/rate"

	"github.com/causewayhq/causeway/gateway"
)

// door is the front door's handlers and what they share.
type door struct {
	Options
	bodies   *bodies
	ids      *requestIDs
	patience *patience
	rejects  chan struct{} // one slot per reject being stored
	lines    *rate.Limiter // log lines that anybody outside can cause
	hidden   atomic.Int64  // lines left out since the last one
}

// visit is one request to a configured endpoint.
type visit struct {
	*gin.Context
	platform, name string
	ids            *requestIDs
	id             string // empty until request is called
	endpoint       Endpoint
	metrics        *endpointMetrics
	started        time.Time
}

// enter finds the endpoint; false when the answer was given.
func (d *door) enter(c *gin.Context, v *visit) bool {
	v.Context, v.platform, v.name = c, c.Param("platform"), c.Param("endpoint")
	v.started, v.ids = d.Now(), d.ids
	if c.Request.Header[RequestIDHeader] != nil || d.Log.Core().Enabled(zap.DebugLevel) {
		v.request()
	}
	endpoint, ok := d.Endpoint(v.platform, v.name)
	if !ok {
		d.Metrics.unknown.Inc()
		if c.Request.ContentLength != 0 {
			c.Writer.Header().Set("Connection", "close")
		}
		v.request()
		empty(http.StatusNotFound)(c)
		return false
	}
	v.endpoint, v.metrics = endpoint, d.Metrics.endpoint(v.platform, v.name)
	return true
}

// request names the visit, in its answer too. A callback that is taken is not named
// unless its caller or the log asks for it: no platform reads the name, and to send it
// cost a fourteenth of the whole request.
func (v *visit) request() string {
	if v.id == "" && v.Context != nil {
		v.id = v.ids.name(v.Request.Header)
		v.Writer.Header()[RequestIDHeader] = []string{v.id}
	}
	return v.id
}

// answer ends the visit with a status and an empty body.
func (v *visit) answer(status int) {
	if status != http.StatusOK {
		v.request()
	}
	v.Status(status)
	v.Writer.WriteHeaderNow()
	v.metrics.answered(status)
}

// answerUnread ends a visit whose body was not read through: the connection
// closes, so that nobody has to read the rest.
func (v *visit) answerUnread(status int) {
	v.Writer.Header().Set("Connection", "close")
	v.answer(status)
}

// challenge answers the platform's GET: 200, text/plain, the exact bytes.
func (d *door) challenge(c *gin.Context) {
	var v visit
	defer d.recovered(&v)
	if !d.enter(c, &v) {
		return
	}
	body, err := v.endpoint.Challenge(&Request{RawQuery: c.Request.URL.RawQuery, Header: c.Request.Header})
	if err != nil {
		status := v.refusal(err)
		d.refused(&v, status, err)
		v.answer(status)
		return
	}
	v.answerText(body)
}

// answerText ends the visit with 200 and the exact bytes, which are JSON when they
// begin as an object does.
func (v *visit) answerText(body []byte) {
	h := v.Writer.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if bytes.HasPrefix(body, []byte("{")) {
		h.Set("Content-Type", "application/json")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	v.Status(http.StatusOK)
	// A client that is gone does not read its answer; there is nobody to tell.
	_, _ = v.Writer.Write(body)
	v.metrics.answered(http.StatusOK)
}

// answerTaken ends the visit of a callback that is on disk.
func (v *visit) answerTaken(body []byte) {
	if a, ok := v.endpoint.(Answerer); ok {
		if text := a.Answer(&Request{RawQuery: v.Request.URL.RawQuery, Header: v.Request.Header, Body: body}); len(text) > 0 {
			v.answerText(text)
			return
		}
	}
	v.answer(http.StatusOK)
}

// callback takes a POST: read, verify, archive, 200; a question is answered instead
// of archived.
func (d *door) callback(c *gin.Context) {
	var v visit
	defer d.recovered(&v)
	if !d.enter(c, &v) {
		return
	}
	body, held, err := d.bodies.read(c.Request.Body, c.Request.ContentLength)
	defer d.bodies.release(held)
	if err != nil {
		d.unread(&v, err)
		return
	}
	p := &gateway.Payload{
		Platform:    v.platform,
		Endpoint:    v.name,
		ReceivedAt:  d.Now(),
		RequestLine: c.Request.Method + " " + c.Request.RequestURI + " " + c.Request.Proto,
		Header:      chosenHeaders(c.Request.Header),
		Body:        body,
	}
	r := &Request{RawQuery: c.Request.URL.RawQuery, Header: c.Request.Header, Body: body}
	if w, ok := v.endpoint.(Witness); ok {
		r.Client = c.ClientIP()
		maps.Copy(p.Header, w.Keep(r))
	}
	if p.KeyFP, err = d.verify(&v, r); err != nil {
		status := v.refusal(err)
		d.keepReject(&v, p, err)
		d.refused(&v, status, err)
		v.answerFailed(status)
		return
	}
	if v.poll(body) {
		return
	}
	// The platform may hang up; what it sent is worth keeping all the same.
	if err := d.Archive.Append(d.patience.context(), p); err != nil {
		d.line(&v, zap.ErrorLevel, "payload.not_archived", http.StatusServiceUnavailable, err)
		v.answerFailed(http.StatusServiceUnavailable)
		return
	}
	v.answerTaken(body)
	took := d.Now().Sub(v.started)
	v.metrics.archived(took, len(body))
	if line := d.Log.Check(zap.DebugLevel, "payload.archived"); line != nil {
		line.Write(zap.String("payload", p.ID), zap.Int64("pos", p.Pos), zap.String("platform", v.platform),
			zap.String("endpoint", v.name), zap.Int("bytes", len(body)), zap.Duration("took", took),
			zap.String("request", v.request()))
	}
}

// pollTimeout is how long the store may take for a platform's question.
const pollTimeout = 2 * time.Second

// poll answers a platform that only asks how far something is.
func (v *visit) poll(body []byte) bool {
	p, ok := v.endpoint.(Poller)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(v.Request.Context(), pollTimeout)
	defer cancel()
	answer, polled := p.Poll(ctx, &Request{RawQuery: v.Request.URL.RawQuery, Header: v.Request.Header, Body: body})
	if !polled {
		return false
	}
	v.answerText(answer)
	v.metrics.polled()
	return true
}

// verify says whether the callback is genuine, by certificate where the endpoint
// wants one, and by signature.
func (d *door) verify(v *visit, r *Request) (keyFP string, err error) {
	if d.ClientCerts != nil {
		if certs := d.ClientCerts(v.platform, v.name); certs != nil {
			if err := certs.Check(v.Request.TLS); err != nil {
				return "", err
			}
		}
	}
	return v.endpoint.Verify(r)
}

// answerFailed answers a refusal; 503 asks the platform to come again.
func (v *visit) answerFailed(status int) {
	if status == http.StatusServiceUnavailable {
		v.Writer.Header().Set("Retry-After", "2")
	}
	v.answer(status)
}

// refusal is the status for an error of Challenge or Verify. An error that is
// none of the gateway's words is a fault of ours: 500.
func (v *visit) refusal(err error) int {
	switch {
	case errors.Is(err, gateway.ErrNoSecret):
		return http.StatusServiceUnavailable
	case errors.Is(err, gateway.ErrHostile):
		return http.StatusBadRequest
	case errors.Is(err, gateway.ErrUnverified):
		return v.endpoint.RefusalStatus()
	case errors.Is(err, gateway.ErrNotFound):
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// unread answers a body that could not be read whole.
func (d *door) unread(v *visit, err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, errTooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errNoMemory):
		status = http.StatusServiceUnavailable
		v.Writer.Header().Set("Retry-After", "2")
	case errors.Is(err, os.ErrDeadlineExceeded):
		status = http.StatusRequestTimeout
	}
	// The connection's own error is not repeated: it holds addresses.
	d.line(v, zap.WarnLevel, "payload.not_read", status, nil)
	v.answerUnread(status)
}

// keepReject stores a refused callback without letting a flood of them queue
// up before the archive.
func (d *door) keepReject(v *visit, p *gateway.Payload, why error) {
	select {
	case d.rejects <- struct{}{}:
		defer func() { <-d.rejects }()
	default:
		d.Metrics.rejects.WithLabelValues("no").Inc()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Request.Context()), d.Limits.RejectTimeout)
	defer cancel()
	if err := d.Archive.AppendReject(ctx, &gateway.Reject{At: p.ReceivedAt, Reason: why.Error(), Payload: *p}); err != nil {
		d.Metrics.rejects.WithLabelValues("no").Inc()
		d.line(v, zap.ErrorLevel, "reject.not_kept", 0, err)
		return
	}
	d.Metrics.rejects.WithLabelValues("yes").Inc()
}

// refused logs a refusal.
func (d *door) refused(v *visit, status int, err error) {
	d.line(v, zap.WarnLevel, "payload.refused", status, err)
}

// line writes a log line unless too many were written just now.
func (d *door) line(v *visit, level zapcore.Level, what string, status int, err error) {
	if !d.lines.AllowN(d.Now(), 1) {
		d.hidden.Add(1)
		return
	}
	line := d.Log.Check(level, what)
	if line == nil {
		return
	}
	fields := []zap.Field{zap.String("platform", v.platform), zap.String("endpoint", v.name),
		zap.String("client", v.ClientIP()), zap.String("request", v.request())}
	if status != 0 {
		fields = append(fields, zap.Int("status", status))
	}
	if err != nil {
		fields = append(fields, zap.Error(err))
	}
	if n := d.hidden.Swap(0); n > 0 {
		fields = append(fields, zap.Int64("lines_left_out", n))
	}
	line.Write(fields...)
}

// recovered turns a panic into a 500: counted, logged with its place and never
// with its value, which could quote the body.
func (d *door) recovered(v *visit) {
	r := recover()
	if r == nil {
		return
	}
	if r == http.ErrAbortHandler { //nolint:errorlint // net/http compares this value itself
		panic(r)
	}
	d.Metrics.panics.Inc()
	what := fmt.Sprintf("%T", r)
	if e, ok := r.(runtime.Error); ok {
		what = e.Error()
	}
	d.Log.Error("request.panicked", zap.String("what", what), zap.String("platform", v.platform),
		zap.String("endpoint", v.name), zap.String("request", v.request()), zap.Stack("stack"))
	if v.Context == nil || v.Writer.Written() {
		return
	}
	v.Writer.Header().Set("Connection", "close")
	empty(http.StatusInternalServerError)(v.Context)
	if v.metrics != nil {
		v.metrics.answered(http.StatusInternalServerError)
	}
}

// chosenHeaders copies the headers worth keeping with a payload. Everything
// else, above all Authorization and Cookie, is left behind.
func chosenHeaders(h http.Header) http.Header {
	out := make(http.Header, 4)
	for _, name := range [...]string{"Content-Type", "X-Hub-Signature-256", "User-Agent", RequestIDHeader} {
		if v := h[name]; len(v) > 0 {
			out[name] = v
		}
	}
	return out
}
