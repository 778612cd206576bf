package whatsapp_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// FuzzDecode: whatever is signed, there is no panic, the same items come twice,
// every item can be kept, and its event fits the published schema.
func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		if b := read(f, s.File); len(b) < 4000 {
			f.Add(b)
		}
	}
	f.Add(read(f, "case-13-batch.json"))
	variants, err := os.ReadFile(filepath.Join("testdata", "variants.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+string(variants), "\n# ") {
		lines := strings.Split(part, "\n")
		if len(lines) > 2 {
			members, _, _ := strings.Cut(strings.Join(lines[2:], "\n"), "\n> ")
			f.Add(inField(lines[1], members))
		}
	}
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

// FuzzText: a text is read as encoding/json reads it, whatever its escapes, and
// its own part comes out as the same value.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		``, `plain`, `\"\\\/\b\f\n\r\t`, `\u00e9\u4F60`, `\ud83d\ude00`, `\ud83d`, `\ude00\ud83d`, `\ud83d\u0041`, `\ud83dx`,
		`\ud83d\\u0041`, `\\`, `\\\"`, "caf\xc3\xa9", "\xff\xfe", "\xed\xa0\x80", `\u0000`, "\u2028", `a\`, `\u12`, `\ud83d\ud83d\ude00`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, inner string) {
		quoted := []byte(`"` + inner + `"`)
		var want string
		if json.Unmarshal(quoted, &want) != nil {
			return
		}
		it := decode(t, inValue(`"messages":[{"from":"1","id":"i","type":"text","text":{"body":`+string(quoted)+`}}]`))[0]
		if it.Content.Text != want || !utf8.ValidString(it.Content.Text) {
			t.Errorf("%q is read as %q, want %q", inner, it.Content.Text, want)
		}
		var raw struct{ Text struct{ Body string } }
		if err := json.Unmarshal(it.Content.Raw, &raw); err != nil || raw.Text.Body != want {
			t.Errorf("raw has %q, want %q; %v", raw.Text.Body, want, err)
		}
	})
}

// FuzzSignatureHeader: only the right digest in the right form verifies, over
// exactly the bytes that came.
func FuzzSignatureHeader(f *testing.F) {
	body := []byte(`{"object":"whatsapp_business_account","entry":[]}`)
	good := whatsapp.Sign(secret, body)
	for _, s := range []string{good, "", "sha256=", good[:70], good + "0", strings.ToUpper(good), "sha1=00", "sha256=" + strings.Repeat("é", 32)} {
		f.Add(s, body)
	}
	for _, s := range samples(f) {
		if b := read(f, s.File); len(b) < 1100 {
			f.Add(whatsapp.Sign(secret, b), b)
			f.Add(whatsapp.Sign(previous, b), b)
			f.Add(whatsapp.Sign(secret, bytes.TrimSpace(b)), b)
		}
	}
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		fp, err := endpoint().Verify(&handlers.Request{
			Header: http.Header{whatsapp.SignatureHeader: {header}}, Body: body,
		})
		digest, ok := strings.CutPrefix(header, "sha256=")
		by := ""
		for _, s := range []string{secret, previous} {
			if ok && strings.ToLower(digest) == strings.TrimPrefix(whatsapp.Sign(s, body), "sha256=") {
				by = gateway.Fingerprint(s)
			}
		}
		if fp != by || (err == nil) != (by != "") {
			t.Errorf("%q: verified by %q, want %q; %v", header, fp, by, err)
		}
	})
}
