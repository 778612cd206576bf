package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

// Submissions is an API that takes messages to be sent. It is optional.
type Submissions interface {
	// Submit returns once the messages are stored. Platform is not filled in, nor
	// is Digest; of a recipient that has a name of the account's own (a group's
	// robot), Chat may be empty. gateway.ErrConflict: the key stands for another
	// request. *InvalidError names a reply's field as parts[i].field.
	Submit(ctx context.Context, s *gateway.Submission) (gateway.Submitted, error)
	// Message returns a message with its attempts, oldest first.
	Message(ctx context.Context, id string) (*gateway.Message, []gateway.Attempt, error)
	// Receipts is what the platform told of a message, empty for one that is not known.
	Receipts(ctx context.Context, id string) (gateway.Receipts, error)
	// CancelMessage takes back a message that waits, and the parts behind it. It returns
	// what the message is then: unknown when it was to be sent once more, else cancelled.
	CancelMessage(ctx context.Context, id, by string) (gateway.MessageState, error)
}

// submissionRoutes are there where API is a Submissions.
func (r *router) submissionRoutes(a Submissions, e *gin.Engine, viewer, operator *gin.RouterGroup) {
	forms := sync.OnceValues(NewForms)
	e.POST("/api/v1/messages", r.allow(RoleOperator), limited(MaxSubmit), func(c *gin.Context) { r.submit(c, a, forms) })
	viewer.GET("/messages/:id", func(c *gin.Context) { r.message(c, a) })
	operator.POST("/messages/:id/cancel", r.bodiless, func(c *gin.Context) { r.cancel(c, a) })
}

// submit answers only after the messages are stored: 202 for new ones, 200 for a
// key that was there with the same request.
func (r *router) submit(c *gin.Context, a Submissions, forms func() (*Forms, error)) {
	p := query(c)
	body, ok := r.body(c)
	if !ok {
		return
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	f, err := forms()
	if err != nil {
		r.fail(c, err)
		return
	}
	out, refused, err := f.Submit(c.Request.Context(), a, Asked{Body: body, By: by(c)})
	switch {
	case refused != nil && refused.Status == http.StatusInternalServerError:
		r.fail(c, err) // which logs it
	case refused != nil:
		if refused.Status == http.StatusServiceUnavailable {
			c.Header("Retry-After", "2")
		}
		refused.answer(c)
	case out.Known:
		c.JSON(http.StatusOK, out)
	default:
		c.JSON(http.StatusAccepted, out)
	}
}

// messageDetail is a message, the calls that were made for it, and what the platform
// told of it.
type messageDetail struct {
	messageView
	Calls []attemptView `json:"calls"`
	gateway.Receipts
}

type attemptView struct {
	N         int                 `json:"n"`
	StartedAt time.Time           `json:"started_at"`
	EndedAt   *time.Time          `json:"ended_at,omitempty"`
	Outcome   gateway.OutcomeKind `json:"outcome,omitempty"`
	Code      string              `json:"code,omitempty"`
	Detail    string              `json:"detail,omitempty"`
}

func viewAttempt(a *gateway.Attempt) attemptView {
	v := attemptView{N: a.N, StartedAt: a.StartedAt}
	if a.Outcome != nil {
		v.EndedAt, v.Outcome, v.Code, v.Detail = &a.EndedAt, a.Outcome.Kind, a.Outcome.Code, a.Outcome.Detail
	}
	return v
}

// messageID reads the id in the path.
func messageID(c *gin.Context, p *params) string {
	id := c.Param("id")
	if !validID(id, "ms_") {
		p.bad("id", "must be an id such as ms_01JDRX5S3V8P9A6K2M4N7Q0T1W")
	}
	return id
}

func (r *router) message(c *gin.Context, a Submissions) {
	p := query(c)
	id := messageID(c, p)
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	m, attempts, err := a.Message(c.Request.Context(), id)
	if err != nil {
		r.fail(c, err)
		return
	}
	receipts, err := a.Receipts(c.Request.Context(), id)
	if err != nil {
		r.fail(c, err)
		return
	}
	out := messageDetail{messageView: viewMessage(m), Calls: make([]attemptView, 0, len(attempts)), Receipts: receipts}
	for i := range attempts {
		out.Calls = append(out.Calls, viewAttempt(&attempts[i]))
	}
	c.JSON(http.StatusOK, out)
}

func (r *router) cancel(c *gin.Context, a Submissions) {
	p := query(c)
	id := messageID(c, p)
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	state, err := a.CancelMessage(c.Request.Context(), id, by(c))
	r.answer(c, gin.H{"id": id, "state": state}, err)
}
