package whatsapp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// DefaultVersion is the Graph version that calls are pinned to.
const DefaultVersion = "v26.0"

// ClientConfig is one business phone number as a sender.
type ClientConfig struct {
	// APIBase is "https://graph.facebook.com" or a sandbox.
	APIBase string
	// PhoneNumberID is Meta's id of the number, not the number.
	PhoneNumberID string
	// WABAID is the id of its WhatsApp account, for Examine; may be empty.
	WABAID      string
	AccessToken string
	// Version is the Graph version; empty means DefaultVersion.
	Version string
	// Uploader brings files of our store to the platform; nil refuses replies
	// that name one (FileReply.File) with the code "no_media_store".
	Uploader Uploader
}

// Client sends messages of one phone number. It is safe for concurrent use; the
// outbox calls it, one message of a conversation at a time.
type Client struct {
	url    string
	config ClientConfig
	egress *egress.Client
	codes  codeTable

	// The pauses of the number: too fast, not healthy, not reachable, no templates.
	throttled, unhealthy, unreached, templates egress.Pause

	forms forms
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
		templates: egress.Pause{First: 5 * time.Minute, Max: time.Hour},
		unhealthy: egress.Pause{First: 30 * time.Second, Max: 15 * time.Minute},
		unreached: egress.Pause{First: time.Second, Max: time.Minute},
	}
}

// Send makes one call and says what is known of it. The message id goes along
// as biz_opaque_callback_data, the same for all attempts, so that a status can
// settle an unknown outcome. Meta documents no idempotency key: what may have
// been sent is never repeated here. See Codes for the rule.
//
// Marking read has no marker and no id: accepted is all there is to know of it,
// and whoever calls may make it again (gateway.ReplyType.Harmless).
//
// A reply that is not fit for the platform is rejected before the call:
// "unsupported" (no such kind here), "bad_reply" (gateway.CheckReply), "empty",
// "too_long", "unsupported_file", "unsupported_in_group", "no_recipient", and of
// files in our store "no_media_store", "no_file", "file_refused".
//
// Message.Tries counts this attempt. Scope and After of a retry: 131056
// waits this pair 4^n seconds, n from 0 with the tries (Meta's own advice);
// the throttles of the number, an unhealthy account and an unreachable host
// wait the account, with a growing After; 131048 and 131064 its templates.
//
// A mobile number of Argentina, Brazil or Mexico that is refused with 131030 is
// tried once more in the same attempt, in its other form: see otherForm.
func (c *Client) Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	return c.sendInForm(ctx, out)
}

// call makes one call; form is the number to address instead of the recipient's,
// "" for that one.
func (c *Client) call(ctx context.Context, out gateway.Outgoing, form string) gateway.Outcome {
	m := &out.Message
	body, to, refusal := c.request(ctx, m, form)
	if refusal != nil {
		return *refusal
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "bad_url", Blame: gateway.BlameReach,
			After: c.unhealthy.Refused(c.egress.Now(), 0), Detail: "api_base or version of the account is not a URL"}
	}
	req.Header.Set("Authorization", "Bearer "+c.config.AccessToken)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.egress.Do(req, out.VoidAfter)
	if err != nil {
		return egress.Lost(err, &c.unreached, c.egress.Now())
	}
	c.unreached.Over()
	return c.staleUpload(ctx, m, c.answered(m, resp, to))
}

// Resume forgets the pauses that refusals have made: a person says that the cause is
// gone.
func (c *Client) Resume() {
	c.throttled.Over()
	c.unhealthy.Over()
	c.unreached.Over()
	c.templates.Over()
}

// request makes the body, or the outcome of a message that is not sent now.
func (c *Client) request(ctx context.Context, m *gateway.Message, form string) (body []byte, to gateway.Identity, refusal *gateway.Outcome) {
	if to, refusal = fits(m); refusal != nil {
		return nil, to, refusal
	}
	if form != "" {
		to.As = form
	}
	if m.Reply.Type == gateway.ReplyRead {
		r := readRequest{Product: "whatsapp", Status: "read", MessageID: m.Reply.Quote}
		if m.Reply.Typing {
			r.Typing = &typingIndicator{"text"}
		}
		body, refusal = encoded(&r)
		return body, to, refusal
	}
	r := sendRequest{Product: "whatsapp", RecipientType: "individual", Marker: m.ID}
	switch to.Kind {
	case "group":
		r.RecipientType, r.To = "group", to.Spelling()
	case "phone":
		// Without the plus Meta may put the business's own country code in front.
		r.To = "+" + strings.TrimLeft(to.Spelling(), "+")
	default:
		r.Recipient = to.Spelling()
	}
	var mediaID string
	if f := m.Reply.File; f != nil {
		if mediaID = f.ID; f.File != "" {
			if mediaID, refusal = c.uploaded(ctx, m); refusal != nil {
				return nil, to, refusal
			}
		}
	}
	r.fill(&m.Reply, mediaID)
	body, refusal = encoded(&r)
	return body, to, refusal
}

// encoded renders a body; "<", ">" and "&" stay as they are.
func encoded(v any) ([]byte, *gateway.Outcome) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, rejected("not_encodable", "the message cannot be written as JSON")
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// recipient chooses how to address the other side: a group before all, a phone
// number before a BSUID, the first of its kind. A name that the platform retired
// may be another person's by now and is never written to.
func recipient(ids []gateway.Identity) (gateway.Identity, bool) {
	for _, kind := range []string{"group", "phone", "bsuid"} {
		for _, id := range ids {
			if id.Kind == kind && !id.Retired && id.Spelling() != "" {
				return id, true
			}
		}
	}
	return gateway.Identity{}, false
}
