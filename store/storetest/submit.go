package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// submission asks for texts to somebody.
func submission(who, key string, texts ...string) *gateway.Submission {
	s := &gateway.Submission{Key: key, Digest: []byte(who), Platform: "whatsapp", Account: "shop", By: "ops",
		Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{phone(who)}}}
	for _, t := range texts {
		s.Replies = append(s.Replies, gateway.Reply{Type: gateway.ReplyText, Text: t})
	}
	return s
}

func (w *world) submit(s *gateway.Submission) gateway.Submitted {
	w.Helper()
	out, err := w.l.Submit(w.ctx, s, w.now)
	w.must(err)
	return out
}

// refused wants an error and nothing taken.
func (w *world) refused(what string, s *gateway.Submission, want error) {
	w.Helper()
	before := w.balanced().Messages.Taken
	if _, err := w.l.Submit(w.ctx, s, w.now); !errors.Is(err, want) {
		w.Errorf("%s: %v", what, err)
	}
	w.same("taken after "+what, w.balanced().Messages.Taken, before)
}

func submitTask(w *world) {
	s := submission("1", "", "1", "2")
	s.ExpiresAt = w.now.Add(time.Hour)
	out := w.submit(s)
	w.same("submitted", [4]any{out.State, len(out.Messages), out.ID, out.Known}, [4]any{gateway.MessageWaiting, 2, out.Messages[0], false})
	m, _ := w.next(out.Conv)
	w.same("the first", *m, gateway.Message{ID: out.ID, Task: out.ID, Parts: 2, Platform: "whatsapp", Account: "shop", Conv: out.Conv, DueAt: w.now,
		ExpiresAt: s.ExpiresAt, State: gateway.MessageWaiting, Reply: s.Replies[0], To: []gateway.Identity{phone("1")}})
	w.same("taken", w.balanced().Messages, gateway.Sums{Messages: struct {
		Taken, Accepted, Rejected, Unknown, Expired, Cancelled, Waiting, Held int64
	}{Taken: 2, Waiting: 2}}.Messages)
	log, err := w.l.AuditLog(w.ctx, 1)
	w.must(err)
	w.same("audit", log, []gateway.AuditEntry{{At: w.now, By: "ops", What: "send", Target: out.ID}})

	// The customer's own message is in the same conversation, and so is what is
	// submitted afterwards, behind what waits there.
	w.later(time.Second)
	w.same("the customer writes", w.heard(w.message("a1", "1")), out.Conv)
	third := w.submit(submission("1", "", "3"))
	w.same("conversation", third.Conv, out.Conv)
	byConv := submission("", "", "4")
	byConv.Chat, byConv.Conv = gateway.Chat{}, out.Conv
	w.submit(byConv)
	var texts []string
	for range 4 {
		texts = append(texts, w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted}).Reply.Text)
	}
	w.same("order", texts, []string{"1", "2", "3", "4"})

	group := submission("1", "", "to a group")
	group.Chat.Kind = gateway.ChatGroup
	if got := w.submit(group); got.Conv == out.Conv {
		w.Error("a group and a customer have one conversation")
	}
	w.balanced()
}

func submitKey(w *world) {
	first := w.submit(submission("1", "order-17", "1", "2"))
	again := w.submit(submission("1", "order-17", "1", "2"))
	first.Known = true
	w.same("the same request", again, first)
	w.refused("another request under the key", submission("2", "order-17", "1"), gateway.ErrConflict)
	w.send(first.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted})
	w.send(first.Conv, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131026"})
	first.State = gateway.TaskPartial
	again, err := w.l.Submitted(w.ctx, "order-17", []byte("1"))
	w.must(err)
	w.same("later", again, first)
	if _, err := w.l.Submitted(w.ctx, "order-17", []byte("2")); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("another digest: %v", err)
	}
	if _, err := w.l.Submitted(w.ctx, "order-18", []byte("1")); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("an unknown key: %v", err)
	}
	w.balanced()
}

func submitConcurrent(w *world) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]int{}
	for range 20 {
		wg.Go(func() {
			out, err := w.l.Submit(w.ctx, submission("1", "k", "1"), w.now)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				w.Error(err)
			}
			ids[out.ID]++
		})
	}
	wg.Wait()
	w.same("tasks", len(ids), 1)
	w.same("taken", w.balanced().Messages.Taken, int64(1))
}

func submitWhom(w *world) {
	ann := w.heard(w.chat("1", bsuid("b.1"), phone("100")))
	w.later(time.Hour)
	w.heard(w.chat("2", bsuid("b.1"), retired(phone("100")), phone("200")))
	w.refused("a number that was given up", submission("100", "", "hello"), gateway.ErrRetired)
	before := w.names(ann)
	w.same("by the new number", w.submit(submission("200", "", "hello")).Conv, ann)
	w.same("names", w.names(ann), before)

	at := func(conv, account string) *gateway.Submission {
		s := submission("", "", "hello")
		s.Chat, s.Conv, s.Account = gateway.Chat{}, conv, account
		return s
	}
	w.refused("an unknown conversation", at("none", "shop"), gateway.ErrNotFound)
	w.refused("another account's conversation", at(ann, "shop-2"), gateway.ErrNotFound)
	notice := w.message("3", "1")
	notice.Event.Kind, notice.Chat = gateway.KindNotice, gateway.Chat{Kind: gateway.ChatAccount, Identities: []gateway.Identity{{Kind: "account", Value: "1"}}}
	w.refused("a conversation without anybody", at(w.heard(notice), "shop"), gateway.ErrConflict)

	young := w.heard(w.chat("4", phone("300")))
	w.later(time.Minute)
	w.heard(w.chat("5", bsuid("b.1"), phone("300")))
	w.same("a conversation that became part of another", w.submit(at(young, "shop")).Conv, ann)
	w.balanced()
}

func submitLater(w *world) {
	due := func(text string, at time.Time) *gateway.Submission {
		s := submission("1", "", text)
		s.DueAt = at
		return s
	}
	start := w.now
	out := w.submit(due("later", start.Add(time.Hour)))
	w.submit(due("sooner", start.Add(time.Minute)))
	w.submit(due("now", time.Time{}))
	w.later(time.Second)
	w.submit(due("long gone", start.Add(-24*time.Hour)))
	for _, want := range []struct {
		text string
		at   time.Time
	}{{"now", start}, {"long gone", w.now}, {"sooner", start.Add(time.Minute)}, {"later", start.Add(time.Hour)}} {
		m := w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted})
		w.same("next", [2]any{m.Reply.Text, m.DueAt}, [2]any{want.text, want.at})
	}
}

func submitCancel(w *world) {
	cancel := func(id string, want error) {
		w.Helper()
		conv, state, err := w.l.CancelMessage(w.ctx, id, "ops", w.now)
		if !errors.Is(err, want) || want == nil && (conv == "" || state != gateway.MessageCancelled) {
			w.Errorf("cancel: %q, %q, %v", conv, state, err)
		}
		w.balanced()
	}
	out := w.submit(submission("1", "", "1", "2", "3"))
	cancel(out.Messages[2], nil)
	w.same("reason", w.find(out.Messages[2], gateway.MessageCancelled).Reason, "by operator")
	c := w.changes()
	w.same("change", [3]any{len(c), c[0].State, c[0].By}, [3]any{1, gateway.MessageCancelled, "operator"})
	cancel(out.Messages[2], gateway.ErrConflict)
	cancel("ms_none", gateway.ErrNotFound)
	_, a := w.begin(out.Conv)
	cancel(out.ID, gateway.ErrConflict)
	w.end(a, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131026"})
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message"})
	w.must(err)
	_, err = w.l.Requeue(w.ctx, dl[0].ID, "ops", w.now)
	w.must(err)
	var texts []string
	for m, _ := w.next(out.Conv); m != nil; m, _ = w.next(out.Conv) {
		texts = append(texts, w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted}).Reply.Text)
	}
	w.same("a requeue lets go what the refusal cancelled", texts, []string{"1", "2"})

	// What was refused for now has certainly not left. All parts end with it.
	out = w.submit(submission("2", "", "1", "2"))
	w.send(out.Conv, gateway.Outcome{Kind: gateway.OutcomeRetry, Code: "busy"})
	cancel(out.ID, nil)
	if m, _ := w.next(out.Conv); m != nil {
		w.Errorf("%s is still to be sent", m.ID)
	}
	w.same("cancelled", w.balanced().Messages.Cancelled, int64(3))

	m, attempts, err := w.l.Message(w.ctx, out.ID)
	w.must(err)
	w.same("message", [2]any{m.State, m.Reply.Text}, [2]any{gateway.MessageCancelled, "1"})
	if len(attempts) != 1 || attempts[0].N != 1 || attempts[0].Outcome == nil || attempts[0].Outcome.Code != "busy" || attempts[0].EndedAt.IsZero() {
		w.Errorf("attempts %+v", attempts)
	}
	if _, _, err := w.l.Message(w.ctx, "ms_none"); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("an unknown message: %v", err)
	}
}

// submitMerged: what is not due moves to the conversation that lives, which does
// not wait for it; what is due stays and goes first.
func submitMerged(w *world) {
	older := w.heard(w.chat("1", phone("1")))
	later := submission("2", "k", "later")
	later.DueAt = w.now.Add(time.Hour)
	young := w.submit(later)
	w.submit(submission("2", "", "now"))
	w.later(time.Second)
	r := w.relay(w.chat("2", phone("1"), phone("2")))
	w.same("merged", r.Merged, []gateway.Merge{{Conv: young.Conv, Into: older}})
	w.submit(submission("1", "", "of the older"))
	m, _ := w.next(older)
	w.same("who goes first", m.Behind, young.Conv)
	w.same("sent", w.send(young.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted}).Reply.Text, "now")
	if m, _ := w.next(young.Conv); m != nil {
		w.Errorf("the younger has %q left", m.Reply.Text)
	}
	w.same("nobody waits", len(w.merges()), 0)
	for _, want := range []string{"of the older", "later"} {
		w.same("sent", w.send(older, gateway.Outcome{Kind: gateway.OutcomeAccepted}).Reply.Text, want)
	}
	again := w.submit(later)
	w.same("the same request", [3]any{again.ID, again.Conv, again.State}, [3]any{young.ID, older, gateway.MessageAccepted})

	// Nothing left but for later: told all the same, so that the sender looks.
	third := submission("3", "", "later still")
	third.DueAt = w.now.Add(time.Hour)
	out := w.submit(third)
	r = w.relay(w.chat("3", phone("1"), phone("3")))
	w.same("told", r.Merged, []gateway.Merge{{Conv: out.Conv, Into: older}})
	w.same("nobody waits", len(w.merges()), 0)
	w.balanced()
}
