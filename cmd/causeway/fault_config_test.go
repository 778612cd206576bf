package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// A second process on the same folder says who holds it and exits with 2.
func TestSecondProcessOnTheFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	first := w.start("")
	w.up()
	second := w.start("", "--lock-wait", "100ms")
	<-second.done
	if code := second.cmd.ProcessState.ExitCode(); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	w.mu.Lock()
	said := w.logs.String()
	w.proc = first
	w.mu.Unlock()
	if !strings.Contains(said, fmt.Sprintf("process %d", first.cmd.Process.Pid)) {
		t.Error("it does not say who holds the folder")
	}
	l := &load{w: w, convs: 2, each: 2}
	underLoad(t, l, time.Minute, func(context.Context) {})
	w.quiet(time.Minute)
	l.verify()
}

// Store and broker are of different lives: callbacks are taken and nothing else
// happens, until an admin adopts the streams.
func TestOtherLifeOfTheBroker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.start("")
	w.up()
	old := &load{w: w, convs: 2, each: 2}
	underLoad(t, old, time.Minute, func(context.Context) {})
	w.quiet(time.Minute)
	w.stop()
	if err := os.RemoveAll(filepath.Join(w.dir, "data")); err != nil {
		t.Fatal(err)
	}
	w.wa.CallLog().Reset()
	w.start("")
	w.up()
	l := &load{w: w, convs: 3, each: 3}
	underLoad(t, l, time.Minute, func(context.Context) {})
	w.until(20*time.Second, "doctor tells of the other life", func() bool {
		out, code := w.cli("doctor")
		return code == exitFailed && strings.Contains(out, "causeway adopt")
	})
	if n := len(w.wa.Calls()); n != 0 {
		t.Errorf("%d messages left before the streams were adopted", n)
	}
	if out, code := w.cli("adopt", "--yes"); code != exitOK {
		t.Fatalf("adopt: %d %s", code, out)
	}
	w.quiet(time.Minute)
	l.verify()
}

// The wrong app secret for a while: callbacks are refused and kept; with the
// right secret they are readmitted in the order they came.
func TestWrongSecretThenReadmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{secret: "wrong-secret-000000000000000000"})
	w.start("")
	w.up()
	for i := range 5 {
		_, body := w.wa.CustomerBody(customer(1), text(i))
		if status, err := w.wa.Post(t.Context(), body); err != nil || status != http.StatusUnauthorized {
			t.Fatalf("status %d, %v", status, err)
		}
	}
	if out, code := w.cli("rejects", "readmit", "--all"); code == exitOK && strings.Contains(out, "5 readmitted") {
		t.Errorf("readmitted with the wrong secret: %s", out)
	}
	w.stop()
	w.edit("wrong-secret-000000000000000000", testSecret)
	w.start("")
	w.up()
	if out, code := w.cli("rejects", "readmit", "--all"); code != exitOK {
		t.Fatalf("readmit: %d %s", code, out)
	}
	w.until(20*time.Second, "five replies", func() bool { return len(w.wa.Calls()) == 5 })
	w.quiet(time.Minute)
	l := &load{w: w, convs: 2, each: 5}
	l.convs = 0
	l.verify()
	for i, c := range w.wa.Calls() {
		if c.Text != text(i) {
			t.Errorf("reply %d is %q", i, c.Text)
		}
	}
}

// The wrong AES key for a while: callbacks are verified and cannot be opened.
// They are sealed, and replayed once the key is right.
func TestWrongKeySealedThenReplayed(t *testing.T) {
	t.Parallel()
	const right, wrong = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	wc, err := wecomtest.New(wecomtest.Options{CorpID: "wwtestcorp00000001", AgentID: 1000002, Secret: "corp-secret-1",
		Token: "TestCallbackToken01", EncodingAESKey: right})
	if err != nil {
		t.Fatal(err)
	}
	if err := wc.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wc.Close() })
	w := newWorld(t, worldOptions{})
	w.edit("accounts:\n", fmt.Sprintf(`  - {name: corp, platform: wecom, kind: app, receive_ids: [wwtestcorp00000001], token: TestCallbackToken01, encoding_aes_key: %s}
accounts:
  - {name: corp-a, platform: wecom, kind: app, corp_id: wwtestcorp00000001, agent_id: 1000002, secret: corp-secret-1, api_base: %q}
`, wrong, wc.URL()))
	w.start("")
	w.up()
	crypt, err := wecom.NewCrypt("TestCallbackToken01", right, []string{"wwtestcorp00000001"})
	if err != nil {
		t.Fatal(err)
	}
	post := func(i int) int {
		inner := fmt.Sprintf(`<xml><ToUserName><![CDATA[wwtestcorp00000001]]></ToUserName><FromUserName><![CDATA[lisi%d]]></FromUserName>`+
			`<CreateTime>%d</CreateTime><MsgType><![CDATA[text]]></MsgType><Content><![CDATA[%s]]></Content><MsgId>%d</MsgId><AgentID>1000002</AgentID></xml>`,
			i, time.Now().Unix(), text(i), 9000+i)
		var random [16]byte
		_, _ = rand.Read(random[:])
		sealed := crypt.Seal([]byte(inner), "wwtestcorp00000001", random)
		url := fmt.Sprintf("%s?msg_signature=%s&timestamp=1790000000&nonce=n%d", strings.Replace(w.url, "whatsapp/meta", "wecom/corp", 1),
			crypt.Sign("1790000000", fmt.Sprintf("n%d", i), sealed), i)
		resp, err := http.Post(url, "text/xml", bytes.NewReader(wecom.Envelope("wwtestcorp00000001", "1000002", sealed))) //nolint:noctx,gosec // a test on loopback
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for i := range 4 {
		if status := post(i); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	w.until(20*time.Second, "four sealed payloads", func() bool {
		var s struct {
			Kept gateway.Sums `json:"kept"`
		}
		return w.get("/api/v1/sums", &s) == nil && s.Kept.Payloads.Sealed == 4
	})
	if out, code := w.cli("doctor"); code != exitFailed || !strings.Contains(out, "causeway replay --sealed") {
		t.Errorf("doctor: %d %s", code, out)
	}
	w.stop()
	w.edit(wrong, right)
	w.start("")
	w.up()
	if out, code := w.cli("replay", "--sealed"); code != exitOK {
		t.Fatalf("replay: %d %s", code, out)
	}
	w.until(30*time.Second, "four replies", func() bool { return len(wc.Calls()) == 4 })
	replies := map[string]string{}
	for _, c := range wc.Calls() {
		replies[c.To] = c.Text
	}
	for i := range 4 {
		if got := replies[fmt.Sprint("lisi", i)]; got != text(i) {
			t.Errorf("member %d was answered %q", i, got)
		}
	}
	w.settled(time.Minute)
	(&load{w: w}).verify()
}

// The same callback twenty times at once is one event and one reply.
func TestTwentyCopiesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.start("")
	w.up()
	_, body := w.wa.CustomerBody(customer(1), text(0))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if status, err := w.wa.Post(t.Context(), body); err != nil || status != http.StatusOK {
				t.Errorf("status %d, %v", status, err)
			}
		})
	}
	wg.Wait()
	w.quiet(time.Minute)
	w.stop()
	w.start("") // once more after a restart
	w.up()
	w.post(t.Context(), body)
	w.quiet(time.Minute)
	if n := len(w.wa.Calls()); n != 1 {
		t.Errorf("%d replies", n)
	}
	var s struct {
		Kept gateway.Sums `json:"kept"`
	}
	if err := w.get("/api/v1/sums", &s); err != nil {
		t.Fatal(err)
	}
	if s.Kept.Payloads.Duplicate != 20 || s.Kept.Items.Duplicate != 20 {
		t.Errorf("%v", s.Kept.Lines())
	}
	(&load{w: w}).verify()
}

// An account's name that stands for another number than before is refused: exit
// 2, with the reason.
func TestNamesAreForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.start("")
	w.up()
	w.stop()
	w.edit(fmt.Sprintf("phone_number_id: %q", testPhone), `phone_number_id: "900000000000077"`)
	p := w.start("")
	<-p.done
	w.mu.Lock()
	said := w.logs.String()
	w.mu.Unlock()
	if code := p.cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(said, "names are for ever") {
		t.Errorf("exit code %d, said %q", code, said)
	}
}
