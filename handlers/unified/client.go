package unified

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// ClientConfig is one account as a sender.
type ClientConfig struct {
	GUID    string
	APIBase string
	// Headers are sent with every call; their values are secrets.
	Headers []Header
	// Sending says how; nil for an account that only receives: every reply is
	// rejected as unsupported.
	Sending *Sending
}

// Header is one header of every call.
type Header struct{ Name, Value string }

// Client sends messages of one account. It is safe for concurrent use; the outbox
// calls it, one message of a conversation at a time.
type Client struct {
	config ClientConfig
	sender *sender
	egress *egress.Client
	now    func() time.Time
	hide   []string // what no detail may hold

	// The pauses of the account: too fast, not healthy, not reachable.
	throttled, unhealthy, unreached egress.Pause
}

// sender is a Sending that was read.
type sender struct {
	calls             map[string]*call // by kind of reply
	ok                paths
	okValues          []string
	id, code, message paths
	codes             map[string]string
}

// call is one call of the API.
type call struct {
	path, body *template
	method     string
}

// NewClient makes a client. The egress client is shared and not closed by it; now
// may be nil for the egress client's clock. Errors: the first of Sending.Problems.
func NewClient(c ClientConfig, e *egress.Client, now func() time.Time) (*Client, error) {
	if now == nil {
		now = e.Now
	}
	client := &Client{
		config: c, sender: &sender{}, egress: e, now: now,
		throttled: egress.Pause{First: time.Second, Max: time.Minute},
		unhealthy: egress.Pause{First: 30 * time.Second, Max: 15 * time.Minute},
		unreached: egress.Pause{First: time.Second, Max: time.Minute},
	}
	if c.Sending != nil {
		compiled, problems := c.Sending.compile()
		if len(problems) > 0 {
			return nil, fmt.Errorf("send.%s: %s", problems[0].Field, problems[0].Text)
		}
		client.sender = compiled
	}
	for _, h := range c.Headers {
		client.hide = append(client.hide, h.Value)
		if _, token, ok := strings.Cut(h.Value, " "); ok { // Bearer …
			client.hide = append(client.hide, token)
		}
	}
	return client, nil
}

// Send makes one call and says what is known of it. A vendor offers no idempotency
// key, so what may have been sent is never repeated here. The marker of the message
// stands where the template has it, the same for every attempt.
//
// A reply that the account's calls cannot carry is rejected before the call:
// "unsupported" (no call for its kind, or no place for a part of it), "bad_reply"
// (gateway.CheckReply), "empty", "no_recipient". Quote and Preview have no
// counterpart and are passed over.
func (c *Client) Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	m := &out.Message
	call, values, refusal := c.prepare(m)
	if refusal != nil {
		return *refusal
	}
	target := strings.TrimRight(c.config.APIBase, "/") + string(call.path.fill(values, url.PathEscape))
	req, err := http.NewRequestWithContext(ctx, call.method, target, bytes.NewReader(call.body.fill(values, insideText)))
	if err != nil { // its words hold the URL
		return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "bad_url", Blame: gateway.BlameReach,
			After: c.unhealthy.Refused(c.now(), 0), Detail: "api_base of the account is not a URL"}
	}
	for _, h := range c.config.Headers {
		req.Header.Set(h.Name, h.Value)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := c.egress.Do(req, out.VoidAfter)
	if err != nil {
		return egress.Lost(err, &c.unreached, c.now())
	}
	c.unreached.Over()
	return c.answered(m, resp, values["to"])
}

// Resume forgets the pauses that refusals have made: a person says that the cause is
// gone.
func (c *Client) Resume() {
	c.throttled.Over()
	c.unhealthy.Over()
	c.unreached.Over()
}

// Fits says whether the message may be taken as far as can be told without a call:
// nil, or a *gateway.FieldError.
func (c *Client) Fits(m *gateway.Message) error {
	_, _, refusal := c.prepare(m)
	return gateway.Misfit(refusal)
}

// prepare finds the call for a reply and what stands in it.
func (c *Client) prepare(m *gateway.Message) (*call, map[string]string, *gateway.Outcome) {
	r := &m.Reply
	typ := string(r.Type)
	if typ == "" {
		typ = string(gateway.ReplyText)
	}
	call := c.sender.calls[typ]
	if call == nil {
		return nil, nil, rejected("unsupported", "the account has no call for replies of this kind; see send.messages")
	}
	if (typ == "text" || typ == "markdown") && r.Text == "" {
		return nil, nil, rejected("empty", "the text is empty")
	}
	if err := gateway.CheckReply(r); err != nil {
		return nil, nil, rejected("bad_reply", err.Error()) // names the field, not what is in it
	}
	if len(m.To) == 0 || m.To[0].Value == "" {
		return nil, nil, rejected("no_recipient", "the conversation has no id that the vendor would know")
	}
	values := map[string]string{"guid": c.config.GUID, "to": m.To[0].Spelling(), "marker": m.ID, "text": r.Text}
	if f := r.File; f != nil {
		values["url"], values["media_id"], values["name"], values["mime"] = f.URL, f.ID, f.Name, f.MIME
		if f.File != "" {
			return nil, nil, rejected("unsupported", "files of the gateway's store cannot be sent here; send a URL")
		}
	}
	for _, name := range []string{"text", "url", "media_id"} {
		switch has := values[name] != ""; {
		case has && !call.body.has(name):
			return nil, nil, rejected("unsupported", "the account's call for replies of this kind has no place for "+name)
		case !has && call.body.has(name) && name != "text":
			return nil, nil, rejected("unsupported", "the account's call for replies of this kind needs "+name)
		}
	}
	return call, values, nil
}

func rejected(code, detail string) *gateway.Outcome {
	return &gateway.Outcome{Kind: gateway.OutcomeRejected, Code: code, Detail: detail}
}
