package wecomtest

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/time/rate"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

func (s *Sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /cgi-bin/gettoken", s.getToken)
	mux.HandleFunc("POST /cgi-bin/message/send", s.send)
	mux.HandleFunc("POST /cgi-bin/appchat/create", s.createChat)
	mux.HandleFunc("POST /cgi-bin/appchat/send", s.sendChat)
	mux.HandleFunc("POST /cgi-bin/message/update_template_card", s.updateCard)
	mux.HandleFunc("POST /cgi-bin/message/recall", s.recall)
	mux.HandleFunc("POST /cgi-bin/media/upload", s.upload)
	mux.HandleFunc("GET /cgi-bin/media/get", s.getMedia)
	mux.HandleFunc("GET /cgi-bin/agent/get", s.getAgent)
	mux.HandleFunc("GET /cgi-bin/externalcontact/get", s.getContact)
	mux.HandleFunc("POST /cgi-bin/externalcontact/groupchat/get", s.getChat)
	mux.HandleFunc("POST /cgi-bin/externalcontact/send_welcome_msg", s.sendWelcome)
	mux.HandleFunc("GET /cgi-bin/getcallbackip", s.getCallbackIP)
	mux.HandleFunc("POST /cgi-bin/kf/sync_msg", s.kfCall(sandbox.OpRead, s.kfNote, s.syncKf))
	mux.HandleFunc("POST /cgi-bin/kf/account/list", s.kfCall(sandbox.OpRead, s.kfNote, s.listKf))
	mux.HandleFunc("POST /cgi-bin/kf/send_msg", s.kfCall(sandbox.OpSend, s.kfSendNote, s.sendKf))
	mux.HandleFunc("POST /cgi-bin/kf/send_msg_on_event", s.kfCall(sandbox.OpSend, s.kfSendNote, s.sendKfOnEvent))
	mux.HandleFunc("POST /cgi-bin/kf/service_state/get", s.kfCall(sandbox.OpRead, s.kfNote, s.kfStateGet))
	mux.HandleFunc("POST /cgi-bin/kf/service_state/trans", s.kfCall(sandbox.OpSend, s.kfStateNote, s.kfStateTrans))
	if s.group != nil {
		mux.Handle("/cgi-bin/webhook/", s.group.Server)
	}
	mux.Handle(sandbox.ControlPrefix, s.control())
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeAnswer(w, refuse(40066, 0)) })
	return mux
}

func (s *Sandbox) getToken(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.desk.Take(w, r, sandbox.OpToken, sandbox.Call{Account: s.account}, func() sandbox.Answer {
		if q.Get("corpid") != s.o.CorpID {
			_, _, _ = s.tokens.give(false) // counted all the same
			return refuse(40013, 0)
		}
		good := subtle.ConstantTimeCompare([]byte(q.Get("corpsecret")), []byte(s.o.Secret)) == 1
		token, seconds, code := s.tokens.give(good)
		if code != 0 {
			return refuse(code, 0)
		}
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok", "access_token": token, "expires_in": seconds})
		a.Accepted = true
		return a
	}, refuse)
}

func (s *Sandbox) send(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var b sendBody
	readable := json.Unmarshal(raw, &b) == nil
	call := sandbox.Call{Account: s.account, Type: b.Type, To: b.ToUser, Text: b.text(), Marker: b.Card.TaskID}
	token := r.URL.Query().Get("access_token")
	s.desk.Take(w, r, sandbox.OpSend, call, func() sandbox.Answer { return s.judge(&b, readable, token) }, refuse)
}

// judge is WeCom's decision on a message.
func (s *Sandbox) judge(b *sendBody, readable bool, token string) sandbox.Answer {
	if code := s.tokens.check(token); code != 0 {
		return refuse(code, 0)
	}
	switch {
	case !readable:
		return refuse(47001, 0)
	case b.AgentID.String() != strconv.FormatInt(s.o.AgentID, 10):
		return refuse(40056, 0)
	case !flags(b.Safe, b.IDTranslation, b.DuplicateCheck):
		return refuse(40058, 0)
	}
	if code := s.checkKind(b); code != 0 {
		return refuse(code, 0)
	}
	if b.ToUser == "" && b.ToParty == "" && b.ToTag == "" {
		return refuse(82001, 0)
	}
	users := strings.Split(b.ToUser, "|")
	out := s.sort(users)
	if len(out.unknown) == len(users) {
		return refuse(81013, 0)
	}
	fields := map[string]any{"errcode": 0, "errmsg": "ok", "invaliduser": strings.ToLower(strings.Join(append(out.unknown, out.unseen...), "|"))}
	if len(out.unlicensed) > 0 {
		fields["unlicenseduser"] = strings.Join(out.unlicensed, "|")
	}
	id := s.nextID("msg")
	fields["msgid"] = id
	if len(out.good) == 0 { // errcode 0 all the same: a partial failure, of the only one
		a := answer(fields)
		a.Code = "nobody"
		return a
	}
	if b.Type == "template_card" {
		fields["response_code"] = s.cards.sent(b.Card, out.good, s.o.Now())
	}
	code := ""
	if !s.memberAllows(users[0]) {
		code = "dropped"
	}
	s.cards.remember(id, s.o.Now())
	a := answer(fields)
	a.Accepted, a.MessageID, a.Code = true, id, code
	return a
}

// sorted are the recipients of a message by what becomes of it.
type sorted struct{ good, unknown, unseen, unlicensed []string }

func (s *Sandbox) sort(users []string) (out sorted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range users {
		folded := strings.ToLower(u)
		switch {
		case u == "" || s.unknown[folded]:
			out.unknown = append(out.unknown, u)
		case s.unseen[folded]:
			out.unseen = append(out.unseen, u)
		case s.unlicensed[folded]:
			out.unlicensed = append(out.unlicensed, u)
		default:
			out.good = append(out.good, u)
		}
	}
	return out
}

func (s *Sandbox) memberAllows(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.limit {
		return true
	}
	user = strings.ToLower(user)
	l := s.members[user]
	if l == nil {
		l = rate.NewLimiter(0.5, 30)
		s.members[user] = l
	}
	return l.AllowN(s.o.Now(), 1)
}

func (s *Sandbox) nextID(kind string) string {
	return fmt.Sprintf("%s-%s-%d", kind, s.origin, s.ids.Add(1))
}

// refuse is the answer with an errcode, under status or, for 0, 200.
func refuse(code, status int) sandbox.Answer {
	a := answer(map[string]any{"errcode": code, "errmsg": words(code)})
	if status != 0 {
		a.Status = status
	}
	a.Code = strconv.Itoa(code)
	return a
}

func answer(fields map[string]any) sandbox.Answer {
	body, err := json.Marshal(fields)
	if err != nil {
		body = []byte(`{}`)
	}
	return sandbox.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, Body: body}
}

func writeAnswer(w http.ResponseWriter, a sandbox.Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the caller may be gone
}
