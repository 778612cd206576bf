package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// Case 05: WeCom pads to 32 bytes. 32 texts in a row take every padding from 1
// to 32 and all are read; three frames with an impossible last byte are genuine
// by their signature, so they are taken and stay sealed.
func TestCase05Padding(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{apps: appByWorker})
	eyes := w.observe()
	lengths := map[int]bool{}
	for n := range 32 {
		_, inner := wc.Message("user.five", "text", wecomtest.Field{Name: "Content", Value: strings.Repeat("x", n+1)})
		lengths[(20+len(inner)+len(testCorp))%32] = true
		wecomTaken(t, wc, inner)
	}
	if len(lengths) != 32 {
		t.Fatalf("the texts take %d paddings, want 32", len(lengths))
	}
	for _, last := range []byte{0, 33, 255} {
		if got := postFrame(t, w, paddedWith(last, wc.Inner("user.five", "text"))); got != http.StatusOK {
			t.Errorf("padding byte %d: answered %d, want 200", last, got)
		}
	}
	list := w.sees(eyes, 32)
	for n, ev := range list {
		if len(ev.Text) != n+1 || ev.Seq != int64(n+1) {
			t.Errorf("event %d has %d characters and seq %d", n, len(ev.Text), ev.Seq)
		}
	}
	if p := w.sums().Payloads; p.Relayed != 32 || p.Sealed != 3 {
		t.Errorf("%d payloads relayed and %d sealed, want 32 and 3", p.Relayed, p.Sealed)
	}
	if out, _ := w.cli("doctor", "--token", testToken, "--admin", w.api); !strings.Contains(out, "sealed") {
		t.Errorf("doctor does not tell of sealed payloads:\n%s", out)
	}
}

func wecomTaken(t *testing.T, wc *wecomtest.Sandbox, inner []byte) {
	t.Helper()
	status, body, err := wc.Post(t.Context(), inner)
	if err != nil || status != http.StatusOK {
		t.Fatalf("a callback was answered %d %q (%v), want 200", status, body, err)
	}
}

// paddedWith encrypts a frame of whole blocks whose last byte is given.
func paddedWith(last byte, inner []byte) string {
	key, err := base64.StdEncoding.DecodeString(testWCKey + "=")
	if err != nil {
		panic(err)
	}
	frame := binary.BigEndian.AppendUint32(bytes.Repeat([]byte{7}, 16), uint32(len(inner))) //nolint:gosec // a short text
	frame = append(append(frame, inner...), testCorp...)
	pad := 32 - len(frame)%32
	frame = append(frame, bytes.Repeat([]byte{last}, pad)...)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	cipher.NewCBCEncrypter(block, key[:aes.BlockSize]).CryptBlocks(frame, frame)
	return base64.StdEncoding.EncodeToString(frame)
}

// postFrame posts an encrypted text under a right signature.
func postFrame(t *testing.T, w *world, encrypted string) int {
	t.Helper()
	crypt, err := wecom.NewCrypt(testWCToken, testWCKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := url.Values{"timestamp": {"1760000000"}, "nonce": {"5"}, "msg_signature": {crypt.Sign("1760000000", "5", encrypted)}}
	target := strings.Replace(w.url, "/whatsapp/meta", "/wecom/corp", 1) + "?" + q.Encode()
	resp, err := http.Post(target, "text/xml", bytes.NewReader(wecom.Envelope(testCorp, fmt.Sprint(testAgent), encrypted))) //nolint:noctx,gosec // a test on loopback
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// Case 09: two customers added and two approvals passed in one second, without
// any id, and the platform's retry of the first: four events.
func TestCase09SameSecond(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{apps: appByWorker})
	eyes := w.observe()
	for _, name := range []string{"event-a", "event-b", "approval-a", "approval-b", "event-a"} {
		wecomTaken(t, wc, w.sample("wecom", "case-09-"+name+".xml"))
	}
	w.until(10*time.Second, "five payloads are relayed", func() bool {
		p := w.sums().Payloads
		return p.Archived == 5 && p.Pending == 0
	})
	ids := map[string]bool{}
	for _, ev := range w.sees(eyes, 4) {
		ids[ev.Event.Event] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d different events, want 4", len(ids))
	}
	s := w.sums()
	if s.Items.Events != 4 || s.Items.Duplicate != 1 || s.Payloads.Duplicate != 1 {
		t.Errorf("%d events, %d duplicate items and %d duplicate payloads, want 4, 1 and 1", s.Items.Events, s.Items.Duplicate, s.Payloads.Duplicate)
	}
}

// Case 28: userids with dots, wildcards, control characters and 4,200 bytes. All
// are answered 200, each member is a conversation of its own under one shape of
// subject, two spellings of one userid are one, and another account goes on.
func TestCase28HostileIDs(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{})
	eyes := w.observe()
	long := strings.Repeat("x", 4200)
	ids := []string{"li.si", "a@b.c-d_e", "li", "ZhangSan", "zhangsan", "*", ">", "li.>", ".", "..", "a..b", "a b", "a\tb",
		"a\nPUB evil 2\nhi", "你好", "$SYS.REQ.x", "%2e", "li%2Esi", "@all", "li|wang", strings.Repeat("y", 64), long}
	for i, id := range ids {
		_, inner := wc.Message(id, "text", wecomtest.Field{Name: "Content", Value: fmt.Sprint("from ", i)})
		wecomTaken(t, wc, inner)
		w.says(customer(28), fmt.Sprint("after ", i))
	}
	w.settled(30 * time.Second)
	if got := len(accepted(w.calls(customer(28)))); got != len(ids) {
		t.Errorf("the other account was answered %d times, want %d", got, len(ids))
	}
	conv := map[string]string{}
	for _, ev := range w.sees(eyes, 2*len(ids)-1) { // the long one is a dead letter
		if tokens := strings.Split(ev.Subject, "."); len(tokens) != 6 || strings.ContainsAny(ev.Subject, "*> \t\r\n") {
			t.Errorf("subject %q", ev.Subject)
		}
		if ev.Platform == "wecom" {
			conv[ev.From.Identities[0].Spelling()] = ev.Conv
		}
	}
	different := map[string]bool{}
	for _, c := range conv {
		different[c] = true
	}
	if len(conv) != len(ids)-1 || len(different) != len(ids)-2 || conv["ZhangSan"] != conv["zhangsan"] {
		t.Errorf("%d spellings in %d conversations, want %d in %d", len(conv), len(different), len(ids)-1, len(ids)-2)
	}
	checkRecipients(t, w, wc)
	for _, id := range []string{"*", ">", "li.>"} {
		checkOnlyOne(t, w, id)
	}
	if dead := w.deadLetters(); !hasDead(dead, "payload", gateway.ReasonBadPayload) {
		t.Errorf("the id of 4,200 bytes left no dead letter: %+v", dead)
	}
}

func hasDead(list []gateway.DeadLetter, kind, reason string) bool {
	for i := range list {
		if list[i].Kind == kind && list[i].Reason == reason {
			return true
		}
	}
	return false
}

// checkRecipients: an answer goes to the one who wrote, in their spelling, and an
// id that would address others gets none.
func checkRecipients(t *testing.T, w *world, wc *wecomtest.Sandbox) {
	t.Helper()
	for _, c := range wc.Calls() {
		if strings.EqualFold(c.To, "@all") || strings.Contains(c.To, "|") {
			t.Errorf("a reply went to %q", c.To)
		}
	}
	for _, id := range []string{"li", "li.si", "li.>", "*", ">", "..", "你好"} {
		if got := callsTo(wc.Calls(), id); len(got) != 1 || !got[0].Accepted {
			t.Errorf("%q was answered %d times", id, len(got))
		}
	}
	rejected := 0
	for _, d := range w.deadLetters() {
		if d.Kind == "message" && d.Reason == gateway.ReasonRejected {
			rejected++
		}
	}
	// "@all", "li|wang", and the three with white space inside.
	if rejected != 5 {
		t.Errorf("%d replies rejected, want 5", rejected)
	}
}

// checkOnlyOne: an operator who names a wildcard means that member, and as the id
// of a conversation it is refused.
func checkOnlyOne(t *testing.T, w *world, id string) {
	t.Helper()
	c := w.conversation("wecom", "corp-a", "userid", id)
	if len(c.Events) != 1 || len(c.Identities) != 1 || c.Identities[0].Value != id {
		t.Errorf("%q finds %+v", id, c.Identities)
	}
	status, _ := w.raw(http.MethodPost, "/api/v1/replays", testToken, []byte(fmt.Sprintf(`{"conv":%q}`, id)))
	if status != http.StatusBadRequest {
		t.Errorf("a replay of conversation %q was answered %d", id, status)
	}
}
