package admin

import (
	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

func (r *router) replay(c *gin.Context) {
	p := query(c)
	var q ReplayRequest
	if !r.read(c, p, &q, "run, payload, conv, since, until, endpoint, sealed, send_replies") {
		return
	}
	q.check(p)
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	started, err := r.API.StartReplay(c.Request.Context(), q, by(c))
	r.answer(c, started, err)
}

// check notes what cannot be used: exactly one thing is replayed.
func (q *ReplayRequest) check(p *params) {
	if q.Run != "" && !validRun(q.Run) {
		p.bad("run", "must be run_ and 1 to 60 letters, digits, hyphens or underscores")
	}
	if q.Payload != "" && !validID(q.Payload, "pl_") {
		p.bad("payload", "must be an id such as pl_01JDRX5S3V8P9A6K2M4N7Q0T1W")
	}
	if q.Conv != "" && !validConv(q.Conv) {
		p.bad("conv", "must be the 26 characters of a conversation's id")
	}
	if q.Endpoint != "" && !gateway.ValidName(q.Endpoint) {
		p.bad("endpoint", "must be 1 to 40 lower-case letters, digits and inner hyphens")
	}
	span := q.Since != nil || q.Until != nil
	if span && (q.Since == nil || q.Until == nil) {
		p.bad("since", "and until must be given together")
	} else if span {
		p.rangeOK(*q.Since, *q.Until)
	}
	things := 0
	for _, set := range []bool{q.Payload != "", q.Conv != "", span, q.Sealed} {
		if set {
			things++
		}
	}
	if things != 1 {
		p.bad("payload", "or conv, or since and until, or sealed: exactly one must be given")
	}
	if q.Endpoint != "" && !span && !q.Sealed {
		p.bad("endpoint", "goes with since and until, or with sealed")
	}
}

func (r *router) release(c *gin.Context) {
	p, run := query(c), c.Param("run")
	if !validRun(run) {
		p.bad("run", "must be run_ and 1 to 60 letters, digits, hyphens or underscores")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	n, err := r.API.ReleaseReplay(c.Request.Context(), run, by(c))
	r.answer(c, gin.H{"run": run, "conversations": n}, err)
}
