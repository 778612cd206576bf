package wecomtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// kfCall takes a call of customer service: body and access token are checked, then
// do decides.
func (s *Sandbox) kfCall(op string, note func(raw []byte) sandbox.Call, do func(raw []byte) sandbox.Answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			return
		}
		token := r.URL.Query().Get("access_token")
		s.desk.Take(w, r, op, note(raw), func() sandbox.Answer {
			if code := s.tokens.check(token); code != 0 {
				return refuse(code, 0)
			}
			return do(raw)
		}, refuse)
	}
}

func (s *Sandbox) kfNote([]byte) sandbox.Call { return sandbox.Call{Account: s.account} }

// taken is an answer with errcode 0.
func taken(fields map[string]any) sandbox.Answer {
	fields["errcode"], fields["errmsg"] = 0, "ok"
	a := answer(fields)
	a.Accepted = true
	return a
}

// syncKf is kf/sync_msg. Source: WeCom 94670.
func (s *Sandbox) syncKf(raw []byte) sandbox.Answer {
	var in struct {
		Cursor string      `json:"cursor"`
		Token  string      `json:"token"`
		Limit  json.Number `json:"limit"`
		Voice  int         `json:"voice_format"`
		Kf     string      `json:"open_kfid"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return refuse(47001, 0)
	}
	k, now := s.kf, s.o.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.syncs++
	limit := kfPage
	if in.Limit != "" {
		n, err := strconv.Atoi(in.Limit.String())
		if err != nil || n < 1 || n > kfPage {
			return refuse(40058, 0)
		}
		limit = n
	}
	if code := k.refusal(in.Kf); code != 0 {
		return refuse(code, 0)
	}
	if code := k.allows(in.Token, now); code != 0 {
		return refuse(code, 0)
	}
	at, ok := k.place(in.Cursor)
	if !ok {
		return refuse(40058, 0)
	}
	if k.empty > 0 {
		k.empty--
		// Somewhere between two messages: an empty page has a new cursor too.
		return taken(map[string]any{"next_cursor": k.cursor(at, now), "has_more": 1, "msg_list": []any{}})
	}
	list := []json.RawMessage{}
	for ; at < len(k.list) && len(list) < min(limit, k.page); at++ {
		if it := k.list[at]; it.kf == in.Kf && now.Sub(it.at) < kfKeep {
			list = append(list, it.body)
		}
	}
	more := 0
	if slices.ContainsFunc(k.list[at:], func(it kfItem) bool { return it.kf == in.Kf }) {
		more = 1
	}
	next := in.Cursor
	if len(list) > 0 || next == "" {
		next = k.cursor(at, now)
	}
	return taken(map[string]any{"next_cursor": next, "has_more": more, "msg_list": list})
}

// refusal is the code of an account that may not be used.
func (k *kfDesk) refusal(kf string) int {
	if !slices.Contains(k.accounts, kf) {
		return 95004
	}
	return k.ungrant[kf]
}

// allows checks the bell's token, and counts calls without one.
func (k *kfDesk) allows(token string, now time.Time) int {
	if token != "" {
		if until, ok := k.tokens[token]; !ok || !now.Before(until) {
			return 95007
		}
		return 0
	}
	k.slow = slices.DeleteFunc(k.slow, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(k.slow) >= kfSlowCalls {
		return 45009
	}
	k.slow = append(k.slow, now)
	return 0
}

// cursor names a place in the list. Each has a mark of its own, so that two pages
// at one place are told apart.
func (k *kfDesk) cursor(at int, now time.Time) string {
	return fmt.Sprintf("%s-%d-%d-%d", kfCursorMark, k.life, at, now.UnixNano()%1e9)
}

func (k *kfDesk) place(cursor string) (at int, ok bool) {
	if cursor == "" {
		return 0, true
	}
	parts := strings.Split(cursor, "-")
	if len(parts) != 4 || parts[0] != kfCursorMark || parts[1] != strconv.Itoa(k.life) {
		return 0, false
	}
	at, err := strconv.Atoi(parts[2])
	return at, err == nil && at >= 0 && at <= len(k.list)
}

// listKf is kf/account/list. Source: WeCom 94661.
func (s *Sandbox) listKf(raw []byte) sandbox.Answer {
	var in struct{ Offset, Limit int }
	if json.Unmarshal(raw, &in) != nil || in.Offset < 0 || in.Limit < 1 || in.Limit > 100 {
		return refuse(40058, 0)
	}
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	list := []any{}
	for i, kf := range s.kf.accounts {
		if code := s.kf.ungrant[kf]; code == 48002 {
			return refuse(code, 0) // of the app, not of one account
		} else if code == 0 && i >= in.Offset && len(list) < in.Limit {
			list = append(list, map[string]any{"open_kfid": kf, "name": "Sandbox", "avatar": "", "manage_privilege": true})
		}
	}
	return taken(map[string]any{"account_list": list})
}
