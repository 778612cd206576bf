package wecom_test

import (
	"bytes"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// TestBotMedia: files of every length around the padding come as they were, with the
// key that opened their callback; what cannot be had says why.
func TestBotMedia(t *testing.T) {
	clock := &movable{t: time.Now()}
	bot, err := wecomtest.NewBot(wecomtest.BotOptions{BotID: "aib1", Token: botToken, EncodingAESKey: botKey, Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	if err := bot.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bot.Close() })
	base, err := url.Parse(bot.URL())
	if err != nil {
		t.Fatal(err)
	}
	fetch := egress.NewFetcher(egress.FetchOptions{Route: egress.Route{Hosts: wecom.BotMediaHosts(), Base: base}})
	t.Cleanup(fetch.Close)
	source, err := wecom.NewBotMedia([]wecom.Credential{{Token: "newTok", EncodingAESKey: aesKey}, {Token: botToken, EncodingAESKey: botKey}}, fetch)
	if err != nil {
		t.Fatal(err)
	}
	fp, other := crypt(t, botToken, botKey).KeyFP(), crypt(t, "newTok", aesKey).KeyFP()
	get := func(address, key string, limit int64) ([]byte, gateway.MediaFetched, error) {
		var b bytes.Buffer
		told, err := source.Fetch(t.Context(), &gateway.MediaRow{Media: gateway.Media{URL: address, Key: key}}, limit, &b)
		return b.Bytes(), told, err
	}
	wants := func(what, reason, code string, err error) {
		t.Helper()
		var m *gateway.MediaError
		if !errors.As(err, &m) || m.Reason != reason || m.Code != code {
			t.Errorf("%s: %v, want %s (%s)", what, err, reason, code)
		}
	}
	png := []byte("\x89PNG\r\n\x1a\n")
	for _, n := range []int{1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100_000} {
		plain := append(bytes.Clone(png), bytes.Repeat([]byte{7}, n)...)
		address, err := bot.AddFile("application/octet-stream", plain)
		if err != nil {
			t.Fatal(err)
		}
		got, told, err := get(address, fp, 1<<20)
		if err != nil || !bytes.Equal(got, plain) || told.MIME != "image/png" {
			t.Errorf("%d bytes: %d came, %s, %v", len(plain), len(got), told.MIME, err)
		}
	}
	address, err := bot.AddFile("video/mp4", bytes.Repeat([]byte{1}, 1000))
	if err != nil {
		t.Fatal(err)
	}
	if _, told, err := get(address, fp, 1<<20); err != nil || told.MIME != "video/mp4" {
		t.Errorf("%s, %v", told.MIME, err)
	}
	_, _, err = get(address, other, 1<<20)
	wants("another key", gateway.MediaDamaged, "padding", err)
	_, _, err = get(address, "nokey", 1<<20)
	wants("a key that is gone", "", "no_key", err)
	_, _, err = get(address, fp, 500)
	wants("too large", gateway.MediaTooLarge, egress.WordTooLarge, err)
	_, _, err = get("https://evil.example/x", fp, 500)
	wants("an address that is not the platform's", gateway.MediaForbidden, egress.WordForbidden, err)
	if _, err := bot.Faults().Add(sandbox.Fault{Op: sandbox.OpMedia, Status: 503, Next: 1}); err != nil {
		t.Fatal(err)
	}
	_, _, err = get(address, fp, 1<<20)
	wants("a fault of the moment", "", "http_503", err)
	clock.move(wecom.BotMediaLife)
	_, _, err = get(address, fp, 1<<20)
	wants("an address that has ended", gateway.MediaGone, "http_403", err)
}

// TestBotMediaItems: every file of a message is to be fetched, within five minutes,
// with the key of its callback.
func TestBotMediaItems(t *testing.T) {
	items, err := decodeBots(t, []byte(`{"msgid":"m4","aibotid":"aib1","from":{"userid":"u"},"msgtype":"mixed","mixed":{"msg_item":[`+
		`{"msgtype":"image","image":{"url":"https://x/1"}},{"msgtype":"image","image":{"url":"https://x/2"}}]},"quote":{"msgtype":"file","file":{"url":"https://x/3"}}}`))
	if err != nil || len(items) != 3 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	for i := range items {
		f := items[i].Fetch(botNow(), 72*time.Hour)
		if f == nil || !f.Until.Equal(botNow().Add(5*time.Minute)) || items[i].Content.Media.Key != crypt(t, botToken, botKey).KeyFP() {
			t.Errorf("%d: %+v of %+v", i, f, items[i].Content.Media)
		}
	}
}
