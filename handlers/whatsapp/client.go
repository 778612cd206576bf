package whatsapp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// DefaultVersion is the Graph version that calls are pinned to.
const DefaultVersion = "v26.0"

// MaxTextChars is the longest text of one message, in characters.
const MaxTextChars = 4096

// ClientConfig is one business phone number as a sender.
type ClientConfig struct {
	// APIBase is "https://graph.facebook.com" or a sandbox.
	APIBase string
	// PhoneNumberID is Meta's id of the number, not the number.
	PhoneNumberID string
	AccessToken   string
	// Version is the Graph version; empty means DefaultVersion.
	Version string
}

// Client sends messages of one phone number. It is safe for concurrent use; the
// outbox calls it, one message of a conversation at a time.
type Client struct {
	url    string
	config ClientConfig
	egress *egress.Client
	codes  codeTable

	// The three pauses of the number: too fast, not healthy, not reachable.
	throttled, unhealthy, unreached egress.Pause
}

// NewClient makes a client. The egress client is shared and not closed by it.
func NewClient(c ClientConfig, e *egress.Client) *Client {
	if c.Version == "" {
		c.Version = DefaultVersion
	}
	return &Client{
		url:       strings.TrimRight(c.APIBase, "/") + "/" + c.Version + "/" + url.PathEscape(c.PhoneNumberID) + "/messages",
		config:    c,
		egress:    e,
		codes:     newCodeTable(),
		throttled: egress.Pause{First: time.Second, Max: time.Minute},
		unhealthy: egress.Pause{First: 30 * time.Second, Max: 15 * time.Minute},
		unreached: egress.Pause{First: time.Second, Max: time.Minute},
	}
}

// sendRequest is the body of POST /{phone_number_id}/messages.
// Source: Meta, Cloud API reference "messages".
type sendRequest struct {
	Product       string   `json:"messaging_product"`
	RecipientType string   `json:"recipient_type"`
	To            string   `json:"to,omitempty"`
	Recipient     string   `json:"recipient,omitempty"`
	Type          string   `json:"type"`
	Text          sendText `json:"text"`
	// Marker comes back verbatim in the statuses of the message.
	Marker string `json:"biz_opaque_callback_data"`
}

type sendText struct {
	Body       string `json:"body"`
	PreviewURL bool   `json:"preview_url"`
}

// Send makes one call and says what is known of it. The message id goes along
// as biz_opaque_callback_data, the same for all attempts, so that a status can
// settle an unknown outcome. Meta documents no idempotency key: what may have
// been sent is never repeated here. See Codes for the rule.
//
// Message.Tries counts this attempt. Scope and After of a retry: 131056
// waits this pair 4^n seconds, n from 0 with the tries (Meta's own advice);
// the throttles of the number, an unhealthy account and an unreachable host
// wait the account, with a growing After.
func (c *Client) Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	m := &out.Message
	body, to, refusal := buildRequest(m)
	if refusal != nil {
		return *refusal
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "bad_url",
			After: c.unhealthy.Refused(c.egress.Now(), 0), Detail: "api_base or version of the account is not a URL"}
	}
	req.Header.Set("Authorization", "Bearer "+c.config.AccessToken)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.egress.Do(req, out.VoidAfter)
	if err != nil {
		return c.lost(err)
	}
	c.unreached.Over()
	return c.answered(m, resp, to)
}

// buildRequest makes the body, or the outcome of a message that cannot be sent.
func buildRequest(m *gateway.Message) (body []byte, to gateway.Identity, refusal *gateway.Outcome) {
	reject := func(code, detail string) *gateway.Outcome {
		return &gateway.Outcome{Kind: gateway.OutcomeRejected, Code: code, Detail: detail}
	}
	switch text := m.Reply.Text; {
	case m.Reply.Type != "text" && m.Reply.Type != "":
		return nil, to, reject("unsupported_type", "only text can be sent")
	case text == "":
		return nil, to, reject("empty", "the text is empty")
	case utf8.RuneCountInString(text) > MaxTextChars:
		return nil, to, reject("too_long", "the text has more than 4096 characters")
	}
	r := sendRequest{Product: "whatsapp", RecipientType: "individual", Type: "text",
		Text: sendText{Body: m.Reply.Text}, Marker: m.ID}
	to, ok := recipient(m.To)
	switch {
	case !ok:
		return nil, to, reject("no_recipient", "the conversation has no phone number, BSUID or group")
	case to.Kind == "group":
		r.RecipientType, r.To = "group", to.Spelling()
	case to.Kind == "phone":
		// Without the plus Meta may put the business's own country code in front.
		r.To = "+" + strings.TrimLeft(to.Spelling(), "+")
	default:
		r.Recipient = to.Spelling()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&r); err != nil {
		return nil, to, reject("not_encodable", "the message cannot be written as JSON")
	}
	return bytes.TrimRight(b.Bytes(), "\n"), to, nil
}

// recipient chooses how to address the other side: a group before all, a phone
// number before a BSUID, the first of its kind.
func recipient(ids []gateway.Identity) (gateway.Identity, bool) {
	for _, kind := range []string{"group", "phone", "bsuid"} {
		for _, id := range ids {
			if id.Kind == kind && id.Spelling() != "" {
				return id, true
			}
		}
	}
	return gateway.Identity{}, false
}
