package whatsapptest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
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

// wamid makes the id of a message of this sandbox.
func (s *Sandbox) wamid(number string, out bool) string {
	return wamid(number, strings.ToUpper(fmt.Sprintf("%s%08X", s.origin, s.ids.Add(1))), out)
}

// serial is the number of an id that this sandbox made; 0 for any other.
func (s *Sandbox) serial(id string) uint64 {
	record, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(id, "wamid."))
	if err != nil {
		return 0
	}
	_, number, _ := strings.Cut(string(record), strings.ToUpper(s.origin))
	n, err := strconv.ParseUint(strings.TrimRight(number, "\x00"), 16, 64)
	if err != nil || n > s.ids.Load() {
		return 0
	}
	return n
}

// business is our side as callbacks name it.
func (s *Sandbox) business() Business {
	return Business{PhoneNumberID: s.o.PhoneNumberID, WABAID: s.o.WABAID, Number: s.o.DisplayNumber, NewID: s.wamid, Now: s.o.Now}
}

// Body makes the callback of any kind. A customer whom the sandbox knows (see
// SetCustomer and Move) is shown as they are now. id is the item's, "" where a
// callback holds several.
func (s *Sandbox) Body(e Event) (id string, body []byte, err error) {
	e.Customer = s.people.shown(e.Customer)
	k, ok := KindNamed(e.Kind)
	if ok && e.ID == "" && e.Count <= 1 && !strings.HasPrefix(e.Kind, "call-") {
		e.ID = s.wamid(e.Customer.phone(), k.Class == gateway.KindStatus || k.Class == gateway.KindEcho)
	}
	body, err = s.business().Callback(e).Body()
	if err == nil {
		s.heard(&e, k.Class)
	}
	return e.ID, body, err
}

// Simulate delivers a callback of any kind, with retries.
func (s *Sandbox) Simulate(e Event) (id string, err error) {
	id, body, err := s.Body(e)
	if err != nil {
		return "", err
	}
	s.Deliver(e.Kind, body)
	return id, nil
}

// must is for kinds that are known to exist.
func (s *Sandbox) must(e Event) (id string, body []byte) {
	id, body, err := s.Body(e)
	if err != nil {
		return "", []byte(`{}`)
	}
	return id, body
}

// CustomerBody makes the callback of a customer's text. from is a phone number,
// or a BSUID for a customer who hides it.
func (s *Sandbox) CustomerBody(from, text string) (wamid string, body []byte) {
	return s.must(Event{Kind: "text", Customer: Customer{Phone: from}, Text: text})
}

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
	return s.must(Event{Kind: "echo", Customer: Customer{Phone: to}, Text: text})
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
	_, body := s.must(Event{Kind: "echo", Customer: Customer{Phone: to}, ID: wamid, Text: text})
	s.Deliver("echo", body)
}

// StatusBody makes the callback of one status. code is the error of "failed".
func (s *Sandbox) StatusBody(wamid, marker, to, state string, code int) []byte {
	_, body := s.must(Event{Kind: "status", Customer: Customer{Phone: to}, ID: wamid, Marker: marker, Variant: state, Code: code})
	return body
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
