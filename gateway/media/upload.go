package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// Uploads remembers the ids that platforms gave to files of ours.
type Uploads interface {
	Uploaded(ctx context.Context, account, file, mime string, now time.Time) (id string, err error)
	SetUploaded(ctx context.Context, account, file, mime, id string, until time.Time) error
	ForgetUploaded(ctx context.Context, account, file, mime string) error
}

// Target takes files for one account.
type Target interface {
	Upload(ctx context.Context, file io.Reader, size int64, mime string) (id string, err error)
}

// keeper is a Target that says how long its ids may be used.
type keeper interface{ Keeps() time.Duration }

// UploadOptions of an Uploader. All but the numbers are needed.
type UploadOptions struct {
	Uploads Uploads
	// Open returns the bytes of a file and their number; gateway.ErrNotFound.
	Open func(file string) (io.ReadCloser, int64, error)
	// Target returns that of an account, nil where it is not configured.
	Target func(account string) Target
	// Keep is how long an id is used [29 days: Meta keeps uploads for 30] where the
	// target does not say it by Keeps.
	Keep time.Duration
	// Parallel bounds the uploads at one moment [4]; Timeout one upload [5 min].
	Parallel int
	Timeout  time.Duration
	Now      func() time.Time
	Log      *zap.Logger
}

// Uploader brings files of ours to platforms. Its Upload waits for Run.
type Uploader struct {
	o     UploadOptions
	queue chan *upload

	mu     sync.Mutex
	flying map[uploadKey]*upload
}

type uploadKey struct{ account, file, mime string }

// upload is one upload under way; all who want it wait for done.
type upload struct {
	uploadKey
	done chan struct{}
	id   string
	err  error
}

// NewUploader checks nothing and starts nothing.
func NewUploader(o UploadOptions) *Uploader {
	if o.Keep <= 0 {
		o.Keep = 29 * 24 * time.Hour
	}
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Minute
	}
	return &Uploader{o: o, queue: make(chan *upload, 1024), flying: map[uploadKey]*upload{}}
}

// Upload returns the platform's id of a file of ours, from an earlier upload where
// that lives. Callers who want the same share one upload; one that ctx makes
// leave lets it go on, for the next try of the message.
//
// Errors: gateway.ErrNotFound when there is no such file, gateway.ErrConflict
// when the platform will never take it, gateway.ErrUnavailable otherwise. None
// holds a name.
func (u *Uploader) Upload(ctx context.Context, account, file, mime string) (id string, err error) {
	mime = plainType(mime, maxUploadType)
	if !gateway.ValidFile(file) {
		return "", fmt.Errorf("upload: %w", gateway.ErrNotFound)
	}
	id, err = u.o.Uploads.Uploaded(ctx, account, file, mime, u.o.Now())
	if err != nil || id != "" {
		return id, err
	}
	key := uploadKey{account, file, mime}
	u.mu.Lock()
	up := u.flying[key]
	if up == nil {
		up = &upload{uploadKey: key, done: make(chan struct{})}
		select {
		case u.queue <- up:
			u.flying[key] = up
		default:
			u.mu.Unlock()
			return "", fmt.Errorf("upload: too many wait: %w", gateway.ErrUnavailable)
		}
	}
	u.mu.Unlock()
	select {
	case <-up.done:
		return up.id, up.err
	case <-ctx.Done():
		return "", fmt.Errorf("upload: it goes on: %w", gateway.ErrUnavailable)
	}
}

// Forget is told that the platform did not take the id any more: the next Upload
// brings the file there again. Two messages that find out one after the other
// cost two uploads.
func (u *Uploader) Forget(ctx context.Context, account, file, mime string) {
	if err := u.o.Uploads.ForgetUploaded(ctx, account, file, plainType(mime, maxUploadType)); err != nil && ctx.Err() == nil {
		u.o.Log.Warn("media.failed", zap.String("account", account), zap.Error(err))
	}
}

// Run uploads until ctx ends.
func (u *Uploader) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for range u.o.Parallel {
		running.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case up := <-u.queue:
					u.one(ctx, up)
				}
			}
		})
	}
	running.Wait()
	return ctx.Err()
}

func (u *Uploader) one(ctx context.Context, up *upload) {
	start := u.o.Now()
	id, code, err := u.send(ctx, up)
	if err == nil {
		// Before anybody learns of it, so that two who come one after the other
		// upload once. Should it fail, the file is uploaded once more.
		keep := u.o.Keep
		if k, ok := u.o.Target(up.account).(keeper); ok {
			keep = k.Keeps()
		}
		if serr := u.o.Uploads.SetUploaded(ctx, up.account, up.file, up.mime, id, u.o.Now().Add(keep)); serr != nil {
			u.o.Log.Warn("media.failed", zap.String("account", up.account), zap.Error(serr))
		}
	}
	u.mu.Lock()
	delete(u.flying, up.uploadKey)
	u.mu.Unlock()
	up.id, up.err = id, err
	close(up.done)
	u.o.Log.Info("media.uploaded", zap.String("account", up.account), zap.Bool("ok", err == nil), zap.String("code", code),
		zap.Duration("took", u.o.Now().Sub(start)))
}

// send makes the upload and sorts its failure.
func (u *Uploader) send(ctx context.Context, up *upload) (id, code string, err error) {
	target := u.o.Target(up.account)
	if target == nil {
		return "", "no_account", fmt.Errorf("upload: %w", gateway.ErrUnavailable)
	}
	f, size, err := u.o.Open(up.file)
	if err != nil {
		return "", "no_file", fmt.Errorf("upload: %w", err)
	}
	defer func() { _ = f.Close() }()
	ctx, cancel := context.WithTimeout(ctx, u.o.Timeout)
	defer cancel()
	id, err = target.Upload(ctx, f, size, up.mime)
	var m *gateway.MediaError
	switch {
	case err == nil:
		return id, "", nil
	case errors.As(err, &m) && m.Final:
		return "", m.Code, fmt.Errorf("upload: %w", gateway.ErrConflict)
	case errors.As(err, &m):
		return "", m.Code, fmt.Errorf("upload: %w", gateway.ErrUnavailable)
	}
	return "", "other", fmt.Errorf("upload: %w", gateway.ErrUnavailable)
}
