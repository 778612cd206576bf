package wecomtest

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// maxText is where WeCom cuts a text, in bytes.
const maxText = 2048

func (s *Sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /cgi-bin/gettoken", s.getToken)
	mux.HandleFunc("POST /cgi-bin/message/send", s.send)
	mux.HandleFunc("GET /cgi-bin/agent/get", s.getAgent)
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

// sendBody is what WeCom reads of message/send.
type sendBody struct {
	ToUser  string      `json:"touser"`
	ToParty string      `json:"toparty"`
	ToTag   string      `json:"totag"`
	Type    string      `json:"msgtype"`
	AgentID json.Number `json:"agentid"`
	Text    struct {
		Content string `json:"content"`
	} `json:"text"`
}

func (s *Sandbox) send(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var b sendBody
	readable := json.Unmarshal(raw, &b) == nil
	call := sandbox.Call{Account: s.account, To: b.ToUser, Text: cut(b.Text.Content)}
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
	case b.Type != "text":
		return refuse(40008, 0)
	case b.Text.Content == "":
		return refuse(44004, 0)
	case b.ToUser == "" && b.ToParty == "" && b.ToTag == "":
		return refuse(82001, 0)
	}
	users := strings.Split(b.ToUser, "|")
	invalid := s.invalid(users)
	if len(invalid) == len(users) {
		return refuse(81013, 0)
	}
	code := ""
	if !s.memberAllows(users[0]) {
		code = "dropped"
	}
	id := s.nextID("msg")
	a := answer(map[string]any{"errcode": 0, "errmsg": "ok", "msgid": id,
		"invaliduser": strings.ToLower(strings.Join(invalid, "|"))})
	a.Accepted, a.MessageID, a.Code = true, id, code
	return a
}

func (s *Sandbox) invalid(users []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, u := range users {
		if u == "" || s.unknown[strings.ToLower(u)] {
			out = append(out, u)
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

// cut shortens a text as the platform does before it shows it.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	text = text[:maxText]
	for len(text) > 0 && !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// words are what WeCom writes in errmsg.
func words(code int) string {
	switch code {
	case -1:
		return "system busy"
	case 40001:
		return "invalid credential"
	case 40008:
		return "invalid message type"
	case 40013:
		return "invalid corpid"
	case 40014:
		return "invalid access_token"
	case 40056:
		return "invalid agentid"
	case 40066:
		return "invalid url"
	case 41001:
		return "access_token missing"
	case 42001:
		return "access_token expired"
	case 44004:
		return "content size is empty"
	case 45009:
		return "reach max api daily quota limit"
	case 45033:
		return "api concurrent out of limit"
	case 47001:
		return "data format error"
	case 60020:
		return "not allow to access from your ip"
	case 301002:
		return "not allow operate another agent with this accesstoken"
	case 81013:
		return "user & party & tag all invalid"
	case 82001:
		return "touser & toparty & totag are empty"
	}
	return "error of the sandbox"
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
