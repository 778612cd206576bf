package whatsapp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

const mediaNumber = "900000000000077"

// mediaRig is a sandbox and a client of it. Its clock can be moved.
func mediaRig(t *testing.T) (*whatsapptest.Sandbox, *whatsapp.MediaClient, func(time.Duration)) {
	t.Helper()
	shift := time.Duration(0)
	now := func() time.Time { return time.Now().Add(shift) }
	s, err := whatsapptest.New(whatsapptest.Options{AppSecret: "app-secret", AccessToken: "token-1", PhoneNumberID: mediaNumber, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c := mediaClient(t, s, "token-1", now)
	return s, c, func(d time.Duration) { shift += d }
}

func mediaClient(t *testing.T, s *whatsapptest.Sandbox, token string, now func() time.Time) *whatsapp.MediaClient {
	t.Helper()
	base, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	f := egress.NewFetcher(egress.FetchOptions{Route: egress.Route{Hosts: whatsapp.MediaHosts(), Base: base}, Token: token,
		TokenHosts: whatsapp.MediaTokenHosts(), Idle: 300 * time.Millisecond, Timeout: 5 * time.Second})
	t.Cleanup(f.Close)
	out := egress.New(egress.Options{Timeout: 5 * time.Second})
	t.Cleanup(out.Close)
	return whatsapp.NewMediaClient(whatsapp.ClientConfig{APIBase: s.URL(), PhoneNumberID: mediaNumber, AccessToken: token}, f, out, now)
}

// media is a row as the decoder makes it of a callback.
func mediaRow(m whatsapptest.Media, now time.Time) *gateway.MediaRow {
	return &gateway.MediaRow{ReceivedAt: now, Media: gateway.Media{ID: m.ID, MIME: m.MIME, SHA256: m.SHA256, URL: m.URL}}
}

// A fresh URL of the callback is used, a stale or dead one leads to the id.
func TestMediaByURLAndByID(t *testing.T) {
	s, c, later := mediaRig(t)
	body := strings.Repeat("picture ", 10_000)
	m := s.AddMedia("image/jpeg", []byte(body))
	fetch := func(row *gateway.MediaRow) (string, gateway.MediaFetched, error) {
		var b bytes.Buffer
		told, err := c.Fetch(t.Context(), row, 1<<20, &b)
		return b.String(), told, err
	}
	calls := func() int { return s.MediaCalls()["resolve"] }

	m.URL = s.MediaURL(m.ID)
	got, told, err := fetch(mediaRow(m, time.Now()))
	if err != nil || got != body || len(told.SHA256) != 32 || told.MIME != "image/jpeg" || calls() != 0 {
		t.Errorf("by URL: %v, %d bytes, %+v, %d resolved", err, len(got), told, calls())
	}
	old := mediaRow(m, time.Now())
	later(6 * time.Minute) // the URL of a callback that waited
	got, told, err = fetch(old)
	if err != nil || got != body || told.Size != int64(len(body)) || calls() != 1 {
		t.Errorf("after 6 minutes: %v, %d bytes, %+v, %d resolved", err, len(got), told, calls())
	}
	// A callback that Meta tried again for hours: new to us, its URL is dead.
	if got, _, err = fetch(mediaRow(m, time.Now().Add(6*time.Minute))); err != nil || got != body || calls() != 2 {
		t.Errorf("a dead URL: %v, %d bytes", err, len(got))
	}
	m.URL = "https://169.254.169.254/latest/meta-data"
	if got, _, err = fetch(mediaRow(m, time.Now().Add(6*time.Minute))); err != nil || got != body || calls() != 3 {
		t.Errorf("a hostile URL beside an id: %v, %d bytes", err, len(got))
	}
	bare := whatsapptest.Media{ID: m.ID}
	if got, told, err = fetch(mediaRow(bare, time.Now())); err != nil || got != body || len(told.SHA256) != 32 || told.MIME != "image/jpeg" {
		t.Errorf("an id alone: %v, %d bytes, %+v", err, len(got), told)
	}
	later(8 * 24 * time.Hour)
	_, _, err = fetch(mediaRow(bare, time.Now()))
	wantMedia(t, "after 8 days", err, gateway.MediaGone, false, false)
}

func wantMedia(t *testing.T, what string, err error, reason string, final, account bool) {
	t.Helper()
	var m *gateway.MediaError
	if !errors.As(err, &m) {
		t.Errorf("%s: %v", what, err)
		return
	}
	if m.Reason != reason || m.Final != final || m.Account != account {
		t.Errorf("%s: %+v, want reason %q final %v account %v", what, m, reason, final, account)
	}
	if strings.Contains(err.Error(), "http://") || strings.Contains(err.Error(), "88000000000") {
		t.Errorf("%s: the error tells too much: %v", what, err)
	}
}

// Every fault of the platform is one of: passing, the account's, a reason that
// may mend, a reason for ever.
func TestMediaFaults(t *testing.T) {
	s, c, _ := mediaRig(t)
	m := s.AddMedia("image/jpeg", bytes.Repeat([]byte("x"), 200<<10))
	for _, x := range []struct {
		name           string
		fault          whatsapptest.MediaFault
		reason         string
		final, account bool
	}{
		{"503", whatsapptest.MediaFault{On: "download", Status: 503}, "", false, false},
		{"408", whatsapptest.MediaFault{On: "download", Status: 408}, "", false, false},
		{"404", whatsapptest.MediaFault{On: "download", Status: 404}, gateway.MediaGone, false, false},
		{"403", whatsapptest.MediaFault{On: "download", Status: 403}, gateway.MediaRefused, false, false},
		{"401", whatsapptest.MediaFault{On: "download", Status: 401}, "", false, true},
		{"429", whatsapptest.MediaFault{On: "download", Status: 429}, "", false, true},
		{"slow", whatsapptest.MediaFault{On: "download", Slow: true}, "", false, false},
		{"cut", whatsapptest.MediaFault{On: "download", Cut: true}, "", false, false},
		{"longer than may be", whatsapptest.MediaFault{On: "download", Longer: 2 << 20}, gateway.MediaTooLarge, true, false},
		{"to another host", whatsapptest.MediaFault{On: "download", Redirect: "https://evil.test/x"}, gateway.MediaForbidden, true, false},
		{"to this machine", whatsapptest.MediaFault{On: "download", Redirect: "http://127.0.0.1:1/x"}, gateway.MediaForbidden, true, false},
		{"to the cloud's metadata", whatsapptest.MediaFault{On: "download", Redirect: "http://169.254.169.254/latest"}, gateway.MediaForbidden, true, false},
		{"to an internal name", whatsapptest.MediaFault{On: "download", Redirect: "https://metadata.google.internal/"}, gateway.MediaForbidden, true, false},
		{"in circles", whatsapptest.MediaFault{On: "download", Redirect: s.MediaURL(m.ID)}, gateway.MediaForbidden, true, false},
		{"resolved to a hostile address", whatsapptest.MediaFault{On: "resolve", Address: "https://lookaside.fbsbx.com@evil.test/"}, gateway.MediaForbidden, true, false},
		{"resolve 500", whatsapptest.MediaFault{On: "resolve", Status: 500}, "", false, false},
		{"resolve 190", whatsapptest.MediaFault{On: "resolve", Code: 190}, "", false, true},
		{"resolve 4", whatsapptest.MediaFault{On: "resolve", Code: 4}, "", false, true},
		{"resolve 131000", whatsapptest.MediaFault{On: "resolve", Code: 131000}, "", false, false},
		{"resolve 100", whatsapptest.MediaFault{On: "resolve", Code: 100}, gateway.MediaGone, false, false},
		{"resolve 131052", whatsapptest.MediaFault{On: "resolve", Code: 131052}, gateway.MediaRefused, false, false},
	} {
		s.ClearMediaFaults()
		if err := s.FailMedia(x.fault); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, err := c.Fetch(t.Context(), mediaRow(m, time.Now()), 1<<20, &b)
		wantMedia(t, x.name, err, x.reason, x.final, x.account)
		if b.Len() > 1<<20 {
			t.Errorf("%s: %d bytes over the limit were written", x.name, b.Len())
		}
	}
	s.ClearMediaFaults()
	_, err := c.Fetch(t.Context(), mediaRow(m, time.Now()), 100<<10, io.Discard)
	wantMedia(t, "declared too large", err, gateway.MediaTooLarge, true, false)
	_, err = mediaClient(t, s, "token-2", time.Now).Fetch(t.Context(), mediaRow(m, time.Now()), 1<<20, io.Discard)
	wantMedia(t, "a wrong token", err, "", false, true)
	_, err = c.Fetch(t.Context(), &gateway.MediaRow{ReceivedAt: time.Now().Add(-time.Hour), Media: gateway.Media{URL: "https://lookaside.fbsbx.com/x"}}, 1, io.Discard)
	wantMedia(t, "a stale URL alone", err, gateway.MediaExpired, true, false)
	_, err = c.Fetch(t.Context(), &gateway.MediaRow{ReceivedAt: time.Now(), Media: gateway.Media{URL: "https://evil.test/x"}}, 1, io.Discard)
	wantMedia(t, "a hostile URL alone", err, gateway.MediaForbidden, true, false)
	for _, id := range []string{"../../x", "a/b?c#d", strings.Repeat("9", 5000), "%2e%2e", "..", "."} {
		_, err = c.Fetch(t.Context(), &gateway.MediaRow{Media: gateway.Media{ID: id}}, 1, io.Discard)
		var m *gateway.MediaError
		if !errors.As(err, &m) || m.Reason != gateway.MediaGone {
			t.Errorf("id %.10q: %v", id, err)
		}
	}
	_ = s.Refuse()
	_, err = c.Fetch(t.Context(), mediaRow(m, time.Now()), 1<<20, io.Discard)
	wantMedia(t, "nobody there", err, "", false, false)
}

// What takes the bytes fails: that is told as such, and is none of the platform's.
func TestMediaSinkFails(t *testing.T) {
	s, c, _ := mediaRig(t)
	m := s.AddMedia("image/jpeg", []byte("x"))
	_, err := c.Fetch(t.Context(), mediaRow(m, time.Now()), 10, full{})
	var e *gateway.MediaError
	if errors.As(err, &e) || !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, net.ErrClosed }

func TestMediaUpload(t *testing.T) {
	s, c, later := mediaRig(t)
	body := bytes.Repeat([]byte("upload "), 50_000)
	id, err := c.Upload(t.Context(), bytes.NewReader(body), int64(len(body)), "audio/ogg; codecs=opus")
	if err != nil {
		t.Fatal(err)
	}
	mime, got, ok := s.Uploaded(id)
	if !ok || mime != "audio/ogg; codecs=opus" || !bytes.Equal(got, body) {
		t.Errorf("uploaded %q, %d bytes, %v", mime, len(got), ok)
	}
	// The id can be fetched like any other, for 30 days.
	later(29 * 24 * time.Hour)
	var b bytes.Buffer
	if _, err := c.Fetch(t.Context(), &gateway.MediaRow{Media: gateway.Media{ID: id}}, 1<<20, &b); err != nil || !bytes.Equal(b.Bytes(), body) {
		t.Errorf("fetched again: %v", err)
	}
	for _, x := range []struct {
		name           string
		fault          whatsapptest.MediaFault
		reason         string
		final, account bool
	}{
		{"500", whatsapptest.MediaFault{On: "upload", Status: 500}, "", false, false},
		{"429", whatsapptest.MediaFault{On: "upload", Status: 429}, "", false, true},
		{"190", whatsapptest.MediaFault{On: "upload", Code: 190}, "", false, true},
		{"100", whatsapptest.MediaFault{On: "upload", Code: 100}, gateway.MediaRefused, true, false},
		{"131053", whatsapptest.MediaFault{On: "upload", Code: 131053}, gateway.MediaRefused, true, false},
		{"413", whatsapptest.MediaFault{On: "upload", Status: 413}, gateway.MediaTooLarge, true, false},
	} {
		s.ClearMediaFaults()
		if err := s.FailMedia(x.fault); err != nil {
			t.Fatal(err)
		}
		_, err := c.Upload(t.Context(), strings.NewReader("x"), 1, "image/png")
		wantMedia(t, x.name, err, x.reason, x.final, x.account)
	}
	s.ClearMediaFaults()
	_, err = c.Upload(t.Context(), strings.NewReader("x"), 1, "image/png\r\nX-Evil: 1")
	wantMedia(t, "a type that is none", err, gateway.MediaRefused, true, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Upload(ctx, strings.NewReader("x"), 1, "image/png")
	wantMedia(t, "cancelled", err, "", false, false)
}
