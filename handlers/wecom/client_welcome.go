package wecom

import (
	"context"
	"fmt"

	"github.com/causewayhq/causeway/gateway"
)

// The longest parts of a welcome, in bytes of UTF-8. Source: WeCom 92137.
const (
	MaxWelcomeBytes = 4000
	MaxMiniBytes    = 64 // title of a mini program
)

// welcomeRequest is the body of externalcontact/send_welcome_msg. It names nobody:
// the code says who greets whom. The answer has no msgid.
type welcomeRequest struct {
	Code        string              `json:"welcome_code"`
	Text        *sendText           `json:"text,omitempty"`
	Attachments []welcomeAttachment `json:"attachments,omitempty"`
}

type welcomeAttachment struct {
	Type  string       `json:"msgtype"`
	Image *welcomeFile `json:"image,omitempty"`
	Link  *welcomeLink `json:"link,omitempty"`
	Mini  *welcomeMini `json:"miniprogram,omitempty"`
	Video *welcomeFile `json:"video,omitempty"`
	File  *welcomeFile `json:"file,omitempty"`
}

type welcomeFile struct {
	ID  string `json:"media_id,omitempty"`
	URL string `json:"pic_url,omitempty"` // of a picture
}

type welcomeLink struct {
	Title       string `json:"title"`
	Picture     string `json:"picurl,omitempty"`
	Description string `json:"desc,omitempty"`
	URL         string `json:"url"`
}

type welcomeMini struct {
	Title string `json:"title"`
	Cover string `json:"pic_media_id"`
	AppID string `json:"appid"`
	Page  string `json:"page"`
}

// unfitWelcome says what of a welcome WeCom would not take; nil for nothing.
func unfitWelcome(r *gateway.Reply) *gateway.Outcome {
	switch {
	case r.Handle.Kind != gateway.HandleWelcome:
		return rejected("unsupported", "an app greets by the handle of kind welcome")
	case len(r.Text) > MaxWelcomeBytes:
		return rejected("too_long", "the text has more than 4000 bytes")
	}
	for i := range r.Attachments {
		a, at := &r.Attachments[i], fmt.Sprintf("attachments[%d]", i)
		f := a.File
		switch {
		case f != nil && f.URL != "" && a.Type != gateway.AttachImage:
			return rejected("unsupported", at+": WeCom fetches no URLs but of pictures; send the file by its name in the gateway's store, or by WeCom's id")
		case f != nil && !fileFits(attachedAs(a.Type), f.MIME):
			return rejected("unsupported_file", at+": WeCom does not take a file of this type as "+string(a.Type))
		case a.Mini != nil && len(a.Mini.Title) > MaxMiniBytes:
			return rejected("too_long", at+".mini.title has more than 64 bytes")
		}
		if a.Page != nil {
			if refusal := unfitNews([]gateway.Article{*a.Page}); refusal != nil {
				return rejected("too_long", at+".page has a part that is too long: title 128 bytes, description 512, url and picture 2048")
			}
		}
	}
	return nil
}

// attachedAs is the message whose files an attachment's are like.
func attachedAs(t gateway.AttachmentType) gateway.ReplyType {
	switch t {
	case gateway.AttachImage, gateway.AttachMini:
		return gateway.ReplyImage
	case gateway.AttachVideo:
		return gateway.ReplyVideo
	case gateway.AttachFile, gateway.AttachPage:
	}
	return gateway.ReplyDocument
}

// welcome makes the call of a welcome that is fit. Files of ours are uploaded
// before; what of the 20 seconds that takes is gone.
func (c *Client) welcome(ctx context.Context, m *gateway.Message) (*sendCall, *gateway.Outcome) {
	r := &m.Reply
	w := welcomeRequest{Code: r.Handle.Code}
	if r.Text != "" {
		w.Text = &sendText{r.Text}
	}
	for i := range r.Attachments {
		a := &r.Attachments[i]
		var file welcomeFile
		if f := a.File; f != nil {
			id, refusal := c.fileID(ctx, m.Account, attachedAs(a.Type), f)
			if refusal != nil {
				return nil, refusal
			}
			file = welcomeFile{ID: id, URL: f.URL}
		}
		switch a.Type {
		case gateway.AttachImage:
			w.Attachments = append(w.Attachments, welcomeAttachment{Type: "image", Image: &file})
		case gateway.AttachVideo:
			w.Attachments = append(w.Attachments, welcomeAttachment{Type: "video", Video: &file})
		case gateway.AttachFile:
			w.Attachments = append(w.Attachments, welcomeAttachment{Type: "file", File: &file})
		case gateway.AttachPage:
			w.Attachments = append(w.Attachments, welcomeAttachment{Type: "link", Link: &welcomeLink{a.Page.Title, a.Page.Picture, a.Page.Description, a.Page.URL}})
		case gateway.AttachMini:
			w.Attachments = append(w.Attachments, welcomeAttachment{Type: "miniprogram",
				Mini: &welcomeMini{Title: a.Mini.Title, Cover: file.ID, AppID: a.Mini.AppID, Page: a.Mini.Page}})
		}
	}
	return encoded("externalcontact/send_welcome_msg", "", &w)
}
