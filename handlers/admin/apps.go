package admin

import (
	"github.com/gin-gonic/gin"
	"time"
)

func (r *router) apps(c *gin.Context) {
	if err := query(c).err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := r.API.Applications(c.Request.Context())
	r.answer(c, struct {
		At   time.Time          `json:"at"` // now, so that ages can be told
		Apps []ApplicationState `json:"apps"`
	}{r.Now().UTC(), list(found)}, err)
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
