package admin_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
)

const replyToken = "faq.whatsapp.shop-a.abc.ev_x.LEAKMARK"

// AnswerTo takes one token.
func (a *api) AnswerTo(token string) (func(context.Context, []byte) error, bool) {
	return func(_ context.Context, body []byte) error { return a.called("answer %s", body) }, token == replyToken
}

// An answer needs the token that came with its event; no token of the listener does,
// and this one opens nothing else.
func TestAnswers(t *testing.T) {
	s := open(t)
	a := s.api
	for _, c := range []struct {
		name, token, body string
		fail              error
		status            int
		said, called      string
	}{
		{"as it should be", replyToken, `{"verdict":"done"}`, nil, 202, `"stored":true`, `answer {"verdict":"done"}`},
		{"nobody", "", `{}`, nil, 401, "replytoken", ""},
		{"an admin", root, `{}`, nil, 401, "replytoken", ""},
		{"a wrong field", replyToken, `{}`, fmt.Errorf("%w: verdict must be done", gateway.ErrBadAnswer), 400, "verdict must be done", "answer {}"},
		{"no broker", replyToken, `{}`, fmt.Errorf("no broker: %w", gateway.ErrUnavailable), 503, "try again", "answer {}"},
		{"too large", replyToken, strings.Repeat("x", 1<<20+1), nil, 413, "too large", ""},
	} {
		a.fail = c.fail
		status, _, said := s.send(t, c.token, "POST /api/v1/answers", c.body)
		if called := a.taken(); status != c.status || !strings.Contains(said, c.said) || called != c.called || strings.Contains(said, "LEAKMARK") {
			t.Errorf("%s: %d %s, called %q", c.name, status, said, called)
		}
	}
	a.fail = nil
	if status, _, _ := s.send(t, replyToken, "POST /api/v1/apps/faq/pause", ""); status != http.StatusUnauthorized {
		t.Errorf("a reply token pauses: %d", status)
	}
}
