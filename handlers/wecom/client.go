package wecom

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// ClientConfig is one self-built app as a sender.
type ClientConfig struct {
	// APIBase is "https://qyapi.weixin.qq.com" or a sandbox.
	APIBase string
	CorpID  string
	AgentID int64
	Secret  string
	// Share is a client of the same corp and secret: the access token, and the
	// pauses in fetching it, are those of both. Nil for the first one.
	Share *Client
	// Uploader brings files of our store to WeCom; nil refuses replies that name
	// one (FileReply.File) with the code "no_media_store".
	Uploader Uploader
}

// Client sends messages of one app to members, and to the chats that it made. It is safe for concurrent use;
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
	tokens := newTokens(c, e, now)
	if c.Share != nil {
		tokens = c.Share.tokens
	}
	return &Client{
		config: c, egress: e, now: now, tokens: tokens, codes: newCodeTable(),
		throttled: egress.Pause{First: time.Second, Max: time.Minute},
		unhealthy: egress.Pause{First: 30 * time.Second, Max: 15 * time.Minute},
		unreached: egress.Pause{First: time.Second, Max: time.Minute},
	}
}

func apiURL(base, call string, q url.Values) string {
	return strings.TrimRight(base, "/") + "/cgi-bin/" + call + "?" + q.Encode()
}

// Send makes one call and says what is known of it. WeCom offers neither an
// idempotency key nor a way to look up what was sent, so what may have been sent
// is never repeated here. An errcode is a definite "not taken"; on the codes of
// ClassToken the token is replaced once and the call made once more. A second
// refusal is a retry of the account with a growing After. See Codes for the rest.
//
// A conversation with a chat goes by appchat/send, which takes fewer kinds and
// gives no id; it wants a chat that the app itself made, in an app that the whole
// corporation can see.
//
// A reply that is not fit for WeCom is rejected before the call: "unsupported"
// (no such kind, or part of one, here), "bad_reply" (gateway.CheckReply),
// "empty", "too_long" (in bytes of UTF-8), "unsupported_file", "bad_card",
// "no_recipient", "bad_recipient", and of files in our store "no_media_store",
// "no_file", "file_refused". Quote (but of a recall) and Preview have no
// counterpart here and are passed over, as is the name of a document that is sent
// by WeCom's id: the name is part of the upload.
func (c *Client) Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	m := &out.Message
	call, refusal := c.request(ctx, m)
	if refusal != nil {
		return *refusal
	}
	return c.deliver(ctx, out, call)
}

// deliver makes the call, with a new token when the first one is refused.
func (c *Client) deliver(ctx context.Context, out gateway.Outgoing, call *sendCall) gateway.Outcome {
	m := &out.Message
	var o gateway.Outcome
	for n := range 2 {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return c.noToken(err)
		}
		var again bool
		if o, again = c.call(ctx, out, token, call); !again {
			return c.staleUpload(ctx, m, o)
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
func (c *Client) call(ctx context.Context, out gateway.Outgoing, token string, call *sendCall) (o gateway.Outcome, again bool) {
	target := apiURL(c.config.APIBase, call.name, url.Values{"access_token": {token}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(call.body))
	if err != nil {
		return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "bad_url", Blame: gateway.BlameReach,
			After: c.unhealthy.Refused(c.now(), 0), Detail: "api_base of the account is not a URL"}, false
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := c.egress.Do(req, out.VoidAfter)
	if err != nil {
		return egress.Lost(err, &c.unreached, c.now()), false
	}
	c.unreached.Over()
	return c.answered(&out.Message, resp, token, call.to)
}

// noToken makes the outcome of a send that did not begin for want of a token.
func (c *Client) noToken(err error) gateway.Outcome {
	o := gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount}
	var e *tokenError
	switch {
	case errors.As(err, &e):
		o.Code, o.Detail, o.After, o.Blame = "token_"+e.Code, "no access token: "+e.Text, e.After, gateway.BlameReach
		if e.Errcode != 0 {
			o.Blame = c.refusal(e.Errcode)
		}
	case errors.Is(err, context.Canceled):
		o.Scope, o.Code, o.Tries = gateway.ScopePair, egress.WordCanceled, gateway.Unbounded
	default:
		o.Scope, o.Code, o.Tries = gateway.ScopePair, egress.WordTimeout, gateway.Unbounded
	}
	return o
}

// refusal is what the refusal of a token is about: a code outside the table is the
// credential's as well, since nothing else was asked for.
func (c *Client) refusal(code int) gateway.Blame {
	switch row, known := c.codes[code]; {
	case known && row.Class == ClassBusy:
		return ""
	case known && row.Class.blame() != "":
		return row.Class.blame()
	}
	return gateway.BlameCredential
}

// Resume forgets the pauses that refusals have made: a person says that the cause is
// gone.
func (c *Client) Resume() {
	for _, p := range []*egress.Pause{&c.throttled, &c.unhealthy, &c.unreached, &c.tokens.rejected, &c.tokens.failed} {
		p.Over()
	}
}
