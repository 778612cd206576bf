package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the machine may have none

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// found are all pages of a query, as texts.
func (w *world) found(q store.MessageQuery) (texts []string) {
	w.Helper()
	texts = []string{}
	for range 1000 {
		page, err := w.l.FindMessages(w.ctx, q)
		w.must(err)
		for _, m := range page.Messages {
			texts = append(texts, m.Reply.Text)
		}
		if q.After = page.Next; q.After == "" {
			return texts
		}
	}
	w.Fatal("pages without end")
	return nil
}

// deed does a change, in as many calls as it takes.
func (w *world) deed(want store.MessagesChanged, ch store.MessageChange) {
	w.Helper()
	var got store.MessagesChanged
	for want.Taken = len(ch.Messages); len(ch.Messages) > 0; {
		// What one call leaves is for another, which comes later.
		out, err := w.l.ChangeMessages(w.ctx, ch, "ops", w.now.Add(time.Duration(got.Changed)))
		w.must(err)
		if out.Taken < 1 || out.Changed > store.MaxChange {
			w.Fatalf("a call took %d and changed %d", out.Taken, out.Changed)
		}
		if ch.Messages = ch.Messages[out.Taken:]; ch.At != nil {
			ch.At = ch.At[out.Taken:]
		}
		got.Changed, got.Skipped, got.Taken = got.Changed+out.Changed, got.Skipped+out.Skipped, got.Taken+out.Taken
		got.Convs = append(got.Convs, out.Convs...)
	}
	slices.Sort(got.Convs)
	got.Convs = slices.Compact(got.Convs)
	if want.Convs == nil {
		want.Convs = got.Convs
	}
	w.same("changed by "+string(ch.Do), got, want)
	w.balanced()
}

func (w *world) texts(conv string) (texts []string) {
	w.Helper()
	for m, _ := w.next(conv); m != nil; m, _ = w.next(conv) {
		texts = append(texts, w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted}).Reply.Text)
	}
	return texts
}

func queueAsked(w *world) {
	s := submission("1", "", "1", "2")
	s.Priority, s.Human, s.EvenInTakeover, s.OnFailure, s.Callback = 7, true, true, gateway.FailureRestart, "crm"
	s.Window = &gateway.SendWindow{From: "09:00", To: "11:00", TimeZone: "UTC"} // now it is 12
	out := w.submit(s)
	for i, id := range out.Messages {
		m, _, err := w.l.Message(w.ctx, id)
		w.must(err)
		w.same("asked", *m, gateway.Message{ID: id, Task: out.ID, Part: i, Parts: 2, Platform: "whatsapp", Account: "shop", Conv: out.Conv,
			DueAt: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), State: gateway.MessageWaiting, Reply: s.Replies[i], TaskState: gateway.MessageWaiting, Priority: 7, Human: true, EvenInTakeover: true,
			Terms: gateway.Terms{Window: s.Window, OnFailure: gateway.FailureRestart, Callback: "crm"}})
	}
	ranks, err := w.l.Ranks(w.ctx, []string{out.Conv, "none"}, w.now)
	w.must(err)
	w.same("ranks before it is due", len(ranks), 0)
	w.later(24 * time.Hour)
	w.submit(submission("1", "", "3"))
	ranks, err = w.l.Ranks(w.ctx, []string{out.Conv, "none"}, w.now)
	w.must(err)
	w.same("ranks", ranks, map[string]gateway.Rank{out.Conv: {Account: "shop"}}) // the best of what is due

	// A window that closed: the part that waits and what is behind it move on.
	w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted})
	next := w.now.Add(21 * time.Hour)
	w.must(w.l.Postpone(w.ctx, out.Messages[1], next))
	if m, _ := w.next(out.Conv); m == nil || m.Reply.Text != "3" {
		w.Errorf("what is not due holds up %v", m)
	}
	if err := w.l.Postpone(w.ctx, out.ID, next); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("postponed after it left: %v", err)
	}
	w.balanced()
}

// queueOpen: of every conversation with something to send it is known before when
// nothing can be done about it, whatever is sent first.
func queueOpen(w *world) {
	at := func(conv string, want time.Time) {
		w.Helper()
		open, err := w.l.OpenConversations(w.ctx, "", 10)
		w.must(err)
		i := slices.IndexFunc(open, func(o gateway.Open) bool { return o.Conv == conv })
		if i < 0 || !open[i].At.Equal(want) {
			w.Errorf("open %+v, want %s at %s", open, conv, want)
		}
	}
	s := submission("1", "", "1", "2")
	s.DueAt = w.now.Add(2 * time.Hour)
	later := w.submit(s)
	at(later.Conv, s.DueAt)
	sooner := submission("1", "", "3")
	sooner.DueAt = w.now.Add(time.Hour)
	w.submit(sooner)
	at(later.Conv, sooner.DueAt)

	// What is due after its end expires before.
	s = submission("2", "", "ends")
	s.DueAt, s.ExpiresAt = w.now, w.now.Add(time.Hour)
	ends := w.submit(s)
	at(ends.Conv, w.now)
	w.must(w.l.Postpone(w.ctx, ends.ID, w.now.Add(3*time.Hour)))
	at(ends.Conv, s.ExpiresAt)

	// So is a reply by a code that ends.
	until := w.now.Add(time.Minute)
	s = submission("3", "", "by a code")
	s.DueAt, s.Replies[0].Handle = w.now.Add(time.Hour), &gateway.Handle{Kind: "welcome", Code: "c", Until: &until}
	code := w.submit(s)
	at(code.Conv, until)

	// What is being sent, or may have been, is looked at at once.
	w.later(time.Hour)
	_, attempt := w.begin(later.Conv)
	at(later.Conv, time.Time{})
	w.must(w.l.EndAttempt(w.ctx, &gateway.AttemptEnd{Attempt: attempt.ID, Message: attempt.Message, At: w.now, Outcome: gateway.Outcome{Kind: gateway.OutcomeUnknown},
		UnknownUntil: w.now.Add(time.Minute)}))
	at(later.Conv, time.Time{})
}

func queueFind(w *world) {
	start := w.now
	var first gateway.Submitted
	for i := range 6 {
		s := submission(fmt.Sprint(i%2), fmt.Sprintf("june-%d", i), fmt.Sprint(i), fmt.Sprint(i, "b"))
		s.DueAt = start.Add(time.Duration(10-i) * time.Hour)
		if out := w.submit(s); i == 0 {
			first = out
		}
	}
	other := submission("9", "july-1", "july")
	other.Account = "shop-2"
	july := w.submit(other)
	w.say("a", "5", "reply")
	byDue := []string{"july", "reply", "5", "5b", "4", "4b", "3", "3b", "2", "2b", "1", "1b", "0", "0b"}
	for _, limit := range []int{1, 3, 100} {
		for _, c := range []struct {
			q    store.MessageQuery
			want []string
		}{
			{store.MessageQuery{State: gateway.MessageWaiting}, byDue},
			{store.MessageQuery{State: gateway.MessageWaiting, Account: "shop-2"}, []string{"july"}},
			{store.MessageQuery{State: gateway.MessageWaiting, App: "bot"}, []string{"reply"}},
			{store.MessageQuery{State: gateway.MessageWaiting, DueFrom: start.Add(6 * time.Hour), DueUntil: start.Add(8 * time.Hour)}, []string{"4", "4b", "3", "3b"}},
			{store.MessageQuery{Conv: first.Conv}, []string{"4b", "4", "2b", "2", "0b", "0"}},
			{store.MessageQuery{Conv: first.Conv, State: gateway.MessageAccepted}, []string{}},
			{store.MessageQuery{Task: first.ID}, []string{"0", "0b"}},
			{store.MessageQuery{Task: "ms_none"}, []string{}},
			{store.MessageQuery{Key: "june"}, []string{"0", "0b", "1", "1b", "2", "2b", "3", "3b", "4", "4b", "5", "5b"}},
			{store.MessageQuery{Key: "june-4"}, []string{"4", "4b"}},
			{store.MessageQuery{Key: "j", Account: "shop-2"}, []string{"july"}},
			{store.MessageQuery{}, []string{"reply", "july", "5b", "5", "4b", "4", "3b", "3", "2b", "2", "1b", "1", "0b", "0"}},
			{store.MessageQuery{State: gateway.MessageUnknown}, []string{}},
		} {
			c.q.Limit = limit
			w.same(fmt.Sprintf("%+v", c.q), w.found(c.q), c.want)
		}
	}
	for _, after := range []string{"x", "7", "7.x"} {
		if _, err := w.l.FindMessages(w.ctx, store.MessageQuery{State: gateway.MessageWaiting, After: after}); !errors.Is(err, gateway.ErrNotFound) {
			w.Errorf("after %q: %v", after, err)
		}
	}
	w.send(july.Conv, gateway.Outcome{Kind: gateway.OutcomeRejected})
	w.same("rejected", w.found(store.MessageQuery{State: gateway.MessageRejected}), []string{"july"})
}

func queueChange(w *world) {
	start := w.now
	s := submission("1", "", "1", "2", "3")
	s.DueAt = start.Add(time.Hour)
	task := w.submit(s)
	end := submission("2", "", "ends")
	end.DueAt, end.ExpiresAt = start.Add(time.Hour), start.Add(2*time.Hour)
	ends := w.submit(end)
	all := []string{task.Messages[1], ends.ID, "ms_none"}
	named, err := w.l.NamedMessages(w.ctx, []string{ends.ID, "ms_none", task.Messages[1]})
	w.must(err)
	if len(named) != 2 || named[0].ID != ends.ID || named[1].ID != task.Messages[1] || named[1].TaskState != gateway.MessageWaiting || named[1].Reply.Text != "2" {
		w.Errorf("named %+v", named)
	}

	// A part moves with its task; what would be after its end does not.
	at := start.Add(3 * time.Hour)
	w.deed(store.MessagesChanged{Changed: 3, Skipped: 2, Convs: []string{task.Conv}},
		store.MessageChange{Do: store.DeedReschedule, Messages: all, At: []time.Time{at, at, at}})
	w.same("moved", w.find(task.ID, gateway.MessageWaiting).DueAt, at)
	log, err := w.l.AuditLog(w.ctx, 1)
	w.must(err)
	w.same("audit", [3]string{log[0].By, log[0].What, log[0].Target}, [3]string{"ops", "reschedule", "3 messages, " + all[0] + " to ms_none"})
	w.deed(store.MessagesChanged{Changed: 2, Skipped: 1}, store.MessageChange{Do: store.DeedPriority, Messages: all, Priority: 2})
	w.same("priority", w.find(task.Messages[1], gateway.MessageWaiting).Priority, 2)

	// Held from a part on, and released as a whole, in order.
	w.deed(store.MessagesChanged{Changed: 2}, store.MessageChange{Do: store.DeedHold, Messages: task.Messages[1:]})
	w.deed(store.MessagesChanged{Changed: 1}, store.MessageChange{Do: store.DeedHold, Messages: task.Messages[:1]})
	w.same("held", w.balanced().Messages.Held, int64(3))
	w.same("reason", w.find(task.ID, gateway.MessageHeld).Reason, "by operator")
	w.deed(store.MessagesChanged{Skipped: 3}, store.MessageChange{Do: store.DeedReschedule, Messages: task.Messages, At: []time.Time{at, at, at}})
	w.later(4 * time.Hour)
	w.deed(store.MessagesChanged{Changed: 3}, store.MessageChange{Do: store.DeedRelease, Messages: task.Messages[2:]})
	w.same("in order", w.texts(task.Conv), []string{"1", "2", "3"})
	w.deed(store.MessagesChanged{Skipped: 3}, store.MessageChange{Do: store.DeedCancel, Messages: task.Messages})
	w.deed(store.MessagesChanged{Changed: 1}, store.MessageChange{Do: store.DeedCancel, Messages: []string{ends.ID}})
	if _, err := w.l.ChangeMessages(w.ctx, store.MessageChange{Do: store.DeedCancel, Messages: make([]string, store.MaxChange+1)}, "ops", w.now); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("too many: %v", err)
	}

	// Many parts go along: the rest is for the next calls.
	var first []string
	for i := range 30 {
		first = append(first, w.submit(submission(fmt.Sprint("many", i), "", strings.Split(strings.Repeat("x", 10), "")...)).ID)
	}
	w.deed(store.MessagesChanged{Changed: 300}, store.MessageChange{Do: store.DeedCancel, Messages: first})

	// A held one can be cancelled; replies that a replay holds are released with it.
	_, err = w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now, HoldReplies: true})
	w.must(err)
	again := w.message("m1", "7")
	again.Event.Run, again.Event.Origin = "run_1", gateway.OriginReplay
	r := w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{w.payload(again)}})
	w.answer(r.Pending[0], done("old"))
	old, err := w.l.FindMessages(w.ctx, store.MessageQuery{State: gateway.MessageHeld})
	w.must(err)
	w.same("held by the replay", len(old.Messages), 1)
	w.deed(store.MessagesChanged{Skipped: 1}, store.MessageChange{Do: store.DeedRelease, Messages: []string{old.Messages[0].ID}})
	w.deed(store.MessagesChanged{Changed: 1}, store.MessageChange{Do: store.DeedCancel, Messages: []string{old.Messages[0].ID}})
}

// queueHeldSince: what is held says since when, not for when it is due; held again, since
// then.
func queueHeldSince(w *world) {
	since := func(what string) time.Time {
		w.Helper()
		things, err := w.l.Stuck(w.ctx, w.now)
		w.must(err)
		for _, t := range things {
			if t.What == what {
				return t.Since
			}
		}
		w.Fatalf("nothing is %s", what)
		return time.Time{}
	}
	s := submission("1", "", "1", "2")
	s.DueAt = w.now.Add(24 * time.Hour)
	task := w.submit(s)
	w.later(time.Minute)
	for range 2 {
		at := w.now
		w.deed(store.MessagesChanged{Changed: 2}, store.MessageChange{Do: store.DeedHold, Messages: task.Messages[:1]})
		w.later(time.Hour)
		w.same("since", since("held"), at)
		w.deed(store.MessagesChanged{Skipped: 1}, store.MessageChange{Do: store.DeedHold, Messages: task.Messages[:1]}) // is so already
		w.same("still since", since("held"), at)
		w.deed(store.MessagesChanged{Changed: 2}, store.MessageChange{Do: store.DeedRelease, Messages: task.Messages[:1]})
	}
	w.deed(store.MessagesChanged{Changed: 2}, store.MessageChange{Do: store.DeedCancel, Messages: task.Messages[:1]})

	_, err := w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now, HoldReplies: true})
	w.must(err)
	again := w.message("m1", "7")
	again.Event.Run, again.Event.Origin = "run_1", gateway.OriginReplay
	r := w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{w.payload(again)}})
	w.answer(r.Pending[0], done("old"))
	at := w.now
	w.later(time.Hour)
	w.same("by a replay since", since("held"), at)
}

// queueRaces: a change wins until the send has begun, and loses afterwards.
func queueRaces(w *world) {
	out := w.submit(submission("1", "", "1", "2"))
	m, _ := w.next(out.Conv)
	a := &gateway.Attempt{ID: "at_1", Message: m.ID, StartedAt: w.now, VoidAfter: w.now.Add(time.Minute)}
	at := w.now.Add(time.Hour)
	w.deed(store.MessagesChanged{Changed: 2}, store.MessageChange{Do: store.DeedReschedule, Messages: []string{m.ID}, At: []time.Time{at}})
	if err := w.l.BeginAttempt(w.ctx, a, out.Conv); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("begun although it was moved: %v", err)
	}
	w.now, a.StartedAt, a.VoidAfter = at, at, at.Add(time.Minute)
	w.must(w.l.BeginAttempt(w.ctx, a, out.Conv))
	for _, do := range []store.MessageDeed{store.DeedCancel, store.DeedHold, store.DeedPriority} {
		w.deed(store.MessagesChanged{Skipped: 1}, store.MessageChange{Do: do, Messages: []string{m.ID}})
	}
	// The parts behind it can still be held up.
	w.deed(store.MessagesChanged{Changed: 1}, store.MessageChange{Do: store.DeedHold, Messages: out.Messages[1:]})
	w.end(a, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x"})
	c := w.changes()
	last := c[len(c)-1]
	w.same("the task is not over", [3]any{last.State, last.Result, last.TaskState}, [3]any{gateway.MessageAccepted, "accepted", gateway.MessageHeld})
}

func queueResolve(w *world) {
	resolve := func(id string, again, rest bool, want error) {
		w.Helper()
		conv, err := w.l.ResolveMessage(w.ctx, store.Resolve{Message: id, Again: again, Rest: rest}, "ops", w.now)
		if !errors.Is(err, want) || want == nil && conv == "" {
			w.Errorf("resolve: %q, %v", conv, err)
		}
		w.balanced()
	}
	unknown := gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}
	accepted := gateway.Outcome{Kind: gateway.OutcomeAccepted}

	// While it is waited for evidence: as sent, and the next one goes.
	out := w.submit(submission("1", "", "1", "2"))
	resolve(out.ID, false, false, gateway.ErrConflict)
	w.send(out.Conv, unknown)
	resolve(out.ID, false, false, nil)
	w.same("sent", w.texts(out.Conv), []string{"2"})
	w.same("reason", w.find(out.ID, gateway.MessageAccepted).Reason, "by operator")

	// Given up: the task is partial. Sent again by a person's word alone, days later,
	// with the parts behind it.
	out = w.submit(submission("2", "", "1", "2", "3"))
	w.send(out.Conv, accepted)
	w.send(out.Conv, unknown)
	w.must(w.l.Conclude(w.ctx, out.Messages[1], gateway.MessageUnknown, "no evidence", w.now))
	c := w.changes()
	w.same("partial", c[len(c)-1].TaskState, gateway.TaskPartial)
	page, err := w.l.FindMessages(w.ctx, store.MessageQuery{Task: out.ID})
	w.must(err)
	w.same("listed", page.Messages[0].TaskState, gateway.TaskPartial)
	w.later(48 * time.Hour)
	resolve(out.Messages[1], true, true, nil)
	m, _ := w.next(out.Conv)
	w.same("again", [4]any{m.ID, m.DueAt, m.Tries(), m.Attempts}, [4]any{out.Messages[1], w.now, 0, 1})
	w.same("and the rest", w.texts(out.Conv), []string{"2", "3"})
	log, err := w.l.AuditLog(w.ctx, 1)
	w.must(err)
	w.same("audit", [2]string{log[0].What, log[0].Target}, [2]string{"resolve by sending again", out.Messages[1]})

	// Without the rest it stays cancelled; parts that wait still leave behind it.
	out = w.submit(submission("3", "", "1", "2"))
	w.send(out.Conv, unknown)
	w.must(w.l.Conclude(w.ctx, out.ID, gateway.MessageUnknown, "no evidence", w.now))
	resolve(out.ID, true, false, nil)
	w.same("alone", w.texts(out.Conv), []string{"1"})
	out = w.submit(submission("4", "", "1", "2"))
	w.send(out.Conv, unknown)
	w.later(time.Second)
	resolve(out.ID, true, false, nil)
	w.same("in order", w.texts(out.Conv), []string{"1", "2"})
	resolve("ms_none", true, false, gateway.ErrNotFound)
}

// queueRestart: a task that begins anew does so only while nothing of it can have left.
func queueRestart(w *world) {
	requeue := func(want error) {
		w.Helper()
		dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
		w.must(err)
		if _, err := w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now); !errors.Is(err, want) {
			w.Errorf("requeue: %v", err)
		}
	}
	rejected := gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131026"}
	s := submission("1", "", "1", "2")
	s.OnFailure = gateway.FailureRestart
	out := w.submit(s)
	w.send(out.Conv, rejected)
	requeue(nil)
	w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted})
	w.send(out.Conv, rejected)
	requeue(gateway.ErrConflict)
	s.OnFailure = gateway.FailureResume
	out = w.submit(s)
	w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted})
	w.send(out.Conv, rejected)
	requeue(nil)
	if got := w.texts(out.Conv); !slices.Equal(got, []string{"2"}) {
		w.Errorf("resumed with %q", got)
	}
	w.balanced()
}

// queueResults: a receiver begins with what happens next, its place never goes back, and
// what it is told of has whom it is for.
func queueResults(w *world) {
	accepted := gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "x"}
	w.send(w.submit(submission("1", "", "before")).Conv, accepted)
	from, err := w.l.ResultsFrom(w.ctx, "crm")
	w.must(err)
	s := submission("2", "", "1")
	s.Callback = "crm"
	out := w.submit(s)
	w.send(out.Conv, accepted)
	w.relay(w.echo("e1", "3", "other", "")) // what an echo is, is no result
	w.judge()
	rows, last, err := w.l.ResultsAfter(w.ctx, from, 10)
	w.must(err)
	if len(rows) != 1 || rows[0].Message != out.ID || rows[0].Callback != "crm" || rows[0].Result != "accepted" || rows[0].TaskState != gateway.MessageAccepted || last != rows[0].N+1 {
		w.Errorf("results to %d: %+v", last, rows)
	}
	for _, n := range []int64{last, from} {
		w.must(w.l.KeepResults(w.ctx, "crm", n, 1))
	}
	now, err := w.l.ResultsFrom(w.ctx, "crm")
	w.must(err)
	w.same("the place", now, last)
	w.same("given up", w.counter("results_undelivered"), int64(2))
	other, err := w.l.ResultsFrom(w.ctx, "other")
	w.must(err)
	w.same("another one's", other, last)
}
