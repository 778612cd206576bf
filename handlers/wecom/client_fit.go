package wecom

import (
	"encoding/json"
	"fmt"
	"mime"
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// The longest parts of a message, in bytes of UTF-8. WeCom cuts what is longer
// without saying so, so it is refused here. Source: WeCom 90236.
const (
	MaxTextBytes        = 2048 // of a text and of Markdown
	MaxTitleBytes       = 128  // of an article
	MaxDescriptionBytes = 512  // of an article and of a video
	MaxURLBytes         = 2048
)

// Fits says whether the message may be taken as far as can be told without a call:
// nil, or a *gateway.FieldError. Files of our store and what the platform alone
// knows are found out by sending.
func (c *Client) Fits(m *gateway.Message) error {
	_, refusal := c.fits(m)
	return gateway.Misfit(refusal)
}

// fits chooses whom a message goes to, or makes the outcome of one that is not fit.
func (c *Client) fits(m *gateway.Message) (to gateway.Identity, refusal *gateway.Outcome) {
	if refusal = unfit(&m.Reply); refusal != nil {
		return to, refusal
	}
	if m.Reply.Type == gateway.ReplyWelcome { // goes to whom its code stands for
		return to, nil
	}
	if to, refusal = recipient(m.To); refusal == nil && to.Kind == kindGroup && !forChats(m.Reply.Type) {
		refusal = rejected("unsupported", "chats of an app take text, Markdown, files and news only")
	}
	return to, refusal
}

// forChats says whether appchat/send takes messages of this kind. Source: WeCom
// 90248.
func forChats(t gateway.ReplyType) bool {
	return slices.Contains([]gateway.ReplyType{"", gateway.ReplyText, gateway.ReplyMarkdown, gateway.ReplyImage, gateway.ReplyVoice,
		gateway.ReplyVideo, gateway.ReplyDocument, gateway.ReplyNews}, t)
}

// unfit is the outcome of a reply that WeCom would not take; nil for one that it
// may. What every platform would refuse was refused by gateway.ParseAnswer, but
// rows of a ledger can be older than the rules.
func unfit(r *gateway.Reply) *gateway.Outcome {
	switch r.Type {
	case "", gateway.ReplyText, gateway.ReplyMarkdown:
		switch {
		case r.Text == "":
			return rejected("empty", "the text is empty")
		case len(r.Text) > MaxTextBytes:
			return rejected("too_long", "the text has more than 2048 bytes")
		}
	case gateway.ReplyImage, gateway.ReplyVoice, gateway.ReplyVideo, gateway.ReplyDocument, gateway.ReplyNews, gateway.ReplyCard, gateway.ReplyRecall,
		gateway.ReplyWelcome:
	case gateway.ReplyAudio:
		return rejected("unsupported", "WeCom has voice messages and no other sounds; send it as a document")
	default:
		return rejected("unsupported", "WeCom has no message of this type")
	}
	if r.Handle != nil && r.Type != gateway.ReplyWelcome {
		return rejected("unsupported", "an app sends nothing but a welcome by way of a code")
	}
	if err := gateway.CheckReply(r); err != nil {
		return rejected("bad_reply", err.Error()) // names the field, not what is in it
	}
	switch r.Type {
	case gateway.ReplyNews:
		return unfitNews(r.News)
	case gateway.ReplyWelcome:
		return unfitWelcome(r)
	case gateway.ReplyCard:
		if r.Card.Content != nil {
			if wrong := checkCard(r.Card.Content, r.Card.Code != ""); wrong != "" {
				return rejected("bad_card", wrong)
			}
		}
		return nil
	default:
		return unfitFile(r)
	}
}

func unfitFile(r *gateway.Reply) *gateway.Outcome {
	f := r.File
	switch {
	case f == nil:
		return nil
	case f.URL != "":
		return rejected("unsupported", "WeCom fetches no URLs; send the file by its name in the gateway's store, or by WeCom's id")
	case r.Text != "" && r.Type != gateway.ReplyVideo:
		return rejected("unsupported", "WeCom shows no caption with this file; send the text as a message of its own")
	case len(r.Text) > MaxDescriptionBytes:
		return rejected("too_long", "the text of the video has more than 512 bytes")
	case !fileFits(r.Type, f.MIME):
		return rejected("unsupported_file", "WeCom does not take a file of this type as "+string(r.Type))
	}
	return nil
}

func unfitNews(articles []gateway.Article) *gateway.Outcome {
	for i, a := range articles {
		for _, part := range []struct {
			name string
			has  int
			most int
		}{
			{"title", len(a.Title), MaxTitleBytes},
			{"description", len(a.Description), MaxDescriptionBytes},
			{"url", len(a.URL), MaxURLBytes},
			{"picture", len(a.Picture), MaxURLBytes},
		} {
			if part.has > part.most {
				return rejected("too_long", fmt.Sprintf("news[%d].%s has more than %d bytes", i, part.name, part.most))
			}
		}
	}
	return nil
}

// fileFits says whether a kind of message takes files of this type; a type that
// was not told is left to WeCom, as is every document. Source: WeCom, "temporary
// media" (90389).
func fileFits(kind gateway.ReplyType, typ string) bool {
	if typ == "" {
		return true
	}
	typ, _, err := mime.ParseMediaType(typ)
	if err != nil {
		return false
	}
	switch kind {
	case gateway.ReplyImage:
		return slices.Contains([]string{"image/jpeg", "image/jpg", "image/png"}, typ)
	case gateway.ReplyVoice:
		return slices.Contains([]string{"audio/amr", "audio/3gpp"}, typ)
	case gateway.ReplyVideo:
		return typ == "video/mp4"
	default:
		return true
	}
}

// cardType is what WeCom wants of one type of template card. Source: WeCom 90236.
type cardType struct {
	needs []string   // fields that must be there
	oneOf [][]string // of each of these at least one, by path
}

func cardTypes() map[string]cardType {
	return map[string]cardType{
		"text_notice":          {needs: []string{"card_action"}, oneOf: [][]string{{"main_title", "sub_title_text"}}},
		"news_notice":          {needs: []string{"card_action", "main_title"}, oneOf: [][]string{{"card_image", "image_text_area"}}},
		"button_interaction":   {needs: []string{"main_title", "button_list"}},
		"vote_interaction":     {needs: []string{"main_title", "checkbox", "submit_button"}},
		"multiple_interaction": {needs: []string{"main_title", "select_list", "submit_button"}},
	}
}

// cardLists are the lists of a card and how long they may be. Source: WeCom 90236.
func cardLists() map[string]int {
	return map[string]int{"horizontal_content_list": 6, "vertical_content_list": 4, "jump_list": 3, "button_list": 6, "select_list": 3}
}

// checkCard says what is wrong with a template card, "" for nothing: its type, the
// parts its type must have, the length of its lists and its task_id. The texts in
// it are for WeCom, which recommends their lengths and sets none. Its size was
// checked with the reply. It names fields, never what is in them.
func checkCard(raw json.RawMessage, update bool) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return "the card is not a JSON object"
	}
	has := func(name string) bool { v, ok := fields[name]; return ok && string(v) != "null" }
	var kind string
	if json.Unmarshal(fields["card_type"], &kind) != nil {
		kind = ""
	}
	want, known := cardTypes()[kind]
	if !known {
		return "card_type must be text_notice, news_notice, button_interaction, vote_interaction or multiple_interaction"
	}
	for _, name := range want.needs {
		if !has(name) {
			return name + " must be set in a card of type " + kind
		}
	}
	for _, names := range want.oneOf {
		if !slices.ContainsFunc(names, has) {
			return names[0] + " or " + names[1] + " must be set in a card of type " + kind
		}
	}
	lists := cardLists()
	for _, name := range []string{"horizontal_content_list", "vertical_content_list", "jump_list", "button_list", "select_list"} {
		var list []json.RawMessage
		if has(name) && (json.Unmarshal(fields[name], &list) != nil || len(list) > lists[name] || len(list) == 0 && slices.Contains(want.needs, name)) {
			return fmt.Sprintf("%s must be a list of at most %d", name, lists[name])
		}
	}
	if has("task_id") {
		var id string
		if json.Unmarshal(fields["task_id"], &id) != nil || len(id) > 128 || !taskID(id) {
			return "task_id must be at most 128 letters, digits, _, - and @"
		}
	}
	if !update && has("replace_text") {
		return "replace_text must be left out of a new card"
	}
	return ""
}

func taskID(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '@' {
			return false
		}
	}
	return true
}
