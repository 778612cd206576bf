package storetest

import (
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// queueParts: whatever people do to the parts of a task, none leaves before the one in
// front of it, or behind one that failed.
func queueParts(w *world) {
	accepted := gateway.Outcome{Kind: gateway.OutcomeAccepted}
	hold := func(ids ...string) {
		w.Helper()
		w.deed(store.MessagesChanged{Changed: 2}, store.MessageChange{Do: store.DeedHold, Messages: ids})
	}
	release := func(changed int, ids ...string) {
		w.Helper()
		want := store.MessagesChanged{Changed: changed}
		if changed == 0 {
			want.Skipped = len(ids)
		}
		w.deed(want, store.MessageChange{Do: store.DeedRelease, Messages: ids})
	}

	// The first part is put off while the others are held: released, they wait for it.
	out := w.submit(submission("1", "", "1", "2", "3"))
	hold(out.Messages[1])
	at := w.now.Add(time.Hour)
	w.deed(store.MessagesChanged{Changed: 1}, store.MessageChange{Do: store.DeedReschedule, Messages: out.Messages[:1], At: []time.Time{at}})
	release(2, out.Messages[1])
	w.same("due with the first", w.find(out.Messages[2], gateway.MessageWaiting).DueAt, at)
	w.later(time.Hour)
	w.same("in order", w.texts(out.Conv), []string{"1", "2", "3"})

	// The first part is refused while the others are held: they end with it, and come
	// back with it.
	out = w.submit(submission("2", "", "1", "2", "3"))
	hold(out.Messages[1])
	w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131026"})
	w.same("ended with it", w.find(out.Messages[2], gateway.MessageCancelled).Reason, "after rejected")
	release(0, out.Messages[1])
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
	w.must(err)
	_, err = w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now)
	w.must(err)
	w.same("again, in order", w.texts(out.Conv), []string{"1", "2", "3"})

	// Nobody knows of the first part while the others are held.
	out = w.submit(submission("3", "", "1", "2", "3"))
	hold(out.Messages[1])
	w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	w.must(w.l.Conclude(w.ctx, out.ID, gateway.MessageUnknown, "no evidence", w.now))
	w.same("cancelled for its sake", w.find(out.Messages[1], gateway.MessageCancelled).Reason, "after unknown")
	release(0, out.Messages[1])
	w.balanced()

	// What is to be sent again and is held: a status says that it arrived long ago.
	out = w.submit(submission("4", "", "1", "2"))
	w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	_, err = w.l.ResolveMessage(w.ctx, store.Resolve{Message: out.ID, Again: true}, "ops", w.now)
	w.must(err)
	hold(out.ID)
	w.relay(w.status("s4", "4", "w.4", out.ID, gateway.StatusDelivered))
	w.judge()
	w.same("arrived", w.find(out.ID, gateway.MessageAccepted).ExternalID, "w.4")
	release(0, out.ID)
	release(1, out.Messages[1])
	w.same("not again", w.texts(out.Conv), []string{"2"})

	// Tasks that are released together leave in the order in which they were due.
	var ids []string
	for _, text := range []string{"second", "first"} {
		s := submission("5", "", text)
		s.DueAt = w.now.Add(time.Duration(2-len(ids)) * time.Hour)
		out = w.submit(s)
		ids = append(ids, out.ID)
	}
	w.deed(store.MessagesChanged{Changed: 2}, store.MessageChange{Do: store.DeedHold, Messages: ids})
	w.later(3 * time.Hour)
	release(2, ids[1], ids[0])
	w.later(time.Second)
	w.send(out.Conv, accepted)
	w.same("the later one last", w.texts(out.Conv), []string{"second"})
}

// queueEnd: an end that nobody asked for moves with the time due.
func queueEnd(w *world) {
	window := &gateway.SendWindow{From: "09:00", To: "18:00", TimeZone: "UTC"}
	move := func(want store.MessagesChanged, id string, at time.Time) {
		w.Helper()
		w.deed(want, store.MessageChange{Do: store.DeedReschedule, Messages: []string{id}, At: []time.Time{at}})
	}
	s := submission("1", "", "1", "2")
	s.Window, s.ExpiresAt, s.EndMoves = window, w.now.Add(gateway.WindowedFor), true
	out := w.submit(s)
	move(store.MessagesChanged{Changed: 2}, out.Messages[1], w.now.Add(30*24*time.Hour))
	for _, id := range out.Messages {
		m := w.find(id, gateway.MessageWaiting)
		w.same("due and end", [2]time.Time{m.DueAt, m.ExpiresAt}, [2]time.Time{w.now.Add(30 * 24 * time.Hour), w.now.Add(37 * 24 * time.Hour)})
	}
	s = submission("2", "", "1")
	s.Window, s.ExpiresAt = window, w.now.Add(gateway.WindowedFor)
	move(store.MessagesChanged{Skipped: 1}, w.submit(s).ID, w.now.Add(30*24*time.Hour))
}

// queueResend: what is unknown is sent once more in its place, and never a third time.
func queueResend(w *world) {
	unknown := gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout"}
	resend := func(id string, want error) {
		w.Helper()
		if err := w.l.Resend(w.ctx, id, w.now); !errors.Is(err, want) {
			w.Errorf("resend: %v, want %v", err, want)
		}
		w.balanced()
	}
	unproven := func(id string, want bool) {
		w.Helper()
		got, err := w.l.Unproven(w.ctx, id)
		w.must(err)
		w.same("unproven", got, want)
	}
	out := w.submit(submission("1", "", "1", "2"))
	w.submit(submission("1", "", "next"))
	resend(out.ID, gateway.ErrConflict)
	unproven(out.ID, false)
	unproven("ms_none", false)
	resend("ms_none", gateway.ErrNotFound)
	w.send(out.Conv, unknown)
	unproven(out.ID, true)
	resend(out.ID, nil)
	unproven(out.ID, true)
	m, _ := w.next(out.Conv)
	w.same("in its place, with no try spent", [2]any{m.ID, m.Tries()}, [2]any{out.ID, 0})
	c := w.changes()
	w.same("told", c[len(c)-1].By, "policy")
	w.send(out.Conv, unknown)
	resend(out.ID, gateway.ErrConflict)
	w.must(w.l.Conclude(w.ctx, out.ID, gateway.MessageUnknown, "no evidence", w.now))
	resend(out.ID, gateway.ErrConflict)

	// Told of while it waits for the second call; tried again, it was certainly not there.
	out = w.submit(submission("2", "", "1"))
	w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "busy"})
	unproven(out.ID, false)
	w.later(time.Hour)
	w.send(out.Conv, unknown)
	resend(out.ID, nil)
	unproven(out.ID, true)
	w.relay(w.status("s-proof", "2", "ext-proof", out.ID, gateway.StatusSent))
	w.judge()
	unproven(out.ID, false)
	w.find(out.ID, gateway.MessageAccepted)

	// Taken back before the second call: it does not leave again, and may be there.
	out = w.submit(submission("3", "", "1", "2"))
	w.send(out.Conv, unknown)
	resend(out.ID, nil)
	w.deed(store.MessagesChanged{Changed: 2}, store.MessageChange{Do: store.DeedCancel, Messages: []string{out.ID}})
	w.same("not known still", w.find(out.ID, gateway.MessageUnknown).Reason, "by operator")
	w.same("the part behind it", w.find(out.Messages[1], gateway.MessageCancelled).Reason, "by operator")
	if m, _ := w.next(out.Conv); m != nil {
		w.Errorf("still open: %+v", m)
	}
	w.balanced()

	// The second call is refused: the first may have arrived all the same, so the message
	// is no dead letter, and can be sent again by a person's word only.
	letters := 0
	for reason, refused := range map[string]gateway.Outcome{
		"131026":            {Kind: gateway.OutcomeRejected, Code: "131026"},
		gateway.ReasonTries: {Kind: gateway.OutcomeRetry, Code: "500"},
	} {
		out = w.submit(submission("4"+reason, "", "1", "2"))
		w.send(out.Conv, unknown)
		resend(out.ID, nil)
		_, a := w.begin(out.Conv)
		w.must(w.l.EndAttempt(w.ctx, &gateway.AttemptEnd{Message: out.ID, Attempt: a.ID, Outcome: refused, At: w.now, Spent: true, By: "answer"}))
		w.same("not known still", w.find(out.ID, gateway.MessageUnknown).Reason, reason)
		w.same("the part behind it", w.find(out.Messages[1], gateway.MessageCancelled).Reason, "after unknown")
		dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message", Conv: out.Conv})
		w.must(err)
		w.same("dead letters", len(dl), letters)
		if m, _ := w.next(out.Conv); m != nil {
			w.Errorf("still open: %+v", m)
		}
		w.balanced()
	}

	// Too late for the second call: it may have arrived by the first.
	out = w.submit(submission("2", "", "1", "2"))
	w.send(out.Conv, unknown)
	resend(out.ID, nil)
	w.must(w.l.Conclude(w.ctx, out.ID, gateway.MessageExpired, gateway.ReasonExpired, w.now))
	w.same("not known still", w.find(out.ID, gateway.MessageUnknown).Reason, gateway.ReasonExpired)
	w.same("the part behind it", w.find(out.Messages[1], gateway.MessageCancelled).Reason, "after unknown")
	if m, _ := w.next(out.Conv); m != nil {
		w.Errorf("still open: %+v", m)
	}
	w.relay(w.status("s2", "2", "w.2", out.ID, gateway.StatusSent))
	w.judge()
	w.same("proven late", w.find(out.ID, gateway.MessageAccepted).ExternalID, "w.2")
	w.balanced()
}
