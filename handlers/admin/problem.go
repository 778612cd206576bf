package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

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

// problem ends the request with problem+json.
func problem(c *gin.Context, status int, detail string, fields []InvalidField) {
	c.Abort()
	body, err := json.Marshal(Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Errors: fields})
	if err != nil {
		c.Status(status)
		return
	}
	c.Data(status, "application/problem+json", append(body, '\n'))
}

// fail answers an error of the API.
func (r *router) fail(c *gin.Context, err error) {
	var invalid *InvalidError
	switch {
	case errors.As(err, &invalid):
		problem(c, http.StatusBadRequest, "some fields cannot be used", invalid.Fields)
	case errors.Is(err, gateway.ErrNotFound):
		problem(c, http.StatusNotFound, "there is nothing of this name", nil)
	case errors.Is(err, gateway.ErrConflict):
		problem(c, http.StatusConflict, "not possible in its present state", nil)
	case errors.Is(err, gateway.ErrUnverified), errors.Is(err, gateway.ErrHostile), errors.Is(err, gateway.ErrNoSecret):
		problem(c, http.StatusConflict, "still does not verify with the credentials of now", nil)
	case errors.Is(err, gateway.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		c.Header("Retry-After", "2")
		problem(c, http.StatusServiceUnavailable, "the store or the broker cannot answer now; try again", nil)
	case errors.Is(err, context.Canceled):
		problem(c, statusClientGone, "the client has gone", nil)
	default:
		r.Log.Error("admin.failed", zap.String("route", c.FullPath()), zap.Error(err))
		problem(c, http.StatusInternalServerError, "failed; see the gateway's log", nil)
	}
}
