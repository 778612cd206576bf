package outbox

import (
	"math"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// What makes an account isolated by failures, and how fast it recovers.
const (
	failuresMost  = 10 // calls in a row without a usable answer
	failuresConvs = 3  // of at least so many conversations
	// A refusal for being too fast halves the pace, at most to slowest; every
	// recoverEvery it grows by recoverBy again.
	slowest      = 1.0 / 32
	recoverEvery = 10 * time.Second
	recoverBy    = 1.25
)

// health is how an account fares, by the outcomes of its calls.
type health struct {
	until time.Time // nothing leaves before
	kept  gateway.AccountHealth

	// After a refusal of the account one message at a time leaves, until one that
	// began afterwards is taken.
	refusedAt time.Time

	part    float64   // of the pace that is let through
	slowed  time.Time // since when it is not all
	cut     time.Time // when it was halved last
	changed time.Time // up to when it grew
	noted   bool      // that it is slowed is in the ledger

	healed time.Time // when it was last let go again, having been stopped

	failures int
	failing  map[string]struct{} // conversations
}

func (h *health) careful() bool { return !h.refusedAt.IsZero() }

// recover lets the pace grow again, and says whether it did.
func (h *health) recover(now time.Time) bool {
	steps := int(now.Sub(h.changed) / recoverEvery)
	if h.part >= 1 || steps < 1 {
		return false
	}
	h.part = min(h.part*math.Pow(recoverBy, float64(min(steps, 100))), 1)
	h.changed = h.changed.Add(time.Duration(steps) * recoverEvery)
	return true
}

// tooFast slows the account. Refusals of calls that began before the last one count
// once; it says whether this one did.
func (h *health) tooFast(started, now time.Time) (counts bool) {
	h.recover(now)
	if h.part >= 1 {
		h.slowed = now
	}
	if counts = !started.Before(h.cut); counts {
		h.part, h.cut = max(h.part/2, slowest), now
	}
	h.changed = now
	return counts
}

// note is a slowed account as it is kept: by halves of its pace, at the time of the last
// refusal, and until when nothing leaves.
func (l *flow) note() gateway.AccountHealth {
	l.noted = true
	return gateway.AccountHealth{Account: l.name, State: gateway.AccountSlowed, Reason: gateway.BlamePace, Since: l.cut, ProbeAt: l.until,
		Probes: int(math.Ceil(math.Log2(1 / l.part))), KeyFP: l.kept.KeyFP}
}

// recall goes on with a note. As after any refusal, one message leaves at a time until
// one is taken; the pace has grown back meanwhile as it would have.
func (l *flow) recall(h *gateway.AccountHealth, now time.Time) {
	l.noted, l.slowed, l.cut, l.changed = true, h.Since, h.Since, h.Since
	l.part = max(math.Pow(0.5, float64(h.Probes)), slowest)
	l.recover(now)
	if l.part < 1 || h.ProbeAt.After(now) {
		l.refusedAt = h.Since
	}
	l.hold(h.ProbeAt)
	l.adjust(now)
}

// judge learns from the outcome of a call that began at started. It says whether the
// account's kept state changed.
func (l *flow) judge(conv string, started time.Time, o *gateway.Outcome, now time.Time) (changed bool) {
	refused := o.Kind == gateway.OutcomeRetry && o.Scope == gateway.ScopeAccount
	if o.Kind == gateway.OutcomeUnknown || refused && o.Blame == gateway.BlameReach {
		if l.failing == nil {
			l.failing = map[string]struct{}{}
		}
		if l.failures++; len(l.failing) < failuresConvs {
			l.failing[conv] = struct{}{}
		}
	} else {
		l.failures, l.failing = 0, nil
	}
	switch {
	case refused:
		return l.refused(started, o.Blame, o, now)
	case o.Kind == gateway.OutcomeUnknown && (l.kept.Reason == gateway.BlameFailures || l.failures >= failuresMost && len(l.failing) >= failuresConvs):
		return l.refused(started, gateway.BlameFailures, o, now)
	case o.Kind != gateway.OutcomeAccepted || started.Before(l.refusedAt):
		return false
	}
	l.refusedAt, l.ready = time.Time{}, time.Time{}
	if changed = l.kept.State.Stopped(); changed {
		l.heal(now)
	} else if l.recover(now); l.noted && l.part >= 1 {
		changed, l.noted = true, false
	}
	return changed
}

// refused notes that the platform refuses the account, or that nothing gets through.
func (l *flow) refused(started time.Time, why gateway.Blame, o *gateway.Outcome, now time.Time) (changed bool) {
	if why == gateway.BlameReach && l.failures >= failuresMost && len(l.failing) >= failuresConvs {
		why = gateway.BlameFailures
	}
	slowed := false
	if why == gateway.BlamePace {
		slowed = l.tooFast(started, now)
		l.adjust(now)
	}
	again := !l.refusedAt.IsZero() && !started.Before(l.refusedAt)
	if l.refusedAt.IsZero() || again {
		l.refusedAt = now
	}
	l.hold(now.Add(o.After))
	if !why.State().Stopped() {
		return slowed && !l.kept.State.Stopped()
	}
	l.noted = false // the row is that of what is stopped
	return l.stop(why, o.Code, o.Detail, again, now)
}

// stop lets only probes leave. again says that it was a probe that failed.
func (l *flow) stop(why gateway.Blame, code, detail string, again bool, now time.Time) (changed bool) {
	k := &l.kept
	switch fresh := k.State != why.State() || k.Reason != why; {
	case fresh:
		*k = gateway.AccountHealth{Account: l.name, State: why.State(), Reason: why, Code: code, Detail: detail, Since: now, KeyFP: k.KeyFP}
	case again:
		k.Probes++
	default:
		return false // refused together with the one that began it
	}
	l.hold(now.Add(probeWait(why, k.Probes)))
	k.ProbeAt = l.until
	return true
}

// probeWait is the pause before the next probe.
func probeWait(why gateway.Blame, failed int) time.Duration {
	first, most := 30*time.Second, 15*time.Minute
	if why == gateway.BlameFailures {
		first, most = 5*time.Second, time.Minute
	}
	return min(first<<min(failed, 10), most)
}

// heal lets everything leave again.
func (l *flow) heal(now time.Time) {
	l.kept = gateway.AccountHealth{Account: l.name, State: gateway.AccountHealthy, KeyFP: l.kept.KeyFP}
	l.until, l.ready = time.Time{}, time.Time{}
	l.failures, l.failing, l.noted, l.healed = 0, nil, false, now
}

// view is the state as it is shown.
func (l *flow) view(now time.Time) gateway.AccountHealth {
	v := l.kept
	v.Account = l.name
	l.recover(now)
	switch {
	case v.State.Stopped():
		v.ProbeAt = l.until
	case l.part < 1:
		v.State, v.Reason, v.Since, v.ProbeAt = gateway.AccountSlowed, gateway.BlamePace, l.slowed, l.until
	case l.until.After(now):
		v.State, v.Reason, v.Since, v.ProbeAt = gateway.AccountSlowed, gateway.BlameReach, l.refusedAt, l.until
	default:
		v.State, v.ProbeAt = gateway.AccountHealthy, time.Time{}
	}
	return v
}
