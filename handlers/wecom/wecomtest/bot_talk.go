package wecomtest

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // WeCom's checksum
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/handlers/wecom"
)

// Make makes the inner JSON of a callback whose late answer comes to this sandbox.
func (b *Bot) Make(e BotEvent) (msgID string, inner []byte, err error) {
	return e.Inner(b.o.BotID, "CAIQ/"+b.nextID("msg")+"=", b.o.Now())
}

// Tell makes a callback of any kind and lets it be delivered, three times at most;
// a stream that it opens is asked for until it ends.
func (b *Bot) Tell(e BotEvent) (msgID string, err error) {
	t := &Talk{Kind: e.Kind, User: e.From, Chat: e.Chat, code: rand.Text(), at: b.o.Now()}
	if e.Response == "" && b.URL() != "" {
		e.Response = b.URL() + "/cgi-bin/aibot/response?response_code=" + t.code
	}
	id, inner, err := b.Make(e)
	if err != nil {
		return "", err
	}
	t.MsgID = id
	b.mu.Lock()
	b.talks = append(b.talks, t)
	nowhere := b.callback == ""
	b.mu.Unlock()
	if nowhere {
		return id, nil
	}
	b.wg.Go(func() { b.deliver(t, inner) })
	return id, nil
}

// Follow sends a callback, three times at most, asks for the stream that it opens
// until that ends or six minutes are over, and returns what the chat shows.
func (b *Bot) Follow(e BotEvent) (Talk, error) {
	id, inner, err := b.Make(e)
	if err != nil {
		return Talk{}, err
	}
	t := &Talk{MsgID: id, Kind: e.Kind, User: e.From, Chat: e.Chat, at: b.o.Now()}
	b.mu.Lock()
	b.talks = append(b.talks, t)
	given := b.failed
	b.mu.Unlock()
	b.deliver(t, inner)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed > given {
		return *t, errors.New("wecomtest: the callback was not taken")
	}
	return *t, nil
}

// ResponseURL is the address for a late answer to a message.
func (b *Bot) ResponseURL(msgID string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.talks {
		if t.MsgID == msgID {
			return b.URL() + "/cgi-bin/aibot/response?response_code=" + t.code
		}
	}
	return ""
}

// UseUp lets the address of a message be used by somebody else.
func (b *Bot) UseUp(msgID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.talks {
		if t.MsgID == msgID {
			t.used = true
		}
	}
}

// Say lets somebody write; a group is named by chat.
func (b *Bot) Say(user, chat, text string) (msgID string) {
	id, err := b.Tell(BotEvent{Kind: "aibot-text", From: user, Chat: chat, Text: text})
	if err != nil {
		b.o.Log.Error("bot.not_made", zap.Error(err))
	}
	return id
}

// deliver tries a callback and follows the stream that it opens.
func (b *Bot) deliver(t *Talk, inner []byte) {
	for n := 0; ; n++ {
		status, answer, err := b.Post(b.ctx, inner)
		if err == nil && status == http.StatusOK {
			b.answered(t, answer)
			return
		}
		if n >= len(b.o.Retry) || !pause(b.ctx, b.o.Retry[n]) {
			b.mu.Lock()
			b.failed++
			b.mu.Unlock()
			b.o.Log.Warn("bot.given_up", zap.Int("status", status))
			return
		}
	}
}

// answered reads the answer to a callback.
func (b *Bot) answered(t *Talk, answer string) {
	b.mu.Lock()
	t.Answer = answer
	s := b.show(t, answer)
	b.mu.Unlock()
	if s == nil || s.Finish {
		return
	}
	for b.o.Now().Sub(t.at) < wecom.StreamLife {
		b.mu.Lock()
		every := b.pollEvery
		b.mu.Unlock()
		if every < 0 { // nobody asks now; looked at again soon
			if !pause(b.ctx, 20*time.Millisecond) {
				return
			}
			continue
		}
		if !pause(b.ctx, every) {
			return
		}
		if end, err := b.ask(t); err == nil && end {
			return
		}
	}
}

// stream is the part of an answer that the chat shows.
type stream struct {
	ID      string `json:"id"`
	Finish  bool   `json:"finish"`
	Content string `json:"content"`
	Items   []struct {
		Type  string `json:"msgtype"`
		Image struct {
			Base64 string `json:"base64"`
			MD5    string `json:"md5"`
		} `json:"image"`
	} `json:"msg_item"`
	Feedback struct {
		ID string `json:"id"`
	} `json:"feedback"`
}

// pictures are the SHA-256 of those in a stream; ok is false when WeCom would not take
// them: before the end, more than ten, or with another checksum. Source: 101031.
func (s *stream) pictures() (sums []string, ok bool) {
	if len(s.Items) > 0 && !s.Finish || len(s.Items) > wecom.MaxBotPictures {
		return nil, false
	}
	for _, it := range s.Items {
		b, err := base64.StdEncoding.DecodeString(it.Image.Base64)
		sum := md5.Sum(b) //nolint:gosec // WeCom's checksum
		if err != nil || it.Type != "image" || hex.EncodeToString(sum[:]) != it.Image.MD5 || len(b) > 10<<20 {
			return nil, false
		}
		name := sha256.Sum256(b)
		sums = append(sums, hex.EncodeToString(name[:]))
	}
	return sums, true
}

// show takes what an answer says about a stream; nil for one that says nothing.
// Callers hold the lock.
func (b *Bot) show(t *Talk, answer string) *stream {
	var a struct {
		Type   string          `json:"msgtype"`
		Stream *stream         `json:"stream"`
		Card   json.RawMessage `json:"template_card"`
	}
	if json.Unmarshal([]byte(answer), &a) != nil || a.Stream == nil || a.Type != "stream" && a.Type != "stream_with_template_card" ||
		len(a.Stream.Content) > wecom.MaxBotTextBytes {
		return nil
	}
	pictures, ok := a.Stream.pictures()
	if !ok || len(a.Stream.Feedback.ID) > 256 {
		return nil
	}
	if t.Stream == "" { // it is set on the first answer
		t.Feedback = a.Stream.Feedback.ID
	}
	t.Stream, t.Text, t.Finished, t.Pictures = a.Stream.ID, a.Stream.Content, a.Stream.Finish, pictures
	if a.Type == "stream_with_template_card" {
		t.Card = string(a.Card)
	}
	return a.Stream
}

// Ask asks once for the stream of a message, as the platform does by itself.
func (b *Bot) Ask(msgID string) (finished bool, err error) {
	b.mu.Lock()
	var t *Talk
	for _, x := range b.talks {
		if x.MsgID == msgID {
			t = x
		}
	}
	b.mu.Unlock()
	if t == nil {
		return false, errors.New("wecomtest: no such message")
	}
	return b.ask(t)
}

func (b *Bot) ask(t *Talk) (finished bool, err error) {
	b.mu.Lock()
	t.Polls++
	doc := object{"msgid": t.MsgID, "aibotid": b.o.BotID, "chattype": "single", "from": object{"userid": t.User}, "msgtype": "stream", "stream": object{"id": t.Stream}}
	if t.Chat != "" {
		doc["chattype"], doc["chatid"] = "group", t.Chat
	}
	b.mu.Unlock()
	inner, err := json.Marshal(doc)
	if err != nil {
		return false, err
	}
	status, answer, err := b.Post(b.ctx, inner)
	switch {
	case err != nil:
		return false, err
	case status != http.StatusOK:
		return false, fmt.Errorf("wecomtest: a question was answered %d", status)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.show(t, answer)
	if s == nil {
		return false, errors.New("wecomtest: a question was not answered with a stream")
	}
	return s.Finish, nil
}

// Post signs, encrypts and posts an inner body at once, without retries, and returns
// the decrypted passive answer; empty for none. An answer that the platform would
// not take is an error.
func (b *Bot) Post(ctx context.Context, inner []byte) (status int, answer string, err error) {
	req, nonce, err := b.request(ctx, http.MethodPost, inner)
	if err != nil {
		return 0, "", err
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, "", errors.New("wecomtest: the callback URL does not answer")
	}
	defer resp.Body.Close() //nolint:errcheck // what counts was read
	body, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	if err != nil || len(body) == 0 || resp.StatusCode != http.StatusOK {
		return resp.StatusCode, "", err
	}
	plain, err := b.crypt.OpenPassive(body, nonce)
	if err != nil {
		return resp.StatusCode, "", fmt.Errorf("wecomtest: %w", err)
	}
	return resp.StatusCode, string(plain), nil
}

// VerifyCallback makes the GET that WeCom makes when a callback URL is saved.
func (b *Bot) VerifyCallback(ctx context.Context) error {
	echo := "77331100" + strconv.FormatUint(b.ids.Add(1), 10)
	req, _, err := b.request(ctx, http.MethodGet, []byte(echo))
	if err != nil {
		return err
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return errors.New("wecomtest: the callback URL does not answer")
	}
	defer resp.Body.Close() //nolint:errcheck // what counts was read
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || string(body) != echo {
		return fmt.Errorf("wecomtest: the callback URL did not answer the decrypted echostr alone (%d)", resp.StatusCode)
	}
	return nil
}

// request makes a signed callback around an inner body, with the nonce of its URL.
func (b *Bot) request(ctx context.Context, method string, inner []byte) (*http.Request, string, error) {
	b.mu.Lock()
	target := b.callback
	b.mu.Unlock()
	u, err := url.Parse(target)
	if err != nil {
		return nil, "", errors.New("wecomtest: the callback URL is not a URL")
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails, by its contract
	encrypted := b.crypt.Seal(inner, "", random)
	stamp, nonce := strconv.FormatInt(b.o.Now().Unix(), 10), rand.Text()[:10]
	q := u.Query()
	q.Set("msg_signature", b.crypt.Sign(stamp, nonce, encrypted))
	q.Set("timestamp", stamp)
	q.Set("nonce", nonce)
	var body io.Reader
	if method == http.MethodGet {
		q.Set("echostr", encrypted)
	} else {
		body = bytes.NewReader(wecom.JSONEnvelope(encrypted))
	}
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nonce, nil
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
