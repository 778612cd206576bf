package gateway

import "fmt"

// AttachmentType is what a part of a welcome is.
type AttachmentType string

// The types of attachments.
const (
	AttachImage AttachmentType = "image"
	AttachVideo AttachmentType = "video"
	AttachFile  AttachmentType = "file"
	AttachPage  AttachmentType = "page" // a page that is opened by a card
	AttachMini  AttachmentType = "mini" // a mini program of WeChat
)

// Attachment goes along with the text of a welcome. Which fields count is said by
// Type; the others must be empty.
type Attachment struct {
	Type AttachmentType `json:"type"`
	// File of image, video and file, and the cover of mini.
	File *FileReply   `json:"file,omitempty"`
	Page *Article     `json:"page,omitempty"`
	Mini *MiniProgram `json:"mini,omitempty"`
}

// MiniProgram is a mini program of WeChat that is opened by a card.
type MiniProgram struct {
	Title string `json:"title"`
	AppID string `json:"app_id"`
	Page  string `json:"page"` // its path
}

// Limits of a welcome. Source: WeCom, "send a welcome" (92137).
const (
	MaxAttachments = 9
	MaxMiniChars   = 64 // title of a mini program
)

// handle checks the code by which a reply is sent.
func (c *checker) handle(r *Reply) {
	if r.Handle == nil {
		if r.Type == ReplyWelcome {
			c.fail("handle", "must be the handle of the event")
		}
		return
	}
	c.word("handle.kind", r.Handle.Kind, maxNameChars)
	c.word("handle.code", r.Handle.Code, MaxCardCodeChars)
}

func (c *checker) welcome(r *Reply) {
	if r.Text == "" && len(r.Attachments) == 0 {
		c.fail("text", "must be set where there are no attachments")
	}
	c.chars("text", r.Text, 0, MaxReplyBytes)
	if len(r.Attachments) > MaxAttachments {
		c.fail("attachments", fmt.Sprintf("must be at most %d", MaxAttachments))
	}
	for i := range r.Attachments {
		c.attachment(fmt.Sprintf("attachments[%d].", i), &r.Attachments[i])
	}
}

func (c *checker) attachment(at string, a *Attachment) {
	needs := map[AttachmentType][3]bool{ // file, page, mini
		AttachImage: {true}, AttachVideo: {true}, AttachFile: {true}, AttachPage: {false, true}, AttachMini: {true, false, true},
	}
	want, known := needs[a.Type]
	if !known {
		c.fail(at+"type", "must be image, video, file, page or mini")
		return
	}
	for i, has := range [3]bool{a.File != nil, a.Page != nil, a.Mini != nil} {
		if name := [3]string{"file", "page", "mini"}[i]; has != want[i] {
			c.fail(at+name, map[bool]string{true: "must be set", false: "must be empty"}[want[i]]+" in an attachment of type "+string(a.Type))
			return
		}
	}
	if a.File != nil {
		c.oneFile(at+"file", a.File, a.Type == AttachFile)
	}
	if a.Page != nil {
		c.article(at+"page.", a.Page)
	}
	if a.Mini != nil {
		c.chars(at+"mini.title", a.Mini.Title, 1, MaxMiniChars)
		c.word(at+"mini.app_id", a.Mini.AppID, MaxIDChars)
		c.chars(at+"mini.page", a.Mini.Page, 1, MaxURLChars)
	}
}
