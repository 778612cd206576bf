package current

import (
	"context"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// asked remembers what platforms said for keepFor, refusals too, and lets callers of
// one key share one call, which the first of them makes.
type asked struct {
	now   func() time.Time
	slots chan struct{}

	mu      sync.Mutex
	answers map[string]*answer
}

type answer struct {
	done  chan struct{} // closed when the call is over
	until time.Time     // set then
	state gateway.State
	err   error
}

// keptAnswers is how many are kept before those that are over are thrown away.
const keptAnswers = 10_000

func newAsked(parallel int, now func() time.Time) *asked {
	return &asked{now: now, slots: make(chan struct{}, parallel), answers: map[string]*answer{}}
}

// state calls ask unless its answer is at hand or on the way. The error is ask's or
// ctx's.
func (a *asked) state(ctx context.Context, key string, ask func(context.Context) (gateway.State, error)) (gateway.State, error) {
	a.mu.Lock()
	known := a.answers[key]
	if known != nil {
		select {
		case <-known.done:
			if !a.now().Before(known.until) {
				known = nil
			}
		default:
		}
	}
	if known != nil {
		a.mu.Unlock()
		select {
		case <-known.done:
			return known.state, known.err
		case <-ctx.Done():
			return gateway.State{}, ctx.Err()
		}
	}
	a.forget()
	mine := &answer{done: make(chan struct{})}
	a.answers[key] = mine
	a.mu.Unlock()

	began := a.now()
	select {
	case a.slots <- struct{}{}:
		mine.state, mine.err = ask(ctx)
		<-a.slots
	case <-ctx.Done():
		mine.err = ctx.Err()
	}
	a.mu.Lock()
	if mine.until = a.now().Add(keepFor); ctx.Err() != nil && a.now().Sub(began) < answerWithin/2 {
		mine.until = began // the caller had no time left, which says nothing of the platform
	}
	close(mine.done)
	a.mu.Unlock()
	return mine.state, mine.err
}

// forget makes room; the caller holds mu.
func (a *asked) forget() {
	if len(a.answers) < keptAnswers {
		return
	}
	now := a.now()
	for key, known := range a.answers {
		select {
		case <-known.done:
			if !now.Before(known.until) {
				delete(a.answers, key)
			}
		default:
		}
	}
}
