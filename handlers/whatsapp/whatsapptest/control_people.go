package whatsapptest

import (
	"net/http"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// controlPeople adds the paths about simulated customers and how callbacks come:
//
//	POST /_sandbox/simulate   an Event                        a callback of any kind
//	PUT  /_sandbox/customer   a Customer                      what they show from now on
//	POST /_sandbox/move       {"from","to"}                   a new number and BSUID
//	PUT  /_sandbox/group      {"group","participants":[…]}    who is in a group
//	PUT  /_sandbox/statuses   a Statuses                      when statuses come
//	GET  /_sandbox/statuses   the Statuses and the groups
func (s *Sandbox) controlPeople(c *sandbox.Control) {
	c.Handle("POST simulate", func(r *http.Request) (any, error) {
		var e Event
		if err := sandbox.ReadJSON(r, &e); err != nil {
			return nil, err
		}
		id, err := s.Simulate(e)
		return map[string]string{"id": id}, err
	})
	c.Handle("PUT customer", func(r *http.Request) (any, error) {
		var in Customer
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		return in, s.SetCustomer(in)
	})
	c.Handle("POST move", func(r *http.Request) (any, error) {
		var in struct{ From, To string }
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		id, err := s.Move(in.From, in.To)
		return map[string]string{"id": id}, err
	})
	c.Handle("PUT group", func(r *http.Request) (any, error) {
		var in struct {
			Group        string        `json:"group"`
			Participants []Participant `json:"participants"`
		}
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		return in, s.SetGroup(in.Group, in.Participants)
	})
	c.Handle("PUT statuses", func(r *http.Request) (any, error) {
		var in Statuses
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		if err := in.check(); err != nil {
			return nil, err
		}
		s.SetStatuses(in)
		return s.way.Load(), nil
	})
	c.Handle("GET statuses", func(*http.Request) (any, error) {
		return map[string]any{"statuses": s.way.Load(), "groups": s.people.groupIDs()}, nil
	})
}
