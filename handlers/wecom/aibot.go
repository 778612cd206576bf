package wecom

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// BotStreams is what a robot's endpoint asks when the platform comes for an answer.
// Implementations are safe for concurrent use and answer on every instance, with or
// without a broker.
type BotStreams interface {
	// Progress is how far the answer to an event is, if the event is of that account
	// and chat; gateway.ErrNotFound if it is not, or not known yet. Pending holds
	// applications that may still answer.
	Progress(ctx context.Context, event, accountID string, chat gateway.Chat) (*gateway.Progress, error)
	// Polled notes that the platform is handed all there is; with end it is durable
	// before it returns, and the answer is over.
	Polled(ctx context.Context, event string, end bool) (*gateway.Progress, error)
}

// BotConfig is what the callback URL of a robot needs.
type BotConfig struct {
	Ring []Credential
	// Answers says whether an application may answer what somebody wrote to the
	// robot: then the callback is answered with the opener of a stream.
	Answers func(accountID string, chat gateway.ChatKind) bool
	// Welcome is what a member is told who enters the chat for the first time of a
	// day; empty for nothing.
	Welcome func(accountID string) string
	// Feedback says whether people may judge the answers: the opener of a stream then
	// has the event's id as feedback.id, and what they say names it. Nil: no.
	Feedback func(accountID string) bool
	Streams  BotStreams
	// Files has the pictures of answers; nil for none.
	Files Files
	Now   func() time.Time
}

// BotEndpoint is the callback URL of an intelligent robot. It implements
// handlers.Endpoint, Answerer and Poller, is immutable, and is safe for concurrent
// use.
type BotEndpoint struct {
	*Endpoint
	c BotConfig
}

var (
	_ handlers.Endpoint = (*BotEndpoint)(nil)
	_ handlers.Answerer = (*BotEndpoint)(nil)
	_ handlers.Poller   = (*BotEndpoint)(nil)
)

// NewBotEndpoint checks the credentials as NewEndpoint does. Frames of robots are
// addressed to nobody: their receive id is empty (101033).
func NewBotEndpoint(c BotConfig) (*BotEndpoint, error) {
	e, err := NewEndpoint(EndpointConfig{Ring: c.Ring, ReceiveIDs: []string{""}})
	if err != nil {
		return nil, err
	}
	return &BotEndpoint{Endpoint: e, c: c}, nil
}

// Decode opens a payload that Verify accepted and reads it. The question how far a
// stream is does not come here: see Poll.
func (e *BotEndpoint) Decode(p *gateway.Payload) (items []gateway.Item, keyFP string, err error) {
	encrypted, err := parseEnvelope(p.Body)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", gateway.ErrUndecodable, err)
	}
	frame, keyFP, err := e.open(encrypted)
	if err != nil {
		return nil, "", err
	}
	if items, err = decodeBot(frame.text, p.ReceivedAt); err != nil {
		return nil, keyFP, fmt.Errorf("%w: %w", gateway.ErrUndecodable, err)
	}
	for i := range items {
		if m := items[i].Content.Media; m != nil {
			m.Key, items[i].MediaLife = keyFP, BotMediaLife
		}
	}
	return items, keyFP, nil
}

// streamPrefix and the characters of an event's id make the id of its stream: a
// callback that comes again opens the same one, on any instance.
const (
	streamPrefix = "cw_"
	eventPrefix  = "ev_"
)

// StreamID is the id of the stream in which an event is answered.
func StreamID(event string) string { return streamPrefix + strings.TrimPrefix(event, eventPrefix) }

// eventOfStream is false for a stream that we did not open.
func eventOfStream(id string) (event string, ours bool) {
	rest, ours := strings.CutPrefix(id, streamPrefix)
	if !ours || len(rest) != 26 || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return "", false
	}
	return eventPrefix + rest, true
}

// streamReply is the passive answer to a message and to a poll. Source: 101031.
type streamReply struct {
	Type   string          `json:"msgtype"`
	Stream streamBody      `json:"stream"`
	Card   json.RawMessage `json:"template_card,omitempty"`
}

type streamBody struct {
	ID      string `json:"id"`
	Finish  bool   `json:"finish"`
	Content string `json:"content"`
	// Items are pictures, with the end alone; Feedback comes with the opener alone.
	Items    []streamItem `json:"msg_item,omitempty"`
	Feedback *botStream   `json:"feedback,omitempty"`
}

// streamItem is a picture in a stream.
type streamItem struct {
	Type  string       `json:"msgtype"`
	Image *sentPicture `json:"image"`
}

func newStreamReply(id string, finish bool, content string, card json.RawMessage) *streamReply {
	r := &streamReply{Type: "stream", Stream: streamBody{ID: id, Finish: finish, Content: content}}
	if len(card) > 0 {
		r.Type, r.Card = "stream_with_template_card", card
	}
	return r
}

// Answer opens the stream of a message that an application may answer, and welcomes
// who enters the chat. Everything else is answered with nothing: a worker is not
// waited for, its answer comes by the stream or later.
func (e *BotEndpoint) Answer(r *handlers.Request) []byte {
	m, signed := e.read(r)
	if m == nil {
		return nil
	}
	if m.Type == "event" {
		if text := e.c.Welcome(m.accountID()); m.Event.v.Type == "enter_chat" && text != "" {
			return e.reply(signed, map[string]any{"msgtype": "text", "text": botText{text}})
		}
		return nil
	}
	items, err := decodeBot(signed.plain, e.c.Now())
	if err != nil || items[0].Kind != gateway.KindMessage || !e.c.Answers(items[0].AccountID, items[0].Chat.Kind) {
		return nil
	}
	event := gateway.EventID("wecom", &items[0])
	opener := newStreamReply(StreamID(event), false, "", nil)
	if e.c.Feedback != nil && e.c.Feedback(items[0].AccountID) {
		opener.Stream.Feedback = &botStream{event}
	}
	return e.reply(signed, opener)
}

// Poll answers the question how far a stream is, which has the msgtype stream and
// may repeat the msgid of the message (100719), with the full text so far. The
// stream ends when its answer is whole, when nobody has anything more to say, and
// when its six minutes are over; before it does, that is on disk, so that nothing
// of it is sent in another way. What cannot be said now (a store that is slow, an
// event on its way, a chat that did not ask) is "nothing new yet": the platform
// comes again. A stream that we did not open ends at once.
func (e *BotEndpoint) Poll(ctx context.Context, r *handlers.Request) (answer []byte, polled bool) {
	m, signed := e.read(r)
	if m == nil || m.Type != "stream" || m.Stream.v.ID == "" {
		return nil, false
	}
	id := m.Stream.v.ID
	event, ours := eventOfStream(id)
	if !ours {
		return e.reply(signed, newStreamReply(id, true, "", nil)), true
	}
	p, end := e.progress(ctx, event, m)
	text := ""
	var card json.RawMessage
	if p != nil && p.State != gateway.ProgressClosed {
		text, card = p.Text, p.Card
	}
	if p != nil && p.State == gateway.ProgressTaken {
		text = text[:p.Taken]
		if !p.CardTaken {
			card = nil
		}
	}
	reply := newStreamReply(id, end, text, card)
	if p != nil && end && p.State == gateway.ProgressTaken {
		for _, name := range p.Pictures[:p.PicturesTaken] {
			if one, refusal := readPicture(e.c.Files, name, MaxBotPictureBytes); refusal == nil { // progress saw it a moment ago
				reply.Stream.Items = append(reply.Stream.Items, streamItem{"image", one})
			}
		}
	}
	return e.reply(signed, reply), true
}

// pollNoted is how often it is noted that the platform asks.
const pollNoted = 2 * time.Second

// progress finds what may be handed out; nil for nothing.
func (e *BotEndpoint) progress(ctx context.Context, event string, m *botMessage) (p *gateway.Progress, end bool) {
	chat, err := m.chat()
	if err != nil {
		return nil, false
	}
	p, err = e.c.Streams.Progress(ctx, event, m.accountID(), chat)
	if err != nil {
		return nil, false
	}
	now := e.c.Now()
	switch p.State {
	case gateway.ProgressTaken, gateway.ProgressClosed:
		return p, true
	case gateway.ProgressFinished:
		end = true
	case gateway.ProgressOpen, "":
		end = len(p.Pending) == 0 && p.Unsent == 0 || !now.Before(p.ReceivedAt.Add(StreamLife-pollMargin))
	}
	if !end && now.Sub(p.PolledAt) < pollNoted || end && !e.readable(p.Pictures) {
		return p, false
	}
	noted, err := e.c.Streams.Polled(ctx, event, end)
	if err != nil {
		return p, false
	}
	return noted, end
}

// readable says whether pictures are there now. The end is handed out with them or,
// should the store not give them, not at all: the words then go late.
func (e *BotEndpoint) readable(pictures []string) bool {
	for _, name := range pictures {
		if e.c.Files == nil {
			return false
		}
		if _, _, err := peek(e.c.Files, name); err != nil {
			return false
		}
	}
	return true
}

// signedRequest is a callback that was opened.
type signedRequest struct {
	by    *Crypt
	nonce string
	plain []byte
}

// read opens a callback; nil for one that cannot be read.
func (e *BotEndpoint) read(r *handlers.Request) (*botMessage, signedRequest) {
	q, ok := parseQuery(r.RawQuery, "")
	encrypted, err := parseEnvelope(r.Body)
	if !ok || err != nil {
		return nil, signedRequest{}
	}
	frame, _, err := e.open(encrypted)
	signer := e.signer(q, encrypted)
	if err != nil || signer == nil {
		return nil, signedRequest{}
	}
	m, _, err := readBot(frame.text)
	if err != nil {
		return nil, signedRequest{}
	}
	return m, signedRequest{signer, q.nonce, frame.text}
}

// reply encrypts and signs a passive answer with the pair that signed the callback
// and the nonce of its URL. Source: 101033.
func (e *BotEndpoint) reply(to signedRequest, body any) []byte {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails, by its contract
	plain, err := plainJSON(body)
	if err != nil {
		return nil
	}
	out, err := to.by.passive(plain, e.c.Now().Unix(), to.nonce, random)
	if err != nil {
		return nil
	}
	return out
}

// passive is the JSON envelope of an answer.
func (c *Crypt) passive(plain []byte, timestamp int64, nonce string, random [16]byte) ([]byte, error) {
	encrypted := c.Seal(plain, "", random)
	return plainJSON(struct {
		Encrypt   string `json:"encrypt"`
		Signature string `json:"msgsignature"`
		Timestamp int64  `json:"timestamp"`
		Nonce     string `json:"nonce"`
	}{encrypted, c.Sign(strconv.FormatInt(timestamp, 10), nonce, encrypted), timestamp, nonce})
}

// JSONEnvelope makes the outer JSON of a callback as the platform sends it to a
// robot. Callers: the sandbox and tests.
func JSONEnvelope(encrypted string) []byte {
	return []byte(`{"encrypt":"` + encrypted + `"}`)
}

// OpenPassive opens what an endpoint answered a robot's callback with, as the
// platform does. Callers: the sandbox and tests.
func (c *Crypt) OpenPassive(answer []byte, nonce string) ([]byte, error) {
	var a struct {
		Encrypt   string          `json:"encrypt"`
		Signature string          `json:"msgsignature"`
		Timestamp json.RawMessage `json:"timestamp"`
		Nonce     string          `json:"nonce"`
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.DisallowUnknownFields()
	switch {
	case d.Decode(&a) != nil:
		return nil, errors.New("the answer is not the JSON envelope of one")
	case a.Nonce != nonce:
		return nil, errors.New("the answer has another nonce")
	case bytes.ContainsAny(a.Timestamp, `"`):
		return nil, errors.New("the timestamp of the answer is not a number")
	case !c.signed(a.Signature, string(a.Timestamp), a.Nonce, a.Encrypt):
		return nil, errors.New("the answer is not signed right")
	}
	return c.Open(a.Encrypt)
}
