package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// TestStagesBesideEachOther lets the relay, the intake, the sender and an
// operator work on one ledger at a time, and compares the counts with the rows.
func TestStagesBesideEachOther(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	ctx := t.Context()
	at := time.Now()
	const batches, size = 10, 20
	relayed := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(relayed)
		for i := range batches {
			if _, err := l.Relay(ctx, benchBatch(1+i*size, size, 25, at), at); err != nil {
				t.Error(err)
				return
			}
		}
	})
	settled := make(chan struct{})
	wg.Go(func() {
		defer close(settled)
		settleAll(ctx, t, l, relayed, at)
	})
	wg.Go(func() { sendAll(ctx, t, l, settled, at) })
	wg.Go(func() {
		for {
			if _, err := l.Sums(ctx); err != nil {
				t.Error(err)
			}
			if _, err := l.Stuck(ctx, at); err != nil {
				t.Error(err)
			}
			select {
			case <-settled:
				return
			default:
			}
		}
	})
	wg.Wait()
	agree(t, l)
	sums, err := l.Sums(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if a := sums.Apps["bot"]; a.Wanted != batches*size || a.Settled != batches*size || sums.Messages.Accepted != batches*size {
		t.Errorf("of %d events: %+v, %+v", batches*size, a, sums.Messages)
	}
}

// settleAll answers every head until the relay is done and nothing waits; the
// events of a conversation must come in the order of their seq.
func settleAll(ctx context.Context, t *testing.T, l *Ledger, relayed <-chan struct{}, at time.Time) {
	reply := gateway.Decision{State: gateway.EventSettled, Reason: "done", Tries: 1, Replies: []gateway.Reply{{Type: "text", Text: "ok"}}}
	last := make(map[string]int64)
	for seq := uint64(1); ; seq++ {
		over := false
		select {
		case <-relayed:
			over = true
		default:
		}
		heads, err := l.Heads(ctx, "bot", "", 100)
		if err != nil {
			t.Error(err)
			return
		}
		if len(heads) == 0 && over {
			return
		}
		var answers []gateway.Settlement
		for _, h := range heads {
			if h.Seq != last[h.Conv]+1 {
				t.Errorf("seq %d after %d", h.Seq, last[h.Conv])
			}
			last[h.Conv] = h.Seq
			answers = append(answers, gateway.Settlement{App: h.App, Conv: h.Conv, Answer: gateway.Answer{Event: h.Delivery()}})
		}
		out, err := l.Settle(ctx, gateway.ReplyPosition{Created: at, Seq: seq}, answers,
			func(*gateway.Pending, *gateway.Answer) gateway.Decision { return reply }, at)
		if err != nil {
			t.Error(err)
			return
		}
		for _, s := range out {
			if s.Late {
				t.Error("a head was late")
			}
		}
	}
}

// sendAll sends what is open until nothing more comes, two senders at a time;
// the index lets one of them have a conversation.
func sendAll(ctx context.Context, t *testing.T, l *Ledger, settled <-chan struct{}, at time.Time) {
	for {
		over := false
		select {
		case <-settled:
			over = true
		default:
		}
		convs, err := l.OpenConversations(ctx, "", 100)
		if err != nil {
			t.Error(err)
			return
		}
		if len(convs) == 0 && over {
			return
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for _, open := range convs {
					if err := sendOne(ctx, l, open.Conv, at); err != nil && !errors.Is(err, gateway.ErrConflict) {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

func sendOne(ctx context.Context, l *Ledger, conv string, at time.Time) error {
	m, _, err := l.NextMessage(ctx, conv)
	if err != nil || m == nil {
		return err
	}
	a := &gateway.Attempt{Message: m.ID, StartedAt: at, VoidAfter: at.Add(time.Minute)}
	if err := l.BeginAttempt(ctx, a, conv); err != nil {
		return err
	}
	return l.EndAttempt(ctx, &gateway.AttemptEnd{Attempt: a.ID, Message: m.ID, At: at, By: "answer",
		Outcome: gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w." + m.ID}})
}
