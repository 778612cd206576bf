package wecom

import (
	"context"
	"encoding/json"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// Bell says that a kf account has something to be fetched. Token is as good as a
// permission and in no log.
type Bell struct {
	AccountID string
	Token     string
	// Until is when the token is not used any more.
	Until time.Time
}

// BellOf reads a bell out of a decoded callback that was received at a time.
func BellOf(it *gateway.Item, received time.Time) (Bell, bool) {
	if it.Content.Type != "event.kf_msg_or_event" || it.Content.Change == nil {
		return Bell{}, false
	}
	b := Bell{AccountID: corpOf(it.AccountID) + kfMark + it.Content.Change.Of.Value}
	var inner string
	if json.Unmarshal(it.Content.Raw, &inner) != nil {
		return b, true
	}
	fields, err := parseInner([]byte(inner), maxInnerNodes)
	if err != nil {
		return b, true // read before, so it can be read
	}
	rung := received
	if !it.OccurredAt.IsZero() && it.OccurredAt.Before(rung) {
		rung = it.OccurredAt
	}
	for _, f := range fields {
		if f.path == "Token" && len(f.text) <= maxIDBytes {
			b.Token, b.Until = f.text, rung.Add(bellLife)
		}
	}
	return b, true
}

// corpOf is the corp of "<corp>/".
func corpOf(accountID string) string { return accountID[:max(len(accountID)-1, 0)] }

// PullState is how an account fares.
type PullState struct {
	Account string
	// Code is what is wrong, "" for nothing: WeCom's code or a word of ours.
	// Detail is for the operator.
	Code, Detail string
	// Refused says that a person must act: a secret, a grant, an address.
	Refused bool
	// Since is when it went wrong, Until when it is tried again.
	Since, Until time.Time
	// Worked is the last call that was answered; zero for none.
	Worked time.Time
	// Pages and Bells are counted since the start.
	Pages, Bells int64
}

func (l *lane) ring(b Bell) {
	l.mu.Lock()
	l.state.Bells++
	if b.Token != "" && !b.Until.Before(l.bell.Until) {
		l.bell = b
	}
	l.mu.Unlock()
	select {
	case l.rung <- struct{}{}:
	default:
	}
}

// token is the newest bell's while it lives.
func (l *lane) token(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.bell.Until) {
		return ""
	}
	return l.bell.Token
}

// forget gives up a token that WeCom refused; a newer one stays.
func (l *lane) forget(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bell.Token == token {
		l.bell.Token = ""
	}
}

func (l *lane) status() PullState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	s.Account = l.client.kf.Account
	return s
}

func (l *lane) count() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Pages++
}

func (l *lane) worked() {
	l.throttled.Over()
	l.crowded.Over()
	l.refused.Over()
	l.unreached.Over()
	l.mu.Lock()
	was := l.state.Code
	l.state.Code, l.state.Detail, l.state.Refused, l.state.Worked = "", "", false, l.o.Now()
	l.mu.Unlock()
	if was != "" {
		l.o.Log.Info("pull.works", zap.String("account", l.client.kf.Account))
	}
}

// failed notes what is wrong and returns how long to leave the account alone. It
// is logged when it is new.
func (l *lane) failed(ctx context.Context, f fault) time.Duration {
	if ctx.Err() != nil {
		return time.Millisecond
	}
	now := l.o.Now()
	var wait time.Duration
	switch f.kind {
	case rateFault:
		wait = l.throttled.Refused(now, f.wait)
	case crowdFault:
		wait = l.crowded.Refused(now, f.wait)
	case unreachedFault:
		wait = l.unreached.Refused(now, f.wait)
	default: // also what should have been mended by itself and was not
		wait = l.refused.Refused(now, f.wait)
	}
	l.mu.Lock()
	fresh := l.state.Code != f.Code
	if l.state.Code == "" {
		l.state.Since = now
	}
	l.state.Code, l.state.Detail, l.state.Until = f.Code, f.Detail, now.Add(wait)
	l.state.Refused = f.kind != rateFault && f.kind != crowdFault && f.kind != unreachedFault
	l.mu.Unlock()
	if fresh {
		l.o.Log.Warn("pull.failed", zap.String("account", l.client.kf.Account), zap.String("code", f.Code), zap.String("detail", f.Detail))
	}
	return max(wait, time.Millisecond)
}
