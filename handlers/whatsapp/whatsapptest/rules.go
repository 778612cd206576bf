package whatsapptest

import (
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Rules are those of Meta that the sandbox keeps when it is asked to. Source: Meta,
// "About the platform" (pair rate limit), "Send messages" (24 hours), "Reaction
// messages", "Groups API error codes", as of December 2025. What Meta does with a
// quote of an unknown message is not documented; it is taken.
type Rules struct {
	// Pair: a message in 6 s to one customer, 45 lent; beyond it 131056.
	Pair bool `json:"pair"`
	// Window: what is no template goes to a customer within 24 hours of their last
	// message. Outside it is accepted and fails with 131047, as Meta mostly does.
	Window bool `json:"window"`
	// Known: a group must be one of SetGroup (131041), a message to be marked as
	// read or reacted to one of this sandbox's (131009; a reaction is accepted and
	// fails).
	Known bool `json:"known"`
}

// SetRules sets the rules that are kept from now on; debts of the pair limit are
// forgotten.
func (s *Sandbox) SetRules(r Rules) {
	s.mu.Lock()
	clear(s.pairs)
	s.mu.Unlock()
	s.rules.Store(&r)
}

// window is how long a customer's message lets us write.
const window = 24 * time.Hour

// heard notes a customer's message and every id of a message that the caller chose.
func (s *Sandbox) heard(e *Event, class gateway.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(e.ID, "wamid.") && s.serial(e.ID) == 0 {
		s.named[e.ID] = struct{}{}
	}
	if class != gateway.KindMessage || e.Group != "" || strings.HasPrefix(e.Kind, "group-") {
		return
	}
	at := e.At
	if at.IsZero() {
		at = s.o.Now()
	}
	for _, id := range []string{strings.TrimPrefix(e.Customer.Phone, "+"), e.Customer.userID()} {
		if id != "" && at.After(s.wrote[id]) {
			s.wrote[id] = at
		}
	}
}

// overdue says that the window of a recipient is over, or never began.
func (s *Sandbox) overdue(to address) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.wrote[to.waID]
	if at := s.wrote[to.user]; at.After(last) {
		last = at
	}
	return s.o.Now().Sub(last) > window
}

// unknownGroup and unknownMessage object by the rule Known.
func (s *Sandbox) unknownGroup(id string) bool { return s.rules.Load().Known && !s.people.hasGroup(id) }

func (s *Sandbox) unknownMessage(id string) bool {
	if !s.rules.Load().Known || s.serial(id) != 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.named[id]
	return !ok
}

// laterFailure is the code with which an accepted message fails by the rules; 0 for
// none.
func (s *Sandbox) laterFailure(m *sending) int {
	switch {
	case m.target != "" && s.unknownMessage(m.target):
		return 131009
	case s.rules.Load().Window && !m.to.group && m.body.Type != "template" && s.overdue(m.to):
		return 131047
	}
	return 0
}
