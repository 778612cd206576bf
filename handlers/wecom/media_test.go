package wecom_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

func newMedia(t *testing.T, base string, now func() time.Time) *wecom.MediaClient {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	f := egress.NewFetcher(egress.FetchOptions{Route: egress.Route{Hosts: wecom.MediaHosts(), Base: u}, IsFile: wecom.IsMedia,
		Idle: 300 * time.Millisecond, Timeout: 5 * time.Second})
	t.Cleanup(f.Close)
	return newSender(t, base, egress.Options{}, now).Media(f)
}

func rowOf(id string) *gateway.MediaRow { return &gateway.MediaRow{Media: gateway.Media{ID: id}} }

// wantMedia checks an error and that it tells nothing that is nobody's business.
func wantMedia(t *testing.T, what string, err error, reason string, final, account bool) {
	t.Helper()
	var m *gateway.MediaError
	if !errors.As(err, &m) {
		t.Errorf("%s: %v", what, err)
		return
	}
	if m.Reason != reason || m.Final != final || m.Account != account || m.Code == "" {
		t.Errorf("%s: %+v, want reason %q final %v account %v", what, m, reason, final, account)
	}
	for _, h := range []string{"://", secret, "sandbox-", "access_token", "media-"} {
		if strings.Contains(err.Error(), h) {
			t.Errorf("%s: the error holds %q: %v", what, h, err)
		}
	}
}

// Each kind of file comes with its type and, where a person gave it one, its name.
func TestMediaComes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	c := newMedia(t, s.URL(), nil)
	for _, x := range []struct{ kind, name, mime, format, body, asMIME, asName string }{
		{"image", "", "image/png", "", "\x89PNG picture", "image/png", ""},
		{"voice", "", "application/octet-stream", "amr", "#!AMR", "audio/amr", ""},
		{"video", "", "video/mp4", "", "....ftyp", "video/mp4", ""},
		{"file", "报价 2026.pdf", "application/pdf", "", "%PDF", "application/pdf", "报价 2026.pdf"},
		{"file", "a.json", "application/json", "", `{"errcode":40007,"errmsg":"a file all the same"}`, "application/json", "a.json"},
		{"file", "page.html", "text/html", "", "<html>a file too</html>", "text/html", "page.html"},
		{"file", `C:\..\etc\passwd` + "\x00\u202e", "text/plain", "", "x", "text/plain", "passwd"},
		{"file", "../../..", "text/plain", "", "x", "text/plain", ""},
		{"file", strings.Repeat("é", 200), "text/plain", "", "x", "text/plain", strings.Repeat("é", 127)},
		{"file", "empty.txt", "text/plain", "", "", "text/plain", "empty.txt"},
	} {
		id := s.AddFile(x.kind, x.name, x.mime, []byte(x.body))
		var b bytes.Buffer
		row := rowOf(id)
		row.Media.Format = x.format
		told, err := c.Fetch(t.Context(), row, 1<<20, &b)
		if err != nil || b.String() != x.body || told.MIME != x.asMIME || told.Filename != x.asName {
			t.Errorf("%s %s: %v, %q, %+v", x.kind, x.name, err, b.String(), told)
		}
	}
	// WeCom makes a name of the id where nobody gave one.
	a := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "gettoken") {
			_, _ = io.WriteString(w, `{"errcode":0,"access_token":"t","expires_in":7200}`)
			return
		}
		w.Header().Set("Content-Disposition", `attachment; filename="`+r.URL.Query().Get("media_id")+`.jpg"`)
		_, _ = io.WriteString(w, "bytes")
	}))
	t.Cleanup(a.Close)
	if told, err := newMedia(t, a.URL, nil).Fetch(t.Context(), rowOf("1G6nrL-mr"), 10, io.Discard); err != nil || told.Filename != "" {
		t.Errorf("%v %+v", err, told)
	}
}

// A token that ended is replaced once; an id ends after three days.
func TestMediaTokenAndLife(t *testing.T) {
	t.Parallel()
	now := &movable{t: time.Now()}
	s := startSandbox(t, wecomtest.Options{Now: now.now})
	c := newMedia(t, s.URL(), now.now)
	id := s.AddFile("image", "", "image/png", []byte("picture"))
	fetch := func() error {
		_, err := c.Fetch(t.Context(), rowOf(id), 100, io.Discard)
		return err
	}
	for _, end := range []func(){func() {}, s.RevokeToken, s.ExpireToken} {
		end()
		if err := fetch(); err != nil {
			t.Error(err)
		}
	}
	if n := s.TokenCalls(); n != 3 {
		t.Errorf("%d tokens fetched, want 3", n)
	}
	now.move(wecom.MediaLife + time.Second)
	wantMedia(t, "after three days", fetch(), gateway.MediaGone, false, false)
}

// Every errcode and every fault is one of: passing, the account's, a reason that
// may mend, a reason for ever. The token is asked for twice at most.
func TestMediaFaults(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	id := s.AddFile("file", "x", "text/plain", bytes.Repeat([]byte("x"), 200<<10))
	for _, x := range []struct {
		name           string
		fault          wecomtest.MediaFault
		reason         string
		final, account bool
	}{
		{"invalid media id", wecomtest.MediaFault{Code: 40007}, gateway.MediaGone, false, false},
		{"busy", wecomtest.MediaFault{Code: -1}, "", false, false},
		{"token refused again", wecomtest.MediaFault{Code: 42001}, "", false, true},
		{"secret", wecomtest.MediaFault{Code: 40001}, "", false, true},
		{"frequency", wecomtest.MediaFault{Code: 45009}, "", false, true},
		{"address", wecomtest.MediaFault{Code: 60020}, "", false, true},
		{"API closed", wecomtest.MediaFault{Code: 48002}, "", false, true},
		{"parameter", wecomtest.MediaFault{Code: 40058}, gateway.MediaRefused, false, false},
		{"unknown code", wecomtest.MediaFault{Code: 777777}, gateway.MediaRefused, false, false},
		{"a page", wecomtest.MediaFault{Page: true}, "", false, false},
		{"slow", wecomtest.MediaFault{Slow: true}, "", false, false},
		{"cut", wecomtest.MediaFault{Cut: true}, "", false, false},
		{"longer than may be", wecomtest.MediaFault{Longer: 2 << 20}, gateway.MediaTooLarge, true, false},
		{"endless", wecomtest.MediaFault{Longer: -1}, gateway.MediaTooLarge, true, false},
		{"to another host", wecomtest.MediaFault{Redirect: "https://evil.test/x"}, gateway.MediaForbidden, true, false},
		{"to this machine", wecomtest.MediaFault{Redirect: "http://127.0.0.1:1/x"}, gateway.MediaForbidden, true, false},
		{"to the cloud's metadata", wecomtest.MediaFault{Redirect: "http://169.254.169.254/latest"}, gateway.MediaForbidden, true, false},
		{"in circles", wecomtest.MediaFault{Redirect: s.URL() + "/cgi-bin/media/get"}, gateway.MediaForbidden, true, false},
	} {
		s.ClearMediaFaults()
		if err := s.FailMedia(x.fault); err != nil {
			t.Fatal(err)
		}
		before := s.TokenCalls()
		var b bytes.Buffer
		_, err := newMedia(t, s.URL(), nil).Fetch(t.Context(), rowOf(id), 1<<20, &b)
		wantMedia(t, x.name, err, x.reason, x.final, x.account)
		if n := s.TokenCalls() - before; n > 2 || b.Len() > 1<<20 {
			t.Errorf("%s: %d tokens, %d bytes written", x.name, n, b.Len())
		}
	}
	s.ClearMediaFaults()
	for _, f := range []sandbox.Fault{{Op: sandbox.OpMedia, Status: 502}, {Op: sandbox.OpMedia, Drop: sandbox.DropReset}} {
		if _, err := s.Faults().Add(f); err != nil {
			t.Fatal(err)
		}
		_, err := newMedia(t, s.URL(), nil).Fetch(t.Context(), rowOf(id), 1<<20, io.Discard)
		wantMedia(t, fmt.Sprintf("%+v", f), err, "", false, false)
		s.Faults().Remove("")
	}
	c := newMedia(t, s.URL(), nil)
	_, err := c.Fetch(t.Context(), rowOf(id), 100<<10, io.Discard)
	wantMedia(t, "declared too large", err, gateway.MediaTooLarge, true, false)
	for _, bad := range []string{"", strings.Repeat("x", 5000)} {
		_, err = c.Fetch(t.Context(), rowOf(bad), 1, io.Discard)
		wantMedia(t, "no id", err, gateway.MediaGone, true, false)
	}
	// An id is a value of the query, whatever it is made of.
	_, err = c.Fetch(t.Context(), rowOf("../x?access_token=&media_id="+id), 1, io.Discard)
	wantMedia(t, "a hostile id", err, gateway.MediaGone, false, false)
	_, err = c.Fetch(t.Context(), &gateway.MediaRow{Media: gateway.Media{URL: s.URL() + "/cgi-bin/media/get?media_id=" + id}}, 1<<20, io.Discard)
	wantMedia(t, "PicUrl alone", err, gateway.MediaGone, true, false)
	if _, err = c.Fetch(t.Context(), rowOf(id), 1<<20, broken{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the sink's failure: %v", err)
	}
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	_, err = c.Fetch(t.Context(), rowOf(id), 1<<20, io.Discard)
	wantMedia(t, "nobody there", err, "", false, false)
	_, err = newMedia(t, s.URL(), nil).Fetch(t.Context(), rowOf(id), 1<<20, io.Discard)
	wantMedia(t, "nobody there for a token", err, "", false, true)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, net.ErrClosed }
