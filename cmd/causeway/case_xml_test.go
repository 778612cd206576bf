package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// sealedWith seals until the Base64 has every character that gets lost on the way.
func sealedWith(c *wecom.Crypt, plain, want string) string {
	for i := 0; ; i++ {
		sealed := c.Seal([]byte(plain), testCorp, [16]byte{byte(i), byte(i >> 8)})
		missing := false
		for _, r := range want {
			missing = missing || !strings.ContainsRune(sealed, r)
		}
		if !missing {
			return sealed
		}
	}
}

// Case 04: echostr comes back decrypted and bare, whatever way the Base64 was written
// into the address; nothing of it is kept.
func TestCase04Echostr(t *testing.T) {
	begin(t)
	w, _ := newWeComCase(t, worldOptions{})
	crypt, err := wecom.NewCrypt(testWCToken, testWCKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := string(w.sample("wecom", "case-04-echostr.txt"))
	sealed := sealedWith(crypt, plain, "+/=")
	at := strings.Replace(w.url, "/whatsapp/meta", "/wecom/corp", 1) + "?timestamp=1760000000&nonce=4&msg_signature="
	right, wrong := at+crypt.Sign("1760000000", "4", sealed), at+strings.Repeat("0", 40)
	quickest := time.Hour
	for name, c := range map[string]struct {
		target string
		status int
	}{
		"encoded":         {right + "&echostr=" + url.QueryEscape(sealed), http.StatusOK},
		"raw":             {right + "&echostr=" + sealed, http.StatusOK},
		"wrong signature": {wrong + "&echostr=" + url.QueryEscape(sealed), http.StatusForbidden},
		"no echostr":      {right, http.StatusBadRequest},
	} {
		began := time.Now()
		resp, err := http.Get(c.target) //nolint:noctx,gosec // a test on loopback
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		quickest = min(quickest, time.Since(began))
		want := ""
		if c.status == http.StatusOK {
			want = plain
		}
		if err != nil || resp.StatusCode != c.status || string(body) != want {
			t.Errorf("%s: %d %q (%v), want %d %q", name, resp.StatusCode, body, err, c.status, want)
		}
		if c.status == http.StatusOK && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %s", name, resp.Header.Get("Content-Type"))
		}
	}
	if quickest > time.Second {
		t.Errorf("the quickest took %s", quickest)
	}
	if s := w.sums(); s.Payloads.Archived != 0 || s.Items.Events != 0 {
		t.Errorf("a verification was kept: %+v", s.Payloads)
	}
}

// Case 07: documents with declarations, outside and inside, do nothing: no call goes
// out, no memory is taken, nothing of this machine comes out. Outside they are refused;
// inside they are genuine, so they are kept, and dead letters.
func TestCase07Entities(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{})
	canary, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test on loopback
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = canary.Close() })
	var visits atomic.Int64
	go func() {
		for {
			c, err := canary.Accept()
			if err != nil {
				return
			}
			visits.Add(1)
			_ = c.Close()
		}
	}()
	crypt, err := wecom.NewCrypt(testWCToken, testWCKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	sample := func(name string) []byte {
		return bytes.ReplaceAll(w.sample("wecom", name), []byte("127.0.0.1:18099"), []byte(canary.Addr().String()))
	}
	before := w.resident()
	var said strings.Builder
	q := url.Values{"timestamp": {"1760000000"}, "nonce": {"7"}, "msg_signature": {crypt.Sign("1760000000", "7", "AAAA")}}
	target := strings.Replace(w.url, "/whatsapp/meta", "/wecom/corp", 1) + "?" + q.Encode()
	for _, name := range []string{"case-07-xxe-outer.xml", "case-07-entity-growth.xml"} {
		resp, err := http.Post(target, "text/xml", bytes.NewReader(sample(name))) //nolint:noctx,gosec // a test on loopback
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(&said, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s outside was answered %d", name, resp.StatusCode)
		}
	}
	inner := [][]byte{sample("case-07-xxe-inner.xml"), sample("case-07-entity-growth.xml"),
		[]byte("<xml>" + strings.Repeat("<a>", 200_000) + strings.Repeat("</a>", 200_000) + "</xml>")}
	for i, doc := range inner {
		if got := postFrame(t, w, crypt.Seal(doc, testCorp, [16]byte{byte(i)})); got != http.StatusOK {
			t.Errorf("document %d inside was answered %d", i, got)
		}
	}
	_, body := wc.Message("user.seven", "text")
	wecomTaken(t, wc, body) // and the next one is read
	w.settled(time.Minute)
	dead := w.deadLetters()
	if len(dead) != len(inner) || !hasDead(dead, "payload", gateway.ReasonBadPayload) {
		t.Errorf("dead letters %+v", dead)
	}
	if s := w.sums(); s.Items.Events != 1 || s.Payloads.Dead != int64(len(inner)) {
		t.Errorf("%+v %+v", s.Payloads, s.Items)
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d calls came to the canary", n)
	}
	if after := w.resident(); after > before+200<<20 {
		t.Errorf("memory grew from %d to %d MiB", before>>20, after>>20)
	}
	list, _ := w.cli("dead", "ls", "--json")
	_, rejects := w.raw(http.MethodGet, "/api/v1/rejects", testToken, nil)
	if name, err := os.Hostname(); err == nil && len(name) > 3 { // "vm" is in many words
		for where, text := range map[string]string{"answers": said.String(), "dead letters": list, "rejects": rejects, "logs": w.said()} {
			if strings.Contains(text, name) {
				t.Errorf("this machine's name is in the %s", where)
			}
		}
	}
}

// resident is the gateway's memory in bytes, or 0 where the system does not tell.
func (w *world) resident() (bytes int) {
	w.mu.Lock()
	pid := w.proc.cmd.Process.Pid
	w.mu.Unlock()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var all, pages int
	if _, err := fmt.Sscan(string(b), &all, &pages); err != nil {
		w.t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
