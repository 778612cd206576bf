package whatsapptest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// isBSUID knows how Meta writes a business-scoped user id: two capital letters,
// a dot, for a parent id "ENT.", and 1 to 128 letters and digits.
func isBSUID(s string) bool {
	if len(s) < 4 || s[2] != '.' || !capital(s[0]) || !capital(s[1]) {
		return false
	}
	rest := strings.TrimPrefix(s[3:], "ENT.")
	return rest != "" && len(rest) <= 128 && strings.IndexFunc(rest, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

func capital(c byte) bool { return c >= 'A' && c <= 'Z' }

// wamid makes a message id as Meta does: base64 of a small record that holds
// the other side's number.
func (s *Sandbox) wamid(number string, out bool) string {
	direction := byte(0x12)
	if out {
		direction = 0x11
	}
	if len(number) > 100 {
		number = number[:100]
	}
	name := fmt.Sprintf("%s%08X", s.origin, s.ids.Add(1))
	record := []byte{0x1c, 0x18, byte(len(number))}
	record = append(record, number...)
	record = append(record, 0x15, 0x02, 0x00, direction, 0x18, byte(len(name)))
	record = append(record, strings.ToUpper(name)...)
	record = append(record, 0x00)
	return "wamid." + base64.StdEncoding.EncodeToString(record)
}

// value wraps a change of a field in the envelope of a callback.
func (s *Sandbox) value(field string, parts map[string]any) []byte {
	parts["messaging_product"] = "whatsapp"
	parts["metadata"] = map[string]string{"display_phone_number": s.o.DisplayNumber, "phone_number_id": s.o.PhoneNumberID}
	body, err := json.Marshal(map[string]any{
		"object": "whatsapp_business_account",
		"entry": []any{map[string]any{
			"id":      s.o.WABAID,
			"changes": []any{map[string]any{"value": parts, "field": field}},
		}},
	})
	if err != nil {
		return []byte(`{}`)
	}
	return wireForm(body)
}

// wireForm writes JSON as Meta does: everything beyond ASCII as \u escapes, and
// slashes escaped. The signature goes over these bytes.
func wireForm(body []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(body) {
		switch {
		case r == '/':
			b.WriteString(`\/`)
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		}
	}
	return b.Bytes()
}

func (s *Sandbox) stamp() string { return strconv.FormatInt(s.o.Now().Unix(), 10) }

// person are the contact and the fields by which a message names its sender.
func person(from, name string) (contact, sender map[string]any) {
	contact = map[string]any{"profile": map[string]string{"name": name}}
	sender = map[string]any{}
	if isBSUID(from) {
		contact["user_id"], sender["from_user_id"] = from, from
		return contact, sender
	}
	from = strings.TrimPrefix(from, "+")
	contact["wa_id"], contact["user_id"] = from, BSUID(from)
	sender["from"], sender["from_user_id"] = from, BSUID(from)
	return contact, sender
}

// CustomerBody makes the callback of a customer's text. from is a phone number,
// or a BSUID for a customer who hides it.
func (s *Sandbox) CustomerBody(from, text string) (wamid string, body []byte) {
	contact, message := person(from, "Customer "+last(from, 4))
	number, _ := message["from"].(string)
	wamid = s.wamid(number, false)
	message["id"], message["timestamp"], message["type"] = wamid, s.stamp(), "text"
	message["text"] = map[string]string{"body": text}
	return wamid, s.value("messages", map[string]any{"contacts": []any{contact}, "messages": []any{message}})
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

// Customer lets a customer write; it returns the wamid of the message, which is
// on its way.
func (s *Sandbox) Customer(from, text string) (wamid string) {
	wamid, body := s.CustomerBody(from, text)
	s.Deliver("message", body)
	return wamid
}

// ColleagueBody makes the callback of a message that a colleague sent by hand
// in the WhatsApp Business app (field smb_message_echoes).
func (s *Sandbox) ColleagueBody(to, text string) (wamid string, body []byte) {
	contact, _ := person(to, "Customer "+last(to, 4))
	echo := map[string]any{"from": s.o.DisplayNumber, "timestamp": s.stamp(), "type": "text", "text": map[string]string{"body": text}}
	number := ""
	if isBSUID(to) {
		echo["to_user_id"] = to
	} else {
		number = strings.TrimPrefix(to, "+")
		echo["to"], echo["to_user_id"] = number, BSUID(number)
	}
	wamid = s.wamid(number, true)
	echo["id"] = wamid
	return wamid, s.value("smb_message_echoes", map[string]any{"contacts": []any{contact}, "message_echoes": []any{echo}})
}

// Colleague lets a colleague write by hand; the echo is on its way.
func (s *Sandbox) Colleague(to, text string) (wamid string) {
	wamid, body := s.ColleagueBody(to, text)
	s.Deliver("echo", body)
	return wamid
}

// Echo plays one of our own messages back as an echo with the id given, as some
// set-ups do.
func (s *Sandbox) Echo(wamid, to, text string) {
	number := strings.TrimPrefix(to, "+")
	echo := map[string]any{"from": s.o.DisplayNumber, "to": number, "to_user_id": BSUID(number), "id": wamid,
		"timestamp": s.stamp(), "type": "text", "text": map[string]string{"body": text}}
	s.Deliver("echo", s.value("smb_message_echoes", map[string]any{"message_echoes": []any{echo}}))
}

// StatusBody makes the callback of one status. code is the error of "failed".
func (s *Sandbox) StatusBody(wamid, marker, to, state string, code int) []byte {
	a := address{input: to, waID: strings.TrimPrefix(to, "+")}
	if isBSUID(to) {
		a = address{input: to, user: to}
	} else {
		a.user = BSUID(a.waID)
	}
	return s.statusBody(wamid, marker, a, state, code)
}

func (s *Sandbox) statusBody(wamid, marker string, to address, state string, code int) []byte {
	st := map[string]any{"id": wamid, "status": state, "timestamp": s.stamp()}
	if to.waID != "" {
		st["recipient_id"] = to.waID
	}
	if to.group {
		st["recipient_type"] = "group"
	}
	if to.user != "" && state != "failed" {
		st["recipient_user_id"] = to.user
	}
	if marker != "" {
		st["biz_opaque_callback_data"] = marker
	}
	if state == "failed" {
		_, words := usual(code)
		st["errors"] = []any{map[string]any{"code": code, "title": words, "message": words,
			"error_data": map[string]string{"details": words}}}
	}
	return s.value("messages", map[string]any{"statuses": []any{st}})
}

// queueStatuses lets the statuses of a taken message come.
func (s *Sandbox) queueStatuses(wamid, marker string, to address, m sandbox.Aftermath) {
	if m.NoStatuses {
		return
	}
	steps := []struct {
		state string
		after time.Duration
	}{{"sent", s.o.Sent}, {"delivered", s.o.Delivered}, {"read", s.o.Read}}
	if m.FailCode != 0 {
		steps = steps[:1]
		steps[0].state = "failed"
	}
	var group []sandbox.Callback
	for _, step := range steps {
		if step.after < 0 {
			continue
		}
		// The body is made when it is first tried, so that its timestamp is
		// the time of the status.
		group = append(group, s.parcel("status", step.after, sync.OnceValue(func() []byte {
			return s.statusBody(wamid, marker, to, step.state, m.FailCode)
		})))
	}
	s.queue(group...)
}

// Deliver signs a body of any kind and lets it be delivered, with retries.
func (s *Sandbox) Deliver(kind string, body []byte) {
	s.queue(s.parcel(kind, 0, func() []byte { return body }))
}

func (s *Sandbox) queue(group ...sandbox.Callback) {
	if *s.callback.Load() != "" {
		s.courier.Queue(group...)
	}
}

func (s *Sandbox) parcel(kind string, after time.Duration, body func() []byte) sandbox.Callback {
	return sandbox.Callback{Kind: kind, After: after, Build: func(ctx context.Context, _ int) (*http.Request, error) {
		return s.request(ctx, body())
	}}
}

// request is a signed POST.
func (s *Sandbox) request(ctx context.Context, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *s.callback.Load(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "facebookexternalua")
	req.Header.Set(whatsapp.SignatureHeader, whatsapp.Sign(s.o.AppSecret, body))
	return req, nil
}

// Post signs and posts a body at once, without retries, and returns the status.
func (s *Sandbox) Post(ctx context.Context, body []byte) (status int, err error) {
	req, err := s.request(ctx, body)
	if err != nil {
		return 0, err
	}
	status, _, err = s.courier.Send(req)
	return status, err
}

// VerifyCallback makes the GET that Meta makes when a callback URL is saved, and
// returns an error unless the challenge came back alone under 200.
func (s *Sandbox) VerifyCallback(ctx context.Context, verifyToken string) error {
	u, err := url.Parse(*s.callback.Load())
	if err != nil {
		return errors.New("whatsapptest: the callback URL is not a URL")
	}
	challenge := rand.Text()
	q := u.Query()
	q.Set("hub.mode", "subscribe")
	q.Set("hub.verify_token", verifyToken)
	q.Set("hub.challenge", challenge)
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	status, body, err := s.courier.Send(req)
	switch {
	case err != nil:
		return errors.New("whatsapptest: the callback URL does not answer")
	case status != http.StatusOK:
		return fmt.Errorf("whatsapptest: the callback URL answered %d", status)
	case string(body) != challenge:
		return errors.New("whatsapptest: the callback URL did not answer the challenge alone")
	}
	return nil
}
