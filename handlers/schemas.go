package handlers

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// Schemas are the published JSON Schemas by file name. They are the same for
// everybody and tell nothing of this installation, so both listeners serve them
// without a token.
type Schemas map[string][]byte

// Route adds GET and HEAD /schemas/{name}; any other name is a 404 without a
// body.
func (s Schemas) Route(r gin.IRoutes) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r.Handle(method, "/schemas/:name", s.serve)
	}
}

func (s Schemas) serve(c *gin.Context) {
	body, ok := s[c.Param("name")]
	if !ok {
		empty(http.StatusNotFound)(c)
		return
	}
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Cache-Control", "public, max-age=3600")
	c.Data(http.StatusOK, "application/schema+json", body)
}
