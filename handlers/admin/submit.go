package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-playground/validator/v10"

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
	// CancelMessage takes back a message that waits, and the parts behind it.
	CancelMessage(ctx context.Context, id, by string) error
}

// maxSubmit bounds the body of a submission: twenty long texts, in any script.
const maxSubmit = 1 << 20

// submissionRoutes are there where API is a Submissions.
func (r *router) submissionRoutes(a Submissions, e *gin.Engine, viewer, operator *gin.RouterGroup) {
	check := sync.OnceValues(newFormCheck)
	e.POST("/api/v1/messages", r.allow(RoleOperator), limited(maxSubmit), func(c *gin.Context) { r.submit(c, a, check) })
	viewer.GET("/messages/:id", func(c *gin.Context) { r.message(c, a) })
	operator.POST("/messages/:id/cancel", func(c *gin.Context) { r.cancel(c, a) })
}

// SubmitForm is the body of POST /api/v1/messages: who writes, to whom, and what.
type SubmitForm struct {
	// Account is our side, by its configured name, or PoolPrefix and the name of a
	// pool: the account of the customer's conversation, else one of the pool's.
	Account string `json:"account" validate:"required,sender"`
	// To is whom to write to, or Conversation the id of a conversation. Neither is
	// needed where the account has one group.
	To           *SubmitTo `json:"to,omitempty" validate:"omitempty,excluded_with=Conversation"`
	Conversation string    `json:"conversation,omitempty" validate:"omitempty,conv"`
	// Content is one reply, in the form of answers (gateway.Reply), or Parts
	// several, which leave one after another.
	Content json.RawMessage   `json:"content,omitempty" validate:"required_without=Parts,excluded_with=Parts"`
	Parts   []json.RawMessage `json:"parts,omitempty" validate:"omitempty,max=20"`
	// IdempotencyKey lets the request be repeated: it is done once.
	IdempotencyKey string `json:"idempotency_key,omitempty" validate:"omitempty,max=128,printascii"`
	// ScheduledAt is when the messages leave at the earliest, ExpiresAt when they
	// leave no more, RFC 3339.
	ScheduledAt string `json:"scheduled_at,omitempty" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
	ExpiresAt   string `json:"expires_at,omitempty" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
}

// PoolPrefix begins the sender of a message that names a pool.
const PoolPrefix = "pool:"

// SubmitTo names a customer, a member or a group.
type SubmitTo struct {
	Kind  string `json:"kind" validate:"required,oneof=phone bsuid userid external_userid conversation group"`
	Value string `json:"value" validate:"required,max=256,identity"`
}

const submitFields = "account, to, conversation, content, parts, idempotency_key, scheduled_at, expires_at"

// newFormCheck makes the rules of a form.
func newFormCheck() (*validator.Validate, error) {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	var failed error
	for tag, rule := range map[string]func(string) bool{"sender": validSender, "conv": validConv, "identity": validIdentity} {
		failed = errors.Join(failed, v.RegisterValidation(tag, func(f validator.FieldLevel) bool { return rule(f.Field().String()) }))
	}
	return v, failed
}

func validSender(s string) bool { return gateway.ValidName(strings.TrimPrefix(s, PoolPrefix)) }

// validIdentity: no white space or control characters, which no platform's names have.
func validIdentity(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' })
}

// sentenceOf says what would be right for a broken rule; it shows no value.
func sentenceOf(e validator.FieldError) string {
	switch e.Tag() {
	case "required":
		return "is needed"
	case "required_without":
		return "is needed: a reply, or several as parts"
	case "excluded_with":
		return "must be left out beside " + strings.ToLower(e.Param())
	case "sender":
		return "must be 1 to 40 lower-case letters, digits and inner hyphens, of a pool behind " + PoolPrefix
	case "conv":
		return "must be the 26 characters of a conversation's id"
	case "identity":
		return "must have no white space in it"
	case "oneof":
		return "must be one of " + strings.ReplaceAll(e.Param(), " ", ", ")
	case "printascii":
		return "must be letters, digits and signs of ASCII"
	case "datetime":
		return "must be a time such as 2026-12-01T08:00:00Z"
	case "max":
		if e.Kind() == reflect.Slice {
			return "must be at most " + e.Param()
		}
		return "must be at most " + e.Param() + " characters"
	}
	return "cannot be used"
}

// submission turns a form into what is asked for, and notes what is wrong.
func (f *SubmitForm) submission(check *validator.Validate, p *params) *gateway.Submission {
	var wrong validator.ValidationErrors
	if errors.As(check.Struct(f), &wrong) {
		for _, e := range wrong {
			_, path, _ := strings.Cut(e.Namespace(), ".")
			p.bad(path, sentenceOf(e))
		}
	}
	s := &gateway.Submission{Key: f.IdempotencyKey, Account: f.Account, Conv: f.Conversation}
	if f.To != nil {
		s.Chat = gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: f.To.Kind, Value: f.To.Value}}}
		if f.To.Kind == "group" {
			s.Chat.Kind = gateway.ChatGroup
		}
	}
	s.DueAt, _ = time.Parse(time.RFC3339, f.ScheduledAt)
	s.ExpiresAt, _ = time.Parse(time.RFC3339, f.ExpiresAt)
	parts := f.Parts
	if len(parts) == 0 && len(f.Content) > 0 {
		parts = []json.RawMessage{f.Content}
	}
	for i, raw := range parts {
		r, err := gateway.ReadReply(raw)
		var bad *gateway.FieldError
		if errors.As(err, &bad) {
			p.bad(f.part("parts["+strconv.Itoa(i)+"]."+bad.Field), bad.Detail)
		}
		s.Replies = append(s.Replies, r)
	}
	return s
}

// part names a field of a part as the request has it.
func (f *SubmitForm) part(field string) string {
	if rest, ok := strings.CutPrefix(field, "parts[0]"); ok && len(f.Parts) == 0 {
		field = "content" + rest
	}
	return strings.TrimSuffix(field, ".")
}

// submit answers only after the messages are stored: 202 for new ones, 200 for a
// key that was there with the same request.
func (r *router) submit(c *gin.Context, a Submissions, check func() (*validator.Validate, error)) {
	p := query(c)
	var f SubmitForm
	if !r.read(c, p, &f, submitFields) {
		return
	}
	rules, err := check()
	if err != nil {
		r.fail(c, err)
		return
	}
	s := f.submission(rules, p)
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	s.By = by(c)
	out, err := a.Submit(c.Request.Context(), s)
	var invalid *InvalidError
	switch {
	case errors.As(err, &invalid):
		named := &InvalidError{}
		for _, field := range invalid.Fields {
			named.Fields = append(named.Fields, InvalidField{f.part(field.Field), field.Detail})
		}
		r.fail(c, named)
	case errors.Is(err, gateway.ErrConflict):
		problem(c, http.StatusConflict, "the key was used for another request; nothing was sent",
			[]InvalidField{{"idempotency_key", "stands for another request"}})
	case err != nil:
		r.fail(c, err)
	case out.Known:
		c.JSON(http.StatusOK, out)
	default:
		c.JSON(http.StatusAccepted, out)
	}
}

// messageDetail is a message and the calls that were made for it.
type messageDetail struct {
	messageView
	Calls []attemptView `json:"calls"`
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
	out := messageDetail{messageView: viewMessage(m), Calls: make([]attemptView, 0, len(attempts))}
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
	err := a.CancelMessage(c.Request.Context(), id, by(c))
	r.answer(c, gin.H{"id": id, "state": gateway.MessageCancelled}, err)
}
