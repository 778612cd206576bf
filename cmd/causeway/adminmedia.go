package main

import (
	"context"
	"fmt"
	"io"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/media"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

// Media lists files of events.
func (x adminAPI) Media(ctx context.Context, q store.MediaQuery) ([]gateway.MediaRow, error) {
	return x.a.ledger.Media(ctx, q)
}

// OpenFile opens a stored file.
func (x adminAPI) OpenFile(ctx context.Context, file string) (gateway.File, io.ReadSeekCloser, error) {
	f, err := x.a.ledger.File(ctx, file)
	if err != nil {
		return f, nil, err
	}
	body, size, err := x.a.files.Open(file)
	if err != nil {
		return f, nil, err
	}
	f.Size = size
	return f, body, nil
}

// MaxFile is the largest file taken, in bytes.
func (x adminAPI) MaxFile() int64 { return int64(x.a.o.Config.Media.MaxSize) }

// PutFile stores a file, so that it can be sent. The row comes after the bytes: a
// process that dies between the two leaves bytes that nobody names, and the same
// request makes the row.
func (x adminAPI) PutFile(ctx context.Context, mime string, body io.Reader, by string) (gateway.File, error) {
	kind, ok := media.Type(mime)
	if !ok {
		return gateway.File{}, &admin.InvalidError{Fields: []admin.InvalidField{{Field: "Content-Type", Detail: "must be the file's type, such as image/png"}}}
	}
	if !x.a.mediaRoom(0) {
		return gateway.File{}, fmt.Errorf("too little free space for files: %w", gateway.ErrUnavailable)
	}
	d, err := x.a.files.Create()
	if err != nil {
		return gateway.File{}, err
	}
	defer d.Drop()
	if _, err := io.Copy(d, body); err != nil {
		return gateway.File{}, err
	}
	if d.Size() == 0 {
		return gateway.File{}, &admin.InvalidError{Fields: []admin.InvalidField{{Field: "body", Detail: "is empty; it must be the file's bytes"}}}
	}
	f := gateway.File{Size: d.Size(), MIME: kind, At: x.a.o.Now()}
	if f.File, err = d.Keep(); err != nil {
		return gateway.File{}, err
	}
	if err := x.a.ledger.AddFile(ctx, f); err != nil {
		return gateway.File{}, err
	}
	return f, x.RecordAudit(ctx, gateway.AuditEntry{At: f.At, By: by, What: "put file", Target: f.File})
}
