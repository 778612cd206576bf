package unifiedtest

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// control adds the paths of this platform to the shared ones:
//
//	POST /_sandbox/customer   {"conversation","text"}   a customer writes
//	POST /_sandbox/colleague  {"conversation","text"}   a colleague writes by hand
//	POST /_sandbox/media      {"mime","text"}           a file of the vendor's; its address
//	POST /_sandbox/simulate   an Event as JSON          a callback of any kind
//	POST /_sandbox/deliver    any JSON                  proven and delivered
//	PUT  /_sandbox/plays      {"plays"}                 how messages are played back
//	PUT  /_sandbox/callback   {"url"}                   where callbacks go
func (s *Sandbox) control() *sandbox.Control {
	c := sandbox.NewControl(s.desk, s.courier)
	type words struct{ Conversation, Text, URL, Plays, MIME string }
	handle := func(pattern string, do func(*words) (any, error)) {
		c.Handle(pattern, func(r *http.Request) (any, error) {
			var in words
			if err := sandbox.ReadJSON(r, &in); err != nil {
				return nil, err
			}
			return do(&in)
		})
	}
	writes := func(pattern string, write func(conversation, text string) string) {
		handle(pattern, func(in *words) (any, error) {
			if in.Conversation == "" {
				return nil, errors.New("conversation must be set")
			}
			return map[string]string{"id": write(in.Conversation, in.Text)}, nil
		})
	}
	writes("POST customer", s.Customer)
	writes("POST colleague", s.Colleague)
	handle("POST media", func(in *words) (any, error) {
		return map[string]string{"url": s.AddFile(in.MIME, []byte(in.Text))}, nil
	})
	c.Handle("POST simulate", func(r *http.Request) (any, error) {
		var e Event
		if err := sandbox.ReadJSON(r, &e); err != nil {
			return nil, err
		}
		id, body, err := s.Make(e)
		if err == nil {
			s.Deliver(e.Kind, body)
		}
		return map[string]string{"id": id}, err
	})
	c.Handle("POST deliver", func(r *http.Request) (any, error) {
		var body json.RawMessage
		if err := sandbox.ReadJSON(r, &body); err != nil {
			return nil, err
		}
		s.Deliver("raw", body)
		return map[string]bool{"queued": true}, nil
	})
	handle("PUT plays", func(in *words) (any, error) {
		switch p := Plays(in.Plays); p {
		case PlaysMarker, PlaysID, PlaysManual, PlaysNothing:
			s.SetPlays(p)
			return map[string]Plays{"plays": p}, nil
		}
		return nil, errors.New("plays must be marker, id, manual or nothing")
	})
	handle("PUT callback", func(in *words) (any, error) {
		s.SetCallbackURL(in.URL)
		return map[string]string{"url": in.URL}, nil
	})
	return c
}
