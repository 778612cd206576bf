package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// learned takes in conversations that the relay stopped, after its commit:
// before the rows that it made are handed to the gates. If we die in between, they are
// read at the next start.
func (b *brakes) learned(list []gateway.Brake) {
	b.mu.Lock()
	for _, br := range list {
		b.on[brakeKey{br.Scope, br.Name}] = br
	}
	b.mu.Unlock()
	for _, br := range list {
		b.a.o.Log.Warn("brake.set", zap.String("scope", string(br.Scope)), zap.String("name", br.Name), zap.Bool("paused", true),
			zap.String("by", br.By), zap.String("reason", br.Reason))
	}
	for _, g := range b.a.broker.gates {
		g.Braked()
	}
	select {
	case b.looped <- struct{}{}:
	default:
	}
}

// loopRule is the rule with what the applications wait by themselves: two machines
// turn no slower for it. A turn is begun by the first of several messages and answered
// when it was quiet, hence the wait and not the longest one.
func loopRule(rule gateway.Loop, apps []gateway.Application) gateway.Loop {
	for i := range apps {
		if a := &apps[i]; a.Collect.On() {
			if rule.Waits == nil {
				rule.Waits = map[string]time.Duration{}
			}
			rule.Waits[a.Name] = a.Collect.Wait
		}
	}
	return rule
}

// ended lets conversations go that waited for a dead letter, after the commit that
// wrote it. What a person stopped meanwhile stays.
func (b *brakes) ended(list []gateway.Brake) {
	if len(list) == 0 {
		return
	}
	b.mu.Lock()
	for _, br := range list {
		if key := (brakeKey{br.Scope, br.Name}); b.on[key].Reason == br.Reason {
			delete(b.on, key)
		}
	}
	b.mu.Unlock()
	for _, br := range list {
		b.a.o.Log.Info("brake.set", zap.String("scope", string(br.Scope)), zap.String("name", br.Name), zap.Bool("paused", false),
			zap.String("by", br.By), zap.String("reason", br.Reason))
	}
	for _, g := range b.a.broker.gates {
		g.Braked()
	}
}

// restPoll bounds the wait for the end of a rest: the clock may be set forward.
const restPoll = time.Minute

// rest lets loops go that have rested, until ctx ends.
func (b *brakes) rest(ctx context.Context) error {
	after := b.a.o.Config.Loop.Rest
	for {
		wait := restPoll
		now := b.a.o.Now()
		for _, br := range b.list() {
			if br.Reason != gateway.BrakeLoop || after <= 0 {
				continue
			}
			left := br.At.Add(after).Sub(now)
			if left > 0 {
				wait = min(wait, left)
				continue
			}
			err := b.set(ctx, gateway.Brake{Scope: br.Scope, Name: br.Name, At: now, By: gateway.BrakeByGateway, Reason: "rested"}, false)
			if err != nil && ctx.Err() == nil {
				b.a.o.Log.Error("brake.failed", zap.Error(err))
				wait = min(wait, time.Second)
			}
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-b.looped:
		case <-t.C:
		}
		t.Stop()
	}
}
