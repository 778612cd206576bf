package wecomtest

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxText is where WeCom cuts a text, in bytes.
const maxText = 2048

// sendBody is what WeCom reads of message/send. Source: WeCom 90236.
type sendBody struct {
	ToUser   string      `json:"touser"`
	ToParty  string      `json:"toparty"`
	ToTag    string      `json:"totag"`
	Type     string      `json:"msgtype"`
	AgentID  json.Number `json:"agentid"`
	Text     textPart    `json:"text"`
	Markdown textPart    `json:"markdown"`
	Image    filePart    `json:"image"`
	Voice    filePart    `json:"voice"`
	Video    filePart    `json:"video"`
	File     filePart    `json:"file"`
	News     struct {
		Articles []article `json:"articles"`
	} `json:"news"`
	Card card `json:"template_card"`

	Safe           int `json:"safe"`
	IDTranslation  int `json:"enable_id_trans"`
	DuplicateCheck int `json:"enable_duplicate_check"`
}

type textPart struct {
	Content string `json:"content"`
}

type filePart struct {
	ID          string `json:"media_id"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

type article struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	URL         string `json:"url"`
	Picture     string `json:"picurl"`
}

// card is what is checked of a template card.
type card struct {
	Type      string `json:"card_type"`
	TaskID    string `json:"task_id"`
	MainTitle *struct {
		Title string `json:"title"`
		Desc  string `json:"desc"`
	} `json:"main_title"`
	SubTitle  string            `json:"sub_title_text"`
	Picture   json.RawMessage   `json:"card_image"`
	ImageText json.RawMessage   `json:"image_text_area"`
	Rows      []json.RawMessage `json:"horizontal_content_list"`
	Columns   []json.RawMessage `json:"vertical_content_list"`
	Jumps     []json.RawMessage `json:"jump_list"`
	Action    *struct {
		Type int    `json:"type"`
		URL  string `json:"url"`
	} `json:"card_action"`
	Buttons []struct {
		Text string `json:"text"`
		Key  string `json:"key"`
	} `json:"button_list"`
	Submit *struct {
		Text string `json:"text"`
		Key  string `json:"key"`
	} `json:"submit_button"`
	Checkbox *selection  `json:"checkbox"`
	Selects  []selection `json:"select_list"`
}

type selection struct {
	Key     string `json:"question_key"`
	Options []struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	} `json:"option_list"`
}

// text is what the log of calls shows of a message.
func (b *sendBody) text() string {
	switch b.Type {
	case "markdown":
		return cut(b.Markdown.Content, maxText)
	case "video":
		return cut(b.Video.Description, 512)
	case "news":
		titles := make([]string, len(b.News.Articles))
		for i, a := range b.News.Articles {
			titles[i] = cut(a.Title, 128)
		}
		return strings.Join(titles, "|")
	case "template_card":
		if b.Card.MainTitle != nil {
			return b.Card.MainTitle.Title
		}
		return b.Card.SubTitle
	default:
		return cut(b.Text.Content, maxText)
	}
}

func flags(list ...int) bool {
	for _, f := range list {
		if f != 0 && f != 1 {
			return false
		}
	}
	return true
}

// checkKind is what WeCom says to a message of its kind; 0 for taken. What is too
// long is cut without a word. Which code a wrong part of a card has is not
// documented; here it is 40058.
func (s *Sandbox) checkKind(b *sendBody) int {
	switch b.Type {
	case "text":
		return filled(b.Text.Content)
	case "markdown":
		return filled(b.Markdown.Content)
	case "image":
		return s.shelf.has(b.Image.ID, "image", s.o.Now())
	case "voice":
		return s.shelf.has(b.Voice.ID, "voice", s.o.Now())
	case "video":
		return s.shelf.has(b.Video.ID, "video", s.o.Now())
	case "file":
		return s.shelf.has(b.File.ID, "file", s.o.Now())
	case "news":
		return checkNews(b.News.Articles)
	case "template_card":
		if !b.Card.good() || b.Card.TaskID == "" && b.Card.interactive() || s.cards.known(b.Card.TaskID) {
			return 40058
		}
		return 0
	}
	return 40008
}

func filled(content string) int {
	if content == "" {
		return 44004
	}
	return 0
}

func checkNews(articles []article) int {
	switch {
	case len(articles) == 0:
		return 40063
	case len(articles) > 8:
		return 45008
	}
	for _, a := range articles {
		if a.Title == "" || a.URL == "" {
			return 40063
		}
		if !page(a.URL) || a.Picture != "" && !page(a.Picture) {
			return 40058
		}
	}
	return 0
}

// page: WeCom wants the scheme written out.
func page(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && len(s) <= 2048
}

// interactive says whether something of the card can be pressed by a member.
func (c *card) interactive() bool {
	return c.Type == "button_interaction" || c.Type == "vote_interaction" || c.Type == "multiple_interaction"
}

// good says whether a card has what its type must have, and no list too long.
func (c *card) good() bool {
	if len(c.TaskID) > 128 || strings.ContainsFunc(c.TaskID, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-@", r)
	}) {
		return false
	}
	if len(c.Rows) > 6 || len(c.Columns) > 4 || len(c.Jumps) > 3 || len(c.Buttons) > 6 || len(c.Selects) > 3 {
		return false
	}
	titled := c.MainTitle != nil && c.MainTitle.Title != ""
	acts := c.Action != nil && (c.Action.Type == 1 && page(c.Action.URL) || c.Action.Type == 2)
	submits := c.Submit != nil && c.Submit.Text != "" && c.Submit.Key != ""
	switch c.Type {
	case "text_notice":
		return (titled || c.SubTitle != "") && acts
	case "news_notice":
		return titled && acts && (len(c.Picture) > 0 || len(c.ImageText) > 0)
	case "button_interaction":
		for _, b := range c.Buttons {
			if b.Text == "" {
				return false
			}
		}
		return titled && len(c.Buttons) > 0
	case "vote_interaction":
		return titled && submits && c.Checkbox != nil && c.Checkbox.good(20)
	case "multiple_interaction":
		for i := range c.Selects {
			if !c.Selects[i].good(10) {
				return false
			}
		}
		return titled && submits && len(c.Selects) > 0
	}
	return false
}

func (s *selection) good(most int) bool {
	for _, o := range s.Options {
		if o.ID == "" || o.Text == "" {
			return false
		}
	}
	return s.Key != "" && len(s.Options) > 0 && len(s.Options) <= most
}

// cut shortens a text as the platform does before it shows it.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:most]
	for len(text) > 0 && !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}
