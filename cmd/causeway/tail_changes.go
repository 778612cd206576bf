package main

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// How changes are read for those who watch: so many at a time, and so often when
// nobody says that there are any.
const (
	tailChanges = 500
	tailPoll    = 500 * time.Millisecond
)

// followChanges tells those who watch what became of messages beside the attempts,
// which tell of themselves: it reads the changes in the ledger, in order, whoever made
// them. While nobody watches it reads nothing.
func (a *app) followChanges(ctx context.Context) error {
	poll := time.NewTicker(tailPoll)
	defer poll.Stop()
	at := int64(-1) // where it begins when somebody comes
	for {
		if !a.tail.Listening() {
			at = -1
		} else if told, last, err := a.ledger.Told(ctx, at, tailChanges); err != nil {
			if ctx.Err() == nil {
				a.o.Log.Warn("tail.failed", zap.Error(err))
			}
		} else {
			for i := range told {
				if l, ok := changeLine(&told[i]); ok {
					a.tail.Tell(l)
				}
			}
			if at = last; len(told) == tailChanges {
				continue
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.watched:
		case <-poll.C:
		}
	}
}

// watchers wakes followChanges.
func (a *app) watchers() {
	select {
	case a.watched <- struct{}{}:
	default:
	}
}

// changeLine is what a change tells; false for one that an attempt tells.
func changeLine(t *gateway.Told) (gateway.TailLine, bool) {
	c := &t.Change
	l := gateway.TailLine{At: c.At, What: gateway.TailMessage, Platform: c.Platform, Account: c.Account, Conv: c.Conv, Event: c.Event,
		Message: c.Message, State: string(c.State), Reason: c.Code, By: c.By}
	if c.App != "" {
		l.Apps = []string{c.App}
	}
	switch {
	case t.Dead != "":
		l.What, l.State, l.Dead, l.Reason, l.Tries = gateway.TailDead, "message", t.Dead, cmp.Or(t.Reason, c.Code), t.Tries
	case c.Message == "": // what an echo is
		l.What, l.Kind, l.State = gateway.TailJudged, gateway.KindEcho, string(c.Echo)
	case c.By == "answer":
		return l, false
	case c.By == "status" && c.Delivery != "":
		l.State = string(c.Delivery)
	}
	return l, true
}
