package whatsapp_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

type vectors struct {
	Current  string `json:"app_secret_current"`
	Previous string `json:"app_secret_previous"`
	Vectors  []struct {
		File      string `json:"file"`
		SHA256    string `json:"sha256"`
		Signature string `json:"x_hub_signature_256"`
	} `json:"vectors"`
	Negative []struct {
		File      string `json:"file"`
		Signature string `json:"signature_of_reserialised"`
	} `json:"negative"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	var v vectors
	if err := json.Unmarshal(read(t, "signature-vectors.json"), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSignatureVectors(t *testing.T) {
	v := readVectors(t)
	if len(v.Vectors) < 100 {
		t.Fatalf("only %d vectors", len(v.Vectors))
	}
	current := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{v.Current}})
	// The same secret, retired: the ring still takes it.
	retired := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{v.Previous, "", v.Current}})
	other := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{v.Previous}})
	for _, vec := range v.Vectors {
		t.Run(vec.File, func(t *testing.T) {
			body := read(t, vec.File)
			if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != vec.SHA256 {
				t.Fatal("the file is not the one that was signed")
			}
			if got := whatsapp.Sign(v.Current, body); got != vec.Signature {
				t.Errorf("Sign = %s, want %s", got, vec.Signature)
			}
			r := &handlers.Request{Header: http.Header{whatsapp.SignatureHeader: {vec.Signature}}, Body: body}
			for _, e := range []*whatsapp.Endpoint{current, retired} {
				fp, err := e.Verify(r)
				if err != nil || fp != gateway.Fingerprint(v.Current) {
					t.Errorf("Verify = %q, %v", fp, err)
				}
			}
			_, err := other.Verify(r)
			wantErr(t, err, gateway.ErrUnverified)
			r.Body = append([]byte{}, body...)
			r.Body[len(body)/2] ^= 1
			_, err = current.Verify(r)
			wantErr(t, err, gateway.ErrUnverified)
		})
	}
}

func TestSignatureOfReserialisedBody(t *testing.T) {
	v := readVectors(t)
	e := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{v.Current, v.Previous}})
	for _, neg := range v.Negative {
		_, err := e.Verify(&handlers.Request{
			Header: http.Header{whatsapp.SignatureHeader: {neg.Signature}}, Body: read(t, neg.File),
		})
		wantErr(t, err, gateway.ErrUnverified)
	}
}

func TestNoSecretFailsClosed(t *testing.T) {
	body := []byte(`{}`)
	for name, secrets := range map[string][]string{
		"no ring": nil, "empty ring": {}, "empty secret": {""}, "empty current, previous set": {"", previous},
	} {
		t.Run(name, func(t *testing.T) {
			e := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: secrets})
			for _, s := range []string{"", previous} {
				_, err := e.Verify(&handlers.Request{
					Header: http.Header{whatsapp.SignatureHeader: {whatsapp.Sign(s, body)}}, Body: body,
				})
				wantErr(t, err, gateway.ErrNoSecret)
			}
			_, err := e.Challenge(&handlers.Request{RawQuery: "hub.mode=subscribe&hub.verify_token=&hub.challenge=1"})
			wantErr(t, err, gateway.ErrNoSecret)
		})
	}
}

func TestEmptyOldSecretsNeverVerify(t *testing.T) {
	body := []byte(`{}`)
	e := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{secret, "", ""}})
	_, err := e.Verify(&handlers.Request{
		Header: http.Header{whatsapp.SignatureHeader: {whatsapp.Sign("", body)}}, Body: body,
	})
	wantErr(t, err, gateway.ErrUnverified)
}

// TestCase02SignatureVariants: everything but one well-formed header that fits
// is refused.
func TestCase02SignatureVariants(t *testing.T) {
	body := texts(t, "15550100001", "wamid.CASE02")
	ok := whatsapp.Sign(secret, body)
	hexa := strings.TrimPrefix(ok, "sha256=")
	const h = whatsapp.SignatureHeader
	for name, header := range map[string]http.Header{
		"no header":                  {},
		"empty header":               {h: {""}},
		"prefix only":                {h: {"sha256="}},
		"no prefix":                  {h: {hexa}},
		"63 hex digits":              {h: {"sha256=" + hexa[:63]}},
		"65 hex digits":              {h: {ok + "0"}},
		"not hex, right length":      {h: {"sha256=" + strings.Repeat("z", 64)}},
		"not ASCII":                  {h: {"sha256=" + strings.Repeat("\xe9", 64)}},
		"only the SHA-1 header":      {"X-Hub-Signature": {"sha1=" + hexa[:40]}},
		"HMAC with the empty key":    {h: {whatsapp.Sign("", body)}},
		"another app's secret":       {h: {whatsapp.Sign("some_other_secret", body)}},
		"bad header, then good":      {h: {"sha256=00", ok}},
		"good header twice":          {h: {ok, ok}},
		"two values in one header":   {h: {ok + ", " + ok}},
		"space before":               {h: {" " + ok}},
		"upper-case prefix":          {h: {"SHA256=" + hexa}},
		"digest of the empty body":   {h: {whatsapp.Sign(secret, nil)}},
		"digest in another spelling": {h: {"sha256=0x" + hexa[:62]}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := endpoint().Verify(&handlers.Request{Header: header, Body: body})
			wantErr(t, err, gateway.ErrUnverified)
			if err != nil && strings.Contains(err.Error(), hexa) {
				t.Error("the error tells the right signature")
			}
		})
	}
	if _, err := endpoint().Verify(&handlers.Request{Header: http.Header{h: {ok}}, Body: body}); err != nil {
		t.Errorf("the good one: %v", err)
	}
	if got := endpoint().RefusalStatus(); got != http.StatusUnauthorized {
		t.Errorf("refusal status %d", got)
	}
}

func TestChallenge(t *testing.T) {
	for _, tt := range []struct {
		name, query string
		want        string
		err         error
	}{
		{"right", "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=let-me-in", "1158201444", nil},
		{"opaque challenge", "hub.mode=subscribe&hub.challenge=%3Cb%3E+%22x%22&hub.verify_token=let-me-in&x=;", `<b> "x"`, nil},
		{"wrong token", "hub.mode=subscribe&hub.challenge=1&hub.verify_token=let-me-im", "", gateway.ErrUnverified},
		{"token of another length", "hub.mode=subscribe&hub.challenge=1&hub.verify_token=l", "", gateway.ErrUnverified},
		{"wrong mode", "hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=let-me-in", "", gateway.ErrUnverified},
		{"no token", "hub.mode=subscribe&hub.challenge=1", "", gateway.ErrHostile},
		{"no challenge", "hub.mode=subscribe&hub.verify_token=let-me-in", "", gateway.ErrHostile},
		{"empty challenge", "hub.mode=subscribe&hub.verify_token=let-me-in&hub.challenge=", "", gateway.ErrHostile},
		{"token twice", "hub.mode=subscribe&hub.challenge=1&hub.verify_token=x&hub.verify_token=let-me-in", "", gateway.ErrHostile},
		{"nothing", "", "", gateway.ErrHostile},
		{"cannot be read", "%zz", "", gateway.ErrHostile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := endpoint().Challenge(&handlers.Request{RawQuery: tt.query})
			if tt.err == nil {
				if err != nil || string(got) != tt.want {
					t.Errorf("= %q, %v; want %q", got, err, tt.want)
				}
				return
			}
			wantErr(t, err, tt.err)
			if strings.Contains(err.Error(), "let-me-in") {
				t.Error("the error tells the token")
			}
		})
	}
}
