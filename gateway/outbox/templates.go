package outbox

import (
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// templates is what is known of an account that a platform lets begin no conversation:
// its templates wait, and answers go on. When the wait is over one of them finds out, and
// the others are woken when it was taken. It is kept in memory only: after a restart a few
// calls find it out again.
type templates struct {
	until   time.Time // none leaves before, but for the one that finds out; zero: they go
	code    string
	finding string              // its conversation
	waits   map[string]struct{} // conversations, to be woken when they go
}

// findsOut bounds how long one is waited for that finds out: it may be held up itself.
const findsOut = 30 * time.Second

// templatesWait says until when a template of the account waits; zero for not at all.
func (p *pace) templatesWait(m *gateway.Message, now time.Time) time.Time {
	if m.Reply.Type != gateway.ReplyTemplate {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &p.flow(m.Account).templates
	switch {
	case t.until.IsZero() || t.finding == m.Conv:
		return time.Time{}
	case t.until.After(now):
		if t.waits == nil {
			t.waits = map[string]struct{}{}
		}
		t.waits[m.Conv] = struct{}{}
		return t.until
	}
	t.until, t.finding = now.Add(findsOut), m.Conv
	return time.Time{}
}

// templatesHeld says that not every template of the account may leave.
func (p *pace) templatesHeld(account string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.flow(account).templates.until.IsZero()
}

// templatesGo lets all templates of the account leave, and returns the conversations that
// waited for that. The caller holds mu.
func (l *flow) templatesGo() (convs []string) {
	convs = slices.Collect(maps.Keys(l.templates.waits))
	l.templates = templates{}
	return convs
}

// learnTemplates learns from the outcome of a message of one of the accounts. It says
// whether templates wait since now, or go since now. The caller holds mu.
func (l *flow) learnTemplates(m *gateway.Message, o *gateway.Outcome, now time.Time) (stopped, went bool) {
	t := &l.templates
	switch {
	case o.Kind == gateway.OutcomeRetry && o.Scope == gateway.ScopeTemplates:
		stopped = t.until.IsZero()
		if at := now.Add(o.After); at.After(t.until) || t.finding == m.Conv {
			t.until = at
		}
		t.code, t.finding = o.Code, ""
	case o.Kind == gateway.OutcomeAccepted && m.Account == l.name && t.finding == m.Conv && m.Reply.Type == gateway.ReplyTemplate:
		went = true
	}
	return stopped, went
}

// tellTemplates tells of accounts whose templates wait, or go again: one line each, and
// none for each message.
func (s *Sender) tellTemplates(stopped []string, went map[string][]string, o *gateway.Outcome) {
	for _, account := range stopped {
		s.o.Log.Warn("account.templates_stopped", zap.String("account", account), zap.String("code", o.Code), zap.String("detail", o.Detail))
	}
	for account, convs := range went {
		s.o.Log.Info("account.templates_recovered", zap.String("account", account))
		s.Wake(convs...)
	}
}
