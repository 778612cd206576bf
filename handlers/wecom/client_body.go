package wecom

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// The bodies of message/send, appchat/send, message/update_template_card and
// message/recall. Sources: WeCom 90236, 90248, 94888, 94867.

// sendRequest is the body of message/send. What an app may ask for beside the
// message stays off. safe: a reply is not confidential by itself.
// enable_id_trans: our texts hold no ids of third-party apps.
// enable_duplicate_check: it goes by content, and two equal answers to two
// questions are legitimate; what WeCom answers to a suppressed one is not
// documented; and that nothing is sent twice is seen to by the outbox.
type sendRequest struct {
	ToUser  string `json:"touser"`
	AgentID int64  `json:"agentid"`
	sendContent

	Safe           int `json:"safe"`
	IDTranslation  int `json:"enable_id_trans"`
	DuplicateCheck int `json:"enable_duplicate_check"`
}

// chatRequest is the body of appchat/send.
type chatRequest struct {
	ChatID string `json:"chatid"`
	sendContent
	Safe int `json:"safe"`
}

// sendContent is the message itself.
type sendContent struct {
	Type     string          `json:"msgtype"`
	Text     *sendText       `json:"text,omitempty"`
	Markdown *sendText       `json:"markdown,omitempty"`
	Image    *sendFile       `json:"image,omitempty"`
	Voice    *sendFile       `json:"voice,omitempty"`
	Video    *sendFile       `json:"video,omitempty"`
	File     *sendFile       `json:"file,omitempty"`
	News     *sendNews       `json:"news,omitempty"`
	Card     json.RawMessage `json:"template_card,omitempty"`
}

type sendText struct {
	Content string `json:"content"`
}

type sendFile struct {
	ID          string `json:"media_id"`
	Description string `json:"description,omitempty"`
}

type sendNews struct {
	Articles []sendArticle `json:"articles"`
}

type sendArticle struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	URL         string `json:"url"`
	Picture     string `json:"picurl,omitempty"`
}

// updateRequest is the body of message/update_template_card. The response code
// names the card; WeCom wants to be told whose copy of it changes.
type updateRequest struct {
	Users   []string        `json:"userids"`
	AgentID int64           `json:"agentid"`
	Code    string          `json:"response_code"`
	Button  *updateButton   `json:"button,omitempty"`
	Card    json.RawMessage `json:"template_card,omitempty"`
}

type updateButton struct {
	Name string `json:"replace_name"`
}

type recallRequest struct {
	ID string `json:"msgid"`
}

// sendCall is a call that is ready but for its token.
type sendCall struct {
	name string // below /cgi-bin/
	body []byte
	to   string // userid or chatid
}

// request makes the call, or the outcome of a message that is not sent now.
func (c *Client) request(ctx context.Context, m *gateway.Message) (*sendCall, *gateway.Outcome) {
	r := &m.Reply
	to, refusal := c.fits(m)
	if refusal != nil {
		return nil, refusal
	}
	userID := to.Spelling()
	switch {
	case r.Type == gateway.ReplyWelcome:
		return c.welcome(ctx, m)
	case r.Type == gateway.ReplyRecall:
		return encoded("message/recall", userID, &recallRequest{r.Quote})
	case r.Type == gateway.ReplyCard && r.Card.Code != "":
		u := updateRequest{Users: []string{userID}, AgentID: c.config.AgentID, Code: r.Card.Code, Card: r.Card.Content}
		if r.Card.Button != "" {
			u.Button = &updateButton{r.Card.Button}
		}
		return encoded("message/update_template_card", userID, &u)
	}
	mediaID := ""
	if f := r.File; f != nil {
		if mediaID, refusal = c.fileID(ctx, m.Account, r.Type, f); refusal != nil {
			return nil, refusal
		}
	}
	var content sendContent
	if refusal = content.fill(m, mediaID); refusal != nil {
		return nil, refusal
	}
	if to.Kind == kindGroup {
		return encoded("appchat/send", userID, &chatRequest{ChatID: userID, sendContent: content})
	}
	return encoded("message/send", userID, &sendRequest{ToUser: userID, AgentID: c.config.AgentID, sendContent: content})
}

// fill puts a reply that is fit into the request. mediaID is WeCom's id of its
// file.
func (s *sendContent) fill(m *gateway.Message, mediaID string) *gateway.Outcome {
	r := &m.Reply
	s.Type = string(r.Type)
	file := &sendFile{ID: mediaID}
	switch r.Type {
	case gateway.ReplyMarkdown:
		s.Markdown = &sendText{r.Text}
	case gateway.ReplyImage:
		s.Image = file
	case gateway.ReplyVoice:
		s.Voice = file
	case gateway.ReplyVideo:
		file.Description = r.Text
		s.Video = file
	case gateway.ReplyDocument:
		s.Type, s.File = "file", file
	case gateway.ReplyNews:
		s.News = &sendNews{}
		for _, a := range r.News {
			s.News.Articles = append(s.News.Articles, sendArticle(a))
		}
	case gateway.ReplyCard:
		s.Type = "template_card"
		card, err := marked(r.Card.Content, m.ID)
		if err != nil {
			return rejected("not_encodable", "the card cannot be written as JSON")
		}
		s.Card = card
	default:
		s.Type, s.Text = "text", &sendText{r.Text}
	}
	return nil
}

// marked gives a card that has no task_id our marker as one. It is the same for
// all attempts, and comes back as TaskId when the card is pressed. Everything else
// of the card stays as it is, its numbers too.
func marked(card json.RawMessage, marker string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(card, &fields); err != nil {
		return nil, err
	}
	switch string(fields["task_id"]) {
	case "", `""`, "null":
	default:
		return card, nil
	}
	var err error
	if fields["task_id"], err = json.Marshal(marker); err != nil {
		return nil, err
	}
	return plainJSON(fields)
}

// kindGroup is the kind of a chat's identity.
const kindGroup = "group"

// recipient chooses the chat or the member written to. touser is a list with "|",
// and "@all" is everybody. A name that the platform retired is never written to.
func recipient(ids []gateway.Identity) (gateway.Identity, *gateway.Outcome) {
	for _, id := range ids {
		name := id.Spelling()
		switch {
		case id.Kind != "userid" && id.Kind != kindGroup || name == "" || id.Retired:
			continue
		case id.Kind == "userid" && (strings.EqualFold(name, "@all") || strings.ContainsAny(name, "| \t\r\n")):
			return id, rejected("bad_recipient", "the userid would address others too")
		}
		return id, nil
	}
	return gateway.Identity{}, rejected("no_recipient", "the conversation has no userid and no chat")
}

func encoded(name, to string, v any) (*sendCall, *gateway.Outcome) {
	body, err := plainJSON(v)
	if err != nil {
		return nil, rejected("not_encodable", "the message cannot be written as JSON")
	}
	return &sendCall{name, body, to}, nil
}

// plainJSON leaves "<", ">" and "&" as they are: 40033 warns of \u escapes in the
// body.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func rejected(code, detail string) *gateway.Outcome {
	o := reject(code, detail)
	return &o
}
