package wecom

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// How long what a robot is told can be used: the address for one late answer, and
// the address of a file. Source: WeCom 101138, 100719.
const (
	ResponseLife   = time.Hour
	BotMediaLife   = 5 * time.Minute
	StreamLife     = 6 * time.Minute // polls after the message (101031)
	responseHandle = "response"
)

// botMessage is a decrypted callback of a robot. Source: WeCom 100719, 101027.
type botMessage struct {
	ID       string             `json:"msgid"`
	Bot      string             `json:"aibotid"`
	Chat     string             `json:"chatid"`
	ChatType string             `json:"chattype"`
	Created  loose[json.Number] `json:"create_time"`
	From     botFrom            `json:"from"`
	Response string             `json:"response_url"`
	Stream   loose[botStream]   `json:"stream"`
	Event    loose[botEvent]    `json:"event"`
	Quote    *loose[botPart]    `json:"quote"`
	botPart
}

// botPart is what a message says, what one item of mixed says, or what is quoted.
type botPart struct {
	Type  string          `json:"msgtype"`
	Text  *loose[botText] `json:"text"`
	Voice *loose[botText] `json:"voice"` // the recognised words
	Image *loose[botFile] `json:"image"`
	File  *loose[botFile] `json:"file"`
	Video *loose[botFile] `json:"video"`
	Mixed *loose[struct {
		Items []botPart `json:"msg_item"`
	}] `json:"mixed"`
}

type botFrom struct {
	UserID string `json:"userid"`
}

type botText struct {
	Content string `json:"content"`
}

type botFile struct {
	URL string `json:"url"`
}

type botStream struct {
	ID string `json:"id"`
}

type botEvent struct {
	Type     string             `json:"eventtype"`
	Card     loose[botCard]     `json:"template_card_event"`
	Feedback loose[botFeedback] `json:"feedback_event"`
}

type botCard struct {
	Type     string             `json:"card_type"`
	Key      string             `json:"event_key"`
	Task     string             `json:"task_id"`
	Selected loose[botSelected] `json:"selected_items"`
}

type botFeedback struct {
	ID      string      `json:"id"`
	Type    json.Number `json:"type"` // 1 good, 2 bad, 3 taken back
	Content string      `json:"content"`
}

// botSelected is what was ticked on a card.
type botSelected struct {
	Items []struct {
		Question string `json:"question_key"`
		Options  struct {
			IDs []string `json:"option_id"`
		} `json:"option_ids"`
	} `json:"selected_item"`
}

// loose is a part of a document that may have another shape than documented: then
// that part says nothing, and the rest is read. An id is never loose.
type loose[T any] struct{ v T }

// UnmarshalJSON is for encoding/json.
func (l *loose[T]) UnmarshalJSON(b []byte) error {
	var v T
	if json.Unmarshal(b, &v) == nil {
		l.v = v
	}
	return nil
}

// readBot reads a decrypted document; raw is what it was read from.
func readBot(doc []byte) (m *botMessage, raw json.RawMessage, err error) {
	raw = plainDocument(doc)
	if err := checkJSON(raw); err != nil {
		return nil, nil, err
	}
	m = &botMessage{}
	if json.Unmarshal(raw, m) != nil {
		return nil, nil, errWrongShape
	}
	switch {
	case m.Type == "":
		return nil, nil, errors.New("no msgtype")
	case m.Bot == "":
		return nil, nil, errors.New("no aibotid")
	case len(m.Bot) > maxIDBytes || len(m.ID) > maxIDBytes || len(m.Chat) > maxIDBytes || len(m.From.UserID) > maxIDBytes:
		return nil, nil, errors.New("an id is too long")
	}
	return m, raw, nil
}

// accountID is our side.
func (m *botMessage) accountID() string { return "bot:" + m.Bot }

// errUnknownChat is a kind of chat that nobody knows: a notice, in no conversation.
var errUnknownChat = errors.New("a chattype that is not known") //nolint:gochecknoglobals // a sentinel error is a constant

// chat is the conversation. The type may be missing (it is in the documented
// enter_chat): then the chat id decides.
func (m *botMessage) chat() (gateway.Chat, error) {
	switch {
	case m.ChatType == "group" && m.Chat == "":
		return gateway.Chat{}, errors.New("a group without chatid")
	case m.ChatType == "group", m.ChatType == "" && m.Chat != "":
		return gateway.Chat{Kind: gateway.ChatGroup, Identities: []gateway.Identity{{Kind: "group", Value: m.Chat}}}, nil
	case m.ChatType != "single" && m.ChatType != "":
		return gateway.Chat{}, errUnknownChat
	case m.From.UserID == "":
		return gateway.Chat{}, errors.New("no from.userid")
	}
	return gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{folded("userid", m.From.UserID)}}, nil
}

// decodeBot reads one decrypted callback. The first item is what happened; files
// beyond its one (of a mixed message, of what is quoted) follow as notices, since
// their addresses end in five minutes and a message refers to one file.
func decodeBot(doc []byte, received time.Time) ([]gateway.Item, error) {
	m, raw, err := readBot(doc)
	if err != nil {
		return nil, err
	}
	it := gateway.Item{AccountID: m.accountID(), Kind: gateway.KindNotice, Key: hashKey(doc), OccurredAt: unixTime(string(m.Created.v)),
		Content: gateway.Content{Type: m.Type, Raw: raw}}
	if m.ID != "" {
		it.Key, it.Content.ID = "m:"+m.ID, m.ID
	}
	if m.From.UserID != "" {
		it.Content.From = &gateway.Party{Identities: []gateway.Identity{folded("userid", m.From.UserID)}}
	}
	nobody := m.Type == "event" && m.From.UserID == "" && m.ChatType == ""
	switch it.Chat, err = m.chat(); {
	case errors.Is(err, errUnknownChat):
		of(&it, gateway.Identity{Kind: "account", Value: it.AccountID})
		return []gateway.Item{it}, nil
	case err != nil && !nobody:
		return nil, err
	case err != nil:
		of(&it, gateway.Identity{Kind: "account", Value: it.AccountID})
	}
	if m.Response != "" {
		until := received.Add(ResponseLife)
		it.Content.Handle = &gateway.Handle{Kind: responseHandle, Code: m.Response, Until: &until}
	}
	if m.Type == "event" {
		m.fillEvent(&it)
		return []gateway.Item{it}, nil
	}
	if m.From.UserID == "" {
		return nil, errors.New("a message without from.userid")
	}
	files := m.fillMessage(&it)
	items := []gateway.Item{it}
	for i, f := range files {
		part, err := plainJSON(botFile{f.url})
		if err != nil {
			return nil, errWrongShape
		}
		more := gateway.Item{AccountID: it.AccountID, Kind: gateway.KindNotice, Key: it.Key + ":" + strconv.Itoa(i+1), Chat: it.Chat,
			Content: gateway.Content{Type: f.kind, From: it.Content.From, QuotedID: m.ID, Media: &gateway.Media{URL: f.url}, Raw: part}}
		items = append(items, more)
	}
	return items, nil
}

// file is a file that a message names.
type file struct{ kind, url string }

// fillMessage reads what was written, and returns the files it names beyond its
// own. Types that nobody knows stay notices, so that they keep their turn in the
// conversation.
func (m *botMessage) fillMessage(it *gateway.Item) (more []file) {
	c := &it.Content
	text, files, known := m.read(0)
	if !known {
		return nil
	}
	it.Kind, c.Text = gateway.KindMessage, text
	if m.Type == "file" {
		c.Type = "document"
	}
	if len(files) > 0 {
		c.Media, more = &gateway.Media{URL: files[0].url}, files[1:]
	}
	if m.Quote != nil && m.Quote.v.Type != "" {
		said, quoted, _ := m.Quote.v.read(0)
		c.Quoted = &gateway.Quoted{Type: m.Quote.v.Type, Text: said}
		more = append(more, quoted...)
	}
	return more
}

// maxMixed bounds the files of one message that are fetched; all stand in its raw
// part.
const maxMixed = 20

// read returns the words of a part and its files; known is false for a type that
// nobody knows, and for one without its part.
func (p *botPart) read(depth int) (text string, files []file, known bool) {
	said := func(t *loose[botText]) (string, []file, bool) {
		if t == nil {
			return "", nil, false
		}
		return t.v.Content, nil, true
	}
	named := func(kind string, f *loose[botFile]) (string, []file, bool) {
		if f == nil || f.v.URL == "" {
			return "", nil, false
		}
		return "", []file{{kind, f.v.URL}}, true
	}
	switch p.Type {
	case "text":
		return said(p.Text)
	case "voice":
		return said(p.Voice)
	case "image":
		return named("image", p.Image)
	case "file":
		return named("document", p.File)
	case "video":
		return named("video", p.Video)
	case "mixed":
		if p.Mixed == nil || depth > 0 {
			return "", nil, false
		}
		var words []string
		for i := range p.Mixed.v.Items {
			said, found, _ := p.Mixed.v.Items[i].read(depth + 1)
			if said != "" {
				words = append(words, said)
			}
			files = append(files, found...)
		}
		return strings.Join(words, "\n"), files[:min(len(files), maxMixed)], true
	}
	return "", nil, false
}

// fillEvent reads what was done. A pressed card can be answered and is a message,
// as it is of an app; all else is a notice.
func (m *botMessage) fillEvent(it *gateway.Item) {
	c, ev := &it.Content, &m.Event.v
	c.Type = "event." + first(ev.Type, "unknown")
	switch ev.Type {
	case "template_card_event":
		card := &ev.Card.v
		answerable(it, "button_reply")
		c.QuotedID = card.Task
		if card.Key != "" {
			c.Choice = &gateway.Choice{ID: card.Key}
		}
		if picked := card.Selected.v.json(); picked != nil {
			c.Type, c.Form = "form", &gateway.Form{Name: card.Type, Response: picked}
		}
	case "feedback_event":
		c.QuotedID, c.Text = ev.Feedback.v.ID, ev.Feedback.v.Content
		if kind := string(ev.Feedback.v.Type); kind != "" {
			c.Choice = &gateway.Choice{ID: kind}
		}
	}
}

// json renders what was ticked as {"question": ["option", ...]}; nil for nothing.
func (s *botSelected) json() json.RawMessage {
	var questions []string
	options := map[string][]string{}
	for i := range s.Items {
		q := s.Items[i].Question
		if _, known := options[q]; !known {
			questions = append(questions, q)
		}
		options[q] = append(options[q], s.Items[i].Options.IDs...)
	}
	return pickedJSON(questions, options)
}
