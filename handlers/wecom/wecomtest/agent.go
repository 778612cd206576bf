package wecomtest

import (
	"net/http"
	"strconv"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// getAgent tells of the app; the token of one app tells nothing of another.
// Source: WeCom, agent/get (90227).
func (s *Sandbox) getAgent(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.desk.Take(w, r, sandbox.OpRead, sandbox.Call{Account: s.account}, func() sandbox.Answer {
		if code := s.tokens.check(q.Get("access_token")); code != 0 {
			return refuse(code, 0)
		}
		if q.Get("agentid") != strconv.FormatInt(s.o.AgentID, 10) {
			return refuse(301002, 0)
		}
		a := answer(map[string]any{
			"errcode": 0, "errmsg": "ok", "agentid": s.o.AgentID, "name": "Sandbox", "close": 0,
			"allow_userinfos": map[string]any{"user": []any{}}, "redirect_domain": "", "report_location_flag": 0, "isreportenter": 0,
		})
		a.Accepted = true
		return a
	}, refuse)
}
