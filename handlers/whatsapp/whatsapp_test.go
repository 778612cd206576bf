package whatsapp_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

const (
	secret   = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
	previous = "a1b2c3d4e5f60718293a4b5c6d7e8f90"
	dir      = "../../testdata/whatsapp"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func endpoint() *whatsapp.Endpoint {
	return whatsapp.NewEndpoint(whatsapp.EndpointConfig{
		Secrets: []string{secret, previous}, VerifyToken: "let-me-in",
	})
}

// post is a signed callback.
func post(body []byte) *handlers.Request {
	return &handlers.Request{
		Header: http.Header{whatsapp.SignatureHeader: {whatsapp.Sign(secret, body)}},
		Body:   body,
	}
}

// decode goes the whole way of a callback: signed, verified, decoded.
func decode(t testing.TB, body []byte) []gateway.Item {
	t.Helper()
	items, err := tryDecode(t, body)
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	return items
}

func tryDecode(t testing.TB, body []byte) ([]gateway.Item, error) {
	t.Helper()
	e := endpoint()
	fp, err := e.Verify(post(body))
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	items, gotFP, err := e.Decode(&gateway.Payload{Platform: "whatsapp", Body: body, KeyFP: fp})
	if gotFP != gateway.Fingerprint(secret) {
		t.Errorf("key fingerprint %q, want that of the secret", gotFP)
	}
	for i := range items {
		checkItem(t, &items[i])
	}
	return items, err
}

// checkItem holds what is true of every item whatever the input.
func checkItem(t testing.TB, it *gateway.Item) {
	t.Helper()
	if len(it.Chat.Identities) == 0 {
		t.Error("an item without an identity")
	}
	if it.Key == "" || it.AccountID == "" || it.Content.Type == "" {
		t.Errorf("an item without key, account or type: %q %q %q", it.Key, it.AccountID, it.Content.Type)
	}
	if it.Content.Observed != it.Observed {
		t.Errorf("observed %q, the event says %q", it.Observed, it.Content.Observed)
	}
	if it.Err != "" && !strings.HasPrefix(it.Err, "bad item: ") {
		t.Errorf("Err %q", it.Err)
	}
	if len(it.Chat.Identities) > 0 {
		fits(t, it)
	}
}

// inValue wraps the members of a value of field messages.
func inValue(members string) []byte { return inField("messages", members) }

func inField(field, members string) []byte {
	return []byte(`{"object":"whatsapp_business_account","entry":[{"id":"900","changes":[{"field":"` + field +
		`","value":{"messaging_product":"whatsapp","metadata":{"display_phone_number":"+1 555-010-0099",` +
		`"phone_number_id":"901"},` + members + `}}]}]}`)
}

func texts(t testing.TB, from string, ids ...string) []byte {
	t.Helper()
	list := make([]string, 0, len(ids))
	for _, id := range ids {
		b, err := json.Marshal(map[string]any{
			"from": from, "id": id, "timestamp": "1760000000", "type": "text", "text": map[string]any{"body": "hi"},
		})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(b))
	}
	return inValue(`"messages":[` + strings.Join(list, ",") + `]`)
}

// key writes an identity as the index of the samples does.
func key(it *gateway.Item) string {
	id := it.Chat.Identities[0]
	return it.AccountID + "|" + id.Kind + ":" + id.Value
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
