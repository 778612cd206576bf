package wecom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// MaxTextBytes is the longest text of one message, in bytes of UTF-8. WeCom cuts
// what is longer without saying so, so it is refused here.
const MaxTextBytes = 2048

// ClientConfig is one self-built app as a sender.
type ClientConfig struct {
	// APIBase is "https://qyapi.weixin.qq.com" or a sandbox.
	APIBase string
	CorpID  string
	AgentID int64
	Secret  string
}

// Client sends messages of one app to members. It is safe for concurrent use;
// the outbox calls it, one message of a conversation at a time.
//
// access_token and corpsecret travel in URLs here. No error and no detail of
// this client holds a URL.
type Client struct {
	config ClientConfig
	egress *egress.Client
	now    func() time.Time
	tokens *tokens
	codes  map[int]Code

	// The pauses of the app: too fast, not healthy, not reachable.
	throttled, unhealthy, unreached egress.Pause
}

// NewClient makes a client. The egress client is shared and not closed by it;
// now may be nil for the egress client's clock.
func NewClient(c ClientConfig, e *egress.Client, now func() time.Time) *Client {
	if now == nil {
		now = e.Now
	}
	return &Client{
		config: c, egress: e, now: now, tokens: newTokens(c, e, now), codes: newCodeTable(),
		throttled: egress.Pause{First: time.Second, Max: time.Minute},
		unhealthy: egress.Pause{First: 30 * time.Second, Max: 15 * time.Minute},
		unreached: egress.Pause{First: time.Second, Max: time.Minute},
	}
}

func apiURL(base, call string, q url.Values) string {
	return strings.TrimRight(base, "/") + "/cgi-bin/" + call + "?" + q.Encode()
}

// sendRequest is the body of message/send. Source: WeCom 90236.
// enable_duplicate_check stays 0: it goes by content, and two equal answers to
// two questions are legitimate.
type sendRequest struct {
	ToUser         string   `json:"touser"`
	Type           string   `json:"msgtype"`
	AgentID        int64    `json:"agentid"`
	Text           sendText `json:"text"`
	Safe           int      `json:"safe"`
	DuplicateCheck int      `json:"enable_duplicate_check"`
}

type sendText struct {
	Content string `json:"content"`
}

// Send makes one call and says what is known of it. WeCom offers neither an
// idempotency key nor a way to look up what was sent, so what may have been sent
// is never repeated here. Every other type of reply than text is rejected with
// the code "unsupported"; of a text, Preview and Quote have no counterpart here
// and are passed over. An errcode is a definite "not taken"; on 40001, 40014
// and 42001 the token is replaced once and the call made once more. A second
// refusal is a retry of the account with a growing After.
func (c *Client) Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	m := &out.Message
	body, userID, refusal := buildRequest(m, c.config.AgentID)
	if refusal != nil {
		return *refusal
	}
	var o gateway.Outcome
	for n := range 2 {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return c.noToken(err)
		}
		var again bool
		if o, again = c.call(ctx, out, token, body, userID); !again {
			return o
		}
		if n == 0 {
			// The second token is kept: the next Send finds out whether it
			// works by now and fetches one at most.
			c.tokens.drop(token)
		}
	}
	o.After = c.unhealthy.Refused(c.now(), 0)
	return o
}

// call makes one call; again says that the platform refused the token.
func (c *Client) call(ctx context.Context, out gateway.Outgoing, token string, body []byte, userID string) (o gateway.Outcome, again bool) {
	target := apiURL(c.config.APIBase, "message/send", url.Values{"access_token": {token}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "bad_url",
			After: c.unhealthy.Refused(c.now(), 0), Detail: "api_base of the account is not a URL"}, false
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := c.egress.Do(req, out.VoidAfter)
	if err != nil {
		return c.lost(err), false
	}
	c.unreached.Over()
	return c.answered(&out.Message, resp, token, userID)
}

// noToken makes the outcome of a send that did not begin for want of a token.
func (c *Client) noToken(err error) gateway.Outcome {
	o := gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount}
	var e *tokenError
	switch {
	case errors.As(err, &e):
		o.Code, o.Detail, o.After = "token_"+e.Code, "no access token: "+e.Text, e.After
	case errors.Is(err, context.Canceled):
		o.Scope, o.Code = gateway.ScopePair, egress.WordCanceled
	default:
		o.Scope, o.Code = gateway.ScopePair, egress.WordTimeout
	}
	return o
}

// buildRequest makes the body, or the outcome of a message that cannot be sent.
func buildRequest(m *gateway.Message, agentID int64) (body []byte, userID string, refusal *gateway.Outcome) {
	refuse := func(code, detail string) ([]byte, string, *gateway.Outcome) {
		o := reject(code, detail)
		return nil, "", &o
	}
	switch text := m.Reply.Text; {
	case m.Reply.Type != "text" && m.Reply.Type != "":
		return refuse("unsupported", "this app sends texts only")
	case text == "":
		return refuse("empty", "the text is empty")
	case len(text) > MaxTextBytes:
		return refuse("too_long", "the text has more than 2048 bytes")
	}
	for _, id := range m.To {
		if id.Kind == "userid" && id.Spelling() != "" {
			userID = id.Spelling()
			break
		}
	}
	switch {
	case userID == "":
		return refuse("no_recipient", "the conversation has no userid")
	case strings.EqualFold(userID, "@all"), strings.ContainsAny(userID, "| \t\r\n"):
		// touser is a list with "|", and "@all" is everybody.
		return refuse("bad_recipient", "the userid would address others too")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // 40033 warns of \u escapes in the body
	err := enc.Encode(&sendRequest{ToUser: userID, Type: "text", AgentID: agentID, Text: sendText{Content: m.Reply.Text}})
	if err != nil {
		return refuse("not_encodable", "the message cannot be written as JSON")
	}
	return bytes.TrimRight(b.Bytes(), "\n"), userID, nil
}
