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
	// Window, when there is one, moves DueAt to its next opening.
	Window *SendWindow
	// EndMoves: ExpiresAt was not asked for; see Terms.
	EndMoves bool
	// Priority orders the conversations of an account, 0 first; see Message.
	Priority int
	// Human says that a colleague wrote it, which takes the conversation over by the
	// rule of its account (Takeover; nil for none); EvenInTakeover lets it leave while
	// a colleague has the conversation.
	Human          bool
	EvenInTakeover bool
	Takeover       func(platform, account string) Takeover
	// OnFailure is what a requeue of a rejected part begins with; "" is resume.
	OnFailure OnFailure
	// Callback names the receiver of results that is told of it.
	Callback string
	// By is who asked, for the audit.
	By string
}

// Rank is where a conversation with something due stands among those of its account.
type Rank struct {
	Account  string
	Priority int // the best of its messages that are due
}

// OnFailure says how a task goes on when an operator requeues a part of it.
type OnFailure string

// The ways. Restart begins with the first part again, and only while the platform
// has certainly taken none of them.
const (
	FailureResume  OnFailure = "resume"
	FailureRestart OnFailure = "restart"
)

// The priority of what is submitted without one, and the last one. Replies have 0.
const (
	DefaultPriority = 5
	MaxPriority     = 9
)

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
	// State is the task's; see TaskState.
	State    MessageState `json:"state"`
	Messages []string     `json:"messages"`
	// Known says that the key was there: nothing new was made.
	Known bool `json:"-"`
}

// Sum is the same for requests that ask for the same: account, recipient, replies,
// times and the rest. It must be taken before anything is filled in.
func (s *Submission) Sum() ([]byte, error) {
	b, err := json.Marshal(struct {
		Account, Conv string
		To            []Identity
		Replies       []Reply
		DueAt         time.Time
		ExpiresAt     time.Time
		// Later fields: left out where they say nothing, so that digests stay what
		// they were.
		Window         *SendWindow `json:",omitempty"`
		Priority       int         `json:",omitempty"`
		Human          bool        `json:",omitempty"`
		EvenInTakeover bool        `json:",omitempty"`
		OnFailure      OnFailure   `json:",omitempty"`
		Callback       string      `json:",omitempty"`
	}{s.Account, s.Conv, s.Chat.Identities, s.Replies, s.DueAt.UTC(), s.ExpiresAt.UTC(),
		s.Window, s.Priority - DefaultPriority, s.Human, s.EvenInTakeover, s.OnFailure, s.Callback})
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

// TaskPartial is the state of a task of which some parts were taken and the others
// will not be. No message has it.
const TaskPartial MessageState = "partial"

// TaskState is the state of a task by those of its parts, in order: accepted when all
// are, the state of the first that is not while something may still leave, partial when
// it ended half done, else how it ended. One whose last part is unknown is unknown.
func TaskState(states []MessageState) MessageState {
	first, taken, left := len(states), 0, 0
	for i, s := range states {
		switch s {
		case MessageAccepted:
			taken++
			continue
		case MessageWaiting, MessageSending, MessageHeld:
			left++
		case MessageRejected, MessageUnknown, MessageExpired, MessageCancelled, TaskPartial:
		}
		first = min(first, i)
	}
	if first == len(states) {
		return MessageAccepted
	}
	unknown := states[first] == MessageUnknown
	if last := first == len(states)-1; left > 0 || unknown && last || taken == 0 && !unknown {
		return states[first]
	}
	return TaskPartial
}
