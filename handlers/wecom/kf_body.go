package wecom

import (
	"context"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// The longest parts of a customer service message, in bytes of UTF-8. Source:
// WeCom 94677 and 95122.
const (
	MaxMenuText  = 1024 // above and below a menu, and the text of a link in it
	MaxMenuItem  = 128  // text and id of an item that is clicked
	MaxMenuItems = 10
	MaxCodeBytes = 128 // of an event; WeCom says 32, others wrote longer ones
)

// kfRequest is the body of kf/send_msg, and of kf/send_msg_on_event with Code in
// place of ToUser and OpenKfID. MsgID is our marker. Source: WeCom 94677, 95122.
type kfRequest struct {
	ToUser   string `json:"touser,omitempty"`
	OpenKfID string `json:"open_kfid,omitempty"`
	Code     string `json:"code,omitempty"`
	MsgID    string `json:"msgid"`
	Type     string `json:"msgtype"`

	Text     *sendText   `json:"text,omitempty"`
	Image    *sendFile   `json:"image,omitempty"`
	Voice    *sendFile   `json:"voice,omitempty"`
	Video    *sendFile   `json:"video,omitempty"`
	File     *sendFile   `json:"file,omitempty"`
	Link     *kfLink     `json:"link,omitempty"`
	Menu     *kfMenu     `json:"msgmenu,omitempty"`
	Location *kfLocation `json:"location,omitempty"`
}

type kfLink struct {
	Title       string `json:"title"`
	Description string `json:"desc,omitempty"`
	URL         string `json:"url"`
	Thumb       string `json:"thumb_media_id"`
}

type kfMenu struct {
	Head string       `json:"head_content,omitempty"`
	List []kfMenuItem `json:"list"`
	Tail string       `json:"tail_content,omitempty"`
}

type kfMenuItem struct {
	Type  string   `json:"type"` // click, view, text
	Click *kfClick `json:"click,omitempty"`
	View  *kfView  `json:"view,omitempty"`
	Text  *kfText  `json:"text,omitempty"`
}

type kfClick struct {
	ID      string `json:"id,omitempty"`
	Content string `json:"content"`
}

type kfView struct {
	URL     string `json:"url"`
	Content string `json:"content"`
}

type kfText struct {
	Content string `json:"content"`
}

type kfLocation struct {
	Name      string  `json:"name,omitempty"`
	Address   string  `json:"address,omitempty"`
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// request makes the call, or the outcome of a message that is not sent now.
func (k *KfClient) request(ctx context.Context, m *gateway.Message) (*sendCall, *gateway.Outcome) {
	r := &m.Reply
	to, refusal := fitsKf(m)
	if refusal != nil {
		return nil, refusal
	}
	if t := r.Transfer; t != nil {
		return encoded("kf/service_state/trans", to, &kfTransfer{k.kf.OpenKfID, to, numberOf(t.To), t.Servicer})
	}
	s := kfRequest{MsgID: m.ID, ToUser: to, OpenKfID: k.kf.OpenKfID}
	name := "kf/send_msg"
	if r.Handle != nil {
		name, s.Code, s.OpenKfID = "kf/send_msg_on_event", r.Handle.Code, ""
	}
	mediaID := ""
	if r.File != nil {
		if mediaID, refusal = k.fileID(ctx, m.Account, r.Type, r.File); refusal != nil {
			return nil, refusal
		}
	}
	s.fill(r, mediaID)
	return encoded(name, to, &s)
}

// Fits is Client.Fits for customer service.
func (k *KfClient) Fits(m *gateway.Message) error {
	_, refusal := fitsKf(m)
	return gateway.Misfit(refusal)
}

// fitsKf chooses the customer written to, or makes the outcome of a message that
// is not fit. By the code of an event nobody is named: it stands for whom it is.
func fitsKf(m *gateway.Message) (to string, refusal *gateway.Outcome) {
	if refusal = unfitKf(&m.Reply); refusal != nil || m.Reply.Handle != nil {
		return "", refusal
	}
	for _, id := range m.To {
		if id.Kind == "external_userid" && !id.Retired && id.Spelling() != "" {
			return id.Spelling(), nil
		}
	}
	return "", rejected("no_recipient", "the conversation has no external_userid")
}

// fill puts a reply that is fit into the request. mediaID is WeCom's id of its
// file.
func (s *kfRequest) fill(r *gateway.Reply, mediaID string) {
	s.Type = string(r.Type)
	file := &sendFile{ID: mediaID}
	switch r.Type {
	case gateway.ReplyImage:
		s.Image = file
	case gateway.ReplyVoice:
		s.Voice = file
	case gateway.ReplyVideo:
		s.Video = file
	case gateway.ReplyDocument:
		s.Type, s.File = "file", file
	case gateway.ReplyLocation:
		l := r.Location
		s.Location = &kfLocation{Name: l.Name, Address: l.Address, Latitude: l.Latitude, Longitude: l.Longitude}
	case gateway.ReplyLink:
		if mediaID != "" {
			s.Link = &kfLink{Title: r.Link.Title, Description: r.Text, URL: r.Link.URL, Thumb: mediaID}
			return
		}
		s.Type, s.Menu = "msgmenu", kfMenuOf(r)
	case gateway.ReplyButtons, gateway.ReplyList:
		s.Type, s.Menu = "msgmenu", kfMenuOf(r)
	default:
		s.Type, s.Text = "text", &sendText{r.Text}
	}
}

// kfMenuOf makes a menu of buttons, of the rows of a list with the titles of its
// sections as lines between them, and of a link.
func kfMenuOf(r *gateway.Reply) *kfMenu {
	menu := &kfMenu{Head: r.Text, Tail: r.Footer}
	if r.Header != "" {
		menu.Head = r.Header + "\n" + r.Text
	}
	click := func(c gateway.Choice) {
		words := c.Title
		if c.Description != "" {
			words += " " + c.Description
		}
		menu.List = append(menu.List, kfMenuItem{Type: "click", Click: &kfClick{ID: c.ID, Content: words}})
	}
	for _, b := range r.Buttons {
		click(b)
	}
	if r.List != nil {
		for _, s := range r.List.Sections {
			if s.Title != "" {
				menu.List = append(menu.List, kfMenuItem{Type: "text", Text: &kfText{s.Title}})
			}
			for _, row := range s.Rows {
				click(row)
			}
		}
	}
	if r.Link != nil {
		menu.List = append(menu.List, kfMenuItem{Type: "view", View: &kfView{URL: r.Link.URL, Content: r.Link.Title}})
	}
	return menu
}

// unfitKf is the outcome of a reply that customer service would not take; nil for
// one that it may.
func unfitKf(r *gateway.Reply) *gateway.Outcome {
	switch r.Type {
	case "", gateway.ReplyText, gateway.ReplyWelcome:
		switch {
		case len(r.Attachments) > 0:
			return rejected("unsupported", "a greeting of customer service has no attachments; send a text or a menu with handle")
		case r.Text == "":
			return rejected("empty", "the text is empty")
		case len(r.Text) > MaxTextBytes:
			return rejected("too_long", "the text has more than 2048 bytes")
		}
	case gateway.ReplyButtons, gateway.ReplyList, gateway.ReplyLink:
	case gateway.ReplyImage, gateway.ReplyVoice, gateway.ReplyVideo, gateway.ReplyDocument, gateway.ReplyLocation, gateway.ReplyTransfer:
	case gateway.ReplyAudio:
		return rejected("unsupported", "WeCom has voice messages and no other sounds; send it as a document")
	default:
		return rejected("unsupported", "customer service has no message of this type")
	}
	if err := gateway.CheckReply(r); err != nil {
		return rejected("bad_reply", err.Error()) // names the field, not what is in it
	}
	if h := r.Handle; h != nil {
		switch {
		case h.Kind != gateway.HandleWelcome && h.Kind != gateway.HandleSession:
			return rejected("unsupported", "this code is not one of customer service")
		case len(h.Code) > MaxCodeBytes:
			return rejected("too_long", "the code of the event has more than 128 bytes")
		case r.Type == gateway.ReplyLink && r.File != nil:
			return rejected("unsupported", "with the code of an event customer service takes texts and menus only; leave the file out")
		}
	}
	switch {
	case r.Buttons != nil, r.List != nil, r.Link != nil && r.File == nil:
		return unfitMenu(r)
	case r.Link != nil && len(r.Text) > MaxDescriptionBytes:
		return rejected("too_long", "the text beside the link has more than 512 bytes")
	}
	return unfitKfFile(r)
}

func unfitKfFile(r *gateway.Reply) *gateway.Outcome {
	f := r.File
	switch {
	case f == nil:
		return nil
	case f.URL != "":
		return rejected("unsupported", "WeCom fetches no URLs; send the file by its name in the gateway's store, or by WeCom's id")
	case r.Type == gateway.ReplyLink:
		if !fileFits(gateway.ReplyImage, f.MIME) {
			return rejected("unsupported_file", "the picture of a link must be JPEG or PNG")
		}
	case r.Text != "":
		return rejected("unsupported", "customer service shows no caption with a file; send the text as a message of its own")
	case !fileFits(r.Type, f.MIME):
		return rejected("unsupported_file", "WeCom does not take a file of this type as "+string(r.Type))
	}
	return nil
}

func unfitMenu(r *gateway.Reply) *gateway.Outcome {
	menu := kfMenuOf(r)
	switch {
	case len(menu.List) > MaxMenuItems:
		return rejected("too_long", "the menu has more than 10 lines, titles of sections included")
	case len(menu.Head) > MaxMenuText:
		return rejected("too_long", "header and text of the menu have more than 1024 bytes")
	case strings.TrimSpace(menu.Head) == "":
		return rejected("empty", "the text of the menu is empty")
	}
	for _, item := range menu.List {
		if c := item.Click; c != nil && (len(c.ID) > MaxMenuItem || len(c.Content) > MaxMenuItem) {
			return rejected("too_long", "an id, or a title with its description, has more than 128 bytes")
		}
	}
	return nil
}
