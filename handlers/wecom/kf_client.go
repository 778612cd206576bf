package wecom

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// KfConfig is one account of WeChat customer service (kf).
type KfConfig struct {
	// Account is our name of it.
	Account string
	// OpenKfID is WeCom's.
	OpenKfID string
	// Pages makes the calls that fetch messages, whose answers are larger than
	// those of sends. Not closed by the client.
	Pages *egress.Client
	// ClientConfig without AgentID: the corp, and the secret of a self-built app
	// that the account is granted to. The secret of the former system app does
	// not work any more (95017, since December 2023).
	ClientConfig
}

// KfClient sends messages to customers of one kf account and fetches what they
// write. It is safe for concurrent use; see Client for tokens and failures.
type KfClient struct {
	*Client
	kf KfConfig
}

// NewKfClient makes a client as NewClient does.
func NewKfClient(c KfConfig, e *egress.Client, now func() time.Time) *KfClient {
	return &KfClient{Client: NewClient(c.ClientConfig, e, now), kf: c}
}

// AccountID is the account as items name it.
func (k *KfClient) AccountID() string { return k.config.CorpID + kfMark + k.kf.OpenKfID }

// Send is Client.Send for a kf account. The message's own id is the msgid of the
// call, for every attempt; WeCom documents that it is unique and not with which
// code a repeated one is refused, so a code outside the table to a second attempt
// is an unknown outcome: it may say that the first one arrived.
//
// Rejections before the call are those of Client.Send. What WeCom's rules forbid at
// the moment (five messages and 48 hours after the customer's last one, a colleague
// has the session) is rejected with WeCom's code and not tried again. A transfer is
// kf/service_state/trans, see there; a change that WeCom does not allow is rejected
// with its code. With a handle
// the message goes by kf/send_msg_on_event; that it is tried once and in time is
// seen to by the outbox.
func (k *KfClient) Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	m := &out.Message
	call, refusal := k.request(ctx, m)
	if refusal != nil {
		return *refusal
	}
	if m.Reply.Type == gateway.ReplyTransfer {
		o := k.transfer(ctx, out, call)
		if o.Kind == gateway.OutcomeAccepted {
			o.ExternalID = m.ID
		}
		return o
	}
	o := k.deliver(ctx, out, call)
	switch {
	case o.Kind == gateway.OutcomeAccepted && o.ExternalID == "":
		o.ExternalID = m.ID
	case o.Code == codeOther && m.Attempts > 1 && o.Kind != gateway.OutcomeAccepted:
		o = gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: o.Code, Detail: o.Detail + "; it may say that the first attempt arrived"}
	}
	return o
}

// post makes a call other than a send with the shared token; its answer may be
// larger. again says that the token was refused, and is given up.
func (k *KfClient) post(ctx context.Context, name string, body any) (*egress.Response, string, error) {
	b, err := plainJSON(body)
	if err != nil {
		return nil, "", err
	}
	token, err := k.tokens.get(ctx)
	if err != nil {
		return nil, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, apiURL(k.config.APIBase, name, url.Values{"access_token": {token}}), bytes.NewReader(b))
	if err != nil {
		return nil, "", &tokenError{Code: "bad_url", Text: "api_base of the account is not a URL"}
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := k.kf.Pages.Do(req, time.Time{})
	return resp, token, err
}
