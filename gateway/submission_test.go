package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// A reply by itself is read as in an answer, and what cannot be used is named by
// its field, never by what is in it.
func TestReadReply(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"text":"x"}`:         "",
		"  {\"text\":\"x\"}\n": "",
		`{"type":"template","template":{"name":"a","language":"de","components":null}}`: "",
		`{"type":"location","location":{"latitude":0,"longitude":0}}`:                   "",
		`{"type":"location","location":{"latitude":0}}`:                                 "location must have",
		`{"text":""}`:                                         "text must be",
		`{"type":"LEAK"}`:                                     "type must be one of",
		`{"type":"image","file":{"id":7}}`:                    "file.id must not be a number",
		`{"text":"x","txt":"LEAK"}`:                           "txt is not a field",
		`{"text":"x","491510000000":"LEAK"}`:                  " has a field that no reply has",
		`{"type":"news","news":[{"title":"t","url":"LEAK"}]}`: "news[0].url must be",
		`null`:                        " must be one JSON object",
		`["LEAK"]`:                    " must be one JSON object",
		`"LEAK"`:                      " must be one JSON object",
		`{"text":"x"}{"text":"LEAK"}`: " must be one JSON object",
		`{"text":"x"`:                 " must be one JSON object",
		``:                            " must be one JSON object",
	} {
		r, err := gateway.ReadReply([]byte(raw))
		switch {
		case want == "" && (err != nil || r.Type == ""):
			t.Errorf("%s: %+v, %v", raw, r, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "LEAK") || strings.Contains(err.Error(), "4915")):
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
		if err != nil && !errors.As(err, new(*gateway.FieldError)) {
			t.Errorf("%s: %T", raw, err)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	f.Add([]byte(`{"type":"buttons","text":"x","buttons":[{"id":"1","title":"t"}]}`))
	f.Add([]byte(`{"type":"location","location":{"latitude":0,"longitude":null}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := gateway.ReadReply(raw)
		if err == nil && gateway.CheckReply(&r) != nil {
			t.Errorf("taken and not fit: %q", raw)
		}
		if err != nil && !errors.As(err, new(*gateway.FieldError)) {
			t.Errorf("%T", err)
		}
	})
}

// Requests for the same have the same sum, in whatever zone their times are
// written; each difference makes another one.
func TestSubmissionSum(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	base := func() *gateway.Submission {
		return &gateway.Submission{Key: "k", Account: "a", By: "ops", DueAt: at, Replies: []gateway.Reply{{Type: "text", Text: "x"}},
			Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: "1"}}}}
	}
	sums := map[string]string{}
	for name, change := range map[string]func(*gateway.Submission){
		"":            func(*gateway.Submission) {},
		"account":     func(s *gateway.Submission) { s.Account = "b" },
		"recipient":   func(s *gateway.Submission) { s.Chat.Identities[0].Value = "2" },
		"kind":        func(s *gateway.Submission) { s.Chat.Identities[0].Kind = "bsuid" },
		"conv":        func(s *gateway.Submission) { s.Chat, s.Conv = gateway.Chat{}, "1" },
		"text":        func(s *gateway.Submission) { s.Replies[0].Text = "y" },
		"one more":    func(s *gateway.Submission) { s.Replies = append(s.Replies, s.Replies[0]) },
		"later":       func(s *gateway.Submission) { s.DueAt = at.Add(time.Second) },
		"at once":     func(s *gateway.Submission) { s.DueAt = time.Time{} },
		"with an end": func(s *gateway.Submission) { s.ExpiresAt = at.Add(time.Hour) },
	} {
		s := base()
		change(s)
		sum, err := s.Sum()
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := sums[string(sum)]; twice {
			t.Errorf("%q and %q have one sum", name, other)
		}
		sums[string(sum)] = name
	}
	s := base()
	s.DueAt, s.By, s.Platform = at.In(time.FixedZone("CST", 8*3600)), "somebody", "wecom"
	if sum, err := s.Sum(); err != nil || sums[string(sum)] != "" || len(sums) != 10 {
		t.Errorf("the same at another place: %v, like %q", err, sums[string(sum)])
	}
}

// What the clients say in front of a call, told by field.
func TestMisfit(t *testing.T) {
	t.Parallel()
	if gateway.Misfit(nil) != nil {
		t.Error("nothing is wrong, and yet")
	}
	for field, o := range map[string]gateway.Outcome{
		"buttons[0].title": {Code: "bad_reply", Detail: "buttons[0].title must be 1 to 20 characters"},
		"news[1].url":      {Code: "too_long", Detail: "news[1].url has more than 2048 bytes"},
		"text":             {Code: "too_long", Detail: "the text has more than 2048 bytes"},
		"file.mime":        {Code: "unsupported_file", Detail: "not as image"},
		"card.content":     {Code: "bad_card", Detail: "card_type must be"},
		"to":               {Code: "no_recipient", Detail: "nobody"},
		"type":             {Code: "unsupported", Detail: "no such message"},
	} {
		var e *gateway.FieldError
		if !errors.As(gateway.Misfit(&o), &e) || e.Field != field || !strings.Contains(e.Error(), " ") {
			t.Errorf("%+v: %v, want %s", o, e, field)
		}
	}
}

func TestTaskState(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gateway.MessageState{
		"accepted":                    "accepted",
		"accepted accepted":           "accepted",
		"accepted waiting":            "waiting",
		"accepted sending waiting":    "sending",
		"held held":                   "held",
		"accepted unknown":            "unknown",
		"unknown waiting":             "unknown",
		"unknown cancelled":           "partial",
		"accepted unknown cancelled":  "partial",
		"rejected cancelled":          "rejected",
		"accepted rejected cancelled": "partial",
		"accepted expired":            "partial",
		"expired expired":             "expired",
		"cancelled":                   "cancelled",
		"rejected accepted":           "partial", // a harmless one holds up no other
	} {
		var states []gateway.MessageState
		for _, s := range strings.Fields(text) {
			states = append(states, gateway.MessageState(s))
		}
		if got := gateway.TaskState(states); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
