package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"
)

// Submission asks for messages that answer no event: we write first. Its replies
// are one task; they leave strictly one after another, in their place among all
// messages of the conversation. App and Event of such messages are empty, which
// is no application's name.
type Submission struct {
	// Key names the request for ever; the same one twice is one task. Empty for a
	// request that cannot be repeated.
	Key string
	// Digest is what the key stands for; see Sum.
	Digest   []byte
	Platform string
	Account  string
	// Pool are accounts one of which sends, in order of preference; Account is then
	// filled in by the ledger: that whose conversation it is, of several the one
	// heard from last; else the first.
	Pool []string
	// Conv names the conversation, or Chat whom to write to: the conversation in
	// which that identity is known, else a new one.
	Conv    string
	Chat    Chat
	Replies []Reply
	// DueAt is when it leaves, at the earliest; zero or gone by: at once. What is
	// not sent when ExpiresAt comes never will be; zero: the sender's own bound.
	DueAt     time.Time
	ExpiresAt time.Time
	// By is who asked, for the audit.
	By string
}

// Limits of a submission.
const (
	MaxKeyBytes  = 128
	MaxScheduled = 366 * 24 * time.Hour // from now to DueAt and to ExpiresAt
)

// Submitted is what a submission became.
type Submitted struct {
	ID   string `json:"id"` // of the task: that of its first message
	Conv string `json:"conv"`
	// Account is the one that sends.
	Account string `json:"account"`
	// State is that of the first message that is not accepted, else accepted.
	State    MessageState `json:"state"`
	Messages []string     `json:"messages"`
	// Known says that the key was there: nothing new was made.
	Known bool `json:"-"`
}

// Sum is the same for requests that ask for the same: account, recipient,
// replies and times. It must be taken before anything is filled in.
func (s *Submission) Sum() ([]byte, error) {
	b, err := json.Marshal(struct {
		Account, Conv string
		To            []Identity
		Replies       []Reply
		DueAt         time.Time
		ExpiresAt     time.Time
	}{s.Account, s.Conv, s.Chat.Identities, s.Replies, s.DueAt.UTC(), s.ExpiresAt.UTC()})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}

// FieldError says which field of a reply cannot be used, and what would be right.
// It holds nothing of what was in the field.
type FieldError struct{ Field, Detail string }

// Error is a sentence.
func (e *FieldError) Error() string { return e.Field + " " + e.Detail }

// asFieldError takes apart a sentence that begins with the field, as those of
// CheckReply do.
func asFieldError(sentence string) *FieldError {
	field, detail, _ := strings.Cut(sentence, " ")
	return &FieldError{field, detail}
}

// ReadReply reads and checks one reply that stands by itself. Unlike in an answer,
// a field that is not known is an error: whoever asks is there to be told. The
// error is a *FieldError; its Field is empty for what is no reply at all.
func ReadReply(raw []byte) (Reply, error) {
	var r Reply
	raw = bytes.TrimSpace(raw)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, unreadable(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) || raw[0] != '{' {
		return r, &FieldError{"", "must be one JSON object, a reply"}
	}
	complete(&r)
	if err := CheckReply(&r); err != nil {
		return r, asFieldError(err.Error())
	}
	if r.Location != nil && !placed(raw) {
		return r, &FieldError{"location", "must have latitude and longitude"}
	}
	return r, nil
}

// unreadable names the field in an error of the JSON reader where that knows it.
func unreadable(err error) *FieldError {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return &FieldError{wrong.Field, "must not be a " + wrong.Value}
	}
	if name, ok := UnknownField(err); ok {
		if name == "" {
			return &FieldError{"", "has a field that no reply has"}
		}
		return &FieldError{name, "is not a field of a reply"}
	}
	return &FieldError{"", "must be one JSON object, a reply"}
}

// UnknownField says whether the JSON reader met a field that is not known, and its
// name when it is one as we write them: any other may hold what is not to be shown.
func UnknownField(err error) (name string, ok bool) {
	name, ok = strings.CutPrefix(err.Error(), "json: unknown field ")
	name = strings.Trim(name, `"`)
	if len(name) > 40 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
		name = ""
	}
	return name, ok
}

// Misfit is the error for a reply that a platform's client would refuse with this
// outcome before any call; nil for nil. It knows the words that the clients share.
func Misfit(o *Outcome) error {
	if o == nil {
		return nil
	}
	if o.Code == "bad_reply" { // in CheckReply's words
		return asFieldError(o.Detail)
	}
	if at, _, ok := strings.Cut(o.Detail, " has more than "); ok && strings.Contains(at, "].") { // a part of a list
		return asFieldError(o.Detail)
	}
	field := "type"
	switch o.Code {
	case "empty", "too_long":
		field = "text"
	case "unsupported_file":
		field = "file.mime"
	case "bad_card":
		field = "card.content"
	case "no_recipient", "bad_recipient":
		field = "to"
	}
	return &FieldError{field, "does not fit: " + o.Detail}
}

// TaskState is the state of the first of a task's messages that is not accepted,
// else accepted.
func TaskState(states []MessageState) MessageState {
	for _, s := range states {
		if s != MessageAccepted {
			return s
		}
	}
	return MessageAccepted
}
