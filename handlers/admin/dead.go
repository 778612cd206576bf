package admin

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// deadFields are the parameters that select dead letters.
func deadFields(more ...string) []string {
	return append([]string{"app", "account", "platform", "conv", "kind", "state", "reason", "since", "until"}, more...)
}

// deadQuery reads the filter of dead letters.
func deadQuery(p *params) store.DeadQuery {
	q := store.DeadQuery{
		App:      p.name("app"),
		Account:  p.name("account"),
		Platform: p.platform("platform"),
		Conv:     p.conv("conv"),
		Kind:     p.word("kind", "event", "message", "item", "payload"),
		State:    p.word("state", "open", "requeued", "dropped"),
		Reason:   p.reason("reason"),
		Since:    p.time("since"),
		Until:    p.time("until"),
	}
	p.rangeOK(q.Since, q.Until)
	return q
}

// manyQuery is deadQuery for a deed on many: all of them but for a limit.
func manyQuery(p *params) store.DeadQuery {
	q := deadQuery(p)
	q.Limit = int(p.number("limit", 1, math.MaxInt32, 0))
	if q.State != "" && q.State != "open" {
		p.bad("state", "must be open: what is requeued or dropped is closed")
	}
	return q
}

func (r *router) dead(c *gin.Context) {
	p := query(c, deadFields("before", "limit")...)
	q := deadQuery(p)
	q.Limit = p.limit()
	if q.Before = p.text("before"); q.Before != "" && !validID(q.Before, "dl_") {
		p.bad("before", "must be the id of a dead letter")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := r.API.Dead(c.Request.Context(), q)
	out := struct {
		Dead []gateway.DeadLetter `json:"dead"`
		Next string               `json:"next,omitempty"`
	}{Dead: list(found)}
	if len(found) == q.Limit {
		out.Next = found[len(found)-1].ID
	}
	r.answer(c, out, err)
}

func (r *router) deadStats(c *gin.Context) {
	p := query(c, deadFields()...)
	q := deadQuery(p)
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := r.API.DeadStats(c.Request.Context(), q)
	r.answer(c, found, err)
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
	id, ok := r.deadID(c)
	if !ok {
		return
	}
	p := &params{}
	note, ok := r.dropReason(c, p)
	if !ok {
		return
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	err := r.API.Drop(c.Request.Context(), id, by(c), note)
	r.answer(c, gin.H{"id": id, "state": "dropped"}, err)
}

// maxNote bounds what an admin says of a deed, in characters.
const maxNote = 200

// dropForm is the body of a drop.
type dropForm struct {
	Reason string `json:"reason,omitempty"`
}

// dropReason reads the optional body {"reason": "why"}.
func (r *router) dropReason(c *gin.Context, p *params) (string, bool) {
	var body dropForm
	if c.Request.ContentLength != 0 && !r.read(c, p, &body, "reason") {
		return "", false
	}
	if note := body.Reason; utf8.RuneCountInString(note) > maxNote || strings.ContainsFunc(note, func(c rune) bool { return c < ' ' }) {
		p.bad("reason", "must be at most 200 characters in one line")
	}
	return body.Reason, true
}

// deadPlanned is the answer of a dry run.
type deadPlanned struct {
	DryRun bool `json:"dry_run"`
	gateway.DeadPlan
	// Order is where a requeued thing goes; only for a requeue.
	Order string `json:"order,omitempty"`
}

// RequeuedAll counts what a requeue of many did, or a drop.
type (
	RequeuedAll struct {
		Requeued int `json:"requeued"`
		Skipped  int `json:"skipped"` // in another state by then
	}
	// DroppedAll is that of a drop.
	DroppedAll struct {
		Dropped int `json:"dropped"`
		Skipped int `json:"skipped"`
	}
)

// requeueAll requeues the open dead letters that the filter selects, or says what
// that would be.
func (r *router) requeueAll(c *gin.Context) {
	p := query(c, deadFields("limit", "dry_run")...)
	q, dry := manyQuery(p), p.flag("dry_run")
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	if dry {
		plan, err := r.API.DeadPlan(c.Request.Context(), q)
		r.answer(c, deadPlanned{true, plan, gateway.RequeueOrder}, err)
		return
	}
	done, err := r.API.RequeueAll(c.Request.Context(), q, by(c))
	r.answer(c, RequeuedAll{done.Moved, done.Skipped}, err)
}

// dropAll drops them; why must be said.
func (r *router) dropAll(c *gin.Context) {
	p := query(c, deadFields("limit", "dry_run")...)
	q, dry := manyQuery(p), p.flag("dry_run")
	note, ok := r.dropReason(c, p)
	if !ok {
		return
	}
	if note == "" && !dry {
		p.bad("reason", "is needed in the body: why they are dropped")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	if dry {
		plan, err := r.API.DeadPlan(c.Request.Context(), q)
		r.answer(c, deadPlanned{DryRun: true, DeadPlan: plan}, err)
		return
	}
	done, err := r.API.DropAll(c.Request.Context(), q, by(c), note)
	r.answer(c, DroppedAll{done.Moved, done.Skipped}, err)
}
