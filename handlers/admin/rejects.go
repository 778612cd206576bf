package admin

import (
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
)

// rejects lists refused callbacks, newest first.
func (r *router) rejects(c *gin.Context) {
	p := query(c, "before", "limit")
	before, limit := p.number("before", 0, math.MaxInt64, 0), p.limit()
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := r.API.Rejects(c.Request.Context(), before, limit)
	if err != nil {
		r.fail(c, err)
		return
	}
	out := struct {
		Rejects []rejectView `json:"rejects"`
		Next    int64        `json:"next,omitempty"`
	}{Rejects: make([]rejectView, 0, len(found))}
	for i := range found {
		out.Rejects = append(out.Rejects, viewReject(&found[i]))
	}
	if len(found) == limit {
		out.Next = found[len(found)-1].ID
	}
	c.JSON(http.StatusOK, out)
}

func (r *router) reject(c *gin.Context) {
	p := query(c, "body")
	raw := p.flag("body")
	id, ok := r.rejectID(c, p)
	if !ok {
		return
	}
	if raw && !r.mayReadBody(c) {
		return
	}
	found, err := r.API.Reject(c.Request.Context(), id)
	if err != nil {
		r.fail(c, err)
		return
	}
	v := viewReject(found)
	v.Header = found.Payload.Header
	if raw {
		if !r.audited(c, "read reject body", strconv.FormatInt(id, 10)) {
			return
		}
		v.RawRequestLine, v.Body = found.Payload.RequestLine, found.Payload.Body
	}
	c.JSON(http.StatusOK, v)
}

// rejectID reads the id of the path and ends the parameters' check.
func (r *router) rejectID(c *gin.Context, p *params) (int64, bool) {
	id, ok := rowID(c.Param("id"))
	if !ok {
		p.bad("id", "must be the number of a reject")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return 0, false
	}
	return id, true
}

func (r *router) readmit(c *gin.Context) {
	id, ok := r.rejectID(c, query(c))
	if !ok {
		return
	}
	payload, err := r.API.Readmit(c.Request.Context(), id, by(c))
	if err != nil {
		r.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"payload": payload})
}

func (r *router) readmitAll(c *gin.Context) {
	p := query(c, "endpoint")
	endpoint := p.name("endpoint")
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	done, err := r.API.ReadmitAll(c.Request.Context(), endpoint, by(c))
	r.answer(c, done, err)
}

// answer ends a request with a value or the API's error.
func (r *router) answer(c *gin.Context, v any, err error) {
	if err != nil {
		r.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, v)
}
