package wecom_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// FuzzOpen: no ciphertext panics; what opens can be sealed and opened again.
func FuzzOpen(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Encrypt)
	}
	f.Add("")
	f.Add(strings.Repeat("A", 64))
	c := crypt(f, "Vh3kQz8LmT2w", oldKey, corp, "")
	f.Fuzz(func(t *testing.T, encrypted string) {
		plain, err := c.Open(encrypted)
		if err != nil {
			wantErr(t, err, gateway.ErrSealed)
			if plain != nil {
				t.Error("bytes beside an error")
			}
			return
		}
		again, err := c.Open(c.Seal(plain, corp, [16]byte{}))
		if err != nil || !bytes.Equal(plain, again) {
			t.Errorf("%v", err)
		}
	})
}

// FuzzSeal: whatever is sealed opens to the same bytes, for its receiver only.
func FuzzSeal(f *testing.F) {
	f.Add([]byte("<xml/>"), "ww1")
	f.Add([]byte{}, "")
	f.Add(bytes.Repeat([]byte{32}, 64), "x")
	f.Fuzz(func(t *testing.T, plain []byte, receiveID string) {
		encrypted := crypt(t, token, aesKey).Seal(plain, receiveID, [16]byte{1})
		got, err := crypt(t, token, aesKey, receiveID).Open(encrypted)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%v", err)
		}
		_, err = crypt(t, token, aesKey, receiveID+"x").Open(encrypted)
		wantErr(t, err, gateway.ErrSealed)
	})
}

// FuzzInner: no decrypted document panics, the same item comes twice, and an
// item can be kept and published.
func FuzzInner(f *testing.F) {
	f.Add([]byte(`{"ToUserName":"c","FromUserName":"u","MsgType":"text","MsgId":1,"content":"x\u0000","AgentID":[1],"a":{"b":[null,true]}}`))
	for _, s := range samples(f) {
		if b := read(f, s.File); len(b) < 2000 {
			f.Add(b)
		}
	}
	for _, part := range variants(f, filepath.Join("testdata", "variants.txt")) {
		_, doc, _ := strings.Cut(part, "\n")
		doc, _, _ = strings.Cut(doc, "\n> ")
		f.Add(variant([]string{doc}))
	}
	f.Add(read(f, "case-07-xxe-inner.xml"))
	f.Add([]byte("<xml><MsgType>\x01text</MsgType><FromUserName>\xff</FromUserName></xml>"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		items, err := deliver(t, corp, plain, "n")
		again, errAgain := deliver(t, corp, plain, "m")
		if (err == nil) != (errAgain == nil) || !cmp.Equal(items, again) {
			t.Fatal("two readings differ")
		}
		if err != nil {
			wantErr(t, err, gateway.ErrUndecodable)
		} else if len(items) != 1 {
			t.Errorf("%d items", len(items))
		}
	})
}

// FuzzEnvelope: no body and no query panics, and nothing passes whose Encrypt
// text is not the signed one.
func FuzzEnvelope(f *testing.F) {
	c := crypt(f, token, aesKey)
	encrypted := c.Seal([]byte("<xml/>"), corp, [16]byte{})
	good := signed(c, "n", encrypted)
	f.Add(good.RawQuery, good.Body)
	f.Add(good.RawQuery, []byte(`{"encrypt":"`+encrypted+`"}`))
	f.Add(good.RawQuery+"&nonce=n", []byte("<!DOCTYPE a><xml><Encrypt>"+encrypted+"</Encrypt></xml>"))
	f.Add("a=%zz;&msg_signature=x", []byte("<xml><Encrypt/></xml>"))
	f.Add("", []byte("{}"))
	e := endpoint(f, []string{corp}, wecom.Credential{Token: token, EncodingAESKey: aesKey})
	f.Fuzz(func(t *testing.T, query string, body []byte) {
		r := &handlers.Request{RawQuery: query, Body: body}
		_, _ = e.Challenge(r)
		_, err := e.Verify(r)
		items, _, decodeErr := e.Decode(&gateway.Payload{Body: body})
		if len(items) > 0 && decodeErr != nil {
			t.Error("items beside an error")
		}
		if err != nil && !errors.Is(err, gateway.ErrUnverified) && !errors.Is(err, gateway.ErrHostile) {
			t.Errorf("error %v", err)
		}
		// What Decode can find an Encrypt text in is no hostile envelope, and
		// the other way round.
		if readable := !errors.Is(decodeErr, gateway.ErrUndecodable); readable && errors.Is(err, gateway.ErrHostile) {
			t.Errorf("refused and opened: %q", body)
		}
	})
}
