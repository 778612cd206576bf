package admin

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// tokenKey holds the token of the request in its gin context.
const tokenKey = "causeway.token"

// allow lets a request pass whose token has at least the role: 401 without a
// known token, 403 with too small a role.
func (r *router) allow(least Role) gin.HandlerFunc {
	return func(c *gin.Context) {
		t, ok := r.token(c.Request.Header.Values("Authorization"))
		if !ok {
			c.Header("WWW-Authenticate", `Bearer realm="causeway"`)
			problem(c, http.StatusUnauthorized, "needs a bearer token of admin.tokens", nil)
			return
		}
		if t.Role.rank() < least.rank() {
			problem(c, http.StatusForbidden, "needs the role "+string(least), nil)
			return
		}
		c.Set(tokenKey, t)
	}
}

// token finds the token of the one Authorization header. Hashes of equal
// length are compared, all of them, whatever the outcome, so that time tells
// nothing.
func (r *router) token(headers []string) (found Token, ok bool) {
	text, ok := bearer(headers)
	if !ok {
		return Token{}, false
	}
	ok = false
	hash := HashToken(text)
	for _, t := range r.Tokens() {
		if subtle.ConstantTimeCompare(hash[:], t.Hash[:]) == 1 && t.Role.rank() > 0 {
			found, ok = t, true
		}
	}
	return found, ok
}

// bearer is the token of the one Authorization header.
func bearer(headers []string) (string, bool) {
	if len(headers) != 1 {
		return "", false
	}
	scheme, text, _ := strings.Cut(headers[0], " ")
	text = strings.TrimSpace(text)
	return text, strings.EqualFold(scheme, "Bearer") && text != ""
}

// by is the name of the token that asked, for the audit.
func by(c *gin.Context) string { return asker(c).Name }

func asker(c *gin.Context) Token {
	v, _ := c.Get(tokenKey)
	t, _ := v.(Token)
	return t
}
