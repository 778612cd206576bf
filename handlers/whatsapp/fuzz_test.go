package whatsapp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// FuzzDecode: whatever is signed, there is no panic, the same items come twice,
// and every item can be kept and published.
func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		if b := read(f, s.File); len(b) < 4000 {
			f.Add(b)
		}
	}
	f.Add(read(f, "case-13-batch.json"))
	f.Add([]byte(`{"object":"whatsapp_business_account","entry":[null,{"changes":[1,{"field":"messages","value":{"messages":[{},[]],"x":[1]}}]}]}`))
	f.Add([]byte(`{"object":"whatsapp_business_account","entry":[{"id":-1e5,"changes":[{"value":{"a\"":"\\","b":[{},{"c":null}]}}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p := &gateway.Payload{Platform: "whatsapp", Body: body, KeyFP: "fp"}
		items, _, err := endpoint().Decode(p)
		again, _, errAgain := endpoint().Decode(p)
		if (err == nil) != (errAgain == nil) || !cmp.Equal(items, again) {
			t.Fatal("two readings differ")
		}
		if err != nil {
			wantErr(t, err, gateway.ErrUndecodable)
			if len(items) > 0 {
				t.Error("items beside an error")
			}
		}
		for i := range items {
			checkItem(t, &items[i])
		}
	})
}

// FuzzSignatureHeader: only the right digest in the right form verifies.
func FuzzSignatureHeader(f *testing.F) {
	body := []byte(`{"object":"whatsapp_business_account","entry":[]}`)
	good := whatsapp.Sign(secret, body)
	for _, s := range []string{good, "", "sha256=", good[:70], good + "0", strings.ToUpper(good), "sha1=00", "sha256=" + strings.Repeat("é", 32)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		_, err := endpoint().Verify(&handlers.Request{
			Header: http.Header{whatsapp.SignatureHeader: {header}}, Body: body,
		})
		digest, ok := strings.CutPrefix(header, "sha256=")
		genuine := ok && strings.ToLower(digest) == strings.TrimPrefix(good, "sha256=")
		old, ok := strings.CutPrefix(header, "sha256=")
		genuine = genuine || ok && strings.ToLower(old) == strings.TrimPrefix(whatsapp.Sign(previous, body), "sha256=")
		if (err == nil) != genuine {
			t.Errorf("%q: %v", header, err)
		}
	})
}
