package admin

import (
	"context"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
)

// Exports is an API that can hand out events. It is optional.
type Exports interface {
	// ExportEvents writes the events of what q names to w as they are published, one
	// JSON a line, in the order of the archive. It fails before the first byte, or
	// what was written is cut off.
	ExportEvents(ctx context.Context, q ReplayRequest, w io.Writer) error
}

// export streams events. They say what customers wrote, so it needs the role
// operator and is audited before the first of them is shown. An answer that cannot
// be finished is cut off, which every client notices: it has neither a length nor an
// end.
func (r *router) export(c *gin.Context, e Exports) {
	p := query(c, "payload", "conv", "since", "until", "endpoint")
	q := ReplayRequest{Payload: p.text("payload"), Conv: p.text("conv"), Endpoint: p.text("endpoint")}
	if t := p.time("since"); !t.IsZero() {
		q.Since = &t
	}
	if t := p.time("until"); !t.IsZero() {
		q.Until = &t
	}
	if len(p.wrong) == 0 {
		q.check(p)
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	if !r.audited(c, "export events", q.Target()) {
		return
	}
	out := &firstByte{c: c}
	if err := e.ExportEvents(c.Request.Context(), q, out); err != nil {
		if !out.begun {
			r.fail(c, err)
			return
		}
		r.Log.Error("export.cut_off", zap.Error(err))
		panic(http.ErrAbortHandler)
	}
	out.begin()
}

// Target is what a request names, for the audit.
func (q *ReplayRequest) Target() string {
	switch {
	case q.Payload != "":
		return "payload " + q.Payload
	case q.Conv != "":
		return "conversation " + q.Conv
	case q.Since != nil && q.Until != nil:
		const form = "2006-01-02T15:04:05Z"
		text := "range " + q.Since.UTC().Format(form) + " to " + q.Until.UTC().Format(form)
		if q.Endpoint != "" {
			text += " " + q.Endpoint
		}
		return text
	}
	return "sealed"
}

// firstByte writes the head of the answer when there is something to answer.
type firstByte struct {
	c     *gin.Context
	begun bool
}

func (f *firstByte) begin() {
	if !f.begun {
		f.begun = true
		f.c.Header("Content-Type", "application/x-ndjson")
		f.c.Status(http.StatusOK)
		f.c.Writer.WriteHeaderNow()
	}
}

// Write writes to the client.
func (f *firstByte) Write(b []byte) (int, error) {
	f.begin()
	return f.c.Writer.Write(b)
}
