package whatsapptest

import (
	"errors"
	"maps"
	"slices"
	"sync"
)

// people are the customers who are something else than their number alone says,
// and the groups. What a number or BSUID was once is remembered, since a number
// can be given to another person.
type people struct {
	mu     sync.Mutex
	known  map[string]Customer // by phone in digits, by BSUID
	gone   map[string]bool     // identities that nobody has now
	groups map[string][]Participant
}

// Participant is a member of a group. FailCode lets every message of ours fail
// for this one.
type Participant struct {
	Customer
	FailCode int `json:"fail_code,omitempty"`
}

// maxParticipants is Meta's bound of a group.
const maxParticipants = 8

// SetCustomer says what a customer shows in callbacks from now on: a username, a
// hidden number, a BSUID of its own. Phone or UserID must be set.
func (s *Sandbox) SetCustomer(c Customer) error {
	c.Phone = plus(c.Phone)
	switch {
	case c.Phone == "" && c.UserID == "":
		return errors.New("phone or user_id must be set")
	case c.Phone != "" && !phoneNumber(c.Phone):
		return errors.New("phone must be 7 to 15 digits")
	case c.UserID != "" && !isBSUID(c.UserID):
		return errors.New("user_id must be like US.13491208655302741918")
	}
	s.people.mu.Lock()
	defer s.people.mu.Unlock()
	s.people.put(c)
	return nil
}

// SetGroup says who is in a group. Without it a group has two participants.
func (s *Sandbox) SetGroup(id string, list []Participant) error {
	if id == "" || len(list) > maxParticipants {
		return errors.New("group must be set and have at most 8 participants")
	}
	s.people.mu.Lock()
	defer s.people.mu.Unlock()
	if s.people.groups == nil {
		s.people.groups = make(map[string][]Participant)
	}
	s.people.groups[id] = slices.Clone(list)
	return nil
}

// Move gives a customer another number, and with it another BSUID, and lets the
// system message come. An empty number changes the BSUID only. Nobody has the old
// number then: messages to it fail, and who writes from it later is another
// person.
func (s *Sandbox) Move(from, to string) (id string, err error) {
	to = plus(to)
	if to != "" && !phoneNumber(to) {
		return "", errors.New("to must be 7 to 15 digits, or empty for a new user id only")
	}
	old := s.people.shown(Customer{Phone: from})
	if old.phone() == "" && old.userID() == "" {
		return "", errors.New("from must be set")
	}
	now, kind := old, "system-number"
	if now.Phone, now.UserID = to, BSUID(to); to == "" {
		now.Phone, now.UserID, kind = old.Phone, BSUID("after "+old.userID()), "system-user-id"
	}
	s.people.mu.Lock()
	s.people.leave(old.UserID)
	s.people.leave(BSUID(plus(old.Phone)))
	if kind == "system-number" {
		s.people.leave(plus(old.Phone))
	}
	s.people.put(now)
	s.people.mu.Unlock()
	id = s.wamid(old.phone(), false)
	body, err := s.business().Callback(Event{Kind: kind, ID: id, Customer: old, Moved: now}).Body()
	if err != nil {
		return "", err
	}
	s.Deliver(kind, body)
	return id, nil
}

// put is called with mu held.
func (p *people) put(c Customer) {
	if p.known == nil {
		p.known = make(map[string]Customer)
	}
	for _, id := range []string{c.Phone, c.userID()} {
		if id != "" {
			p.known[id] = c
			delete(p.gone, id)
		}
	}
}

// leave is called with mu held.
func (p *people) leave(id string) {
	if id == "" {
		return
	}
	delete(p.known, id)
	if p.gone == nil {
		p.gone = make(map[string]bool)
	}
	p.gone[id] = true
}

// shown is the customer as they are known; what the caller gave wins. Who writes
// from a number that somebody left is another person.
func (p *people) shown(c Customer) Customer {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := plus(c.Phone)
	if key == "" {
		key = c.UserID
	}
	if key == "" {
		return c
	}
	if p.gone[key] && !isBSUID(key) && c.UserID == "" {
		again := Customer{Phone: key, UserID: BSUID("again " + key)}
		p.put(again)
	}
	if have, ok := p.known[key]; ok {
		c.Phone, c.UserID = have.Phone, or(c.UserID, have.UserID)
		c.Username, c.Name, c.ParentUserID = or(c.Username, have.Username), or(c.Name, have.Name), or(c.ParentUserID, have.ParentUserID)
		c.HidePhone, c.NoUserID = c.HidePhone || have.HidePhone, c.NoUserID || have.NoUserID
	}
	if c.Name == "" {
		c.Name = "Customer " + last(key, 4)
	}
	return c
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

// reached fills in who an address of a send call belongs to.
func (p *people) reached(to address) address {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := or(to.waID, to.user)
	to.gone = p.gone[key]
	if have, ok := p.known[key]; ok {
		to.user = have.userID()
		if to.waID == "" && !have.HidePhone {
			to.waID = have.Phone
		}
	}
	if to.user == "" && to.waID != "" {
		to.user = BSUID(to.waID)
	}
	return to
}

// participants of a group.
func (p *people) participants(group string) []Participant {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list, ok := p.groups[group]; ok {
		return list
	}
	return []Participant{
		{Customer: Customer{Phone: "15550109001", Name: "Participant 9001"}},
		{Customer: Customer{Phone: "15550109002", Name: "Participant 9002"}},
	}
}

// hasGroup says whether a group was set.
func (p *people) hasGroup(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.groups[id]
	return ok
}

// groupIDs lists the groups that were set.
func (p *people) groupIDs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.groups))
}
