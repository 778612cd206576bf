package whatsapp

import (
	"encoding/json"

	"github.com/causewayhq/causeway/gateway"
)

// The bodies of POST /{phone_number_id}/messages. Source: Meta, Cloud API
// reference "messages" and the pages of each kind, as of November 2025; the form
// of a flow message also from the SDKs that send it.

// sendRequest is a message. To wins over Recipient where both are given, so only
// one is.
type sendRequest struct {
	Product       string       `json:"messaging_product"`
	RecipientType string       `json:"recipient_type"`
	To            string       `json:"to,omitempty"`
	Recipient     string       `json:"recipient,omitempty"`
	Context       *sendContext `json:"context,omitempty"`
	Type          string       `json:"type"`

	Text        *sendText        `json:"text,omitempty"`
	Image       *sendFile        `json:"image,omitempty"`
	Audio       *sendFile        `json:"audio,omitempty"`
	Video       *sendFile        `json:"video,omitempty"`
	Document    *sendFile        `json:"document,omitempty"`
	Sticker     *sendFile        `json:"sticker,omitempty"`
	Location    *sendLocation    `json:"location,omitempty"`
	Contacts    []sendCard       `json:"contacts,omitempty"`
	Reaction    *sendReaction    `json:"reaction,omitempty"`
	Template    *sendTemplate    `json:"template,omitempty"`
	Interactive *sendInteractive `json:"interactive,omitempty"`

	// Marker comes back verbatim in the statuses of the message.
	Marker string `json:"biz_opaque_callback_data"`
}

// readRequest marks a message, and those before it, read. Typing is shown for 25
// seconds or until the next message.
type readRequest struct {
	Product   string           `json:"messaging_product"`
	Status    string           `json:"status"`
	MessageID string           `json:"message_id"`
	Typing    *typingIndicator `json:"typing_indicator,omitempty"`
}

type typingIndicator struct {
	Type string `json:"type"`
}

type sendContext struct {
	MessageID string `json:"message_id"`
}

type sendText struct {
	Body       string `json:"body"`
	PreviewURL bool   `json:"preview_url"`
}

type sendFile struct {
	ID       string `json:"id,omitempty"`
	Link     string `json:"link,omitempty"`
	Caption  string `json:"caption,omitempty"`
	Filename string `json:"filename,omitempty"`
	Voice    bool   `json:"voice,omitempty"`
}

type sendLocation struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Name      string  `json:"name,omitempty"`
	Address   string  `json:"address,omitempty"`
}

type sendCard struct {
	Name   sendName    `json:"name"`
	Phones []sendPhone `json:"phones,omitempty"`
	Emails []sendEmail `json:"emails,omitempty"`
	Org    *sendOrg    `json:"org,omitempty"`
}

// sendName: older descriptions want a second part beside the whole name.
type sendName struct {
	Formatted string `json:"formatted_name"`
	First     string `json:"first_name"`
}

// sendPhone has no wa_id: whether the number is on WhatsApp is not known here, and
// the customer is offered to invite it.
type sendPhone struct {
	Phone string `json:"phone"`
}

type sendEmail struct {
	Email string `json:"email"`
}

type sendOrg struct {
	Company string `json:"company"`
}

// sendReaction: an empty emoji takes the reaction back, so it is always there.
type sendReaction struct {
	MessageID string `json:"message_id"`
	Emoji     string `json:"emoji"`
}

type sendTemplate struct {
	Name       string          `json:"name"`
	Language   sendLanguage    `json:"language"`
	Components json.RawMessage `json:"components,omitempty"`
}

type sendLanguage struct {
	Code string `json:"code"`
}

type sendInteractive struct {
	Type   string      `json:"type"`
	Header *sendHeader `json:"header,omitempty"`
	Body   sendWords   `json:"body"`
	Footer *sendWords  `json:"footer,omitempty"`
	Action sendAction  `json:"action"`
}

type sendHeader struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type sendWords struct {
	Text string `json:"text"`
}

// sendAction is what can be pressed: buttons, or a button that opens sections, or
// a named action with parameters.
type sendAction struct {
	Buttons    []sendButton  `json:"buttons,omitempty"`
	Button     string        `json:"button,omitempty"`
	Sections   []sendSection `json:"sections,omitempty"`
	Name       string        `json:"name,omitempty"`
	Parameters any           `json:"parameters,omitempty"`
}

type sendButton struct {
	Type  string          `json:"type"`
	Reply sendButtonReply `json:"reply"`
}

type sendButtonReply struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type sendSection struct {
	Title string    `json:"title,omitempty"`
	Rows  []sendRow `json:"rows"`
}

type sendRow struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

type linkParameters struct {
	DisplayText string `json:"display_text"`
	URL         string `json:"url"`
}

type flowParameters struct {
	Version string       `json:"flow_message_version"`
	Token   string       `json:"flow_token,omitempty"`
	ID      string       `json:"flow_id"`
	CTA     string       `json:"flow_cta"`
	Action  string       `json:"flow_action,omitempty"`
	Payload *flowPayload `json:"flow_action_payload,omitempty"`
}

type flowPayload struct {
	Screen string          `json:"screen"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// fill puts a reply that is fit (see unfit) into the request. mediaID is the
// platform's id of its file, empty when it is sent by its URL.
func (r *sendRequest) fill(reply *gateway.Reply, mediaID string) {
	r.Type = string(reply.Type)
	if reply.Quote != "" && reply.Type != gateway.ReplyReaction {
		r.Context = &sendContext{reply.Quote}
	}
	var file *sendFile
	if f := reply.File; f != nil {
		file = &sendFile{ID: mediaID, Link: f.URL, Caption: reply.Text, Filename: f.Name}
	}
	switch reply.Type {
	case "", gateway.ReplyText:
		r.Type, r.Text = "text", &sendText{reply.Text, reply.Preview}
	case gateway.ReplyImage:
		r.Image = file
	case gateway.ReplyVideo:
		r.Video = file
	case gateway.ReplyDocument:
		r.Document = file
	case gateway.ReplySticker:
		r.Sticker = file
	case gateway.ReplyAudio:
		r.Audio = file
	case gateway.ReplyVoice:
		r.Type, r.Audio = "audio", file
		file.Voice = true
	case gateway.ReplyLocation:
		l := reply.Location
		r.Location = &sendLocation{l.Latitude, l.Longitude, l.Name, l.Address}
	case gateway.ReplyContacts:
		r.Contacts = cards(reply.Contacts)
	case gateway.ReplyReaction:
		r.Reaction = &sendReaction{reply.Quote, reply.Emoji}
	case gateway.ReplyTemplate:
		t := reply.Template
		r.Template = &sendTemplate{t.Name, sendLanguage{t.Language}, t.Components}
	case gateway.ReplyButtons, gateway.ReplyList, gateway.ReplyLink, gateway.ReplyFlow:
		r.Type, r.Interactive = "interactive", interactive(reply)
	case gateway.ReplyRead: // has a body of its own
	case gateway.ReplyMarkdown, gateway.ReplyNews, gateway.ReplyCard, gateway.ReplyRecall, gateway.ReplyWelcome,
		gateway.ReplyTransfer: // unfit
	}
}

func cards(list []gateway.ContactCard) []sendCard {
	out := make([]sendCard, len(list))
	for i, c := range list {
		out[i].Name = sendName{c.Name, c.Name}
		for _, p := range c.Phones {
			out[i].Phones = append(out[i].Phones, sendPhone{p})
		}
		for _, e := range c.Emails {
			out[i].Emails = append(out[i].Emails, sendEmail{e})
		}
		if c.Org != "" {
			out[i].Org = &sendOrg{c.Org}
		}
	}
	return out
}

func interactive(reply *gateway.Reply) *sendInteractive {
	in := &sendInteractive{Body: sendWords{reply.Text}}
	if reply.Header != "" {
		in.Header = &sendHeader{"text", reply.Header}
	}
	if reply.Footer != "" {
		in.Footer = &sendWords{reply.Footer}
	}
	switch reply.Type {
	case gateway.ReplyButtons:
		in.Type = "button"
		for _, b := range reply.Buttons {
			in.Action.Buttons = append(in.Action.Buttons, sendButton{"reply", sendButtonReply{b.ID, b.Title}})
		}
	case gateway.ReplyList:
		in.Type, in.Action.Button = "list", reply.List.Button
		for _, s := range reply.List.Sections {
			section := sendSection{Title: s.Title}
			for _, row := range s.Rows {
				section.Rows = append(section.Rows, sendRow{row.ID, row.Title, row.Description})
			}
			in.Action.Sections = append(in.Action.Sections, section)
		}
	case gateway.ReplyLink:
		in.Type, in.Action.Name = "cta_url", "cta_url"
		in.Action.Parameters = &linkParameters{reply.Link.Title, reply.Link.URL}
	default: // a flow
		f := reply.Flow
		p := &flowParameters{Version: "3", Token: f.Token, ID: f.ID, CTA: f.Title, Action: f.Action}
		if f.Screen != "" {
			p.Action, p.Payload = "navigate", &flowPayload{f.Screen, f.Data}
		}
		in.Type, in.Action.Name, in.Action.Parameters = "flow", "flow", p
	}
	return in
}
