package wecom

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// Limits of a group's webhook, in bytes, of texts in UTF-8. That it takes 20 messages
// in a minute is the outbox's to keep (config.Pace). Source: WeCom 91770.
const (
	MaxRobotTextBytes     = 2048
	MaxRobotMarkdownBytes = 4096
	MaxRobotImageBytes    = 2 << 20
)

// RobotConfig is the webhook of a group as a sender.
type RobotConfig struct {
	APIBase string
	// Key is the last part of the webhook's address, and all that is needed to write
	// to the group.
	Key string
	// Uploader brings files and voices to WeCom, Files has the pictures, which travel
	// in the message; nil refuses replies that name such a file.
	Uploader Uploader
	Files    Files
}

// RobotClient writes to a group by its webhook. It is safe for concurrent use. WeCom
// answers with no id, plays nothing back, and takes nothing back: an outcome that is
// not known stays so. The key is in the address of every call and in no error.
type RobotClient struct {
	c   RobotConfig
	api *Client // makes outcomes of answers
}

// NewRobotClient makes a client. The egress client is shared and not closed by it.
func NewRobotClient(c RobotConfig, e *egress.Client, now func() time.Time) *RobotClient {
	return &RobotClient{c: c, api: NewClient(ClientConfig{APIBase: c.APIBase, Secret: c.Key, Uploader: c.Uploader}, e, now)}
}

// NewRobotUploads brings files and voices to WeCom for a group's webhook. Source:
// WeCom 91770.
func NewRobotUploads(c *RobotClient, e *egress.Client) *Uploads {
	return &Uploads{client: c.api, egress: e, key: c.c.Key}
}

// Fits says whether the message may be taken as far as can be told without a call;
// see Client.Fits. A webhook has one group, so no recipient is asked for.
func (c *RobotClient) Fits(m *gateway.Message) error { return gateway.Misfit(unfitRobot(&m.Reply)) }

// Send makes one call. Codes of its own are those of Client.Send; what a webhook has no message for is "unsupported", a picture over 2 MiB
// "too_large".
func (c *RobotClient) Send(ctx context.Context, out gateway.Outgoing) gateway.Outcome {
	m := &out.Message
	if refusal := unfitRobot(&m.Reply); refusal != nil {
		return *refusal
	}
	content, refusal := c.content(ctx, m)
	if refusal != nil {
		return *refusal
	}
	body, err := plainJSON(content)
	if err != nil {
		return reject("not_encodable", "the message cannot be written as JSON")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, apiURL(c.c.APIBase, "webhook/send", url.Values{"key": {c.c.Key}}), bytes.NewReader(body))
	if err != nil { // the parser's error would hold the key
		return gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "bad_url", Blame: gateway.BlameReach,
			After: c.api.unhealthy.Refused(c.api.now(), 0), Detail: "api_base of the account is not a URL"}
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := c.api.egress.Do(req, out.VoidAfter)
	if err != nil {
		return egress.Lost(err, &c.api.unreached, c.api.now())
	}
	c.api.unreached.Over()
	o, key := c.api.answered(m, resp, c.c.Key, "")
	if key { // there is no token to replace: the key is wrong
		o.After = c.api.unhealthy.Refused(c.api.now(), 0)
	}
	o.Share = "" // its limits are its own
	return c.api.staleUpload(ctx, m, o)
}

// Resume is Client.Resume.
func (c *RobotClient) Resume() { c.api.Resume() }

// robotContent is the body of webhook/send. Source: WeCom 91770.
type robotContent struct {
	Type     string          `json:"msgtype"`
	Text     *sendText       `json:"text,omitempty"`
	Markdown *sendText       `json:"markdown,omitempty"`
	Image    *sentPicture    `json:"image,omitempty"`
	Voice    *sendFile       `json:"voice,omitempty"`
	File     *sendFile       `json:"file,omitempty"`
	News     *sendNews       `json:"news,omitempty"`
	Card     json.RawMessage `json:"template_card,omitempty"`
}

// content makes the body of a message that is fit.
func (c *RobotClient) content(ctx context.Context, m *gateway.Message) (*robotContent, *gateway.Outcome) {
	r := &m.Reply
	out := &robotContent{Type: string(r.Type)}
	switch r.Type {
	case gateway.ReplyMarkdown:
		out.Markdown = &sendText{r.Text}
	case gateway.ReplyImage:
		image, refusal := readPicture(c.c.Files, r.File.File, MaxRobotImageBytes)
		if refusal != nil {
			return nil, refusal
		}
		out.Image = image
	case gateway.ReplyVoice, gateway.ReplyDocument:
		id, refusal := c.api.fileID(ctx, m.Account, r.Type, r.File)
		if refusal != nil {
			return nil, refusal
		}
		if r.Type == gateway.ReplyVoice {
			out.Voice = &sendFile{ID: id}
		} else {
			out.Type, out.File = "file", &sendFile{ID: id}
		}
	case gateway.ReplyNews:
		out.News = &sendNews{}
		for _, a := range r.News {
			out.News.Articles = append(out.News.Articles, sendArticle(a))
		}
	case gateway.ReplyCard:
		out.Type, out.Card = "template_card", r.Card.Content
	default:
		out.Type, out.Text = "text", &sendText{r.Text}
	}
	return out, nil
}

// unfitRobot is the outcome of a reply that a webhook would not take; nil for one
// that it may.
func unfitRobot(r *gateway.Reply) *gateway.Outcome {
	most := 0
	switch r.Type {
	case "", gateway.ReplyText:
		most = MaxRobotTextBytes
	case gateway.ReplyMarkdown:
		most = MaxRobotMarkdownBytes
	case gateway.ReplyImage, gateway.ReplyVoice, gateway.ReplyDocument, gateway.ReplyNews, gateway.ReplyCard:
		if err := gateway.CheckReply(r); err != nil {
			return rejected("bad_reply", err.Error()) // names the field, not what is in it
		}
	default:
		return rejected("unsupported", "a group's webhook takes text, Markdown, pictures, voices, documents, news and cards")
	}
	switch {
	case most > 0 && r.Text == "":
		return rejected("empty", "the text is empty")
	case most == MaxRobotTextBytes && len(r.Text) > most:
		return rejected("too_long", "the text has more than 2048 bytes")
	case most == MaxRobotMarkdownBytes && len(r.Text) > most:
		return rejected("too_long", "the text has more than 4096 bytes")
	}
	switch r.Type {
	case gateway.ReplyNews:
		return unfitNews(r.News)
	case gateway.ReplyCard:
		return unfitRobotCard(r.Card)
	case gateway.ReplyImage:
		if r.File.File == "" {
			return rejected("unsupported", "a picture travels in the message; send it by its name in the gateway's store")
		}
		return unfitFile(r)
	default:
		return unfitFile(r)
	}
}

// unfitRobotCard: a webhook has the two types of cards that nobody answers. Source:
// WeCom 91770.
func unfitRobotCard(card *gateway.CardReply) *gateway.Outcome {
	var kind struct {
		Type string `json:"card_type"`
	}
	switch {
	case card.Code != "":
		return rejected("unsupported", "cards of a webhook cannot be changed")
	case json.Unmarshal(card.Content, &kind) != nil || kind.Type != "text_notice" && kind.Type != "news_notice":
		return rejected("bad_card", "card_type must be text_notice or news_notice: nobody can press a card of a webhook")
	}
	if wrong := checkCard(card.Content, false); wrong != "" {
		return rejected("bad_card", wrong)
	}
	return nil
}
