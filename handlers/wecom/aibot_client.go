package wecom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// MaxBotTextBytes is the longest text of a stream and of a late answer, in bytes of
// UTF-8. Source: WeCom 101031, 101138.
const MaxBotTextBytes = 20480

// How the client waits for the platform to fetch an answer. The platform asks about
// once a second; for how long it may pause is not documented.
const (
	pollQuiet  = 10 * time.Second // without a question nobody is asking any more
	pollMargin = 10 * time.Second // before StreamLife ends
	pollLook   = 200 * time.Millisecond
)

// BotProgress keeps answers until the platform fetches them; see
// store.ProgressLedger, whose errors it has.
type BotProgress interface {
	Progress(ctx context.Context, event string, apps []string) (*gateway.Progress, error)
	AddProgress(ctx context.Context, event string, part gateway.ProgressPart, now time.Time) (*gateway.Progress, error)
	CloseProgress(ctx context.Context, event, message string, now time.Time) (*gateway.Progress, error)
	FailProgress(ctx context.Context, event string, f gateway.ProgressFailure, now time.Time) error
}

// BotClientConfig is one robot as a sender. It has no credential: what lets it
// answer came with the message.
type BotClientConfig struct {
	// APIBase is an address that late answers may be sent to beside WeCom's own.
	APIBase  string
	Progress BotProgress
	// Files has the pictures; nil refuses them.
	Files Files
	// Quiet replaces pollQuiet in tests; 0 means that.
	Quiet time.Duration
}

// BotClient answers messages to a robot. It is safe for concurrent use; the outbox
// calls it, one message of a conversation at a time.
//
// The texts of a task are one answer: each is added to it on disk, and the last one
// ends it. While the platform comes for the stream (six minutes after the message
// at most), it fetches the answer, and the last message waits for that. When nobody
// comes, or no more, what was not fetched is sent once by the address that came with
// the message, which lives for an hour. What is fetched and what is sent exclude
// each other on disk. A message before the last is accepted when it is on disk: it
// goes with the last one; if that fails, it is marked failed. Pictures go with the end
// that the platform fetches; what is sent late has none, and they are marked failed.
type BotClient struct {
	c     BotClientConfig
	api   *Client // makes outcomes of answers
	route egress.Route
}

// NewBotClient makes a client. The egress client is shared and not closed by it.
func NewBotClient(c BotClientConfig, e *egress.Client, now func() time.Time) (*BotClient, error) {
	base, err := url.Parse(c.APIBase)
	if err != nil {
		return nil, errors.New("api_base is not a URL") // its own words hold the URL
	}
	if c.Quiet <= 0 {
		c.Quiet = pollQuiet
	}
	return &BotClient{c: c, api: NewClient(ClientConfig{APIBase: c.APIBase}, e, now),
		route: egress.Route{Hosts: []string{"qyapi.weixin.qq.com"}, Base: base}}, nil
}

// Fits says whether the message may be taken as far as can be told now; see
// Client.Fits.
func (c *BotClient) Fits(m *gateway.Message) error {
	if m.Event == "" {
		return gateway.Misfit(rejected("no_recipient", "a robot answers messages and sends nothing by itself"))
	}
	return gateway.Misfit(c.fill(&gateway.ProgressPart{Message: m.ID, Last: true}, &m.Reply, &gateway.Progress{}))
}

// Send makes a message part of the answer to its event, and with the last one sees
// to it that the answer leaves. Codes of its own, all rejections: "no_event" (a
// robot speaks only when it is spoken to), "too_long" (of all texts together),
// "unsupported" (files that are no pictures of our store; the change of a card, which
// WeCom takes only within five seconds of the press), "bad_card", "card_not_last",
// "too_many" and "too_large" (pictures), "no_file", "unsupported_file",
// "picture_late", "response_used", "response_expired", "no_response_url" and
// "forbidden_address" (of the late answer).
func (c *BotClient) Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	m := &out.Message
	event, _ := gateway.SplitDeliveryID(m.Event)
	p, err := c.c.Progress.Progress(ctx, event, nil)
	switch {
	case errors.Is(err, gateway.ErrNotFound):
		return reject("no_event", "a robot answers messages and sends nothing by itself")
	case err != nil:
		return c.later()
	}
	part := gateway.ProgressPart{Message: m.ID, Receipt: StreamID(event) + "/" + m.ID, Last: m.Part >= m.Parts-1}
	refusal := c.fill(&part, &m.Reply, p)
	if part.Picture != "" && refusal == nil && !slices.Contains(p.Messages, m.ID) {
		if refusal = fitsStream(c.c.Files, p.Pictures, part.Picture); refusal != nil && refusal.Kind == gateway.OutcomeRetry {
			return *refusal
		}
	}
	if refusal != nil {
		part.Picture = ""
		part.Last = true // the task ends with it: the parts behind are cancelled
	}
	if p, err = c.c.Progress.AddProgress(ctx, event, part, c.api.now()); err != nil {
		if refusal != nil {
			return *refusal
		}
		return c.unkept(ctx, event, m, err)
	}
	switch {
	case !part.Last:
		return gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: part.Receipt}
	case refusal != nil && p.Text == "" && len(p.Card) == 0 && len(p.Pictures) == 0:
		return *refusal
	}
	o, left := c.leave(ctx, &out, event, p)
	if o.Kind == gateway.OutcomeAccepted && left.pictures {
		if err := c.c.Progress.FailProgress(ctx, event, gateway.ProgressFailure{But: m.ID, Code: "picture_late", Pictures: true}, c.api.now()); err != nil {
			return c.later()
		}
	}
	switch {
	case o.Kind == gateway.OutcomeAccepted && left.card && part.Card != nil:
		return reject("response_used", "the words of the answer were sent late; a card cannot be sent beside them")
	case o.Kind == gateway.OutcomeAccepted && left.pictures && part.Picture != "":
		return *pictureLate()
	case o.Kind == gateway.OutcomeRejected:
		if err := c.c.Progress.FailProgress(ctx, event, gateway.ProgressFailure{But: m.ID, Code: o.Code}, c.api.now()); err != nil {
			return c.later()
		}
	case o.Kind == gateway.OutcomeAccepted && o.ExternalID == "":
		o.ExternalID = part.Receipt
	}
	if refusal != nil && (o.Kind == gateway.OutcomeAccepted || o.Kind == gateway.OutcomeRejected) {
		return *refusal
	}
	return o
}

func pictureLate() *gateway.Outcome {
	return rejected("picture_late", "nobody fetches the answer, and what is sent late has words or a card and no pictures")
}

// fill says what a reply adds to the answer, or why it adds nothing.
func (c *BotClient) fill(part *gateway.ProgressPart, r *gateway.Reply, p *gateway.Progress) *gateway.Outcome {
	switch r.Type {
	case "", gateway.ReplyText, gateway.ReplyMarkdown:
		late := len(p.Text)
		if p.State == gateway.ProgressTaken {
			late -= p.Taken
		}
		switch {
		case r.Text == "":
			return rejected("empty", "the text is empty")
		case late+len(r.Text)+2 > MaxBotTextBytes && late > 0, len(r.Text) > MaxBotTextBytes:
			return rejected("too_long", "the texts of the answer have more than 20480 bytes together")
		}
		part.Text = r.Text
	case gateway.ReplyCard:
		switch {
		case gateway.CheckReply(r) != nil:
			return rejected("bad_reply", "the card is not a reply of the gateway's model")
		case r.Card.Code != "":
			return rejected("unsupported", "WeCom changes a robot's card only in the answer to the press; send a new card")
		case !part.Last:
			return rejected("card_not_last", "a card goes with the end of the answer; make it the last reply")
		}
		if wrong := checkCard(r.Card.Content, false); wrong != "" {
			return rejected("bad_card", wrong)
		}
		card, err := marked(r.Card.Content, part.Message)
		if err != nil {
			return rejected("not_encodable", "the card cannot be written as JSON")
		}
		part.Card = card
	case gateway.ReplyImage:
		if err := gateway.CheckReply(r); err != nil {
			return rejected("bad_reply", err.Error()) // names the field, not what is in it
		}
		switch refusal := unfitFile(r); {
		case refusal != nil:
			return refusal
		case r.File.File == "":
			return rejected("unsupported", "a picture travels in the answer; send it by its name in the gateway's store")
		case p.State == gateway.ProgressTaken || p.State == gateway.ProgressClosed:
			return pictureLate()
		}
		part.Picture = r.File.File
	default:
		return rejected("unsupported", "a robot answers with texts, Markdown, pictures and cards")
	}
	return nil
}

// unkept is the outcome of a part that could not be added. Parts of the task that
// were are not delivered, if the answer left without them.
func (c *BotClient) unkept(ctx context.Context, event string, m *gateway.Message, err error) gateway.Outcome {
	if !errors.Is(err, gateway.ErrConflict) {
		return c.later()
	}
	if err := c.c.Progress.FailProgress(ctx, event, gateway.ProgressFailure{But: m.ID, Code: "response_used"}, c.api.now()); err != nil {
		return c.later()
	}
	return reject("response_used", "the event was answered already, and a robot can do that once")
}

// later is a store that does not answer: nothing was sent.
func (c *BotClient) later() gateway.Outcome {
	return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "ledger", Tries: gateway.Unbounded, Detail: "the ledger does not take the answer now"}
}

// leftBehind is what of an answer did not go with its words.
type leftBehind struct{ card, pictures bool }

// leave waits for the platform to fetch the answer, or sends it.
func (c *BotClient) leave(ctx context.Context, out *gateway.Outgoing, event string, p *gateway.Progress) (o gateway.Outcome, left leftBehind) {
	now := c.api.now()
	until := now.Add(out.VoidAfter.Sub(now) * 2 / 3)
	for p.State == gateway.ProgressFinished && c.asked(p) && c.api.now().Before(until) {
		if !sleep(ctx, pollLook) {
			return c.later(), left
		}
		var err error
		if p, err = c.c.Progress.Progress(ctx, event, nil); err != nil {
			return c.later(), left
		}
	}
	accepted := gateway.Outcome{Kind: gateway.OutcomeAccepted}
	if p.Fetched() {
		return accepted, left
	}
	target, refusal := c.target(p)
	if refusal != nil {
		return *refusal, left
	}
	p, err := c.c.Progress.CloseProgress(ctx, event, out.Message.ID, c.api.now())
	switch {
	case errors.Is(err, gateway.ErrConflict):
		return reject("response_used", "the event was answered already, and a robot can do that once"), left
	case err != nil:
		return c.later(), left
	case p.Fetched():
		return accepted, left
	}
	left.pictures = len(p.Pictures) > p.PicturesTaken
	text, card := lateParts(p)
	if text == "" && card == nil {
		return *pictureLate(), left
	}
	left.card = text != "" && card != nil
	return c.respond(ctx, out, target, text, card), left
}

// asked says whether the platform may still come for the answer.
func (c *BotClient) asked(p *gateway.Progress) bool {
	now := c.api.now()
	last := p.ReceivedAt
	if p.PolledAt.After(last) {
		last = p.PolledAt
	}
	return now.Sub(last) < c.c.Quiet && now.Before(p.ReceivedAt.Add(StreamLife))
}

// target is the address of a late answer. It came with a message that was signed;
// it is held against our own list all the same, since a customer's answer goes there.
func (c *BotClient) target(p *gateway.Progress) (string, *gateway.Outcome) {
	h := p.Handle
	switch {
	case h == nil || h.Kind != responseHandle:
		return "", rejected("no_response_url", "nobody fetches the answer, and the event came without an address for a late one")
	case h.Until != nil && !c.api.now().Before(*h.Until):
		return "", rejected("response_expired", "nobody fetches the answer, and the hour for a late one is over")
	}
	u, err := c.route.Target(h.Code)
	if err != nil {
		return "", rejected("forbidden_address", "the address for a late answer is not WeCom's")
	}
	return u.String(), nil
}

// lateParts are what was not fetched and can be sent late.
func lateParts(p *gateway.Progress) (text string, card json.RawMessage) {
	text = p.Text
	if p.State == gateway.ProgressTaken {
		text = strings.TrimPrefix(p.Text[p.Taken:], "\n\n")
	}
	if len(p.Card) > 0 && !p.CardTaken {
		card = p.Card
	}
	return text, card
}

// respond sends what was not fetched. The platform takes Markdown or a card, once:
// of both, the words go alone. Source: 101138.
func (c *BotClient) respond(ctx context.Context, out *gateway.Outgoing, target, text string, card json.RawMessage) gateway.Outcome {
	body := map[string]any{"msgtype": "markdown", "markdown": sendText{text}}
	if text == "" {
		body = map[string]any{"msgtype": "template_card", "template_card": card}
	}
	b, err := plainJSON(body)
	if err != nil {
		return reject("not_encodable", "the message cannot be written as JSON")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(b))
	if err != nil {
		return reject("forbidden_address", "the address for a late answer is not a URL")
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := c.api.egress.Do(req, out.VoidAfter)
	if err != nil {
		return egress.Lost(err, &c.api.unreached, c.api.now())
	}
	c.api.unreached.Over()
	o, spent := c.api.answered(&out.Message, resp, req.URL.RawQuery, "")
	if spent { // its code is the credential: there is no other one
		o.Kind, o.Scope = gateway.OutcomeRejected, ""
	}
	return o
}

// sleep waits and says whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
