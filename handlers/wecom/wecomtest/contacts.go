package wecomtest

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// welcomeLife is how long a welcome code is taken. Source: WeCom 92137.
const welcomeLife = 20 * time.Second

// contacts are who looks after which customer and chat, and the codes for greeting
// new customers. What Make tells of customers happens here at that moment, whenever
// the callback comes.
type contacts struct {
	mu      sync.Mutex
	members map[string]map[string]time.Time // by external_userid: userid and since when
	owners  map[string]string               // by chat: userid
	codes   map[string]*sentCode
	open    map[string]bool // codes of which a welcome is being sent
}

func newContacts() *contacts {
	return &contacts{members: map[string]map[string]time.Time{}, owners: map[string]string{}, codes: map[string]*sentCode{}, open: map[string]bool{}}
}

// happens is what an event of a customer or chat changes.
func (c *contacts) happens(e *Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.Kind == "chat" && e.Variant == "create", e.Kind == "chat" && e.Variant == "change_owner":
		c.owners[e.Chat] = e.From
	case e.Kind == "chat" && e.Variant == "dismiss":
		delete(c.owners, e.Chat)
	case e.Kind != "customer" && e.Kind != "suite-customer":
		return
	}
	switch e.Variant {
	case "add_external_contact", "add_half_external_contact":
		c.add(e.Customer, e.From, e.At)
		c.codes[e.Code] = &sentCode{until: e.At.Add(welcomeLife)}
	case "msg_audit_approved":
		c.codes[e.Code] = &sentCode{until: e.At.Add(welcomeLife)}
	case "del_external_contact", "transferred", "del_follow_user":
		delete(c.members[e.Customer], e.From)
	}
}

func (c *contacts) add(customer, userID string, at time.Time) {
	if c.members[customer] == nil {
		c.members[customer] = map[string]time.Time{}
	}
	c.members[customer][userID] = at
}

// SetOwner says that only this member has the customer, since now; no callback is
// made. An empty userid means nobody.
func (s *Sandbox) SetOwner(customer, userID string) {
	s.contacts.mu.Lock()
	defer s.contacts.mu.Unlock()
	delete(s.contacts.members, customer)
	if userID != "" {
		s.contacts.add(customer, userID, s.o.Now())
	}
}

// getContact tells of a customer and the members who have them. Source: WeCom,
// externalcontact/get (92114).
func (s *Sandbox) getContact(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.desk.Take(w, r, sandbox.OpRead, sandbox.Call{Account: s.account}, func() sandbox.Answer {
		if code := s.tokens.check(q.Get("access_token")); code != 0 {
			return refuse(code, 0)
		}
		customer := q.Get("external_userid")
		if customer == "" {
			return refuse(40096, 0)
		}
		s.contacts.mu.Lock()
		members := maps.Clone(s.contacts.members[customer])
		s.contacts.mu.Unlock()
		if len(members) == 0 {
			return refuse(84061, 0)
		}
		names := slices.SortedFunc(maps.Keys(members), func(a, b string) int { return cmp.Compare(a, b) })
		follow := make([]map[string]any, 0, len(names))
		for _, name := range names {
			follow = append(follow, map[string]any{"userid": name, "remark": "", "createtime": members[name].Unix(), "add_way": 1, "tags": []any{}})
		}
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok",
			"external_contact": map[string]any{"external_userid": customer, "name": "made up", "type": 1, "gender": 0}, "follow_user": follow})
		a.Accepted = true
		return a
	}, refuse)
}

// getChat tells of a chat of customers. Source: WeCom, externalcontact/groupchat/get
// (92122).
func (s *Sandbox) getChat(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Chat string `json:"chat_id"`
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		return
	}
	readable := json.Unmarshal(raw, &b) == nil
	token := r.URL.Query().Get("access_token")
	s.desk.Take(w, r, sandbox.OpRead, sandbox.Call{Account: s.account}, func() sandbox.Answer {
		if code := s.tokens.check(token); code != 0 {
			return refuse(code, 0)
		}
		s.contacts.mu.Lock()
		owner, known := s.contacts.owners[b.Chat]
		s.contacts.mu.Unlock()
		switch {
		case !readable:
			return refuse(47001, 0)
		case !known:
			return refuse(40050, 0)
		}
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok", "group_chat": map[string]any{
			"chat_id": b.Chat, "name": "made up", "owner": owner, "create_time": s.o.Now().Unix(), "member_list": []any{}, "admin_list": []any{}}})
		a.Accepted = true
		return a
	}, refuse)
}

// welcomeBody is what WeCom reads of a welcome. Source: WeCom 92137.
type welcomeBody struct {
	Code        string   `json:"welcome_code"`
	Text        textPart `json:"text"`
	Attachments []struct {
		Type  string `json:"msgtype"`
		Image struct {
			ID  string `json:"media_id"`
			URL string `json:"pic_url"`
		} `json:"image"`
		Link struct {
			Title string `json:"title"`
			URL   string `json:"url"`
		} `json:"link"`
		Mini struct {
			Title string `json:"title"`
			Cover string `json:"pic_media_id"`
			AppID string `json:"appid"`
			Page  string `json:"page"`
		} `json:"miniprogram"`
		Video filePart `json:"video"`
		File  filePart `json:"file"`
	} `json:"attachments"`
}

// sendWelcome greets by a code: once, within its life. 41096 comes while another
// welcome with the same code is under way.
func (s *Sandbox) sendWelcome(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var b welcomeBody
	readable := json.Unmarshal(raw, &b) == nil
	busy := s.contacts.begin(b.Code)
	defer s.contacts.end(b.Code, busy)
	call := sandbox.Call{Account: s.account, Type: "welcome", Text: cut(b.Text.Content, 4000)}
	token := r.URL.Query().Get("access_token")
	s.desk.Take(w, r, sandbox.OpSend, call, func() sandbox.Answer {
		code := s.tokens.check(token)
		switch {
		case code != 0:
		case !readable:
			code = 47001
		case busy:
			code = 41096
		default:
			if code = s.checkWelcome(&b); code == 0 {
				code = s.contacts.use(b.Code, s.o.Now())
			}
		}
		if code != 0 {
			return refuse(code, 0)
		}
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok"})
		a.Accepted = true
		return a
	}, refuse)
}

// begin says whether a welcome by this code is under way already.
func (c *contacts) begin(code string) (busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	busy = c.open[code]
	c.open[code] = true
	return busy
}

func (c *contacts) end(code string, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !busy {
		delete(c.open, code)
	}
}

// use uses a code up.
func (c *contacts) use(code string, now time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch sc := c.codes[code]; {
	case sc == nil || now.After(sc.until):
		return 41050
	case sc.used:
		return 41051
	default:
		sc.used = true
		return 0
	}
}

func (s *Sandbox) checkWelcome(b *welcomeBody) int {
	switch {
	case b.Text.Content == "" && len(b.Attachments) == 0:
		return 40063
	case len(b.Attachments) > 9:
		return 40058
	}
	now := s.o.Now()
	for i := range b.Attachments {
		a := &b.Attachments[i]
		code := 40058
		switch a.Type {
		case "image":
			if code = 0; a.Image.ID != "" || !page(a.Image.URL) {
				code = s.shelf.has(a.Image.ID, "image", now)
			}
		case "link":
			if a.Link.Title != "" && page(a.Link.URL) {
				code = 0
			}
		case "miniprogram":
			if a.Mini.Title != "" && a.Mini.AppID != "" && a.Mini.Page != "" {
				code = s.shelf.has(a.Mini.Cover, "image", now)
			}
		case "video":
			code = s.shelf.has(a.Video.ID, "video", now)
		case "file":
			code = s.shelf.has(a.File.ID, "file", now)
		}
		if code != 0 {
			return code
		}
	}
	return 0
}
