package outbox

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// loadPace begins with what is spent of the limits: the attempts of the ledger that
// count still. Without it a restart would lend every customer a burst anew, and send a
// member of WeCom twice the limit in one minute, of which WeCom drops the rest. What
// the ledger does not tell: a place that was given and not used (counted before the
// restart, free after it).
func (s *Sender) loadPace(ctx context.Context) error {
	now := s.o.Now()
	since := now.Add(-s.pace.memory(s.o.Paced))
	if !since.Before(now) {
		return nil
	}
	for {
		begun, err := s.o.Accounts.Begun(ctx, since)
		if err == nil {
			for i := range begun {
				s.pace.spent(begun[i].Account, begun[i].Conv, begun[i].At)
			}
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.o.Log.Error("sender.failed", zap.Error(err))
		pause(ctx, time.Second)
	}
}

// memory is how long the longest limit of some accounts remembers.
func (p *pace) memory(accounts []string) (longest time.Duration) {
	for _, account := range accounts {
		for _, l := range p.limits(account) {
			longest = max(longest, l.Memory())
		}
	}
	return longest
}

// spent counts a message that left at a time, before now. Those are to come in order.
func (p *pace) spent(account, conv string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.flow(account)
	p.count(l, p.pairOf(l, conv, at), at)
}
