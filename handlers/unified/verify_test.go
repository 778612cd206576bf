package unified_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/unified"
)

func proving(t testing.TB, v unified.Verification) *unified.Endpoint {
	t.Helper()
	e, err := unified.NewEndpoint(unified.EndpointConfig{Verification: v, Answer: "success",
		Decoding: unified.Decoding{Account: []string{"=a"}, Conversation: []string{"=c"}, FromSelf: []string{"=false"}}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A callback is genuine when all that is configured holds.
func TestVerify(t *testing.T) {
	const body = `{"a":1}`
	token := &unified.TokenProof{Header: "X-Token", Prefix: "Bearer ", Secrets: []string{"token-now", "token-before", ""}}
	mac := &unified.HMACProof{Header: "x-sig", Prefix: "sha256=", Secrets: []string{"mac-now", "mac-before", ""}}
	old := *mac
	old.Secrets = []string{"mac-before"}
	sha1 := &unified.HMACProof{Header: "x-sig", SHA1: true, Base64: true, Secrets: []string{"mac-now"}}
	nets := []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	signature := func(h *unified.HMACProof, body string) string { return h.Sign([]byte(body)) }
	padded := signature(sha1, body)
	raw, err := base64.StdEncoding.DecodeString(padded)
	if err != nil || len(raw) != 20 {
		t.Fatal(padded, err)
	}
	for _, tt := range []struct {
		name string
		v    unified.Verification
		r    *handlers.Request
		fp   string // of which secret; "-": refused
	}{
		{"token", unified.Verification{Token: token}, request(body, "X-Token", "Bearer token-now"), "token-now"},
		{"previous token", unified.Verification{Token: token}, request(body, "x-token", "bearer token-before"), "token-before"},
		{"no token", unified.Verification{Token: token}, request(body), "-"},
		{"empty token", unified.Verification{Token: token}, request(body, "X-Token", ""), "-"},
		{"empty token behind its prefix", unified.Verification{Token: token}, request(body, "X-Token", "Bearer "), "-"},
		{"no prefix", unified.Verification{Token: token}, request(body, "X-Token", "token-now"), "-"},
		{"wrong token", unified.Verification{Token: token}, request(body, "X-Token", "Bearer token-NOW"), "-"},
		{"beginning of the token", unified.Verification{Token: token}, request(body, "X-Token", "Bearer token-no"), "-"},
		{"two tokens", unified.Verification{Token: token}, request(body, "X-Token", "Bearer token-now", "X-Token", "Bearer token-now"), "-"},
		{"fingerprint from outside", unified.Verification{Token: token}, request(body, "Causeway-Token", gateway.Fingerprint("token-now")), "-"},
		{"fingerprint as the token", unified.Verification{Token: token}, request(body, "X-Token", "Bearer "+gateway.Fingerprint("token-now")), "-"},

		{"signature", unified.Verification{HMAC: mac}, request(body, "X-Sig", signature(mac, body)), "mac-now"},
		{"upper case", unified.Verification{HMAC: mac}, request(body, "X-Sig", strings.ToUpper(signature(mac, body))), "mac-now"},
		{"previous secret", unified.Verification{HMAC: mac}, request(body, "X-Sig", signature(&old, body)), "mac-before"},
		{"other body", unified.Verification{HMAC: mac}, request(body+" ", "X-Sig", signature(mac, body)), "-"},
		{"no signature", unified.Verification{HMAC: mac}, request(body), "-"},
		{"not hex", unified.Verification{HMAC: mac}, request(body, "X-Sig", "sha256=xyz"), "-"},
		{"cut", unified.Verification{HMAC: mac}, request(body, "X-Sig", signature(mac, body)[:20]), "-"},
		{"secret that is empty", unified.Verification{HMAC: mac}, request(body, "X-Sig", signature(&unified.HMACProof{Prefix: "sha256=", Secrets: []string{""}}, body)), "-"},
		{"SHA-1 in base64", unified.Verification{HMAC: sha1}, request(body, "X-Sig", padded), "mac-now"},
		{"without padding, for URLs", unified.Verification{HMAC: sha1}, request(body, "X-Sig", base64.RawURLEncoding.EncodeToString(raw)), "mac-now"},
		{"hex in place of base64", unified.Verification{HMAC: sha1}, request(body, "X-Sig", hex.EncodeToString(raw)), "-"},

		{"address", unified.Verification{Addresses: nets}, from("203.0.113.7"), ""},
		{"address of six", unified.Verification{Addresses: nets}, from("2001:db8::1"), ""},
		{"four in six", unified.Verification{Addresses: nets}, from("::ffff:203.0.113.7"), ""},
		{"other address", unified.Verification{Addresses: nets}, from("203.0.114.7"), "-"},
		{"no address", unified.Verification{Addresses: nets}, from(""), "-"},
		{"address in a header", unified.Verification{Addresses: nets}, request(body, "Causeway-Client", "203.0.113.7", "X-Forwarded-For", "203.0.113.7"), "-"},

		{"all", unified.Verification{Token: token, HMAC: mac}, request(body, "X-Token", "Bearer token-now", "X-Sig", signature(mac, body)), "mac-now"},
		{"one of two", unified.Verification{Token: token, HMAC: mac}, request(body, "X-Sig", signature(mac, body)), "-"},
		{"the other of two", unified.Verification{Token: token, HMAC: mac}, request(body, "X-Token", "Bearer token-now"), "-"},
	} {
		e := proving(t, tt.v)
		fp, err := e.Verify(tt.r)
		switch {
		case tt.fp == "-":
			wantErr(t, err, gateway.ErrUnverified)
			if err == nil {
				t.Errorf("%s is taken", tt.name)
			}
			for _, secret := range []string{"token", "mac-", "203."} {
				if err != nil && strings.Contains(strings.ReplaceAll(err.Error(), "wrong token", ""), secret) && !strings.Contains(err.Error(), "no token") {
					t.Errorf("%s: %v", tt.name, err)
				}
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.fp == "" && fp != "" || tt.fp != "" && fp != gateway.Fingerprint(tt.fp):
			t.Errorf("%s: proven by %q", tt.name, fp)
		}
	}
	e := proving(t, unified.Verification{})
	_, err = e.Verify(request(body))
	wantErr(t, err, gateway.ErrNoSecret)
	_, err = e.Challenge(&handlers.Request{RawQuery: "echostr=x", Header: http.Header{}})
	wantErr(t, err, gateway.ErrNotFound)
	if string(e.Answer(nil)) != "success" || e.RefusalStatus() != 401 {
		t.Error("answers")
	}
}

func from(address string) *handlers.Request {
	return &handlers.Request{Header: http.Header{}, Client: address, Body: []byte(`{}`)}
}

// What is kept of a refused callback lets it be verified when the secret was mended,
// and holds no secret.
func TestVerifyAgain(t *testing.T) {
	const body = `{"a":1}`
	theirs := unified.Verification{
		Token:     &unified.TokenProof{Header: "X-Token", Prefix: "Bearer ", Secrets: []string{"what-the-vendor-sends"}},
		HMAC:      &unified.HMACProof{Header: "x-sig", Secrets: []string{"what-the-vendor-signs-with"}},
		Addresses: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")},
	}
	ours := unified.Verification{
		Token:     &unified.TokenProof{Header: "X-Token", Prefix: "Bearer ", Secrets: []string{"what-we-believed"}},
		HMAC:      &unified.HMACProof{Header: "x-sig", Secrets: []string{"what-we-believed-too"}},
		Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")},
	}
	live := request(body)
	live.Client = "203.0.113.7"
	theirs.Prove(live.Header, live.Body)
	wrong, right := proving(t, ours), proving(t, theirs)
	_, err := wrong.Verify(live)
	wantErr(t, err, gateway.ErrUnverified)
	kept := wrong.Keep(live)
	for name, values := range kept {
		if strings.Contains(strings.Join(values, " "), "what-the-vendor-sends") {
			t.Errorf("the secret is kept in %s", name)
		}
	}
	again := &handlers.Request{Header: kept, Body: live.Body, Kept: true}
	_, err = wrong.Verify(again)
	wantErr(t, err, gateway.ErrUnverified)
	if fp, err := right.Verify(again); err != nil || fp != gateway.Fingerprint("what-the-vendor-signs-with") {
		t.Errorf("%q %v", fp, err)
	}
	// What was kept is nothing when it comes from outside.
	again.Kept = false
	_, err = right.Verify(again)
	wantErr(t, err, gateway.ErrUnverified)
	if kept := right.Keep(request(body)); len(kept) != 0 {
		t.Errorf("kept of nothing: %v", kept)
	}
}
