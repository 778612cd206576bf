package wecomtest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of customer service. Sources: WeCom 94670 (three days, a bell's token of
// ten minutes, pages of 1000), 94677 (five messages in 48 hours), 94669 (codes); a
// member of WeCom's staff in Oct 2021 (ten calls a minute without a token).
const (
	kfKeep       = 3 * 24 * time.Hour
	kfBellLife   = 10 * time.Minute
	kfPage       = 1000
	kfSlowCalls  = 10
	kfWindow     = 48 * time.Hour
	kfMostSends  = 5
	kfWelcome    = 20 * time.Second
	kfCursorMark = "cur"
)

// States of a customer's session. Source: WeCom 94669.
const (
	KfNew       = 0
	KfAssistant = 1
	KfPool      = 2
	KfHuman     = 3
	KfEnded     = 4
)

// KfRepeated is the code that the sandbox gives to a msgid that was used before,
// unless told otherwise: WeCom documents that one is refused and not with which.
const KfRepeated = 95999

// kfDesk is the customer service of the sandbox. Messages stand in one list for
// all accounts, in the order in which they came.
type kfDesk struct {
	mu       sync.Mutex
	accounts []string
	ungrant  map[string]int // accounts that are refused, with the code
	list     []kfItem
	life     int // of cursors: those of another are refused
	tokens   map[string]time.Time
	slow     []time.Time // calls without a token
	sessions map[string]*kfSession
	codes    map[string]*kfCode
	msgids   map[string]string // taken, to the answer
	repeated int
	away     map[string]bool // colleagues who take no sessions
	page     int             // most messages of a page
	empty    int             // pages to come that hold nothing and say that there is more
	syncs    int
}

type kfItem struct {
	kf   string
	at   time.Time
	body json.RawMessage
}

type kfSession struct {
	state  int
	staff  string
	wrote  time.Time // the customer, last
	sends  int       // since then
	spoken bool      // greeted or written to us within 48 hours
}

type kfCode struct {
	kf, customer string
	until        time.Time
	used         bool
}

func newKfDesk(accounts []string) *kfDesk {
	return &kfDesk{accounts: slices.Clone(accounts), ungrant: map[string]int{}, tokens: map[string]time.Time{}, sessions: map[string]*kfSession{},
		codes: map[string]*kfCode{}, msgids: map[string]string{}, away: map[string]bool{}, repeated: KfRepeated, page: kfPage}
}

func (k *kfDesk) session(kf, customer string) *kfSession {
	key := kf + "\n" + customer
	if k.sessions[key] == nil {
		k.sessions[key] = &kfSession{}
	}
	return k.sessions[key]
}

// SetKfPage sets the most messages of a page; 0 for WeCom's own.
func (s *Sandbox) SetKfPage(n int) {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	if s.kf.page = n; n <= 0 {
		s.kf.page = kfPage
	}
}

// SetKfEmpty makes the next n pages empty with has_more 1, as WeCom's may be.
func (s *Sandbox) SetKfEmpty(n int) {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	s.kf.empty = n
}

// SetKfRepeated sets the code for a msgid that was taken before; 0 answers as the
// first time and delivers nothing.
func (s *Sandbox) SetKfRepeated(code int) {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	s.kf.repeated = code
}

// RefuseKf refuses every call about an account with a code; 0 grants it again.
func (s *Sandbox) RefuseKf(kf string, code int) {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	s.kf.ungrant[kf] = code
}

// ForgetKfCursors makes every cursor given so far one that is refused.
func (s *Sandbox) ForgetKfCursors() {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	s.kf.life++
}

// EndKfTokens ends the life of every bell's token: 95007.
func (s *Sandbox) EndKfTokens() {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	clear(s.kf.tokens)
}

// KfSyncs is how often kf/sync_msg was called.
func (s *Sandbox) KfSyncs() int {
	s.kf.mu.Lock()
	defer s.kf.mu.Unlock()
	return s.kf.syncs
}

// KfItem is something that comes by kf/sync_msg. Only Kf must be set; what is
// empty is made up.
type KfItem struct {
	Kf       string `json:"kf"`
	Customer string `json:"customer"`
	// Staff is the colleague's userid: the message is one written by hand.
	Staff string `json:"staff,omitempty"`
	ID    string `json:"id,omitempty"`
	// At is the platform's time, in whole seconds.
	At time.Time `json:"at,omitzero"`
	// Type is the msgtype, default text; Content what stands under its name.
	// Text is short for a text's content.
	Type    string         `json:"type,omitempty"`
	Text    string         `json:"text,omitempty"`
	Content map[string]any `json:"content,omitempty"`
	// Event is the event_type of an event, whose fields are Content.
	Event string `json:"event,omitempty"`
	// Silent rings no bell: it was lost.
	Silent bool `json:"silent,omitempty"`
}

// Kf lets something come to customer service and rings the bell. It keeps the
// session: a customer's message opens the 48 hours and makes a new session of an
// ended one, a colleague's gives them the session, enter_session and
// session_status_change get a code where none is given.
func (s *Sandbox) Kf(in KfItem) (msgID string, err error) {
	if in.At.IsZero() {
		in.At = s.o.Now()
	}
	if in.ID == "" {
		in.ID = s.nextID("kfmsg")
	}
	if in.Customer == "" {
		in.Customer = "wmMadeUpCustomer0000000000000001"
	}
	if err := s.kf.add(&in, s.nextID); err != nil {
		return "", err
	}
	if !in.Silent {
		s.RingKf(in.Kf)
	}
	return in.ID, nil
}

func (k *kfDesk) add(in *KfItem, nextID func(string) string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(k.accounts, in.Kf) {
		return errors.New("wecomtest: there is no kf account of this id; `causeway sandbox -c FILE` has those of the configuration")
	}
	o := map[string]any{"msgid": in.ID, "send_time": in.At.Unix()}
	content := map[string]any{}
	for name, v := range in.Content {
		content[name] = v
	}
	session := k.session(in.Kf, in.Customer)
	if in.Event != "" {
		content["event_type"], content["open_kfid"] = in.Event, in.Kf
		if in.Event != "servicer_status_change" { // of a colleague alone
			content["external_userid"] = in.Customer
		}
		k.happens(in, content, session, nextID)
		o["origin"], o["msgtype"], o["event"] = 4, "event", content
	} else {
		typ := in.Type
		if typ == "" {
			typ = "text"
		}
		if in.Text != "" {
			content["content"] = in.Text
		}
		o["open_kfid"], o["external_userid"], o["origin"], o["msgtype"], o[typ] = in.Kf, in.Customer, 3, typ, content
		switch {
		case in.Staff != "":
			o["origin"], o["servicer_userid"] = 5, in.Staff
			session.state, session.staff = KfHuman, in.Staff
		default:
			session.wrote, session.sends, session.spoken = in.At, 0, true
			if session.state == KfEnded {
				session.state, session.staff = KfNew, ""
			}
		}
	}
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	k.list = append(k.list, kfItem{kf: in.Kf, at: in.At, body: body})
	return nil
}

// happens keeps the session beside an event.
func (k *kfDesk) happens(in *KfItem, content map[string]any, session *kfSession, nextID func(string) string) {
	code := func(field string, life time.Duration) {
		if _, set := content[field]; !set {
			content[field] = nextID("code")
		}
		if c, ok := content[field].(string); ok && c != "" {
			k.codes[c] = &kfCode{kf: in.Kf, customer: in.Customer, until: in.At.Add(life)}
		}
	}
	switch in.Event {
	case "enter_session":
		if !session.spoken {
			code("welcome_code", kfWelcome)
		}
	case "session_status_change":
		staff, _ := content["new_servicer_userid"].(string)
		switch kind, _ := strconv.Atoi(strings.TrimSuffix(jsonText(content["change_type"]), ".0")); kind {
		case 1, 2, 4:
			session.state, session.staff = KfHuman, staff
			code("msg_code", kfWindow)
		case 3:
			session.state, session.staff = KfEnded, ""
			code("msg_code", kfWelcome)
		}
	}
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// RingKf rings the bell of an account: a callback with a new token.
func (s *Sandbox) RingKf(kf string) {
	s.Deliver("kf-bell", s.KfBell(kf))
}

// KfBell makes the inner XML of a bell with a token that is good for ten minutes.
func (s *Sandbox) KfBell(kf string) []byte {
	token := "ENC" + rand.Text()
	now := s.o.Now()
	s.kf.mu.Lock()
	s.kf.tokens[token] = now.Add(kfBellLife)
	s.kf.mu.Unlock()
	d := draft{app: s.app(), Event: Event{At: now}, msg: "event", fields: []Field{
		{Name: "Event", Value: "kf_msg_or_event"}, {Name: "Token", Value: token}, {Name: "OpenKfId", Value: kf},
	}}
	return d.document()
}
