package admin

import (
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

func (r *router) brakes(c *gin.Context) {
	if err := query(c).err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := r.API.Brakes(c.Request.Context())
	r.answer(c, struct {
		Brakes []gateway.Brake `json:"brakes"`
	}{list(found)}, err)
}

// brake stops or lets go what the path names: scope and name, or the name of an
// application alone.
func (r *router) brake(on bool) gin.HandlerFunc {
	return func(c *gin.Context) {
		p, scope, name := query(c), gateway.BrakeScope(c.Param("scope")), c.Param("name")
		if scope == "" {
			scope = gateway.BrakeApp
		}
		switch {
		case !slices.Contains(gateway.BrakeScopes(), scope):
			p.bad("scope", "must be app, account, conversation or replies")
		case !gateway.ValidName(name):
			p.bad("name", "must be the name of an application or account, the id of a conversation, or for replies "+gateway.BrakeAll)
		}
		if err := p.err(); err != nil {
			r.fail(c, err)
			return
		}
		err := r.API.SetBrake(c.Request.Context(), scope, name, by(c), on)
		r.answer(c, gin.H{"scope": scope, "name": name, "paused": on}, err)
	}
}
