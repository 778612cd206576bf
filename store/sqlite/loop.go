package sqlite

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// pulse is how fast a conversation turns. It is not kept: a run that a restart cuts in
// two is found a run later.
type pulse struct {
	asked    int64 // when somebody wrote what began the turn
	answered int64 // when an application's answer to it began to leave
	turns    int   // fast ones in a row
}

// beats notes that an application's message leaves. A conversation that is not in
// memory has not been asked just now.
func (b *ledgerBook) beats(m *message, at time.Time) {
	if t := b.talks[convKey(m.Conv)]; t != nil && t.conv == m.Conv && m.App != "" && !m.Reply.Type.Harmless() {
		t.pulse.answered = nanos(at)
	}
}

// turn looks whether a message ends a turn, and stops a conversation that turns as fast
// as machines do. What came without an answer between is one turn with what was before.
func (w *relayWrite) turn(t *talk, it *gateway.ItemRow) error {
	rule, p, now := w.b.Loop, &t.pulse, nanos(w.now)
	if rule.Turns <= 0 || it.Event.Kind != gateway.KindMessage || it.Observed != "" || w.b.Run != "" || w.b.Again {
		return nil
	}
	within := rule.Within
	for _, app := range it.Wanted {
		within = max(within, rule.Within+rule.Waits[app])
	}
	if p.asked > 0 && p.answered < p.asked && now-p.asked <= int64(within) {
		return nil
	}
	if p.asked > 0 && p.answered >= p.asked && now-p.asked <= int64(within) {
		p.turns++
	} else {
		p.turns = 0
	}
	if p.asked = now; p.turns < rule.Turns {
		return nil
	}
	p.turns = 0
	stopped, err := w.brake(t.conv, gateway.BrakeLoop)
	if stopped {
		w.l.book.add(prefixOther+"loops", 1)
	}
	return err
}

// brake stops a conversation by a rule; false when it is stopped already.
func (w *relayWrite) brake(conv, reason string) (bool, error) {
	b := gateway.Brake{Scope: gateway.BrakeConversation, Name: conv, At: w.now, By: gateway.BrakeByGateway, Reason: reason}
	n, err := w.c.exec("INSERT INTO brake (scope, name, at, by, reason) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		string(b.Scope), b.Name, b.At, b.By, b.Reason)
	if err != nil || n == 0 {
		return false, err
	}
	w.res.Braked = append(w.res.Braked, b)
	return true, audit(w.c, w.now, b.By, "pause", string(b.Scope)+" "+b.Name)
}
