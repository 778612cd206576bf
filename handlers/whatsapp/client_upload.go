package whatsapp

import (
	"context"
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Uploader brings a file of our store to the platform, so that it can be sent
// by the platform's id. The client reads it; whoever keeps the files provides
// it. It must be safe for concurrent use.
type Uploader interface {
	// Upload returns the id under which the platform has the file, for sends of
	// this account only. account is our name of it, file the name of the bytes in
	// our store (gateway.Media.File), mime their type. It is called for each
	// attempt of a message, so ids are best remembered while they live (30 days),
	// and what is being uploaded when ctx ends best goes on: the next attempt
	// asks again.
	//
	// Errors: gateway.ErrNotFound when the store has no such file,
	// gateway.ErrConflict when the platform will never take it (type, size);
	// both reject the message. Anything else is tried again later, since an
	// upload by itself sends nothing. No error holds a secret or a file's name.
	Upload(ctx context.Context, account, file, mime string) (mediaID string, err error)
	// Forget is told that the platform did not take the id that Upload returned:
	// the next Upload brings the file there again.
	Forget(ctx context.Context, account, file, mime string)
}

// uploaded returns the platform's id of a file of ours, or the outcome of a
// message whose file did not get there.
func (c *Client) uploaded(ctx context.Context, m *gateway.Message) (mediaID string, refusal *gateway.Outcome) {
	f := m.Reply.File
	if c.config.Uploader == nil {
		return "", rejected("no_media_store", "the gateway keeps no files to send; use a URL or the platform's id")
	}
	id, err := c.config.Uploader.Upload(ctx, m.Account, f.File, f.MIME)
	switch {
	case err == nil && id != "":
		return id, nil
	case errors.Is(err, gateway.ErrNotFound):
		return "", rejected("no_file", "the store has no file of this name")
	case errors.Is(err, gateway.ErrConflict):
		return "", rejected("file_refused", "the platform does not take this file: its type or size")
	}
	// Without the error's own words: they come from elsewhere.
	return "", &gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "upload", Detail: "the file could not be uploaded yet"}
}

func rejected(code, detail string) *gateway.Outcome {
	return &gateway.Outcome{Kind: gateway.OutcomeRejected, Code: code, Detail: detail}
}

// staleUpload forgets the id of an upload when the platform's answer may be about
// it, and lets the message go once more with a new one: it is certainly not sent.
func (c *Client) staleUpload(ctx context.Context, m *gateway.Message, o gateway.Outcome) gateway.Outcome {
	f := m.Reply.File
	if c.config.Uploader == nil || f == nil || f.File == "" || o.Code != "100" && o.Code != "131009" && o.Code != "131053" {
		return o
	}
	c.config.Uploader.Forget(ctx, m.Account, f.File, f.MIME)
	if o.Kind == gateway.OutcomeRejected && m.Tries() < 2 {
		o.Kind, o.Scope, o.After = gateway.OutcomeRetry, gateway.ScopePair, time.Second
	}
	return o
}
