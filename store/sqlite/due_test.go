package sqlite_test

import (
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store/sqlite"
)

// A clock that is set back, over a restart too, lets no reply overtake one that waits:
// neither by its time nor, at the same time, by its id. What is scheduled for later
// holds nobody up.
func TestRepliesAfterTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ctx := t.Context()
	submit := func(l *sqlite.Ledger, text string, in, later time.Duration) string {
		t.Helper()
		s := &gateway.Submission{Account: "shop", Platform: "whatsapp", Chat: gateway.Chat{Kind: gateway.ChatSingle,
			Identities: []gateway.Identity{{Kind: "phone", Value: "4915100000"}}}, Replies: []gateway.Reply{{Type: "text", Text: text}}}
		if later > 0 {
			s.DueAt = now.Add(later)
		}
		out, err := l.Submit(ctx, s, now.Add(in))
		if err != nil {
			t.Fatal(err)
		}
		return out.Conv
	}
	s := open(t, dir)
	submit(s.Ledger, "first", 0, 0)
	submit(s.Ledger, "tonight", 0, 30*time.Minute)
	submit(s.Ledger, "second", -5*time.Minute, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	conv := submit(s.Ledger, "third", -10*time.Second, 0)
	submit(s.Ledger, "fourth", -50*time.Minute, 0)
	var got []string
	for range 5 {
		m, _, err := s.Ledger.NextMessage(ctx, conv)
		if err != nil || m == nil {
			t.Fatalf("after %v: %v", got, err)
		}
		got = append(got, m.Reply.Text)
		a := &gateway.Attempt{Message: m.ID, StartedAt: now.Add(time.Hour), VoidAfter: now.Add(2 * time.Hour)}
		if err := s.Ledger.BeginAttempt(ctx, a, conv); err != nil {
			t.Fatal(err)
		}
		if err := s.Ledger.EndAttempt(ctx, &gateway.AttemptEnd{Attempt: a.ID, Message: m.ID, At: now, Outcome: gateway.Outcome{Kind: gateway.OutcomeAccepted}}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"first", "second", "third", "fourth", "tonight"}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("left as %v, want %v", got, want)
		}
	}
}
