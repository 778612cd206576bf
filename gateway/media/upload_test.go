package media

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// post is a platform that takes files, and the memory of its ids.
type post struct {
	mu     sync.Mutex
	ids    map[string]string
	until  map[string]time.Time
	calls  int
	answer func() (string, error)
}

func (p *post) key(parts ...string) string { return strings.Join(parts, "|") }

func (p *post) Uploaded(_ context.Context, account, file, mime string, now time.Time) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.key(account, file, mime)
	if !p.until[k].After(now) {
		return "", nil
	}
	return p.ids[k], nil
}

func (p *post) SetUploaded(_ context.Context, account, file, mime, id string, until time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.key(account, file, mime)
	p.ids[k], p.until[k] = id, until
	return nil
}

func (p *post) ForgetUploaded(_ context.Context, account, file, mime string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ids, p.key(account, file, mime))
	return nil
}

func (p *post) Upload(_ context.Context, f io.Reader, size int64, _ string) (string, error) {
	b, err := io.ReadAll(f)
	if err != nil || int64(len(b)) != size {
		return "", errors.New("not the file")
	}
	time.Sleep(time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	return p.answer()
}

// uploading runs f with an uploader in virtual time.
func uploading(t *testing.T, f func(t *testing.T, u *Uploader, p *post)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &post{ids: map[string]string{}, until: map[string]time.Time{}, answer: func() (string, error) { return "id-1", nil }}
		u := NewUploader(UploadOptions{Uploads: p, Now: time.Now, Log: zap.NewNop(),
			Open: func(file string) (io.ReadCloser, int64, error) {
				if file != picture {
					return nil, 0, gateway.ErrNotFound
				}
				return io.NopCloser(strings.NewReader("bytes")), 5, nil
			},
			Target: func(account string) Target {
				if account == "nobody" {
					return nil
				}
				return p
			}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = u.Run(ctx); close(done) }()
		f(t, u, p)
		cancel()
		<-done
	})
}

const picture = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// Many who want the same share one upload; its id serves for 29 days.
func TestUploadOnce(t *testing.T) {
	uploading(t, func(t *testing.T, u *Uploader, p *post) {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if id, err := u.Upload(t.Context(), "shop", picture, "image/png"); id != "id-1" || err != nil {
					t.Errorf("%q %v", id, err)
				}
			})
		}
		wg.Wait()
		time.Sleep(29*24*time.Hour - time.Minute)
		if _, err := u.Upload(t.Context(), "shop", picture, "IMAGE/png"); err != nil || p.calls != 1 {
			t.Errorf("%d uploads, %v", p.calls, err)
		}
		time.Sleep(time.Minute)
		p.answer = func() (string, error) { return "id-2", nil }
		if id, _ := u.Upload(t.Context(), "shop", picture, "image/png"); id != "id-2" || p.calls != 2 {
			t.Errorf("after 29 days: %q, %d uploads", id, p.calls)
		}
		if id, _ := u.Upload(t.Context(), "other", picture, "image/png"); id != "id-2" || p.calls != 3 {
			t.Errorf("another account: %q, %d uploads", id, p.calls)
		}
	})
}

// An id the platform does not take any more is forgotten.
func TestUploadForgotten(t *testing.T) {
	uploading(t, func(t *testing.T, u *Uploader, p *post) {
		get := func() string {
			id, err := u.Upload(t.Context(), "shop", picture, "image/png")
			if err != nil {
				t.Error(err)
			}
			return id
		}
		get()
		p.answer = func() (string, error) { return "id-2", nil }
		u.Forget(t.Context(), "shop", picture, "image/PNG")
		if id := get(); id != "id-2" || p.calls != 2 {
			t.Errorf("%q, %d uploads", id, p.calls)
		}
	})
}

// A caller who leaves lets the upload go on for the next try.
func TestUploadGoesOn(t *testing.T) {
	uploading(t, func(t *testing.T, u *Uploader, p *post) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := u.Upload(ctx, "shop", picture, "image/png"); !errors.Is(err, gateway.ErrUnavailable) {
			t.Errorf("a caller who left: %v", err)
		}
		time.Sleep(2 * time.Second)
		if id, err := u.Upload(t.Context(), "shop", picture, "image/png"); id != "id-1" || err != nil || p.calls != 1 {
			t.Errorf("%q %v, %d uploads", id, err, p.calls)
		}
	})
}

func TestUploadFailures(t *testing.T) {
	uploading(t, func(t *testing.T, u *Uploader, p *post) {
		for _, c := range []struct {
			name, account, file string
			answer              error
			want                error
		}{
			{"no such file", "shop", strings.Repeat("b", 64), nil, gateway.ErrNotFound},
			{"no name of a file", "shop", "../x", nil, gateway.ErrNotFound},
			{"no account", "nobody", picture, nil, gateway.ErrUnavailable},
			{"never taken", "shop", picture, &gateway.MediaError{Reason: gateway.MediaRefused, Final: true, Code: "131053"}, gateway.ErrConflict},
			{"a dead token", "shop", picture, &gateway.MediaError{Account: true, Code: "190"}, gateway.ErrUnavailable},
			{"a fault", "shop", picture, &gateway.MediaError{Code: "timeout"}, gateway.ErrUnavailable},
		} {
			p.answer = func() (string, error) { return "", c.answer }
			if id, err := u.Upload(t.Context(), c.account, c.file, "image/png"); id != "" || !errors.Is(err, c.want) {
				t.Errorf("%s: %q %v", c.name, id, err)
			}
		}
	})
}

// quick is a platform that keeps ids for two hours and tells it.
type quick struct{ *post }

func (quick) Keeps() time.Duration { return 2 * time.Hour }

// A target says how long its ids live, and a name in the type, however long, makes
// another upload of the same file.
func TestUploadOfAnotherLifeAndName(t *testing.T) {
	uploading(t, func(t *testing.T, u *Uploader, p *post) {
		u.o.Target = func(string) Target { return quick{p} }
		long := "application/pdf; name*=utf-8''" + strings.Repeat("%E6%8A%A5", 240)
		up := func(kind string, calls int) {
			t.Helper()
			if id, err := u.Upload(t.Context(), "corp", picture, kind); err != nil || id != "id-1" || p.calls != calls {
				t.Errorf("%q %v after %d calls, want %d", id, err, p.calls, calls)
			}
		}
		up(long, 1)
		up(long, 1)
		up("application/pdf; name=a.pdf", 2)
		up("application/pdf", 3)
		time.Sleep(2*time.Hour - 10*time.Second)
		up(long, 3)
		time.Sleep(10 * time.Second)
		up(long, 4)
		for k := range p.ids {
			if strings.Contains(k, Bytes) {
				t.Errorf("a type was lost: %.60s", k)
			}
		}
	})
}
