package admin

import (
	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// deadQuery reads the filter of dead letters.
func deadQuery(p *params) store.DeadQuery {
	return store.DeadQuery{
		App:    p.name("app"),
		Kind:   p.word("kind", "event", "message", "item", "payload"),
		State:  p.word("state", "open", "requeued", "dropped"),
		Reason: p.reason("reason"),
		Limit:  p.limit(),
	}
}

func (r *router) dead(c *gin.Context) {
	p := query(c, "app", "kind", "state", "reason", "limit")
	q := deadQuery(p)
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := r.API.Dead(c.Request.Context(), q)
	r.answer(c, struct {
		Dead []gateway.DeadLetter `json:"dead"`
	}{list(found)}, err)
}

// deadID reads the id of the path; no parameters go with it.
func (r *router) deadID(c *gin.Context) (string, bool) {
	p, id := query(c), c.Param("id")
	if !validID(id, "dl_") {
		p.bad("id", "must be an id such as dl_01JDRX5S3V8P9A6K2M4N7Q0T1W")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return "", false
	}
	return id, true
}

func (r *router) deadLetter(c *gin.Context) {
	if id, ok := r.deadID(c); ok {
		found, err := r.API.DeadLetter(c.Request.Context(), id)
		r.answer(c, found, err)
	}
}

func (r *router) requeue(c *gin.Context) {
	if id, ok := r.deadID(c); ok {
		err := r.API.Requeue(c.Request.Context(), id, by(c))
		r.answer(c, gin.H{"id": id, "state": "requeued"}, err)
	}
}

func (r *router) drop(c *gin.Context) {
	if id, ok := r.deadID(c); ok {
		err := r.API.Drop(c.Request.Context(), id, by(c))
		r.answer(c, gin.H{"id": id, "state": "dropped"}, err)
	}
}

// requeueAll requeues the open dead letters that the filter selects.
func (r *router) requeueAll(c *gin.Context) {
	p := query(c, "app", "kind", "state", "reason", "limit")
	q := deadQuery(p)
	if q.State != "" && q.State != "open" {
		p.bad("state", "must be open: what is requeued or dropped is closed")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	done, err := r.API.RequeueAll(c.Request.Context(), q, by(c))
	r.answer(c, done, err)
}
