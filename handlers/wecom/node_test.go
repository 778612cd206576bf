package wecom_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// peer is what is asked of WeCom's own library, and what it answers; see
// testdata/wecom/crypto/peer.js.
type peer struct {
	Op        string `json:"op,omitempty"`
	Key       string `json:"key,omitempty"`
	Token     string `json:"token,omitempty"`
	Timestamp string `json:"timestamp,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	Text      string `json:"text"`
	ID        string `json:"id"`
	Random16  string `json:"random16,omitempty"`
	Random    string `json:"random,omitempty"`
	Encrypt   string `json:"encrypt,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// askNode runs WeCom's library. Where it is missing the test is skipped, or fails
// where CAUSEWAY_REQUIRE (a list with commas) asks for node.
func askNode(t *testing.T, requests []peer) []peer {
	t.Helper()
	lib := filepath.Join(dir, "crypto")
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(lib, "node_modules", "@wecom", "crypto", "package.json"))
	}
	if err != nil {
		const get = "WeCom's own library is not here: install Node.js, then npm ci --prefix testdata/wecom/crypto"
		if slices.Contains(strings.Split(os.Getenv("CAUSEWAY_REQUIRE"), ","), "node") {
			t.Fatal(get)
		}
		t.Skip(get)
	}
	in, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "peer.js") //nolint:gosec // a program of this repository
	cmd.Dir, cmd.Stdin = lib, bytes.NewReader(in)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	var answers []peer
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(requests) {
		t.Fatalf("%v, %d answers to %d requests", err, len(answers), len(requests))
	}
	return answers
}

// sealings are texts of every padding, in the forms of apps, suites and robots,
// with both spare bits of a key.
func sealings() []peer {
	var list []peer
	add := func(key, id, text string) {
		random := fmt.Sprintf("%032x", len(list)*7919+1)
		list = append(list, peer{Key: key, ID: id, Text: text, Random16: random})
	}
	for n := range 33 {
		add(aesKey, corp, string(text("LinXiaoyu", fmt.Sprint(7000000000000000000+n), strings.Repeat("x", n))))
		add(oldKey, "", `{"msgid":"CAIQ==","chattype":"single","from":{"userid":"u"},"msgtype":"text","text":{"content":"`+strings.Repeat("好", n)+`"}}`)
	}
	add(aesKey, "ww9f8e7d6c5b4a3210", string(inner("<InfoType>suite_ticket</InfoType><SuiteTicket>x</SuiteTicket>")))
	add(aesKey, corp, "4611686018427387904") // an echostr
	add(aesKey, corp, strings.Repeat("长文本 <&]]>\U0001F468", 2000))
	add("jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C", corp, "a key whose spare bits are set")
	return list
}

// What WeCom's library seals and signs is verified, opened and decoded, and what
// we seal and sign is what it would have written, to the byte, and opens there.
func TestNodeLibraryAgrees(t *testing.T) {
	t.Parallel()
	const timestamp, nonce = "1760000000", "nonce-1"
	list := sealings()
	var ask []peer
	for _, s := range list {
		ours := seal(t, s)
		ask = append(ask, peer{Op: "seal", Key: s.Key, ID: s.ID, Text: s.Text, Random16: s.Random16},
			peer{Op: "seal", Key: s.Key, ID: s.ID, Text: s.Text}, // by its own random
			peer{Op: "open", Key: s.Key, Encrypt: ours},
			peer{Op: "sign", Token: token, Timestamp: timestamp, Nonce: nonce, Encrypt: ours})
	}
	got := askNode(t, ask)
	var signs []peer
	for i, s := range list {
		same, theirs, opened, signature := got[4*i], got[4*i+1], got[4*i+2], got[4*i+3]
		ours, c := seal(t, s), crypt(t, token, s.Key, s.ID)
		if same.Encrypt != ours {
			t.Errorf("%d: another ciphertext", i)
		}
		if opened.Text != s.Text || opened.ID != s.ID || opened.Random != s.Random16 {
			t.Errorf("%d: opened as %.60q for %q", i, opened.Text, opened.ID)
		}
		if signature.Signature != c.Sign(timestamp, nonce, ours) {
			t.Errorf("%d: another signature", i)
		}
		if plain, err := c.Open(theirs.Encrypt); err != nil || string(plain) != s.Text {
			t.Errorf("%d: %v, %.60q", i, err, plain)
		}
		signs = append(signs, peer{Op: "sign", Token: token, Timestamp: timestamp, Nonce: nonce, Encrypt: theirs.Encrypt})
	}
	for i, signed := range askNode(t, signs) {
		delivered(t, list[i], signs[i], signed.Signature)
	}
}

func seal(t *testing.T, s peer) string {
	t.Helper()
	var random [16]byte
	b, err := hex.DecodeString(s.Random16)
	if err != nil || copy(random[:], b) != 16 {
		t.Fatalf("%v", err)
	}
	return crypt(t, token, s.Key).Seal([]byte(s.Text), s.ID, random)
}

// delivered takes what the library made through an endpoint, as a callback in either
// envelope and as the GET of the console.
func delivered(t *testing.T, s, sent peer, signature string) {
	t.Helper()
	e := endpoint(t, []string{s.ID}, wecom.Credential{Token: token, EncodingAESKey: s.Key})
	q := url.Values{"msg_signature": {signature}, "timestamp": {sent.Timestamp}, "nonce": {sent.Nonce}}
	asJSON, err := json.Marshal(map[string]string{"encrypt": sent.Encrypt})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range [][]byte{wecom.Envelope(s.ID, "1", sent.Encrypt), asJSON} {
		if _, err := e.Verify(&handlers.Request{RawQuery: q.Encode(), Body: body}); err != nil {
			t.Errorf("%.60q: %v", s.Text, err)
		}
		if !strings.HasPrefix(s.Text, "<xml>") {
			continue
		}
		if items, _, err := e.Decode(&gateway.Payload{Platform: "wecom", Body: body}); err != nil || len(items) != 1 {
			t.Errorf("%.60q: %d items, %v", s.Text, len(items), err)
		}
	}
	q.Set("echostr", sent.Encrypt)
	if echo, err := e.Challenge(&handlers.Request{RawQuery: q.Encode()}); err != nil || string(echo) != s.Text {
		t.Errorf("%.60q: %v", s.Text, err)
	}
}
