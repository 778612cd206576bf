package wecom_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/wecom"
)

type vector struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Token     string `json:"token"`
	Key       string `json:"encoding_aes_key"`
	ReceiveID string `json:"receive_id"`
	Timestamp string `json:"timestamp"`
	Nonce     string `json:"nonce"`
	Random16  string `json:"random16"`
	Plaintext string `json:"plaintext"`
	PadLen    int    `json:"pad_len"`
	Encrypt   string `json:"encrypt"`
	Signature string `json:"msg_signature"`
	RawQuery  string `json:"raw_query"`
	RawBody   string `json:"raw_body"`
	Expect    string `json:"expect"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	var f struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(read(t, "vectors.json"), &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Vectors) < 25 {
		t.Fatalf("only %d vectors", len(f.Vectors))
	}
	return f.Vectors
}

// TestVectors: signature, opening and sealing against complete examples, the
// platform's own among them, through Crypt and through the whole endpoint.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			c := crypt(t, v.Token, v.Key, v.ReceiveID)
			e := endpoint(t, []string{v.ReceiveID}, wecom.Credential{Token: v.Token, EncodingAESKey: v.Key})
			if v.Expect == "bad_signature" {
				_, err := e.Verify(&handlers.Request{RawQuery: v.RawQuery, Body: []byte(v.RawBody)})
				wantErr(t, err, gateway.ErrUnverified)
				return
			}
			if got := c.Sign(v.Timestamp, v.Nonce, v.Encrypt); got != v.Signature {
				t.Errorf("Sign = %s, want %s", got, v.Signature)
			}
			plain, err := c.Open(v.Encrypt)
			if v.Expect != "ok" {
				negative(t, e, v, plain, err)
				return
			}
			if err != nil || string(plain) != v.Plaintext {
				t.Fatalf("Open = %q, %v", plain, err)
			}
			if v.Random16 != "" {
				var random [16]byte
				copy(random[:], v.Random16)
				if got := c.Seal(plain, v.ReceiveID, random); got != v.Encrypt {
					t.Error("Seal makes another text")
				}
			}
			positive(t, e, v)
		})
	}
}

func positive(t *testing.T, e *wecom.Endpoint, v vector) {
	t.Helper()
	r := &handlers.Request{RawQuery: v.RawQuery, Body: []byte(v.RawBody)}
	switch {
	case v.Kind == "get_echostr":
		got, err := e.Challenge(r)
		if err != nil || string(got) != v.Plaintext {
			t.Errorf("Challenge = %q, %v; want %q", got, err, v.Plaintext)
		}
	case strings.HasSuffix(v.Kind, "_post"):
		fp, err := e.Verify(r)
		if err != nil || fp != gateway.Fingerprint(v.Key) {
			t.Errorf("Verify = %q, %v", fp, err)
		}
		_, keyFP, err := e.Decode(&gateway.Payload{Body: r.Body})
		if strings.HasPrefix(v.Plaintext, "{") {
			wantErr(t, err, gateway.ErrUndecodable) // a robot's document, not an app's
		} else if err != nil {
			t.Errorf("Decode: %v", err)
		}
		if keyFP != fp {
			t.Errorf("opened by %q", keyFP)
		}
	case v.RawBody == "":
		t.Error("a vector of unknown kind")
	}
}

// negative: the signature is right, so Verify accepts, and Decode says sealed.
func negative(t *testing.T, e *wecom.Endpoint, v vector, plain []byte, err error) {
	t.Helper()
	checks := map[string]string{
		"bad_receive_id": "foreign receive id", "bad_padding": "wrong padding", "bad_length": "wrong length",
		"too_short": "frame too short", "bad_base64": "not base64", "bad_block_size": "no whole blocks",
	}
	wantErr(t, err, gateway.ErrSealed)
	if plain != nil {
		t.Error("bytes beside an error")
	}
	if want := "sealed: " + checks[v.Expect]; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	r := &handlers.Request{RawQuery: v.RawQuery, Body: []byte(v.RawBody)}
	if _, err := e.Verify(r); err != nil {
		t.Errorf("Verify: %v", err)
	}
	items, keyFP, err := e.Decode(&gateway.Payload{Body: r.Body})
	wantErr(t, err, gateway.ErrSealed)
	if len(items) != 0 || keyFP != "" {
		t.Errorf("%d items, key %q", len(items), keyFP)
	}
}

func TestNewCrypt(t *testing.T) {
	for name, tt := range map[string]struct{ token, key string }{
		"no token":       {"", aesKey},
		"no key":         {token, ""},
		"short key":      {token, aesKey[:42]},
		"long key":       {token, aesKey + "A"},
		"key of no text": {token, strings.Repeat("!", 43)},
		"key with =":     {token, aesKey[:42] + "="},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := wecom.NewCrypt(tt.token, tt.key, []string{corp})
			if err == nil {
				t.Fatal("accepted")
			}
			if (tt.token == "" || tt.key == "") != strings.Contains(err.Error(), gateway.ErrNoSecret.Error()) {
				t.Errorf("error %v", err)
			}
			if len(tt.key) > 4 && strings.Contains(err.Error(), tt.key[:5]) {
				t.Error("the error tells the key")
			}
		})
	}
	// Without receive ids nothing opens: forgetting them must not open to all.
	c := crypt(t, token, aesKey)
	_, err := c.Open(c.Seal([]byte("x"), "", [16]byte{}))
	wantErr(t, err, gateway.ErrSealed)
}

func TestNewEndpoint(t *testing.T) {
	good := wecom.Credential{Token: token, EncodingAESKey: aesKey}
	for name, c := range map[string]wecom.EndpointConfig{
		"no ring":        {ReceiveIDs: []string{corp}},
		"no receive ids": {Ring: []wecom.Credential{good}},
		"empty token":    {Ring: []wecom.Credential{good, {EncodingAESKey: aesKey}}, ReceiveIDs: []string{corp}},
		"empty key":      {Ring: []wecom.Credential{{Token: token}, good}, ReceiveIDs: []string{corp}},
	} {
		if e, err := wecom.NewEndpoint(c); err == nil || e != nil {
			t.Errorf("%s: accepted", name)
		}
	}
	_, err := wecom.NewEndpoint(wecom.EndpointConfig{ReceiveIDs: []string{corp}})
	wantErr(t, err, gateway.ErrNoSecret)
	_, err = (&wecom.Endpoint{}).Verify(&handlers.Request{})
	wantErr(t, err, gateway.ErrNoSecret)
	_, err = (&wecom.Endpoint{}).Challenge(&handlers.Request{})
	wantErr(t, err, gateway.ErrNoSecret)
	if got := (&wecom.Endpoint{}).RefusalStatus(); got != 403 {
		t.Errorf("refusal status %d", got)
	}
}
