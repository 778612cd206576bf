package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
)

// brakes is what is stopped, as the ledger has it: kept in memory, since the stages
// ask before every offer and every message. It is read before they run, and nobody
// else writes it while this process holds the store.
type brakes struct {
	a *app

	// tripped is how the breakers were left; the gates have them from then on.
	tripped map[string]gateway.Breaker

	setting sync.Mutex // one change at a time, so that memory follows the ledger

	mu sync.RWMutex
	on map[brakeKey]gateway.Brake

	looped chan struct{} // somebody was stopped for a time
}

type brakeKey struct {
	scope gateway.BrakeScope
	name  string
}

func loadBrakes(ctx context.Context, a *app) (*brakes, error) {
	list, err := a.ledger.Brakes(ctx)
	if err != nil {
		return nil, err
	}
	tripped, err := a.ledger.Breakers(ctx)
	if err != nil {
		return nil, err
	}
	b := &brakes{a: a, on: map[brakeKey]gateway.Brake{}, looped: make(chan struct{}, 1), tripped: map[string]gateway.Breaker{}}
	for _, t := range tripped {
		b.tripped[t.App] = t
	}
	for _, br := range list {
		b.on[brakeKey{br.Scope, br.Name}] = br
	}
	return b, nil
}

// is says whether one thing is stopped.
func (b *brakes) is(scope gateway.BrakeScope, name string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	_, on := b.on[brakeKey{scope, name}]
	return on
}

// list is what is stopped, in order.
func (b *brakes) list() []gateway.Brake {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]gateway.Brake, 0, len(b.on))
	for _, br := range b.on {
		out = append(out, br)
	}
	slices.SortFunc(out, func(x, y gateway.Brake) int {
		return cmp.Or(cmp.Compare(x.Scope, y.Scope), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// stopped is for the gates: nothing of this account or conversation is offered.
func (b *brakes) stopped(account, conv string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.on) == 0 {
		return false
	}
	_, a := b.on[brakeKey{gateway.BrakeAccount, account}]
	_, c := b.on[brakeKey{gateway.BrakeConversation, conv}]
	return a || c
}

// silenced is for the sender: this message does not leave now. A conversation that
// waits for a dead letter is handed no events; what was said before leaves.
func (b *brakes) silenced(m *gateway.Message) bool {
	b.mu.RLock()
	conv, on := b.on[brakeKey{gateway.BrakeConversation, m.Conv}]
	b.mu.RUnlock()
	if on && conv.Reason != gateway.ReasonNotBuried || b.is(gateway.BrakeAccount, m.Account) {
		return true
	}
	return b.is(gateway.BrakeReplies, gateway.BrakeAll) || m.App != "" && b.is(gateway.BrakeReplies, m.App)
}

// holds adds to a conversation what of it is stopped.
func (b *brakes) holds(c *gateway.Conversation) {
	waits := func(app string) bool {
		return slices.ContainsFunc(c.Events, func(e gateway.ConversationEvent) bool { _, ok := e.Waits[app]; return ok })
	}
	for _, br := range b.list() {
		var holds bool
		switch br.Scope {
		case gateway.BrakeConversation:
			holds = br.Name == c.Conv
		case gateway.BrakeAccount:
			holds = br.Name == c.Account
		case gateway.BrakeApp:
			holds = waits(br.Name)
		case gateway.BrakeReplies:
			holds = br.Name == gateway.BrakeAll || waits(br.Name)
		}
		if holds {
			c.Holds = append(c.Holds, br)
		}
	}
}

// set stops something or lets it go: in the ledger, then in memory, then the stages
// are told. If we die in between, the ledger's word is read at the next start.
func (b *brakes) set(ctx context.Context, br gateway.Brake, on bool) error {
	b.setting.Lock()
	defer b.setting.Unlock()
	if err := b.a.ledger.SetBrake(ctx, br, on); err != nil {
		return err
	}
	key := brakeKey{br.Scope, br.Name}
	b.mu.Lock()
	if was, set := b.on[key]; on && (!set || was.Reason != "" && br.Reason == "") {
		b.on[key] = br
	} else if !on {
		delete(b.on, key)
	}
	b.mu.Unlock()
	b.a.o.Log.Info("brake.set", zap.String("scope", string(br.Scope)), zap.String("name", br.Name), zap.Bool("paused", on),
		zap.String("by", br.By), zap.String("reason", br.Reason))
	switch br.Scope {
	case gateway.BrakeApp:
		if g := b.a.broker.gates[br.Name]; g != nil {
			g.Pause(on)
		}
	case gateway.BrakeAccount, gateway.BrakeConversation:
		for _, g := range b.a.broker.gates {
			g.Braked()
		}
	case gateway.BrakeReplies:
	}
	if !on && br.Scope != gateway.BrakeApp {
		return b.wakeSender(ctx)
	}
	return nil
}

// wakeSender lets the sender look at every conversation that has something to send now;
// it knows when it is time for the others, whoever is stopped.
func (b *brakes) wakeSender(ctx context.Context) error {
	const page = 1000
	for after := ""; ; {
		open, err := b.a.ledger.OpenConversations(ctx, after, page)
		if err != nil {
			return err
		}
		now := b.a.o.Now()
		var convs []string
		for _, o := range open {
			if !o.At.After(now) {
				convs = append(convs, o.Conv)
			}
		}
		b.a.sender.Wake(convs...)
		if len(open) < page {
			return nil
		}
		after = open[len(open)-1].Conv
	}
}

// known says whether a person may stop what they named: what is misspelled would be
// stopped by nobody. What is stopped can be let go in any case.
func (b *brakes) known(ctx context.Context, scope gateway.BrakeScope, name string) error {
	found := b.is(scope, name)
	switch scope {
	case gateway.BrakeApp:
		found = found || b.a.broker.gates[name] != nil
	case gateway.BrakeReplies:
		found = found || name == gateway.BrakeAll || b.a.broker.gates[name] != nil
	case gateway.BrakeAccount:
		found = found || slices.ContainsFunc(b.a.o.Config.Accounts, func(a config.Account) bool { return a.Name == name })
	case gateway.BrakeConversation:
		if !found {
			_, err := b.a.ledger.Conversation(ctx, name, 1)
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: %w", scope, gateway.ErrNotFound)
	}
	return nil
}

// Brakes lists what is stopped.
func (x adminAPI) Brakes(context.Context) ([]gateway.Brake, error) { return x.a.brakes.list(), nil }

// SetBrake stops something at once and for good, or lets it go.
func (x adminAPI) SetBrake(ctx context.Context, scope gateway.BrakeScope, name, by string, on bool) error {
	if err := x.a.brakes.known(ctx, scope, name); err != nil {
		return err
	}
	return x.a.brakes.set(ctx, gateway.Brake{Scope: scope, Name: name, At: x.a.o.Now(), By: by}, on)
}
