package storetest

import (
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// begun begins or finds a move, and wants it to have moved these.
func (w *world) begun(key, asked string, moved ...string) store.Move {
	w.Helper()
	mv, err := w.l.BeginMove(w.ctx, key, []byte(asked), "ops", w.now)
	w.must(err)
	w.same("moved by "+key, mv.Messages, moved)
	found, err := w.l.Move(w.ctx, key, []byte(asked))
	w.must(err)
	w.same("found again", found, mv)
	return mv
}

// dueAt wants messages to wait for a time.
func (w *world) dueAt(at time.Time, ids ...string) {
	w.Helper()
	for _, id := range ids {
		w.same("due", w.find(id, gateway.MessageWaiting).DueAt, at)
	}
}

// queueMove: what counts from where messages stand is done once under a key, in as many
// calls as it takes, and a later one is not undone by the rest of an earlier one.
func queueMove(w *world) {
	start := w.now
	s := submission("1", "", "1", "2", "3")
	s.DueAt = start.Add(time.Hour)
	task := w.submit(s)
	s = submission("2", "", "x")
	s.DueAt = start.Add(2 * time.Hour)
	other := w.submit(s)
	if _, err := w.l.Move(w.ctx, "june", nil); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("a move that nobody began: %v", err)
	}
	june := w.begun("june", "by an hour")
	log, err := w.l.AuditLog(w.ctx, 1)
	w.must(err)
	w.same("audit", [3]string{log[0].By, log[0].What, log[0].Target}, [3]string{"ops", "reschedule once", "june"})

	// A task moves once, by whichever part and in how many calls ever.
	by := store.MessageChange{Do: store.DeedReschedule, By: time.Hour, Move: june.N}
	for i, want := range []store.MessagesChanged{{Changed: 3}, {}, {}} {
		by.Messages = []string{task.Messages[2-i]}
		w.deed(want, by)
	}
	w.dueAt(start.Add(2*time.Hour), task.Messages...)
	w.later(time.Minute)
	w.same("the same", w.begun("june", "by an hour", task.Messages...).At, june.At)
	for _, asked := range []string{"by two hours", ""} {
		if _, err := w.l.BeginMove(w.ctx, "june", []byte(asked), "ops", w.now); !errors.Is(err, gateway.ErrConflict) {
			w.Errorf("the key for another change: %v", err)
		}
	}
	// Without a key it moves each time.
	w.deed(store.MessagesChanged{Changed: 1}, store.MessageChange{Do: store.DeedReschedule, By: -time.Hour, Messages: []string{other.ID}})
	w.deed(store.MessagesChanged{Changed: 1}, store.MessageChange{Do: store.DeedReschedule, By: time.Hour, Messages: []string{other.ID}})

	// A later move takes a message over; the rest of the earlier one leaves it alone, and a
	// time for all is no such move.
	july := w.begun("july", "by a day")
	w.deed(store.MessagesChanged{Changed: 3}, store.MessageChange{Do: store.DeedReschedule, By: 24 * time.Hour, Move: july.N, Messages: task.Messages[:1]})
	by.Messages = []string{task.ID, other.ID}
	w.deed(store.MessagesChanged{Changed: 1, Skipped: 1}, by)
	w.dueAt(start.Add(26*time.Hour), task.Messages...)
	w.dueAt(start.Add(3*time.Hour), other.ID)
	w.begun("june", "by an hour", other.ID)
	at := start.Add(5 * time.Hour)
	w.deed(store.MessagesChanged{Changed: 1}, store.MessageChange{Do: store.DeedReschedule, At: []time.Time{at}, Messages: []string{other.ID}})
	by.Messages = []string{other.ID}
	w.deed(store.MessagesChanged{}, by)
	w.dueAt(at, other.ID)

	// A spread names times, so its messages are moved again, unless a later move has them.
	first, last := w.begun("spread", "over 2h"), w.begun("again", "over 3h")
	spread := store.MessageChange{Do: store.DeedReschedule, Move: last.N, Messages: []string{other.ID}, At: []time.Time{at.Add(time.Hour)}}
	for range 2 {
		w.deed(store.MessagesChanged{Changed: 1}, spread)
	}
	spread.Move = first.N
	w.deed(store.MessagesChanged{Skipped: 1}, spread)
	w.dueAt(at.Add(time.Hour), other.ID)
	if _, err := w.l.BeginMove(w.ctx, "", nil, "ops", w.now); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("without a key: %v", err)
	}
}
