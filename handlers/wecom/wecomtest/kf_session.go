package wecomtest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// KfState tells who has a session: one of KfNew to KfEnded, and the colleague.
func (s *Sandbox) KfState(kf, customer string) (state int, staff string) {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	session := s.kf.session(kf, customer)
	return session.state, session.staff
}

// SetKfState gives a session to somebody, as WeCom's client does. No event comes:
// those of the API's own changes do not, and others are told by Kf.
func (s *Sandbox) SetKfState(kf, customer string, state int, staff string) {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	session := s.kf.session(kf, customer)
	session.state, session.staff = state, staff
}

// SetKfAway says that a colleague takes no sessions, or takes them again.
func (s *Sandbox) SetKfAway(staff string, away bool) {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	s.kf.away[staff] = away
}

type kfStateBody struct {
	Kf       string `json:"open_kfid"`
	Customer string `json:"external_userid"`
	State    int    `json:"service_state"`
	Staff    string `json:"servicer_userid"`
}

// kfStateGet is kf/service_state/get. Source: WeCom 94669.
func (s *Sandbox) kfStateGet(raw []byte) sandbox.Answer {
	var in kfStateBody
	if json.Unmarshal(raw, &in) != nil {
		return refuse(47001, 0)
	}
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	if code := s.kf.refusal(in.Kf); code != 0 {
		return refuse(code, 0)
	}
	session := s.kf.session(in.Kf, in.Customer)
	return taken(map[string]any{"service_state": session.state, "servicer_userid": session.staff})
}

func (s *Sandbox) kfStateNote(raw []byte) sandbox.Call {
	var in kfStateBody
	_ = json.Unmarshal(raw, &in) // what cannot be read is refused later
	return sandbox.Call{Account: s.o.CorpID + "/kf:" + in.Kf, Type: "transfer", To: in.Customer, Text: strings.TrimSpace(strconv.Itoa(in.State) + " " + in.Staff)}
}

// kfWays are the changes that the API allows: from pool and colleague not back to
// the bot, from a colleague to another one, from ended nowhere, into new from
// nowhere. Source: WeCom 94669; that a session may be ended from everywhere is not
// in its table, only in its words.
func kfWays(from int) []int {
	return [][]int{{KfAssistant, KfPool, KfHuman, KfEnded}, {KfPool, KfHuman, KfEnded}, {KfHuman, KfEnded}, {KfHuman, KfEnded}, nil}[from]
}

// kfStateTrans is kf/service_state/trans. With which code a session is refused that
// stands already as asked for is not documented; here it is 95016.
func (s *Sandbox) kfStateTrans(raw []byte) sandbox.Answer {
	var in kfStateBody
	if json.Unmarshal(raw, &in) != nil {
		return refuse(47001, 0)
	}
	now := s.o.Now()
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	if code := s.kf.refusal(in.Kf); code != 0 {
		return refuse(code, 0)
	}
	session := s.kf.session(in.Kf, in.Customer)
	switch {
	case in.State < KfAssistant || in.State > KfEnded, in.State == KfHuman && in.Staff == "":
		return refuse(40058, 0)
	case session.wrote.IsZero():
		return refuse(40096, 0)
	case !slices.Contains(kfWays(session.state), in.State), session.state == KfHuman && session.staff == in.Staff:
		return refuse(95016, 0)
	case in.State == KfHuman && s.kf.away[in.Staff]:
		return refuse(95014, 0)
	}
	session.state, session.staff = in.State, ""
	life := kfWindow
	switch in.State {
	case KfHuman:
		session.staff = in.Staff
	case KfEnded:
		life = kfWelcome
	case KfAssistant:
		return taken(map[string]any{})
	}
	code := s.nextID("code")
	s.kf.codes[code] = &kfCode{kf: in.Kf, customer: in.Customer, until: now.Add(life)}
	return taken(map[string]any{"msg_code": code})
}
