package sqlite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

// begins lets a message have an attempt, which ends unless it stays open.
func begins(t *testing.T, l *Ledger, id string, at time.Time, out gateway.OutcomeKind) (conv string) {
	t.Helper()
	ctx := context.Background()
	m, _, err := l.Message(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	a := &gateway.Attempt{Message: id, StartedAt: at, VoidAfter: at.Add(time.Minute)}
	if err := l.BeginAttempt(ctx, a, m.Conv); err != nil {
		t.Fatal(err)
	}
	if out == "" {
		return m.Conv
	}
	end := &gateway.AttemptEnd{Attempt: a.ID, Message: id, At: at.Add(time.Second), By: "answer", NextAt: at.Add(time.Second),
		Outcome: gateway.Outcome{Kind: out, Code: "x"}}
	if err := l.EndAttempt(ctx, end); err != nil {
		t.Fatal(err)
	}
	return m.Conv
}

// What began since a time is found whatever became of it, each attempt once, the oldest
// first; also the one that was open when the process died.
func TestBegun(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	start := time.Now().Truncate(time.Second)
	ids := schedule(t, l, 30, start.Add(-time.Hour)) // all are due
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Second) }
	var want []gateway.Begun
	for i, id := range ids[:20] {
		out := []gateway.OutcomeKind{gateway.OutcomeAccepted, gateway.OutcomeRetry, gateway.OutcomeRejected, gateway.OutcomeUnknown, ""}[i%5]
		conv := begins(t, l, id, at(2*i), out)
		b := []gateway.Begun{{Account: fmt.Sprint("shop-", i%10), Conv: conv, At: at(2 * i)}}
		if out == gateway.OutcomeRetry { // another one, a second later
			begins(t, l, id, at(2*i+1), gateway.OutcomeAccepted)
			b = append(b, gateway.Begun{Account: b[0].Account, Conv: conv, At: at(2*i + 1)})
		}
		want = append(want, b...)
	}
	if _, _, err := l.CancelMessage(t.Context(), ids[25], "ops", at(50)); err != nil { // a change that is no attempt
		t.Fatal(err)
	}
	for _, page := range []int64{1, 3, 1000} {
		got, err := l.begun(t.Context(), start.Add(-time.Second), 1000, page)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("pages of %d: %s", page, d)
		}
		var late []gateway.Begun
		for _, b := range want {
			if !b.At.Before(at(11)) {
				late = append(late, b)
			}
		}
		if got, err = l.begun(t.Context(), at(11), 1000, page); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(late, got); d != "" {
			t.Errorf("since later, pages of %d: %s", page, d)
		}
		// Of the open ones and the newest changes only.
		if got, err = l.begun(t.Context(), start.Add(-time.Second), 3, page); err != nil || len(got) < 4+2 || len(got) > 4+4 {
			t.Errorf("of three changes: %d attempts, %v", len(got), err)
		}
	}
	if got, err := l.Begun(t.Context(), at(1000)); err != nil || len(got) != 0 {
		t.Errorf("since a time to come: %v, %v", got, err)
	}
}

// A customer stays with the member of a pool that talks with them, whoever is ranked
// first; with several, the one whose talk is newest. Somebody new goes to the first.
func TestPoolKeepsItsCustomers(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	now := time.Now()
	send := func(who string, account string, pool ...string) gateway.Submitted {
		t.Helper()
		now = now.Add(time.Second)
		s := &gateway.Submission{Platform: "whatsapp", Account: account, Pool: pool, By: "ops", Replies: []gateway.Reply{{Text: "x"}},
			Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: who}}}}
		out, err := l.Submit(t.Context(), s, now)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := send("1", "a", "a", "b"); out.Account != "a" {
		t.Errorf("somebody new is with %s", out.Account)
	}
	if out := send("1", "b", "b", "a"); out.Account != "a" {
		t.Errorf("the customer was given to %s", out.Account)
	}
	first := send("2", "b")
	if out := send("2", "a", "a", "b"); out.Account != "b" || out.Conv != first.Conv {
		t.Errorf("who was written to by one account: %+v", out)
	}
	send("3", "c") // none of the pool
	if out := send("3", "a", "a", "b"); out.Account != "a" {
		t.Errorf("who talks with an account of no pool is with %s", out.Account)
	}
	if out := send("3", "c"); out.Account != "c" {
		t.Errorf("and their own account is %s", out.Account)
	}
	s := &gateway.Submission{Platform: "whatsapp", Account: "a", Pool: []string{"a", "b"}, Conv: first.Conv, By: "ops", Replies: []gateway.Reply{{Text: "x"}}}
	if out, err := l.Submit(t.Context(), s, now); err != nil || out.Account != "b" {
		t.Errorf("by conversation: %+v, %v", out, err)
	}
}

// BenchmarkBegun measures what the start of a sender reads when the newest changes are
// those of as many messages as one account of 80 a second sends in ten minutes.
func BenchmarkBegun(b *testing.B) {
	l := openBench(b).Ledger
	ctx := context.Background()
	from := time.Now()
	schedule(b, l, 50_000, from)
	err := l.write(ctx, false, 1, func(c *conn) error {
		for _, text := range []string{
			`INSERT INTO attempt (message, n, id, started_at, void_after, ended_at, outcome, external_id, code, detail, by)
				SELECT id, 1, 'at_' || id, due_at, due_at, due_at, 'accepted', 'x', '', x'', 'answer' FROM message`,
			`INSERT INTO change (n, at, message, task, part, app, event, platform, account, conv, state, delivery, code, by, echo, external_id, result, task_state)
				SELECT 4 * row + k.n, due_at, id, task, 0, '', '', platform, account, conv, 'accepted', '', '', 'status', '', 'x', 'sent', 'accepted'
				FROM message, (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) k ORDER BY row`,
		} {
			if _, err := c.exec(text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if list, err := l.Begun(ctx, from); err != nil || len(list) < 49_000 {
			b.Fatal(len(list), err)
		}
	}
}
