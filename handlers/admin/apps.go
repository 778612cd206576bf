package admin

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

func (r *router) apps(c *gin.Context) {
	if err := query(c).err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := r.API.Applications(c.Request.Context())
	r.answer(c, struct {
		Apps []ApplicationState `json:"apps"`
	}{list(found)}, err)
}

func (r *router) pause(c *gin.Context)  { r.brake(c, r.API.PauseApplication, true) }
func (r *router) resume(c *gin.Context) { r.brake(c, r.API.ResumeApplication, false) }

func (r *router) brake(c *gin.Context, set func(ctx context.Context, name, by string) error, paused bool) {
	p, name := query(c), c.Param("name")
	if !gateway.ValidName(name) {
		p.bad("name", "must be the name of an application")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	err := set(c.Request.Context(), name, by(c))
	r.answer(c, gin.H{"name": name, "paused": paused}, err)
}

// adopt takes over the streams of another store.
func (r *router) adopt(a Adopter) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := query(c).err(); err != nil {
			r.fail(c, err)
			return
		}
		err := a.Adopt(c.Request.Context(), by(c))
		r.answer(c, gin.H{"adopted": true}, err)
	}
}
