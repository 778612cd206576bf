package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// InvalidField is one field of a request that cannot be used.
type InvalidField struct {
	Field string `json:"field"`
	// Detail says what would be right.
	Detail string `json:"detail"`
}

// InvalidError is a request that cannot be used: 400 with its fields.
type InvalidError struct{ Fields []InvalidField }

// Error names the fields.
func (e *InvalidError) Error() string {
	text := "invalid request"
	for i, f := range e.Fields {
		if i == 0 {
			text += ": "
		} else {
			text += "; "
		}
		text += f.Field + " " + f.Detail
	}
	return text
}

// TooLateError is a request for a message that its platform certainly would not take
// any more, since the customer last wrote too long ago: 422, and nothing is stored.
type TooLateError struct{ InvalidField }

// Error is a sentence.
func (e *TooLateError) Error() string { return e.Field + ": " + e.Detail }

// Problem is the body of every refusal, RFC 9457.
type Problem struct {
	Type   string         `json:"type"`
	Title  string         `json:"title"`
	Status int            `json:"status"`
	Detail string         `json:"detail,omitempty"`
	Errors []InvalidField `json:"errors,omitempty"`
}

// statusClientGone is never seen by anybody: the client has hung up.
const statusClientGone = 499

// newProblem is the body of a refusal.
func newProblem(status int, detail string, fields []InvalidField) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Errors: fields}
}

// problem ends the request with problem+json.
func problem(c *gin.Context, status int, detail string, fields []InvalidField) {
	newProblem(status, detail, fields).answer(c)
}

func (p *Problem) answer(c *gin.Context) {
	c.Abort()
	body, err := json.Marshal(p)
	if err != nil {
		c.Status(p.Status)
		return
	}
	c.Data(p.Status, "application/problem+json", append(body, '\n'))
}

// problemOf says what an error of the API is to whoever asked; a 500 is ours, and to
// be logged.
func problemOf(err error) *Problem {
	var invalid *InvalidError
	var late *TooLateError
	switch {
	case errors.As(err, &late):
		return newProblem(http.StatusUnprocessableEntity, "the platform would not take it", []InvalidField{late.InvalidField})
	case errors.As(err, &invalid):
		return newProblem(http.StatusBadRequest, "some fields cannot be used", invalid.Fields)
	case errors.Is(err, gateway.ErrNotFound):
		return newProblem(http.StatusNotFound, "there is nothing of this name", nil)
	case errors.Is(err, gateway.ErrConflict):
		return newProblem(http.StatusConflict, "not possible in its present state"+stateOf(err), nil)
	case errors.Is(err, gateway.ErrUnverified), errors.Is(err, gateway.ErrHostile), errors.Is(err, gateway.ErrNoSecret):
		return newProblem(http.StatusConflict, "still does not verify with the credentials of now", nil)
	case errors.Is(err, gateway.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, "the store or the broker cannot answer now; try again", nil)
	case errors.Is(err, context.Canceled):
		return newProblem(statusClientGone, "the client has gone", nil)
	}
	return newProblem(http.StatusInternalServerError, "failed; see the gateway's log", nil)
}

// stateOf is the sentence before gateway.ErrConflict, which says what is in the way. As in
// all errors that cross packages there is no secret, number or text in it.
func stateOf(err error) string {
	sentence, ok := strings.CutSuffix(err.Error(), ": "+gateway.ErrConflict.Error())
	if !ok {
		return ""
	}
	return ": " + sentence
}

// fail answers an error of the API.
func (r *router) fail(c *gin.Context, err error) {
	p := problemOf(err)
	switch p.Status {
	case http.StatusServiceUnavailable:
		c.Header("Retry-After", "2")
	case http.StatusInternalServerError:
		r.Log.Error("admin.failed", zap.String("route", c.FullPath()), zap.Error(err))
	}
	p.answer(c)
}
