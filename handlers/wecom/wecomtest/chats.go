package wecomtest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// chats are the chats that the app made, by their id.
type chats struct {
	mu   sync.Mutex
	made map[string]*chat
}

type chat struct {
	members []string
	left    bool // the app is not in it any more
}

// MakeChat makes a chat of members, as appchat/create does. id empty: one is made
// up. It says whether there is no chat of this id yet.
func (s *Sandbox) MakeChat(id string, members ...string) (string, bool) {
	s.chats.mu.Lock()
	defer s.chats.mu.Unlock()
	if id == "" {
		id = strings.ReplaceAll(s.nextID("chat"), "-", "")
	}
	if s.chats.made[id] != nil {
		return "", false
	}
	s.chats.made[id] = &chat{members: members}
	return id, true
}

// LeaveChat takes the app out of a chat: 86008.
func (s *Sandbox) LeaveChat(id string) {
	s.chats.mu.Lock()
	defer s.chats.mu.Unlock()
	if c := s.chats.made[id]; c != nil {
		c.left = true
	}
}

// chatCode is what WeCom says to a message for a chat; 0 for taken.
func (s *Sandbox) chatCode(id string) int {
	s.chats.mu.Lock()
	defer s.chats.mu.Unlock()
	switch c := s.chats.made[id]; {
	case id == "":
		return 86001
	case c == nil:
		return 86003
	case c.left:
		return 86008
	}
	return 0
}

// createChat is appchat/create. Which codes wrong members and a wrong id have is
// not known; here it is 40058. Source: WeCom 90245.
func (s *Sandbox) createChat(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Name   string   `json:"name"`
		Owner  string   `json:"owner"`
		Users  []string `json:"userlist"`
		ChatID string   `json:"chatid"`
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	readable := json.Unmarshal(raw, &b) == nil
	token := r.URL.Query().Get("access_token")
	s.desk.Take(w, r, sandbox.OpSend, sandbox.Call{Account: s.account, Type: "appchat/create", To: b.ChatID}, func() sandbox.Answer {
		if code := s.tokens.check(token); code != 0 {
			return refuse(code, 0)
		}
		switch {
		case !readable:
			return refuse(47001, 0)
		case len(b.Users) < 2 || len(b.Users) > 2000 || len(s.sort(b.Users).unknown) > 0 || !chatID(b.ChatID):
			return refuse(40058, 0)
		}
		id, ok := s.MakeChat(b.ChatID, b.Users...)
		if !ok {
			return refuse(40058, 0)
		}
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok", "chatid": id})
		a.Accepted = true
		return a
	}, refuse)
}

// chatID says whether an app may choose this id.
func chatID(s string) bool {
	return len(s) <= 32 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// sendChat is appchat/send: fewer kinds than message/send, and no id in the
// answer. Source: WeCom 90248.
func (s *Sandbox) sendChat(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var b struct {
		ChatID string `json:"chatid"`
		sendBody
	}
	readable := json.Unmarshal(raw, &b) == nil
	call := sandbox.Call{Account: s.account, Type: b.Type, To: b.ChatID, Text: b.text()}
	token := r.URL.Query().Get("access_token")
	s.desk.Take(w, r, sandbox.OpSend, call, func() sandbox.Answer {
		if code := s.tokens.check(token); code != 0 {
			return refuse(code, 0)
		}
		code := s.chatCode(b.ChatID)
		switch {
		case !readable:
			code = 47001
		case b.Type == "template_card":
			code = 40008
		case code == 0 && !flags(b.Safe):
			code = 40058
		case code == 0:
			code = s.checkKind(&b.sendBody)
		}
		if code != 0 {
			return refuse(code, 0)
		}
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok"})
		a.Accepted = true
		return a
	}, refuse)
}
