package wecomtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// Inner makes the XML of an app callback: the common fields of 90239 and 90240
// around those given. from is a userid or "sys".
func (s *Sandbox) Inner(from, msgType string, fields ...Field) []byte {
	d := draft{app: s.app(), Event: Event{At: s.o.Now()}, sender: from, msg: msgType, agent: true, fields: fields}
	return d.document()
}

func (s *Sandbox) app() App {
	return App{CorpID: s.o.CorpID, AgentID: s.o.AgentID, SuiteID: s.o.ReceiveID, NewID: s.messageID, Now: s.o.Now}
}

// Make makes the inner XML of any kind of callback; see Kinds. It delivers
// nothing; what it tells of customers and chats has happened with it.
func (s *Sandbox) Make(e Event) (msgID string, inner []byte, err error) {
	if msgID, inner, err = s.app().Inner(e); err != nil {
		return "", nil, err
	}
	if e.At.IsZero() {
		e.At = s.o.Now()
	}
	e.fillIn()
	k, _ := KindNamed(e.Kind)
	e.Variant, _ = k.Variant(e.Variant)
	s.contacts.happens(&e)
	return msgID, inner, nil
}

// Tell makes a callback of any kind and lets it be delivered; what KfKinds lists
// comes to customer service instead, and the bell rings.
func (s *Sandbox) Tell(e Event) (msgID string, err error) {
	if k, ok := KfKindNamed(e.Kind); ok {
		return s.tellKf(&k, e)
	}
	id, inner, err := s.Make(e)
	if err == nil {
		s.Deliver(e.Kind, inner)
	}
	return id, err
}

// messageID makes a MsgId: a 64-bit number, unlike those of other sandboxes.
func (s *Sandbox) messageID() string {
	high, err := strconv.ParseUint(s.origin[:8], 16, 64)
	if err != nil {
		high = 0
	}
	return strconv.FormatUint(7_000_000_000_000_000_000+high<<28+s.ids.Add(1), 10)
}

// Message makes the inner XML of a member's message of any type and its MsgId.
func (s *Sandbox) Message(userID, msgType string, fields ...Field) (msgID string, inner []byte) {
	msgID = s.messageID()
	fields = append(fields[:len(fields):len(fields)], Field{Name: "MsgId", Value: msgID, Number: true})
	return msgID, s.Inner(userID, msgType, fields...)
}

// Member lets a member write a text; the callback is on its way.
func (s *Sandbox) Member(userID, text string) (msgID string) {
	return s.deliverMessage(userID, "text", Field{Name: "Content", Value: text})
}

// Image lets a member send a picture.
func (s *Sandbox) Image(userID string) (msgID string) {
	file := s.AddFile("image", "picture.png", "image/png", []byte("\x89PNG\r\n\x1a\n of the sandbox"))
	return s.deliverMessage(userID, "image",
		Field{Name: "PicUrl", Value: "https://wework.qpic.example.invalid/" + s.nextID("pic")}, Field{Name: "MediaId", Value: file})
}

// Voice lets a member send a voice message.
func (s *Sandbox) Voice(userID string) (msgID string) {
	file := s.AddFile("voice", "voice.amr", "audio/amr", []byte("#!AMR\n of the sandbox"))
	return s.deliverMessage(userID, "voice", Field{Name: "MediaId", Value: file}, Field{Name: "Format", Value: "amr"})
}

func (s *Sandbox) deliverMessage(userID, msgType string, fields ...Field) string {
	id, inner := s.Message(userID, msgType, fields...)
	s.Deliver("message", inner)
	return id
}

// Event lets an event of a member come: click, view, enter_agent, subscribe ...
func (s *Sandbox) Event(userID, event, key string) {
	s.Deliver("event", s.Inner(userID, "event", Field{Name: "Event", Value: event}, Field{Name: "EventKey", Value: key}))
}

// Deliver signs and encrypts an inner body of any kind and lets it be delivered,
// three times at most. Every try has a new nonce and ciphertext.
func (s *Sandbox) Deliver(kind string, inner []byte) {
	if *s.callback.Load() == "" {
		return
	}
	s.courier.Queue(sandbox.Callback{Kind: kind, Build: func(ctx context.Context, _ int) (*http.Request, error) {
		return s.request(ctx, inner)
	}})
}

// Post signs, encrypts and posts an inner body at once, without retries.
func (s *Sandbox) Post(ctx context.Context, inner []byte) (status int, body []byte, err error) {
	req, err := s.request(ctx, inner)
	if err != nil {
		return 0, nil, err
	}
	return s.courier.Send(req)
}

// signed returns the callback URL with the query of a signature over encrypted.
func (s *Sandbox) signed(encrypted string, more url.Values) (string, error) {
	u, err := url.Parse(*s.callback.Load())
	if err != nil {
		return "", errors.New("wecomtest: the callback URL is not a URL")
	}
	stamp, nonce := strconv.FormatInt(s.o.Now().Unix(), 10), rand.Text()[:10]
	q := u.Query()
	q.Set("msg_signature", s.crypt.Sign(stamp, nonce, encrypted))
	q.Set("timestamp", stamp)
	q.Set("nonce", nonce)
	for name := range more {
		q.Set(name, more.Get(name))
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

func (s *Sandbox) seal(plain []byte) (string, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return s.crypt.Seal(plain, s.o.ReceiveID, random), nil
}

func (s *Sandbox) request(ctx context.Context, inner []byte) (*http.Request, error) {
	encrypted, err := s.seal(inner)
	if err != nil {
		return nil, err
	}
	target, err := s.signed(encrypted, nil)
	if err != nil {
		return nil, err
	}
	body := wecom.Envelope(s.o.CorpID, strconv.FormatInt(s.o.AgentID, 10), encrypted)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "text/xml")
	req.Header.Set("User-Agent", "Mozilla/4.0")
	return req, nil
}

// VerifyCallback makes the GET that WeCom makes when a callback URL is saved, and
// returns an error unless the decrypted echostr came back alone under 200.
func (s *Sandbox) VerifyCallback(ctx context.Context) error {
	echo := strconv.FormatUint(1_000_000_000_000_000_000+s.ids.Add(1), 10)
	encrypted, err := s.seal([]byte(echo))
	if err != nil {
		return err
	}
	target, err := s.signed(encrypted, url.Values{"echostr": {encrypted}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	status, body, err := s.courier.Send(req)
	switch {
	case err != nil:
		return errors.New("wecomtest: the callback URL does not answer")
	case status != http.StatusOK:
		return fmt.Errorf("wecomtest: the callback URL answered %d", status)
	case string(body) != echo:
		return errors.New("wecomtest: the callback URL did not answer the decrypted echostr alone")
	}
	return nil
}
