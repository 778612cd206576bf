package outbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// learn tells the pace how a call ended, and keeps what becomes of the account. If
// the process dies before that is kept, the next call finds it out again; if it dies
// behind it, the account is stopped and the attempt that told so is found open.
func (s *Sender) learn(ctx context.Context, m *gateway.Message, began time.Time, o *gateway.Outcome) {
	changed, stopped, went := s.pace.done(m, s.concerned(m.Account, o.Share), began, o, s.o.Now())
	s.tellTemplates(stopped, went, o)
	s.keep(ctx, changed...)
}

// concerned are an account and those that have something in common with it.
func (s *Sender) concerned(account string, share gateway.Share) []string {
	accounts := []string{account}
	if share != "" {
		for _, a := range s.o.Shares(account, share) {
			if a != account {
				accounts = append(accounts, a)
			}
		}
	}
	return accounts
}

// Failed learns from a message that failed after it was taken; o is what that says about
// more than the message: a retry, as if the call had been answered so. For the message
// itself it comes too late. What is older than laterMost says nothing about now.
func (s *Sender) Failed(ctx context.Context, f *gateway.FailedLater, o *gateway.Outcome) {
	now := s.o.Now()
	if o.Kind != gateway.OutcomeRetry || now.Sub(f.Began) > laterMost {
		return
	}
	changed, stopped := s.pace.failed(f, s.concerned(f.Account, o.Share), o, now)
	s.tellTemplates(stopped, nil, o)
	s.keep(ctx, changed...)
}

// laterMost is how long after an attempt its failure is believed to be about now.
const laterMost = 10 * time.Minute

// failed is done for what no call was answered with: it takes back no place.
func (p *pace) failed(f *gateway.FailedLater, accounts []string, o *gateway.Outcome, now time.Time,
) (changed []gateway.AccountHealth, stopped []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tooFast(f.Conv, o, now)
	m := &gateway.Message{Account: f.Account, Conv: f.Conv}
	for _, account := range accounts {
		l := p.flow(account)
		if stops, _ := l.learnTemplates(m, o, now); stops {
			stopped = append(stopped, account)
		}
		// What began before the account was last known to be well, or to be stopped, is
		// no news.
		if o.Scope != gateway.ScopeAccount || f.Began.Before(l.healed) || l.kept.State.Stopped() {
			continue
		}
		if l.refused(f.Began, o.Blame, o, now) {
			changed = append(changed, l.toKeep(o))
		}
	}
	return changed, stopped
}

// done takes back the place of a call and judges its outcome, for every account that
// it speaks of. It returns those whose state is to be kept, and those whose templates are
// stopped or go since now, with the conversations that waited for that.
func (p *pace) done(m *gateway.Message, accounts []string, began time.Time, o *gateway.Outcome, now time.Time,
) (changed []gateway.AccountHealth, stopped []string, went map[string][]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flow(m.Account).landed()
	if o.Kind == gateway.OutcomeAccepted {
		p.flow(m.Account).taken.add(now)
	}
	p.tooFast(m.Conv, o, now)
	for i, account := range accounts {
		l := p.flow(account)
		if i > 0 {
			began = now // what it has in flight was not asked about
		}
		if stops, goes := l.learnTemplates(m, o, now); stops {
			stopped = append(stopped, account)
		} else if goes {
			went = map[string][]string{account: l.templatesGo()}
		}
		if l.judge(m.Conv, began, o, now) {
			changed = append(changed, l.toKeep(o))
		}
	}
	return changed, stopped, went
}

// tooFast spends what a customer's limits had left when the platform says that it is
// nothing. The caller holds mu.
func (p *pace) tooFast(conv string, o *gateway.Outcome, now time.Time) {
	if o.Kind == gateway.OutcomeRetry && o.Scope == gateway.ScopePair && o.Blame == gateway.BlamePace {
		for _, meter := range p.pairs[conv] {
			meter.spend(now)
		}
	}
}

// toKeep is the state of an account that an outcome has changed.
func (l *flow) toKeep(o *gateway.Outcome) gateway.AccountHealth {
	if o.Blame == gateway.BlamePace && !l.kept.State.Stopped() {
		return l.note()
	}
	return l.kept
}

// probed asks the platform about a stopped account before a message is spent on it.
// It says false when that was refused; then the message does not leave.
func (s *Sender) probed(ctx context.Context, m *gateway.Message) bool {
	code := s.o.Probe(ctx, m.Platform, m.Account)
	if code == "" {
		return true
	}
	s.keep(ctx, s.pace.unproved(m.Account, code, s.o.Now()))
	return false
}

// unproved takes back the place of a probe that was refused.
func (p *pace) unproved(account, code string, now time.Time) gateway.AccountHealth {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.flow(account)
	l.landed()
	if l.kept.State.Stopped() {
		l.stop(l.kept.Reason, code, "", true, now)
	}
	return l.kept
}

// keep stores the states of accounts and tells of them: one line when an account
// stops, none for each of its messages. A ledger that does not take it costs a
// restart some refusals.
func (s *Sender) keep(ctx context.Context, changed ...gateway.AccountHealth) {
	for i := range changed {
		h := &changed[i]
		fields := []zap.Field{zap.String("account", h.Account), zap.String("state", string(h.State)), zap.String("reason", string(h.Reason)),
			zap.String("code", h.Code), zap.Time("probe_at", h.ProbeAt)}
		switch {
		case h.State == gateway.AccountSlowed:
			s.o.Log.Info("account.slowed", append(fields, zap.Int("halved", h.Probes))...)
		case !h.State.Stopped():
			s.o.Log.Info("account.recovered", zap.String("account", h.Account))
		case h.Probes == 0:
			s.o.Log.Error("account.stopped", append(fields, zap.String("detail", h.Detail))...)
		default:
			s.o.Log.Info("account.probed", append(fields, zap.Int("probes", h.Probes))...)
		}
		s.o.Boundary("account.keeping")
		if err := s.o.Accounts.SetAccountHealth(context.WithoutCancel(ctx), h, "", s.o.Now()); err != nil {
			s.o.Log.Error("sender.failed", zap.Error(err))
			continue
		}
		s.o.Boundary("account.kept")
	}
}

// loadAccounts begins with what was known of the accounts. One that has other
// credentials by now is healthy until the platform says otherwise.
func (s *Sender) loadAccounts(ctx context.Context) error {
	var list []gateway.AccountHealth
	for {
		var err error
		if list, err = s.o.Accounts.AccountHealth(ctx); err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.o.Log.Error("sender.failed", zap.Error(err))
		pause(ctx, time.Second)
	}
	for i := range list {
		if h := &list[i]; h.KeyFP == s.o.KeyFP(h.Account) {
			s.pace.stand(h, s.o.Now())
		} else {
			s.keep(ctx, gateway.AccountHealth{Account: h.Account, State: gateway.AccountHealthy})
		}
	}
	return nil
}

// stand puts an account into the state that was kept.
func (p *pace) stand(h *gateway.AccountHealth, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.flow(h.Account)
	if h.State == gateway.AccountSlowed {
		l.recall(h, now)
		return
	}
	l.kept, l.refusedAt = *h, h.Since
	l.hold(h.ProbeAt)
}

// Resume lets an account go on now, by a person: one message at a time until one is
// taken. What the platform said before is forgotten; what it says next counts.
func (s *Sender) Resume(ctx context.Context, account, by string) error {
	now := s.o.Now()
	healthy := &gateway.AccountHealth{Account: account, State: gateway.AccountHealthy}
	if err := s.o.Accounts.SetAccountHealth(ctx, healthy, by, now); err != nil {
		return err
	}
	s.Wake(s.pace.resume(account, now)...)
	s.o.Log.Info("account.resumed", zap.String("account", account), zap.String("by", by))
	s.look()
	return nil
}

func (p *pace) resume(account string, now time.Time) (waited []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.flow(account)
	if l.careful() {
		l.refusedAt = now
	}
	l.heal(now)
	l.part = 1
	l.adjust(now)
	return l.templatesGo()
}

// Account is how one account fares just now.
type Account struct {
	gateway.AccountHealth
	// Waiting is how many conversations wait for the account's pace or health, Flying
	// how many calls run, Part which part of its pace is let through.
	Waiting, Flying int
	Part            float64
	// TemplatesAt is when a template is tried again, of an account that may begin no
	// conversation, and TemplatesCode the platform's word for it; zero for one that may.
	TemplatesAt   time.Time
	TemplatesCode string
}

// Account tells how an account fares.
func (s *Sender) Account(name string) Account {
	s.pace.mu.Lock()
	defer s.pace.mu.Unlock()
	return s.pace.flow(name).account(s.o.Now())
}

// Accounts lists the accounts that had something to send, by name.
func (s *Sender) Accounts() []Account {
	s.pace.mu.Lock()
	defer s.pace.mu.Unlock()
	out := make([]Account, 0, len(s.pace.flows))
	for _, l := range s.pace.flows {
		out = append(out, l.account(s.o.Now()))
	}
	slices.SortFunc(out, func(a, b Account) int { return strings.Compare(a.Account, b.Account) })
	return out
}

func (l *flow) account(now time.Time) Account {
	return Account{AccountHealth: l.view(now), Waiting: l.waiting.len(), Flying: l.flying, Part: l.part,
		TemplatesAt: l.templates.until, TemplatesCode: l.templates.code}
}

// Heard says that so many messages of customers came to an account just now, which
// platforms count with those that leave. It takes effect with the next message.
func (s *Sender) Heard(account string, n int) { s.pace.heard(account, n, s.o.Now()) }

// Free is how many messages a second an account could take in more just now; 0 for
// one of which nothing leaves.
func (s *Sender) Free(account string) float64 { return s.pace.free(account, s.o.Now()) }
