package wecomtest

import (
	"net/http"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// kfControl adds what customer service needs to the control endpoint.
func (s *Sandbox) kfControl(c *sandbox.Control) {
	c.Handle("POST kf", func(r *http.Request) (any, error) {
		var in KfItem
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		if accounts := s.kf.accounts; in.Kf == "" && len(accounts) > 0 {
			in.Kf = accounts[0]
		}
		id, err := s.Kf(in)
		return map[string]string{"id": id}, err
	})
	c.Handle("PUT kf", func(r *http.Request) (any, error) {
		var in struct {
			Kf, Ring                      string
			Page, Empty, Repeated, Refuse *int
			Away                          *string // a colleague who takes no sessions
			Forget, End                   bool
		}
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		for _, set := range []struct {
			to *int
			do func(int)
		}{
			{in.Page, s.SetKfPage}, {in.Empty, s.SetKfEmpty}, {in.Repeated, s.SetKfRepeated},
			{in.Refuse, func(code int) { s.RefuseKf(in.Kf, code) }},
		} {
			if set.to != nil {
				set.do(*set.to)
			}
		}
		if in.Away != nil {
			s.SetKfAway(*in.Away, true)
		}
		if in.Forget {
			s.ForgetKfCursors()
		}
		if in.End {
			s.EndKfTokens()
		}
		if in.Ring != "" {
			s.RingKf(in.Ring)
		}
		return map[string]int{"syncs": s.KfSyncs()}, nil
	})
	c.Handle("POST kf-state", func(r *http.Request) (any, error) {
		var in struct {
			Kf, Customer, Staff string
			State               int
		}
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		s.SetKfState(in.Kf, in.Customer, in.State, in.Staff)
		return map[string]int{"state": in.State}, nil
	})
}
