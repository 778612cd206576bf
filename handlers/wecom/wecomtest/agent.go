package wecomtest

import (
	"net/http"
	"strconv"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// Agent is the app as the console has it.
type Agent struct {
	// Users, Parties and Tags are how many of each can see it.
	Users, Parties, Tags int
	Closed               bool
	// Entering reports members who open it.
	Entering bool
}

// SetAgent changes the app. At first one department sees it.
func (s *Sandbox) SetAgent(a Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agent = a
}

// SetCallbackIPs changes the addresses that getcallbackip tells.
func (s *Sandbox) SetCallbackIPs(list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callbackIPs = list
}

// getAgent tells of the app; the token of one app tells nothing of another.
// Source: WeCom, agent/get (90227).
func (s *Sandbox) getAgent(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.desk.Take(w, r, sandbox.OpRead, sandbox.Call{Account: s.account, Type: "agent"}, func() sandbox.Answer {
		if code := s.tokens.check(q.Get("access_token")); code != 0 {
			return refuse(code, 0)
		}
		if q.Get("agentid") != strconv.FormatInt(s.o.AgentID, 10) {
			return refuse(301002, 0)
		}
		s.mu.Lock()
		agent := s.agent
		s.mu.Unlock()
		users := []any{}
		for n := range agent.Users {
			users = append(users, map[string]string{"userid": "member" + strconv.Itoa(n)})
		}
		a := answer(map[string]any{
			"errcode": 0, "errmsg": "ok", "agentid": s.o.AgentID, "name": "Sandbox", "close": flag(agent.Closed),
			"allow_userinfos": map[string]any{"user": users}, "allow_partys": map[string]any{"partyid": numbers(agent.Parties)},
			"allow_tags":      map[string]any{"tagid": numbers(agent.Tags)},
			"redirect_domain": "", "report_location_flag": 0, "isreportenter": flag(agent.Entering),
		})
		a.Accepted = true
		return a
	}, refuse)
}

// getCallbackIP tells where callbacks come from. Source: WeCom, getcallbackip
// (90930).
func (s *Sandbox) getCallbackIP(w http.ResponseWriter, r *http.Request) {
	s.desk.Take(w, r, sandbox.OpRead, sandbox.Call{Account: s.account, Type: "callbackip"}, func() sandbox.Answer {
		if code := s.tokens.check(r.URL.Query().Get("access_token")); code != 0 {
			return refuse(code, 0)
		}
		s.mu.Lock()
		list := append([]string{}, s.callbackIPs...)
		s.mu.Unlock()
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok", "ip_list": list})
		a.Accepted = true
		return a
	}, refuse)
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}
