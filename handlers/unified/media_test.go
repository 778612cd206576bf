package unified_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/unified"
	"github.com/causewayhq/causeway/handlers/unified/unifiedtest"
)

const fileToken = "file-token-made-up"

// filer is a fake vendor with files, and what gets them from there.
func filer(t *testing.T, token string) (*unifiedtest.Sandbox, *unified.Media) {
	t.Helper()
	c := file(t)
	s, err := unifiedtest.New(unifiedtest.Options{Endpoint: c.Endpoints[0].Unified(), MediaHeader: unified.Header{Name: "X-Token", Value: fileToken}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, getter(t, s.URL(), token)
}

func getter(t *testing.T, base, token string) *unified.Media {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	route := unified.MediaRoute(base, []string{u.Host, "files.vendor.example"})
	f := egress.NewFetcher(egress.FetchOptions{Route: route, Token: token, TokenHeader: "X-Token", TokenHosts: unified.MediaTokenHosts(route), Timeout: 10 * time.Second})
	t.Cleanup(f.Close)
	return unified.NewMedia(f, token != "", time.Now)
}

// fetch says in short how a file came: its type and bytes, or the error.
func fetch(t *testing.T, m *unified.Media, media gateway.Media) string {
	t.Helper()
	var b bytes.Buffer
	told, err := m.Fetch(t.Context(), &gateway.MediaRow{Media: media}, 100, &b)
	var e *gateway.MediaError
	switch {
	case err == nil:
		return told.MIME + " " + b.String()
	case !errors.As(err, &e):
		return err.Error()
	}
	for _, hidden := range []string{"://", "127.0.0.1", fileToken} {
		if strings.Contains(err.Error(), hidden) {
			t.Errorf("the error holds %q", hidden)
		}
	}
	out := e.Code + " " + e.Reason
	if e.Final {
		out += " final"
	}
	if e.Account {
		out += " account"
	}
	return out
}

// A file comes with its type; what is none is told by what another try may mend.
func TestMedia(t *testing.T) {
	s, m := filer(t, fileToken)
	for _, c := range []struct {
		media      gateway.Media
		mime, body string
		want       string
	}{
		{gateway.Media{}, "image/png", "pixel", "image/png pixel"},
		{gateway.Media{}, "application/octet-stream", "%PDF-1.4", "application/pdf %PDF-1.4"},
		{gateway.Media{}, "", "GIF89a", "image/gif GIF89a"},
		{gateway.Media{MIME: "audio/amr"}, "application/octet-stream", "#!AMR", "audio/amr #!AMR"},
		{gateway.Media{}, "application/json; charset=utf-8", `{"code":401}`, "page refused"},
		{gateway.Media{Filename: "a.JSON"}, "application/json", `{"code":401}`, `application/json {"code":401}`},
		{gateway.Media{}, "text/html", "<html>sign in</html>", "page refused"},
		{gateway.Media{}, "", "<html>sign in</html>", "page refused"},
		{gateway.Media{MIME: "text/html; charset=utf-8"}, "text/html", "<html>", "text/html; charset=utf-8 <html>"},
		{gateway.Media{}, "image/png", strings.Repeat("x", 101), "too_large too_large final"},
	} {
		c.media.URL = s.AddFile(c.mime, []byte(c.body))
		if got := fetch(t, m, c.media); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.mime, c.body, got, c.want)
		}
	}
	gone := s.AddFile("image/png", []byte("x"))
	s.RemoveFile(gone)
	for name, want := range map[string]string{
		gone: "http_404 gone", "": "no_address gone final",
		"https://elsewhere.example/x": "forbidden forbidden_address final", "http://files.vendor.example/x": "forbidden forbidden_address final",
		"http://169.254.169.254/latest": "forbidden forbidden_address final", "file:///etc/passwd": "forbidden forbidden_address final",
	} {
		if got := fetch(t, m, gateway.Media{URL: name}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	known := s.AddFile("image/png", []byte("x"))
	for want, f := range map[string]sandbox.Fault{
		"http_503 ": {Status: 503}, "http_429  account": {Status: 429}, "http_403 refused": {Status: 403},
	} {
		f.Op, f.Next = sandbox.OpMedia, 1
		if _, err := s.Faults().Add(f); err != nil {
			t.Fatal(err)
		}
		if got := fetch(t, m, gateway.Media{URL: known}); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	if got := fetch(t, getter(t, s.URL(), "wrong"), gateway.Media{URL: known}); got != "http_401  account" {
		t.Errorf("a wrong credential: %s", got)
	}
	if got := fetch(t, getter(t, s.URL(), ""), gateway.Media{URL: known}); got != "http_401 refused" {
		t.Errorf("no credential: %s", got)
	}
}

// Wherever a vendor's host leads, nobody else is called, and nobody else is told who
// we are.
func TestMediaElsewhere(t *testing.T) {
	asked := ""
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.Host }))
	defer other.Close()
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }))
	defer vendor.Close()
	if got := fetch(t, getter(t, vendor.URL, fileToken), gateway.Media{URL: vendor.URL}); got != "forbidden forbidden_address final" || asked != "" {
		t.Errorf("%s, asked %s", got, asked)
	}
}

// Which hosts an account may name, what they make, and who is told the credential.
func TestMediaHosts(t *testing.T) {
	const base = "https://10.0.0.7:8080/api"
	for host, want := range map[string]bool{
		"files.vendor.example": true, "*.vendor.example": true, "10.0.0.7:8080": true,
		"": false, "*": false, "*.example": false, "*.": false, "Files.vendor.example": false, "files.vendor.example:8443": false,
		"https://files.vendor.example": false, "10.0.0.8": false, "localhost": false, "a..b.example": false, "files.*.example": false, "10.0.0.7": false,
	} {
		if got := unified.ValidMediaHost(base, host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
	r := unified.MediaRoute(base, []string{"files.vendor.example", "10.0.0.7:8080", "*.cdn.example"})
	if d := cmp.Diff([]string{"files.vendor.example", "*.cdn.example"}, r.Hosts); d != "" || r.Base.Host != "10.0.0.7:8080" {
		t.Errorf("%s %v", d, r.Base)
	}
	if d := cmp.Diff([]string{"files.vendor.example"}, unified.MediaTokenHosts(r)); d != "" {
		t.Error(d)
	}
	if r := unified.MediaRoute(base, []string{"files.vendor.example"}); r.Base != nil {
		t.Error("api_base may be called, and nobody named it")
	}
}
