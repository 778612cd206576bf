package wecom_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// FuzzBotInner: no decrypted document of a robot panics, two readings are the same,
// and an answer, where there is one, is one that the platform takes.
func FuzzBotInner(f *testing.F) {
	for _, s := range botSamples(f) {
		f.Add(read(f, s.File))
	}
	for _, part := range variants(f, filepath.Join("testdata", "aibot_variants.txt")) {
		_, doc, _ := strings.Cut(part, "\n")
		doc, _, _ = strings.Cut(doc, "\n> ")
		f.Add([]byte(doc))
	}
	f.Add([]byte(strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)))
	f.Add([]byte("{\"msgid\":\"\\\n\"}"))
	e := botEndpoint(f, noStreams{})
	f.Fuzz(func(t *testing.T, plain []byte) {
		items, err := decodeBots(t, plain)
		again, errAgain := decodeBots(t, plain)
		if (err == nil) != (errAgain == nil) || !cmp.Equal(items, again) {
			t.Fatal("two readings differ")
		}
		if err != nil {
			wantErr(t, err, gateway.ErrUndecodable)
		} else if len(items) == 0 {
			t.Error("nothing and no error")
		}
		r := told(t, plain, "n")
		answer, polled := e.Poll(t.Context(), r)
		if !polled {
			answer = e.Answer(r)
		}
		if got := opened(t, answer, "n"); got != "" && !strings.HasPrefix(got, `{"msgtype":"`) {
			t.Errorf("answered %s", got)
		}
	})
}

// FuzzBotEnvelope: no body of a robot's callback panics, and only the signed text is
// answered.
func FuzzBotEnvelope(f *testing.F) {
	good := told(f, []byte(`{"msgid":"m","aibotid":"aib1","from":{"userid":"u"},"msgtype":"text","text":{"content":"x"}}`), "n")
	f.Add(good.RawQuery, good.Body)
	f.Add(good.RawQuery, []byte(`{"encrypt":""}`))
	f.Add(good.RawQuery, []byte(`{"encrypt":"x","Encrypt":"y"}`))
	f.Add("", []byte("{}"))
	e := botEndpoint(f, noStreams{})
	f.Fuzz(func(t *testing.T, query string, body []byte) {
		r := &handlers.Request{RawQuery: query, Body: body}
		_, err := e.Verify(r)
		answer, polled := e.Poll(t.Context(), r)
		if !polled {
			answer = e.Answer(r)
		}
		if err != nil && (polled || len(answer) > 0) {
			t.Errorf("answered what is not verified: %v", err)
		}
		if _, _, err := e.Decode(&gateway.Payload{Body: body}); err != nil {
			_ = err.Error()
		}
	})
}

// BenchmarkBot measures a callback of each kind as the relay reads it and as the
// front door answers it, and a question.
func BenchmarkBot(b *testing.B) {
	e := botEndpoint(b, noStreams{})
	for _, s := range botSamples(b) {
		if s.Expect != "ok" {
			continue
		}
		r := told(b, read(b, s.File), "n")
		name := strings.TrimSuffix(strings.TrimPrefix(s.File, "aibot_"), ".json")
		if s.Class == "poll" {
			b.Run("answer/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, polled := e.Poll(b.Context(), r); !polled {
						b.Fatal("not taken for a question")
					}
				}
			})
			continue
		}
		b.Run("decode/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(r.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := e.Decode(&gateway.Payload{Body: r.Body}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("answer/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Answer(r)
			}
		})
	}
}

// TestBotVectors: the complete examples of a robot through its endpoint.
func TestBotVectors(t *testing.T) {
	seen := 0
	for _, v := range vectors(t) {
		if v.ReceiveID != "" || v.Expect != "ok" || v.Token != botToken {
			continue
		}
		seen++
		e, err := wecom.NewBotEndpoint(wecom.BotConfig{Ring: []wecom.Credential{{Token: v.Token, EncodingAESKey: v.Key}}})
		if err != nil {
			t.Fatal(err)
		}
		switch v.Kind {
		case "get_echostr":
			if got, err := e.Challenge(&handlers.Request{RawQuery: v.RawQuery}); err != nil || string(got) != v.Plaintext {
				t.Errorf("%s: %q, %v", v.Name, got, err)
			}
		case "passive_reply_json":
			got, err := crypt(t, v.Token, v.Key, "").OpenPassive([]byte(v.RawBody), v.Nonce)
			if err != nil || string(got) != v.Plaintext {
				t.Errorf("%s: %q, %v", v.Name, got, err)
			}
		default:
			if _, err := e.Verify(&handlers.Request{RawQuery: v.RawQuery, Body: []byte(v.RawBody)}); err != nil {
				t.Errorf("%s: %v", v.Name, err)
			}
			items, _, err := e.Decode(&gateway.Payload{Body: []byte(v.RawBody)})
			if err != nil || len(items) == 0 || items[0].Kind != gateway.KindMessage {
				t.Errorf("%s: %d items, %v", v.Name, len(items), err)
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d vectors", seen)
	}
}
