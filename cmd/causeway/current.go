package main

import (
	"context"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/current"
)

// currentParallel is how many requests for states are answered at once; the calls of
// platforms among them are bounded further.
const currentParallel = 128

// serveCurrent answers workers who ask for the state of a conversation.
func (b *broker) serveCurrent(ctx context.Context) error {
	c := current.New(current.Options{
		Ledger: b.a.ledger, Apps: b.a.dir.apps, Platform: b.a.dir.platform, Customers: b.a.dir.customers, Now: b.a.o.Now,
	})
	return b.streams.ServeCurrent(ctx, currentParallel, func(ctx context.Context, app, conv string) (*gateway.State, string) {
		return c.State(ctx, app, conv)
	})
}

// platform is who can be asked for the state of an account's keys.
func (d *directory) platform(platform, account string) current.Platform {
	if p, ok := d.askers[platform+"/"+account]; ok {
		return p
	}
	return nil
}

// customers is the account that is told of the customers of an account: that of its
// corp.
func (d *directory) customers(platform, account string) string {
	corp, ok := d.corps[platform+"/"+account]
	if !ok {
		return ""
	}
	name, _ := d.Account(platform, corp+"/")
	return name
}
