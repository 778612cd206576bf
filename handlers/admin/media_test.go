package admin_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

const fileName = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

func (a *api) Media(_ context.Context, q store.MediaQuery) ([]gateway.MediaRow, error) {
	return []gateway.MediaRow{{N: 5, Event: "ev_" + conv, Platform: "whatsapp", Account: "shop-a", Conv: conv, ReceivedAt: at(1), Message: "wamid.LEAKMARK",
			Media: gateway.Media{ID: "LEAKMARK", URL: "https://LEAKMARK", Filename: "LEAKMARK", State: gateway.MediaReady, File: fileName, Size: 5, MIME: "image/png"}, EndedAt: at(2)}},
		a.called("media %q %q %q %d %d", q.Event, q.Account, q.State, q.Before, q.Limit)
}

type body struct{ *bytes.Reader }

func (body) Close() error { return nil }

func (a *api) OpenFile(_ context.Context, file string) (gateway.File, io.ReadSeekCloser, error) {
	return gateway.File{File: file, Size: 5, MIME: "text/html"}, body{bytes.NewReader([]byte("hello"))}, a.called("open %s", file)
}

func (a *api) PutFile(_ context.Context, mime string, r io.Reader, by string) (gateway.File, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return gateway.File{}, err
	}
	return gateway.File{File: fileName, Size: int64(len(b)), MIME: mime, At: at(3)}, a.called("put %s %d by %s", mime, len(b), by)
}

func (a *api) MaxFile() int64 { return 100 << 10 }

func TestMediaList(t *testing.T) {
	s := open(t)
	status, _, text := s.send(t, viewer, "GET /api/v1/media?event=ev_"+conv+"&account=shop-a&state=ready&before=9&limit=1", "")
	if want := fmt.Sprintf(`media "ev_%s" "shop-a" "ready" 9 1`, conv); status != 200 || s.taken() != want {
		t.Errorf("%d %s", status, text)
	}
	if strings.Contains(text, "LEAK") || !strings.Contains(text, `"next":5`) || !strings.Contains(text, fileName) {
		t.Errorf("shown: %s", text)
	}
	for _, bad := range []string{"?event=x", "?event=ev_..", "?state=lost", "?before=0", "?limit=9999", "?x=1", "?account=A"} {
		if status, _, text := s.send(t, viewer, "GET /api/v1/media"+bad, ""); status != 400 || s.taken() != "" {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
	if status, _, _ := s.send(t, "", "GET /api/v1/media", ""); status != 401 {
		t.Errorf("without a token: %d", status)
	}
}

// The bytes are to be saved, never shown, and only by our name for them.
func TestMediaBytes(t *testing.T) {
	s := open(t)
	status, h, text := s.send(t, viewer, "GET /api/v1/media/"+fileName, "")
	if status != 200 || text != "hello" {
		t.Errorf("%d %q", status, text)
	}
	for name, want := range map[string]string{"Content-Type": "text/html", "Content-Disposition": "attachment; filename=" + fileName, "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "no-store", "Accept-Ranges": "bytes"} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	s.taken()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/media/"+fileName, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+viewer)
	req.Header.Set("Range", "bytes=1-3")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusPartialContent || string(b) != "ell" {
		t.Errorf("a range: %d %q", res.StatusCode, b)
	}
	s.taken()
	for _, bad := range []string{"x", strings.ToUpper(fileName), fileName + "0", "..%2f..%2fcauseway.db", fileName[:63] + "%00"} {
		if status, _, _ := s.send(t, viewer, "GET /api/v1/media/"+bad, ""); status != 400 && status != 404 || s.taken() != "" {
			t.Errorf("%s: %d", bad, status)
		}
	}
	s.fail = gateway.ErrNotFound
	if status, _, _ := s.send(t, viewer, "GET /api/v1/media/"+fileName, ""); status != 404 {
		t.Errorf("one that is not there: %d", status)
	}
}

func TestMediaPut(t *testing.T) {
	s := open(t)
	if status, _, _ := s.send(t, viewer, "POST /api/v1/media", "x"); status != 403 || s.taken() != "" {
		t.Errorf("as a viewer: %d", status)
	}
	// Larger than other bodies of the API may be.
	status, _, text := s.send(t, operator, "POST /api/v1/media", strings.Repeat("x", 100<<10))
	if status != 201 || !strings.Contains(text, `"size":102400`) || !strings.HasPrefix(s.taken(), "put ") {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := s.send(t, operator, "POST /api/v1/media", strings.Repeat("x", 100<<10+1)); status != 413 || s.taken() != "" {
		t.Errorf("declared too large: %d %s", status, text)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/media", io.MultiReader(strings.NewReader(strings.Repeat("x", 101<<10))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+operator)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 413 || s.taken() != "" {
		t.Errorf("too large, not declared: %d", res.StatusCode)
	}
}
