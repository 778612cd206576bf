package main

import (
	"context"
	"sync"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/admin"
)

// Bounds of trying the accounts' credentials. Platforms count these calls, so a
// doctor that is asked again and again gets the result of the last round.
const (
	tryTimeout = 5 * time.Second  // of one account
	tryRound   = 15 * time.Second // of all of them
	tryAtOnce  = 8
	tryFresh   = time.Minute // a round is good for so long
)

// trier is a platform's client that can try its credentials without sending.
type trier interface {
	TryCredentials(ctx context.Context) handlers.Credentials
}

// credentials tries the credentials of every account, one round at a time. The
// clients are those of the sender where a gateway runs, so that an access token
// is fetched once for both. It is safe for concurrent use.
type credentials struct {
	now    func() time.Time
	names  []string // in the order of the configuration
	triers []trier
	turn   chan struct{} // holds the right to run a round
	at     time.Time     // of the last round
	last   []handlers.Credentials
}

func newCredentials(accounts []config.Account, dir *directory, now func() time.Time) *credentials {
	c := &credentials{now: now, turn: make(chan struct{}, 1)}
	for i := range accounts {
		t, ok := dir.client(accounts[i].Platform, accounts[i].Name).(trier)
		if !ok {
			continue // a platform without such a question
		}
		c.names, c.triers = append(c.names, accounts[i].Name), append(c.triers, t)
	}
	return c
}

// try returns a result for each of names, at most tryFresh old, within tryRound.
// The error is the context's.
func (c *credentials) try(ctx context.Context) ([]handlers.Credentials, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.last != nil && c.now().Sub(c.at) < tryFresh {
		return c.last, nil
	}
	round, cancel := context.WithTimeout(ctx, tryRound)
	defer cancel()
	results := make([]handlers.Credentials, len(c.triers))
	places := make(chan struct{}, tryAtOnce)
	var wg sync.WaitGroup
	for i := range c.triers {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			one, cancel := context.WithTimeout(round, tryTimeout)
			defer cancel()
			results[i] = c.triers[i].TryCredentials(one)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err() // whoever asked went away; what was cut short says nothing
	}
	c.at, c.last = c.now(), results
	return results, nil
}

// findings makes one of each account: refused is an error, a platform that did
// not answer is none of the credentials.
func (c *credentials) findings(ctx context.Context) ([]admin.Finding, error) {
	results, err := c.try(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]admin.Finding, 0, len(results))
	for i, r := range results {
		out = append(out, findingOf(c.names[i], r.Fact()))
	}
	return out, nil
}

func findingOf(account string, f handlers.Fact) admin.Finding {
	return admin.Finding{Level: f.Level, What: f.What, Name: account, Detail: f.Detail, Do: f.Do}
}
