package wecom

import (
	"context"
	"errors"
	"mime"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Uploader brings a file of our store to WeCom, so that it can be sent by WeCom's
// id. The client reads it; whoever keeps the files provides it. It must be safe
// for concurrent use.
type Uploader interface {
	// Upload returns the id under which WeCom has the file, for sends of this
	// account. account is our name of it, file the name of the bytes in our store
	// (gateway.Media.File), mime their type with the two parameters that Uploads
	// reads: the same file is another upload as another kind or under another
	// name. It is called for each attempt of a message, so ids are best
	// remembered while they live (UploadLife), and what is being uploaded when ctx
	// ends best goes on: the next attempt asks again.
	//
	// Errors: gateway.ErrNotFound when the store has no such file,
	// gateway.ErrConflict when WeCom will never take it (type, size); both reject
	// the message. Anything else is tried again later, since an upload by itself
	// sends nothing. No error holds a secret or a file's name.
	Upload(ctx context.Context, account, file, mime string) (mediaID string, err error)
	// Forget is told that WeCom did not take the id that Upload returned: the
	// next Upload brings the file there again.
	Forget(ctx context.Context, account, file, mime string)
}

// Parameters of the type that an Uploader is given: WeCom's kind of media, and the
// name shown to the member.
const (
	paramKind = "kind"
	paramName = "name"
)

// uploadType is the type of a file, sent as such a message, with what its upload must know.
func uploadType(as gateway.ReplyType, f *gateway.FileReply) string {
	typ, _, err := mime.ParseMediaType(f.MIME)
	if err != nil {
		typ = "application/octet-stream"
	}
	params := map[string]string{paramKind: "file"}
	switch as {
	case gateway.ReplyImage, gateway.ReplyVoice, gateway.ReplyVideo:
		params[paramKind] = string(as)
	case gateway.ReplyLink: // its picture
		params[paramKind] = string(gateway.ReplyImage)
	default:
		if f.Name != "" {
			params[paramName] = f.Name
		}
	}
	return mime.FormatMediaType(typ, params)
}

// fileID returns WeCom's id of a file, sent as such a message: a file of ours is
// uploaded. Or it returns the outcome of a message whose file did not get there.
func (c *Client) fileID(ctx context.Context, account string, as gateway.ReplyType, f *gateway.FileReply) (mediaID string, refusal *gateway.Outcome) {
	if f.File == "" {
		return f.ID, nil
	}
	if c.config.Uploader == nil {
		return "", rejected("no_media_store", "the gateway keeps no files to send; use WeCom's id")
	}
	id, err := c.config.Uploader.Upload(ctx, account, f.File, uploadType(as, f))
	switch {
	case err == nil && id != "":
		return id, nil
	case errors.Is(err, gateway.ErrNotFound):
		return "", rejected("no_file", "the store has no file of this name")
	case errors.Is(err, gateway.ErrConflict):
		return "", rejected("file_refused", "WeCom does not take this file: its type or size")
	}
	// Without the error's own words: they come from elsewhere.
	return "", &gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "upload", Detail: "the file could not be uploaded yet"}
}

// codeNoMedia is WeCom's word for a media id that it does not know, or not any
// more.
const codeNoMedia = "40007"

// staleUpload forgets the id of an upload that WeCom does not know any more, and
// lets the message go once more with a new one: it is certainly not sent.
func (c *Client) staleUpload(ctx context.Context, m *gateway.Message, o gateway.Outcome) gateway.Outcome {
	if c.config.Uploader == nil || o.Code != codeNoMedia {
		return o
	}
	ours := false
	forget := func(as gateway.ReplyType, f *gateway.FileReply) {
		if f != nil && f.File != "" {
			ours = true
			c.config.Uploader.Forget(ctx, m.Account, f.File, uploadType(as, f))
		}
	}
	forget(m.Reply.Type, m.Reply.File)
	for i := range m.Reply.Attachments {
		forget(attachedAs(m.Reply.Attachments[i].Type), m.Reply.Attachments[i].File)
	}
	if !ours {
		return o
	}
	if o.Kind == gateway.OutcomeRejected && m.Tries() < 2 {
		o.Kind, o.Scope, o.After = gateway.OutcomeRetry, gateway.ScopePair, time.Second
	}
	return o
}
