package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-playground/validator/v10"

	"github.com/causewayhq/causeway/gateway"
)

// MaxSubmit bounds the body of a submission: twenty long texts, in any script.
const MaxSubmit = 1 << 20

// SubmitForm is the body of POST /api/v1/messages and of a request on
// cw.send.<account>: who writes, to whom, what, and when. Its schema is
// testdata/schema/send.json.
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
	Parts   []json.RawMessage `json:"parts,omitempty" validate:"omitempty,min=1,max=20"`
	// ReplyTo is the platform's id of the message that the first part quotes.
	ReplyTo string `json:"reply_to,omitempty" validate:"omitempty,max=256"`
	// IdempotencyKey lets the request be repeated: it is done once.
	IdempotencyKey string `json:"idempotency_key,omitempty" validate:"omitempty,max=128,printascii"`
	// ScheduledAt is when the messages leave at the earliest, ExpiresAt when they
	// leave no more, RFC 3339.
	ScheduledAt string `json:"scheduled_at,omitempty" validate:"omitempty,instant"`
	ExpiresAt   string `json:"expires_at,omitempty" validate:"omitempty,instant"`
	// SendWindow is the time of day and the days on which they leave.
	SendWindow *gateway.SendWindow `json:"send_window,omitempty" validate:"-"`
	// Priority orders the conversations of an account, 0 first; 5 when left out.
	// Replies to events have 0.
	Priority *int `json:"priority,omitempty" validate:"omitempty,min=0,max=9"`
	// Author is who wrote it: bot, when left out, or human.
	Author string `json:"author,omitempty" validate:"omitempty,oneof=bot human"`
	// EvenInTakeover lets it leave while a colleague has the conversation.
	EvenInTakeover bool `json:"even_in_takeover,omitempty"`
	// OnFailure is where a requeue begins: resume, when left out, or restart.
	OnFailure string `json:"on_failure,omitempty" validate:"omitempty,oneof=resume restart"`
	// Callback is the name of the receiver of results that is told of it, instead of
	// all of them.
	Callback string `json:"callback,omitempty" validate:"omitempty,name"`
}

// PoolPrefix begins the sender of a message that names a pool.
const PoolPrefix = "pool:"

// SubmitTo names a customer, a member or a group.
type SubmitTo struct {
	Kind  string `json:"kind" validate:"required,oneof=phone bsuid userid external_userid conversation group"`
	Value string `json:"value" validate:"required,max=256,identity"`
}

const submitFields = "account, to, conversation, content, parts, reply_to, idempotency_key, scheduled_at, expires_at, send_window, priority, " +
	"author, even_in_takeover, on_failure, callback"

// Forms reads submissions. It keeps the rules, which cost some time to make.
type Forms struct{ rules *validator.Validate }

// NewForms makes the rules; an error is a fault of this package.
func NewForms() (*Forms, error) {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	var failed error
	for tag, rule := range map[string]func(string) bool{"name": gateway.ValidName, "sender": validSender, "conv": validConv, "identity": validIdentity, "instant": validInstant} {
		failed = errors.Join(failed, v.RegisterValidation(tag, func(f validator.FieldLevel) bool { return rule(f.Field().String()) }))
	}
	return &Forms{v}, failed
}

// Asked is a request to send as it came.
type Asked struct {
	Body []byte
	// Account is the only one that may be written from; "" for any.
	Account string
	By      string
}

// Submit reads a form, and returns once its messages are stored. refused is what is
// answered otherwise; err is its cause, to be logged when it is ours (500).
func (f *Forms) Submit(ctx context.Context, to Submissions, in Asked) (out gateway.Submitted, refused *Problem, err error) {
	if len(in.Body) > MaxSubmit {
		return out, newProblem(http.StatusRequestEntityTooLarge, "the body is too large", nil), nil
	}
	var p params
	form := &SubmitForm{Account: in.Account}
	if err = readObject(in.Body, form, submitFields, &p); err != nil {
		return out, problemOf(err), err
	}
	if string(bytes.TrimSpace(form.Content)) == "null" {
		form.Content = nil
	}
	onlyNames(in.Body, "", map[string]string{"": submitFields, "to": "kind, value", "send_window": "from, to, days, time_zone"}, &p)
	if in.Account != "" && form.Account != in.Account {
		p.bad("account", "must be that of the subject, or left out")
	}
	s := f.submission(form, &p)
	if err = p.err(); err != nil {
		return out, problemOf(err), err
	}
	s.By = in.By
	out, err = to.Submit(ctx, s)
	var invalid *InvalidError
	switch {
	case err == nil:
		return out, nil, nil
	case errors.As(err, &invalid):
		named := &InvalidError{}
		for _, field := range invalid.Fields {
			named.Fields = append(named.Fields, InvalidField{form.part(field.Field), field.Detail})
		}
		return out, problemOf(named), err
	case errors.Is(err, gateway.ErrConflict):
		return out, newProblem(http.StatusConflict, "the key was used for another request; nothing was sent",
			[]InvalidField{{"idempotency_key", "stands for another request"}}), err
	}
	return out, problemOf(err), err
}

// onlyNames notes names of fields that are there twice, or written otherwise: Go would
// take the last one, or put them together, and take any case. fields has the names that
// are known of an object, and below, of those in it, by their path. body is a JSON object.
func onlyNames(body []byte, at string, fields map[string]string, p *params) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return // null, which is left out
	}
	known, seen := strings.Split(fields[at], ", "), map[string]bool{}
	for dec.More() {
		var value json.RawMessage
		token, err := dec.Token()
		name, _ := token.(string)
		if err != nil || dec.Decode(&value) != nil {
			return // read before without an error
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		switch {
		case !slices.Contains(known, name):
			p.bad(printable(name), "is not known here; known: "+fields[at])
		case seen[name]:
			p.bad(path, "is there twice")
		case fields[path] != "":
			onlyNames(value, path, fields, p)
		}
		seen[name] = true
	}
}

// submission turns a form into what is asked for, and notes what is wrong.
func (f *Forms) submission(form *SubmitForm, p *params) *gateway.Submission {
	var wrong validator.ValidationErrors
	if errors.As(f.rules.Struct(form), &wrong) {
		for _, e := range wrong {
			_, path, _ := strings.Cut(e.Namespace(), ".")
			p.bad(path, sentenceOf(e))
		}
	}
	s := &gateway.Submission{Key: form.IdempotencyKey, Account: form.Account, Conv: form.Conversation, Window: form.SendWindow,
		Priority: gateway.DefaultPriority, Human: form.Author == "human", EvenInTakeover: form.EvenInTakeover,
		OnFailure: gateway.OnFailure(form.OnFailure), Callback: form.Callback}
	if form.Priority != nil {
		s.Priority = *form.Priority
	}
	if s.Window != nil {
		for _, bad := range s.Window.Check() {
			p.bad("send_window."+bad.Field, bad.Detail)
		}
	}
	if form.To != nil {
		s.Chat = gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: form.To.Kind, Value: form.To.Value}}}
		if form.To.Kind == "group" {
			s.Chat.Kind = gateway.ChatGroup
		}
	}
	s.DueAt, _ = time.Parse(time.RFC3339, form.ScheduledAt)
	s.ExpiresAt, _ = time.Parse(time.RFC3339, form.ExpiresAt)
	form.replies(s, p)
	return s
}

// replies reads the parts.
func (f *SubmitForm) replies(s *gateway.Submission, p *params) {
	parts := f.Parts
	if len(parts) == 0 && len(f.Content) > 0 {
		parts = []json.RawMessage{f.Content}
	}
	var bad *gateway.FieldError
	for i, raw := range parts {
		r, err := gateway.ReadReply(raw)
		if errors.As(err, &bad) {
			p.bad(f.part("parts["+strconv.Itoa(i)+"]."+bad.Field), bad.Detail)
		}
		s.Replies = append(s.Replies, r)
	}
	if f.ReplyTo == "" || len(s.Replies) == 0 {
		return
	}
	if s.Replies[0].Quote != "" {
		p.bad("reply_to", "must be left out beside the quote of the first part")
		return
	}
	s.Replies[0].Quote = f.ReplyTo
	if gateway.CheckReply(&s.Replies[0]) != nil && len(p.wrong) == 0 {
		p.bad("reply_to", "cannot go with the first part, which quotes nothing")
	}
}

// part names a field of a part as the request has it.
func (f *SubmitForm) part(field string) string {
	if rest, ok := strings.CutPrefix(field, "parts[0]"); ok && len(f.Parts) == 0 {
		field = "content" + rest
	}
	return strings.TrimSuffix(field, ".")
}

func validSender(s string) bool { return gateway.ValidName(strings.TrimPrefix(s, PoolPrefix)) }

// validIdentity: no white space or control characters, which no platform's names have.
func validIdentity(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' })
}

// instants is RFC 3339 as the schema has it; Go reads more than that.
const instants = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`

func validInstant(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil && regexp.MustCompile(instants).MatchString(s)
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
	case "name":
		return "must be 1 to 40 lower-case letters, digits and inner hyphens"
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
	case "instant":
		return "must be a time such as 2026-12-01T08:00:00Z"
	case "min":
		if e.Kind() == reflect.Slice {
			return "must have at least " + e.Param()
		}
		return "must be at least " + e.Param()
	case "max":
		switch e.Kind() {
		case reflect.String:
			return "must be at most " + e.Param() + " characters"
		case reflect.Slice:
			return "must have at most " + e.Param()
		default:
		}
		return "must be at most " + e.Param()
	}
	return "cannot be used"
}
