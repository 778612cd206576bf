package wecom_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/wecom"
)

const (
	dir    = "../../testdata/wecom"
	corp   = "ww1a2b3c4d5e6f7a8b"
	token  = "TestCallbackToken01"
	aesKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	oldKey = "q7Zt4XbN0cVr9LmA2sKeDyWf5GhJ1uPo8TiRx6BvC3d"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func crypt(t testing.TB, token, key string, receiveIDs ...string) *wecom.Crypt {
	t.Helper()
	c, err := wecom.NewCrypt(token, key, receiveIDs)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func endpoint(t testing.TB, receiveIDs []string, ring ...wecom.Credential) *wecom.Endpoint {
	t.Helper()
	e, err := wecom.NewEndpoint(wecom.EndpointConfig{Ring: ring, ReceiveIDs: receiveIDs})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func corpEndpoint(t testing.TB) *wecom.Endpoint {
	t.Helper()
	return endpoint(t, []string{corp, "wwtestcorp00000001"}, wecom.Credential{Token: token, EncodingAESKey: aesKey})
}

// signed is a callback as the platform sends it around an encrypted text.
func signed(c *wecom.Crypt, nonce, encrypted string) *handlers.Request {
	const timestamp = "1760000000"
	return &handlers.Request{
		RawQuery: url.Values{
			"msg_signature": {c.Sign(timestamp, nonce, encrypted)},
			"timestamp":     {timestamp},
			"nonce":         {nonce},
		}.Encode(),
		// Nothing in the envelope but Encrypt is signed, so nothing else is true.
		Body: wecom.Envelope("somebody else", "999", encrypted),
	}
}

// deliver seals a document, sends it, and reads it.
func deliver(t testing.TB, receiveID string, plain []byte, nonce string) ([]gateway.Item, error) {
	t.Helper()
	e := corpEndpoint(t)
	c := crypt(t, token, aesKey)
	var random [16]byte
	copy(random[:], nonce+"0123456789abcdef")
	r := signed(c, nonce, c.Seal(plain, receiveID, random))
	fp, err := e.Verify(r)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	items, keyFP, err := e.Decode(&gateway.Payload{Platform: "wecom", Body: r.Body, KeyFP: fp})
	if keyFP != fp && !errors.Is(err, gateway.ErrSealed) {
		t.Errorf("opened by %q, verified by %q", keyFP, fp)
	}
	for i := range items {
		checkItem(t, &items[i])
	}
	return items, err
}

func decode(t testing.TB, plain []byte) gateway.Item {
	t.Helper()
	items, err := deliver(t, corp, plain, "n")
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	if len(items) != 1 {
		t.Fatalf("%d items", len(items))
	}
	return items[0]
}

// checkItem holds what is true of every item whatever the input.
func checkItem(t testing.TB, it *gateway.Item) {
	t.Helper()
	if len(it.Chat.Identities) == 0 || it.Key == "" || it.AccountID == "" || it.Content.Type == "" {
		t.Errorf("an item without identity, key, account or type: %q %q", it.AccountID, it.Content.Type)
	}
	if c := it.Content.Change; c != nil && (it.Chat.Kind != gateway.ChatAccount || it.Chat.Identities[0] != c.Of) {
		t.Errorf("a change of %+v in the conversation %+v", c.Of, it.Chat)
	}
	if it.Kind == gateway.KindState && it.Content.Change == nil && it.Content.Identity == nil {
		t.Error("a state that does not say whose")
	}
	fits(t, it)
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// key writes whose an item is as the index of the samples does.
func key(it *gateway.Item) string {
	id := it.Chat.Identities[0]
	if it.Chat.Kind == gateway.ChatSingle {
		return "app|" + it.AccountID + "|" + id.Spelling()
	}
	corp, _, _ := strings.Cut(it.AccountID, "/")
	switch id.Kind {
	case "account":
		return "account|" + strings.SplitN(id.Value, "/", 2)[0]
	case "approval":
		return "approval|" + id.Value
	case "kf":
		return "kfpull|" + corp + "|" + id.Value
	}
	return id.Kind + "|" + corp + "|" + id.Spelling()
}
