package wecomtest

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
)

func (b *Bot) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /cgi-bin/aibot/response", b.respond)
	mux.HandleFunc("GET /aibot-media/{file}", b.handOut)
	mux.Handle(sandbox.ControlPrefix, b.control())
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeAnswer(w, refuse(40066, 0)) })
	return mux
}

// respond takes a late answer.
func (b *Bot) respond(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var body struct {
		Type     string `json:"msgtype"`
		Markdown struct {
			Content string `json:"content"`
		} `json:"markdown"`
		Card json.RawMessage `json:"template_card"`
	}
	readable := json.Unmarshal(raw, &body) == nil
	code := r.URL.Query().Get("response_code")
	call := sandbox.Call{Account: b.o.BotID, Type: body.Type, Text: body.Markdown.Content}
	b.desk.Take(w, r, sandbox.OpSend, call, func() sandbox.Answer {
		b.mu.Lock()
		defer b.mu.Unlock()
		t := b.ofCode(code)
		switch {
		case t == nil, t.used, b.o.Now().Sub(t.at) >= wecom.ResponseLife:
			return refuse(40058, 0)
		case !readable:
			return refuse(47001, 0)
		case body.Type == "markdown" && body.Markdown.Content == "":
			return refuse(44004, 0)
		case body.Type == "markdown" && len(body.Markdown.Content) > wecom.MaxBotTextBytes:
			return refuse(45002, 0)
		case body.Type == "template_card" && len(body.Card) == 0, body.Type != "markdown" && body.Type != "template_card":
			return refuse(40008, 0)
		}
		t.used, t.Late, t.LateCard = true, body.Markdown.Content, string(body.Card)
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok"})
		a.Accepted = true
		return a
	}, refuse)
}

// ofCode finds the talk of an address; callers hold the lock.
func (b *Bot) ofCode(code string) *Talk {
	for _, t := range b.talks {
		if t.code == code && code != "" {
			return t
		}
	}
	return nil
}

// botFile is a file that somebody sent, encrypted.
type botFile struct {
	body []byte
	mime string
	at   time.Time
}

// AddFile puts a file of somebody on the platform's side and returns its address,
// which works for five minutes.
func (b *Bot) AddFile(mime string, plain []byte) (address string, err error) {
	sealed, err := sealFile(b.o.EncodingAESKey, plain)
	if err != nil {
		return "", err
	}
	id := b.nextID("file")
	b.mu.Lock()
	b.files[id] = botFile{sealed, mime, b.o.Now()}
	b.mu.Unlock()
	return b.URL() + "/aibot-media/" + id + "?sign=a%2Bb", nil
}

// sealFile encrypts as the platform does: AES-256-CBC with the EncodingAESKey, its
// first 16 bytes as IV, and PKCS#7 by 32. Source: 100719.
func sealFile(encodingAESKey string, plain []byte) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(encodingAESKey + "=")
	if err != nil || len(key) != 32 {
		return nil, errors.New("wecomtest: EncodingAESKey is no key")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	pad := 32 - len(plain)%32
	out := append([]byte{}, plain...)
	for range pad {
		out = append(out, byte(pad))
	}
	cipher.NewCBCEncrypter(block, key[:aes.BlockSize]).CryptBlocks(out, out)
	return out, nil
}

func (b *Bot) handOut(w http.ResponseWriter, r *http.Request) {
	b.desk.Take(w, r, sandbox.OpMedia, sandbox.Call{Account: b.o.BotID}, func() sandbox.Answer {
		b.mu.Lock()
		f, ok := b.files[r.PathValue("file")]
		b.mu.Unlock()
		if !ok || b.o.Now().Sub(f.at) >= wecom.BotMediaLife {
			return sandbox.Answer{Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/xml"}}, Body: []byte("<Error/>")}
		}
		return sandbox.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {f.mime}}, Body: f.body, Accepted: true}
	}, refuse)
}

// control has the shared paths and these:
//
//	POST /_sandbox/say       {"user","chat","text"}   somebody writes
//	POST /_sandbox/simulate  a BotEvent as JSON       a callback of any kind comes
//	GET  /_sandbox/talks                              what the chats show
//	PUT  /_sandbox/polling   {"on": bool}             whether streams are asked for
//	PUT  /_sandbox/callback  {"url"}                  where callbacks go
//	POST /_sandbox/verify                             the GET verification
func (b *Bot) control() *sandbox.Control {
	c := sandbox.NewControl(b.desk, b.shared)
	id := func(id string, err error) (any, error) { return map[string]string{"id": id}, err }
	c.Handle("POST say", func(r *http.Request) (any, error) {
		var in struct{ User, Chat, Text string }
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		return id(b.Tell(BotEvent{Kind: "aibot-text", From: in.User, Chat: in.Chat, Text: in.Text}))
	})
	c.Handle("POST simulate", func(r *http.Request) (any, error) {
		var e BotEvent
		if err := sandbox.ReadJSON(r, &e); err != nil {
			return nil, err
		}
		return id(b.Tell(e))
	})
	c.Handle("GET talks", func(*http.Request) (any, error) { return b.Talks(), nil })
	c.Handle("PUT polling", func(r *http.Request) (any, error) {
		var in struct{ On bool }
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		b.SetPolling(in.On)
		return map[string]bool{"on": in.On}, nil
	})
	c.Handle("PUT callback", func(r *http.Request) (any, error) {
		var in struct{ URL string }
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		b.SetCallbackURL(in.URL)
		return map[string]string{"url": in.URL}, nil
	})
	c.Handle("POST verify", func(r *http.Request) (any, error) {
		return map[string]bool{"verified": true}, b.VerifyCallback(r.Context())
	})
	return c
}
