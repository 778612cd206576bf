package wecomtest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// Lives of what is given with a message. Source: WeCom 90236, 94867.
const (
	codeLife   = 72 * time.Hour
	recallLife = 24 * time.Hour
)

// keptSent is how many messages and cards are remembered, the newest.
const keptSent = 100_000

// cards are the messages that may be recalled, and the cards that may be changed.
type cards struct {
	next func(kind string) string // makes an id

	mu       sync.Mutex
	messages map[string]time.Time // by msgid: when it was sent; zero: recalled
	order    []string
	tasks    map[string]*sentCard
	codes    map[string]*sentCode
}

// sentCard is a card by its task_id.
type sentCard struct {
	kind string
	task string
	to   []string // folded
	text string   // of the pressed button, after a change
}

// sentCode is good for one change of a card.
type sentCode struct {
	card  *sentCard
	until time.Time
	used  bool
}

func newCards(next func(string) string) *cards {
	return &cards{next: next, messages: map[string]time.Time{}, tasks: map[string]*sentCard{}, codes: map[string]*sentCode{}}
}

func (c *cards) known(task string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return task != "" && c.tasks[task] != nil
}

// sent records a card and returns its response code.
func (c *cards) sent(b card, to []string, now time.Time) string {
	sc := &sentCard{kind: b.Type, task: b.TaskID}
	for _, u := range to {
		sc.to = append(sc.to, strings.ToLower(u))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.TaskID != "" && len(c.tasks) < keptSent {
		c.tasks[b.TaskID] = sc
	}
	return c.code(sc, now)
}

func (c *cards) code(sc *sentCard, now time.Time) string {
	code := c.next("code")
	if len(c.codes) < keptSent {
		c.codes[code] = &sentCode{card: sc, until: now.Add(codeLife)}
	}
	return code
}

func (c *cards) remember(id string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages[id] = now
	if c.order = append(c.order, id); len(c.order) > keptSent {
		delete(c.messages, c.order[0])
		c.order = c.order[1:]
	}
}

// change uses a code; false for one that is unknown, used or over.
func (c *cards) change(code, button string, now time.Time) (*sentCard, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sc := c.codes[code]
	if sc == nil || sc.used || now.After(sc.until) {
		return nil, false
	}
	sc.used = true
	sc.card.text = button
	return sc.card, true
}

func (s *Sandbox) updateCard(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Users   []string    `json:"userids"`
		Parties []int64     `json:"partyids"`
		Tags    []int64     `json:"tagids"`
		All     int         `json:"atall"`
		AgentID json.Number `json:"agentid"`
		Code    string      `json:"response_code"`
		Button  *struct {
			Name string `json:"replace_name"`
		} `json:"button"`
		Card *card `json:"template_card"`
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	readable := json.Unmarshal(raw, &b) == nil
	call := sandbox.Call{Account: s.account, Type: "update_template_card", To: strings.Join(b.Users, "|")}
	token := r.URL.Query().Get("access_token")
	s.desk.Take(w, r, sandbox.OpSend, call, func() sandbox.Answer {
		code := s.tokens.check(token)
		switch {
		case code != 0:
			return refuse(code, 0)
		case !readable:
			return refuse(47001, 0)
		case b.AgentID.String() != strconv.FormatInt(s.o.AgentID, 10):
			return refuse(40056, 0)
		case len(b.Users) == 0 && len(b.Parties) == 0 && len(b.Tags) == 0 && b.All == 0:
			return refuse(82001, 0)
		case (b.Button == nil) == (b.Card == nil), b.Button != nil && b.Button.Name == "", b.Card != nil && !b.Card.good():
			return refuse(40058, 0)
		}
		text := ""
		if b.Button != nil {
			text = b.Button.Name
		}
		sc, ok := s.cards.change(b.Code, text, s.o.Now())
		if !ok {
			return refuse(40058, 0)
		}
		invalid := []string{}
		for _, u := range b.Users {
			if !slices.Contains(sc.to, strings.ToLower(u)) {
				invalid = append(invalid, u)
			}
		}
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok", "invaliduser": invalid})
		a.Accepted = true
		return a
	}, refuse)
}

func (s *Sandbox) recall(w http.ResponseWriter, r *http.Request) {
	var b struct {
		ID string `json:"msgid"`
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		return
	}
	readable := json.Unmarshal(raw, &b) == nil
	token := r.URL.Query().Get("access_token")
	s.desk.Take(w, r, sandbox.OpSend, sandbox.Call{Account: s.account, Type: "recall"}, func() sandbox.Answer {
		code := s.tokens.check(token)
		switch {
		case code != 0:
			return refuse(code, 0)
		case !readable:
			return refuse(47001, 0)
		case b.ID == "":
			return refuse(40063, 0)
		case !s.cards.recall(b.ID, s.o.Now()):
			return refuse(40058, 0)
		}
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok"})
		a.Accepted = true
		return a
	}, refuse)
}

// recall takes a message back; false for one that is unknown or too old. Taking it
// back again changes nothing.
func (c *cards) recall(id string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.messages[id]
	if !ok || !at.IsZero() && now.Sub(at) > recallLife {
		return false
	}
	c.messages[id] = time.Time{}
	return true
}

// Recalled says whether a message was taken back.
func (s *Sandbox) Recalled(msgID string) bool {
	s.cards.mu.Lock()
	defer s.cards.mu.Unlock()
	at, ok := s.cards.messages[msgID]
	return ok && at.IsZero()
}

// Press lets a member press a button of a card that was sent to them; the callback
// is on its way, with a response code for one change of the card. It returns that
// code. The error says that there is no such card for this member.
func (s *Sandbox) Press(userID, taskID, key string) (responseCode string, err error) {
	s.cards.mu.Lock()
	sc := s.cards.tasks[taskID]
	if sc == nil || !slices.Contains(sc.to, strings.ToLower(userID)) {
		s.cards.mu.Unlock()
		return "", errors.New("no card with this task was sent to this member")
	}
	responseCode = s.cards.code(sc, s.o.Now())
	s.cards.mu.Unlock()
	s.Deliver("event", s.Inner(userID, "event",
		Field{Name: "Event", Value: "template_card_event"}, Field{Name: "EventKey", Value: key}, Field{Name: "TaskId", Value: taskID},
		Field{Name: "CardType", Value: sc.kind}, Field{Name: "ResponseCode", Value: responseCode}))
	return responseCode, nil
}

// ButtonText is what a change of the card put on the pressed button; "" when none.
func (s *Sandbox) ButtonText(taskID string) string {
	s.cards.mu.Lock()
	defer s.cards.mu.Unlock()
	if sc := s.cards.tasks[taskID]; sc != nil {
		return sc.text
	}
	return ""
}
