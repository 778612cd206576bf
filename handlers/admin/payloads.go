package admin

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// payloads lists what arrived, newest first. next is the "before" of the next
// page, absent on the last one; a page may be short, or empty, and have one.
func (r *router) payloads(c *gin.Context) {
	p := query(c, "endpoint", "since", "until", "before", "limit")
	q := store.PayloadQuery{
		Endpoint: p.name("endpoint"), Since: p.time("since"), Until: p.time("until"), Limit: p.limit(),
	}
	p.rangeOK(q.Since, q.Until)
	if s := p.text("before"); s != "" {
		ref, ok := payloadRef(s)
		if !ok {
			p.bad("before", "must be a place in the archive or an id such as pl_01JDRX5S3V8P9A6K2M4N7Q0T1W")
		}
		if q.Before = ref.Pos; ref.ID != "" {
			_, pos, err := store.ParsePayloadID(ref.ID)
			if err != nil {
				p.bad("before", "is not an id of this gateway")
			}
			q.Before = pos
		}
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	found, next, err := r.API.Payloads(c.Request.Context(), q)
	if err != nil {
		r.fail(c, err)
		return
	}
	at := make([]int64, len(found))
	for i := range found {
		at[i] = found[i].Pos
	}
	states, err := r.API.PayloadStates(c.Request.Context(), at)
	if err != nil {
		r.fail(c, err)
		return
	}
	out := struct {
		Payloads []payloadListed `json:"payloads"`
		Next     int64           `json:"next,omitempty"`
	}{Payloads: make([]payloadListed, 0, len(found)), Next: next}
	for i := range found {
		state := cmp.Or(states[found[i].Pos], gateway.PayloadPending)
		out.Payloads = append(out.Payloads, payloadListed{viewPayload(&found[i]), state})
	}
	c.JSON(http.StatusOK, out)
}

func (r *router) payload(c *gin.Context) {
	p := query(c, "body")
	raw := p.flag("body")
	ref, ok := payloadRef(c.Param("id"))
	if !ok {
		p.bad("id", "must be a place in the archive or an id such as pl_01JDRX5S3V8P9A6K2M4N7Q0T1W")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	if raw && !r.mayReadBody(c) {
		return
	}
	found, state, err := r.API.Payload(c.Request.Context(), ref)
	if err != nil {
		r.fail(c, err)
		return
	}
	d := viewDetail(found, &state)
	if raw {
		if !r.audited(c, "read payload body", found.ID) {
			return
		}
		d.RawRequestLine, d.Body = found.RequestLine, found.Body
	}
	c.JSON(http.StatusOK, d)
}

// mayReadBody answers 403 unless the token may see what customers wrote.
func (r *router) mayReadBody(c *gin.Context) bool {
	if asker(c).Role.rank() >= RoleOperator.rank() {
		return true
	}
	problem(c, http.StatusForbidden, "a raw body needs the role "+string(RoleOperator), nil)
	return false
}

// audited records a deed before it is done; without the record it is not done.
func (r *router) audited(c *gin.Context, what, target string) bool {
	err := r.API.RecordAudit(c.Request.Context(), gateway.AuditEntry{At: r.Now(), By: by(c), What: what, Target: target})
	if err != nil {
		r.fail(c, err)
	}
	return err == nil
}
