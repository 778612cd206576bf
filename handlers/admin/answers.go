package admin

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

// maxAnswer bounds an answer; the broker's own limit may be lower.
const maxAnswer = 1 << 20

// Answers is an API whose applications may be URLs that answer later. It is
// optional.
type Answers interface {
	// AnswerTo returns what takes the answer of the one delivery that a reply
	// token is for; false for what is none of ours. take returns nil when the
	// answer is stored by the broker. Errors: one wrapping gateway.ErrBadAnswer
	// (400, it names the field), gateway.ErrUnavailable (503).
	AnswerTo(token string) (take func(ctx context.Context, body []byte) error, ok bool)
}

// answerRoute needs no token of the listener: a bot proves itself by the one that
// came with its event, and can do nothing else with it. Nothing of a body is read
// before.
func (r *router) answerRoute(a Answers, e *gin.Engine) {
	e.POST("/api/v1/answers", func(c *gin.Context) {
		token, _ := bearer(c.Request.Header.Values("Authorization"))
		take, ok := a.AnswerTo(token)
		if !ok {
			c.Header("WWW-Authenticate", `Bearer realm="causeway"`)
			problem(c, http.StatusUnauthorized, "needs the replytoken of the event as bearer token", nil)
			return
		}
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxAnswer)
		body, err := io.ReadAll(c.Request.Body)
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			problem(c, http.StatusRequestEntityTooLarge, "the body is too large", nil)
			return
		case err != nil:
			problem(c, http.StatusBadRequest, "the body could not be read to its end", nil)
			return
		}
		err = take(c.Request.Context(), body)
		if errors.Is(err, gateway.ErrBadAnswer) {
			problem(c, http.StatusBadRequest, err.Error(), nil)
			return
		}
		if err != nil {
			r.fail(c, err)
			return
		}
		c.JSON(http.StatusAccepted, gin.H{"stored": true})
	})
}
