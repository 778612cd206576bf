package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store/sqlite"
)

// older takes the ledger in dir back to an earlier schema, as a binary of that
// time left it.
func older(t *testing.T, dir string, version int64) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	p, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("migrations/ledger"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	return db
}

// A ledger of the first schema opens with everything in it. A run that was
// recorded without what it reads is nobody's to go on with, until it is asked for
// again; a message keeps the tries it has spent.
func TestLedgerOfTheFirstSchema(t *testing.T) {
	t.Parallel()
	ctx, dir, now := t.Context(), t.TempDir(), time.Unix(1_800_000_000, 0)
	s, err := sqlite.Open(ctx, dir, options())
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Ledger.Relay(ctx, relayOne(1, "ev_a"), now)
	if err != nil {
		t.Fatal(err)
	}
	p := r.Pending[0]
	_, err = s.Ledger.Settle(ctx, gateway.ReplyPosition{Created: now, Seq: 1},
		[]gateway.Settlement{{App: p.App, Conv: p.Conv, Answer: gateway.Answer{Event: p.Event}}},
		func(*gateway.Pending, *gateway.Answer) gateway.Decision {
			return gateway.Decision{State: gateway.EventSettled, Reason: "done", Tries: 1, Replies: []gateway.Reply{{Type: "text", Text: "hello"}}}
		}, now)
	if err != nil {
		t.Fatal(err)
	}
	attempt(t, s, p.Conv, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "busy"}, now)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := older(t, dir, 1)
	if _, err := db.ExecContext(ctx, "INSERT INTO run (id, by, at, what, hold, released_at) VALUES ('run_old', 'ops', 1, 'range', 1, 0)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir)
	open := func() []gateway.ReplayRun {
		t.Helper()
		runs, err := s.Ledger.OpenRuns(ctx, 10)
		if err != nil {
			t.Fatal(err)
		}
		return runs
	}
	if runs := open(); len(runs) != 0 {
		t.Errorf("a run of the first schema is open: %+v", runs)
	}
	for _, upTo := range []int64{5, 9} { // the second time its bound is kept
		made, err := s.Ledger.StartRun(ctx, gateway.ReplayRun{ID: "run_old", By: "ops", At: now, Conv: p.Conv, UpTo: upTo})
		if runs := open(); err != nil || made || len(runs) != 1 || runs[0].UpTo != 5 || runs[0].Conv != p.Conv || !runs[0].HoldReplies {
			t.Errorf("asked for again: started %v, %v, open %+v", made, err, runs)
		}
	}
	m, _, err := s.Ledger.NextMessage(ctx, p.Conv)
	if err != nil || m == nil || m.Attempts != 1 || m.Tries() != 1 || m.Reply.Text != "hello" {
		t.Fatalf("the message: %+v, %v", m, err)
	}
	attempt(t, s, p.Conv, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, Code: "rate"}, now)
	if m, _, err = s.Ledger.NextMessage(ctx, p.Conv); err != nil || m.Attempts != 2 || m.Tries() != 1 {
		t.Errorf("after a refused account: %+v, %v", m, err)
	}
}

// attempt makes one attempt of the conversation's next message.
func attempt(t *testing.T, s *sqlite.Store, conv string, o gateway.Outcome, now time.Time) {
	t.Helper()
	m, _, err := s.Ledger.NextMessage(t.Context(), conv)
	if err != nil || m == nil {
		t.Fatalf("nothing to send: %v", err)
	}
	a := &gateway.Attempt{Message: m.ID, StartedAt: now, VoidAfter: now.Add(time.Minute)}
	if err := s.Ledger.BeginAttempt(t.Context(), a, conv); err != nil {
		t.Fatal(err)
	}
	if err := s.Ledger.EndAttempt(t.Context(), &gateway.AttemptEnd{Attempt: a.ID, Message: m.ID, At: now, Outcome: o, By: "answer"}); err != nil {
		t.Fatal(err)
	}
}
