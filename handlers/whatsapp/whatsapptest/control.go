package whatsapptest

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// control adds the paths of this platform to the shared ones:
//
//	POST /_sandbox/customer   {"from","text"}    a customer writes
//	POST /_sandbox/colleague  {"to","text"}      a colleague writes by hand
//	POST /_sandbox/deliver    any JSON body      signed and delivered
//	POST /_sandbox/verify     {"verify_token"}   the GET verification
//	PUT  /_sandbox/limits     fields of Rules    what is not named stays
//	PUT  /_sandbox/callback   {"url"}            where callbacks go
//	PUT  /_sandbox/standing   fields of Standing what is told of token and number
//
// and those of controlPeople, controlTemplates and controlMedia.
func (s *Sandbox) control() *sandbox.Control {
	c := sandbox.NewControl(s.desk, s.courier)
	c.Handle("POST customer", func(r *http.Request) (any, error) {
		var in struct{ From, Text string }
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		if in.From == "" || in.Text == "" {
			return nil, errors.New("from and text must be set")
		}
		return map[string]string{"id": s.Customer(in.From, in.Text)}, nil
	})
	c.Handle("POST colleague", func(r *http.Request) (any, error) {
		var in struct{ To, Text string }
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		if in.To == "" || in.Text == "" {
			return nil, errors.New("to and text must be set")
		}
		return map[string]string{"id": s.Colleague(in.To, in.Text)}, nil
	})
	c.Handle("POST deliver", func(r *http.Request) (any, error) {
		var body json.RawMessage
		if err := sandbox.ReadJSON(r, &body); err != nil {
			return nil, err
		}
		s.Deliver("message", body)
		return map[string]bool{"queued": true}, nil
	})
	c.Handle("POST verify", func(r *http.Request) (any, error) {
		var in struct {
			Token string `json:"verify_token"`
		}
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		return map[string]bool{"verified": true}, s.VerifyCallback(r.Context(), in.Token)
	})
	c.Handle("PUT limits", func(r *http.Request) (any, error) {
		in := *s.rules.Load()
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		s.SetRules(in)
		return in, nil
	})
	c.Handle("PUT standing", func(r *http.Request) (any, error) {
		st := s.Standing() // what is not named stays
		if err := sandbox.ReadJSON(r, &st); err != nil {
			return nil, err
		}
		s.SetStanding(st)
		return st, nil
	})
	c.Handle("PUT callback", func(r *http.Request) (any, error) {
		var in struct{ URL string }
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		s.SetCallbackURL(in.URL)
		return in, nil
	})
	s.controlPeople(c)
	s.controlTemplates(c)
	s.controlMedia(c)
	return c
}
