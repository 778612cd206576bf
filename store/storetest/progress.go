package storetest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

func (w *world) progress(event string) *gateway.Progress {
	w.Helper()
	p, err := w.l.Progress(w.ctx, event, []string{"bot", "other"})
	w.must(err)
	return p
}

func (w *world) add(event string, part gateway.ProgressPart) *gateway.Progress {
	w.Helper()
	p, err := w.l.AddProgress(w.ctx, event, part, w.now)
	w.must(err)
	return p
}

func (w *world) poll(event string, end bool) (p *gateway.Progress, woken []string) {
	w.Helper()
	p, woken, err := w.l.PollProgress(w.ctx, event, end, w.now)
	w.must(err)
	return p, woken
}

// delivery of a message of any state that is not listed away.
func (w *world) delivery(id string, state gateway.MessageState) string {
	w.Helper()
	m := w.find(id, state)
	if m.Failed != nil {
		return string(m.Delivery) + " failed " + m.Failed.Title
	}
	return string(m.Delivery)
}

// An answer grows part by part, each once, is fetched to its end, and what comes
// later is told apart.
func progressGrows(w *world) {
	if _, err := w.l.Progress(w.ctx, "ev_none", nil); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("an event that is not there: %v", err)
	}
	if _, err := w.l.AddProgress(w.ctx, "ev_none", gateway.ProgressPart{Message: "ms_1"}, w.now); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("added to an event that is not there: %v", err)
	}
	it := w.message("a1", "1")
	until := w.now.Add(time.Hour)
	content, err := gateway.EncodeContent(&gateway.Content{Type: "text", Handle: &gateway.Handle{Kind: "response", Code: "https://x", Until: &until}})
	w.must(err)
	it.Event.Content = content
	r := w.relay(it)
	conv := r.Pending[0].Conv
	p := w.progress("ev_a1")
	w.same("before the answer", p, &gateway.Progress{Event: "ev_a1", Account: "shop", Conv: conv, ReceivedAt: w.now.UTC(), Pending: []string{"bot"},
		Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{phone("1")}}, Handle: p.Handle})
	w.same("handle", p.Handle.Code+p.Handle.Until.Format(time.RFC3339), "https://x"+until.UTC().Format(time.RFC3339))
	w.same("its chat", p.Of(phone("1")), true)
	w.same("another chat", p.Of(phone("2")), false)

	w.answer(r.Pending[0], done("one", "two"))
	p = w.progress("ev_a1")
	w.same("settled", [2]int{len(p.Pending), p.Unsent}, [2]int{0, 2})
	m, a := w.begin(conv)
	first := gateway.ProgressPart{Message: m.ID, Receipt: "s/" + m.ID, Text: "one"}
	p = w.add("ev_a1", first)
	w.same("open", [2]string{string(p.State), p.Text}, [2]string{"open", "one"})
	w.same("once", w.add("ev_a1", first).Text, "one")
	w.end(a, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: first.Receipt})
	w.later(time.Second)
	p, _ = w.poll("ev_a1", false)
	w.same("polled", [2]any{p.State, p.PolledAt}, [2]any{gateway.ProgressOpen, w.now.UTC()})
	w.same("what was handed out", w.delivery(m.ID, gateway.MessageAccepted), "delivered")

	m2, a2 := w.begin(conv)
	second := gateway.ProgressPart{Message: m2.ID, Receipt: "s/" + m2.ID, Text: "two", Card: json.RawMessage(`{"a":1}`), Last: true}
	p = w.add("ev_a1", second)
	w.same("finished", [3]string{string(p.State), p.Text, string(p.Card)}, [3]string{"finished", "one\n\ntwo", `{"a":1}`})
	w.same("not fetched", p.Fetched(), false)
	p, _ = w.poll("ev_a1", true)
	w.same("fetched", [2]any{p.State, p.Fetched()}, [2]any{gateway.ProgressTaken, true})
	p, _ = w.poll("ev_a1", true)
	w.same("fetched again", [3]any{p.State, p.Text, p.Taken}, [3]any{gateway.ProgressTaken, "one\n\ntwo", 8})
	p, err = w.l.CloseProgress(w.ctx, "ev_a1", m2.ID, w.now)
	w.must(err)
	w.same("the handle is left alone", [2]any{p.Fetched(), p.UsedBy}, [2]any{true, ""})
	w.end(a2, gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "restart"})
	w.same("the evidence came first", w.delivery(m2.ID, gateway.MessageAccepted), "delivered")

	p = w.add("ev_a1", gateway.ProgressPart{Message: "ms_late", Text: "three", Last: true})
	w.same("late", [3]any{p.State, p.Text[p.Taken:], p.Fetched()}, [3]any{gateway.ProgressTaken, "\n\nthree", false})
	w.same("read again", w.progress("ev_a1").Text, "one\n\ntwo\n\nthree")
	w.balanced()
}

// What leaves by the handle is not fetched any more, and one message has it.
func progressCloses(w *world) {
	conv := w.say("a1", "1", "one", "two")
	m, _ := w.begin(conv)
	w.add("ev_a1", gateway.ProgressPart{Message: m.ID, Receipt: "s/1", Text: "one", Last: true})
	for range 2 { // again, after a call that was certainly not made
		p, err := w.l.CloseProgress(w.ctx, "ev_a1", m.ID, w.now)
		w.must(err)
		w.same("closed", [2]any{p.State, p.UsedBy}, [2]any{gateway.ProgressClosed, m.ID})
	}
	p, woken := w.poll("ev_a1", true)
	w.same("not fetched any more", [2]any{p.State, len(woken)}, [2]any{gateway.ProgressClosed, 0})
	for name, err := range map[string]error{
		"closed by another": func() error { _, err := w.l.CloseProgress(w.ctx, "ev_a1", "ms_2", w.now); return err }(),
		"added by another": func() error {
			_, err := w.l.AddProgress(w.ctx, "ev_a1", gateway.ProgressPart{Message: "ms_2", Text: "x"}, w.now)
			return err
		}(),
	} {
		if !errors.Is(err, gateway.ErrConflict) {
			w.Errorf("%s: %v", name, err)
		}
	}
	w.same("the same part again", w.add("ev_a1", gateway.ProgressPart{Message: m.ID, Text: "one", Last: true}).Text, "one")
}

// Fetching settles a message whose attempt was found open, and wakes who waits
// behind it; what never got there is marked failed.
func progressSettles(w *world) {
	conv := w.say("a1", "1", "one", "two")
	m, a := w.begin(conv)
	w.add("ev_a1", gateway.ProgressPart{Message: m.ID, Receipt: "s/1", Text: "one"})
	w.end(a, gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "restart"})
	_, woken := w.poll("ev_a1", false)
	w.same("woken", woken, []string{conv})
	w.same("settled", w.delivery(m.ID, gateway.MessageAccepted), "delivered")

	conv = w.say("b1", "2", "one", "two")
	m = w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "s/b1"})
	w.add("ev_b1", gateway.ProgressPart{Message: m.ID, Receipt: "s/b1", Text: "one"})
	m2, _ := w.begin(conv)
	w.add("ev_b1", gateway.ProgressPart{Message: m2.ID, Receipt: "s/b2", Text: "two", Last: true})
	w.add("ev_b1", gateway.ProgressPart{Message: "ms_refused", Receipt: "s/b3", Last: true}) // adds nothing: there is no such message
	w.must(w.l.FailProgress(w.ctx, "ev_b1", gateway.ProgressFailure{But: m2.ID, Code: "response_expired"}, w.now))
	w.same("failed", w.delivery(m.ID, gateway.MessageAccepted), " failed response_expired")
	w.same("its own outcome", w.delivery(m2.ID, gateway.MessageSending), "")
	w.balanced()
}

// Pictures go with the end alone, and can fail where the words got there.
func progressPictures(w *world) {
	conv := w.say("a1", "1", "one", "two", "three")
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "s/1"})
	w.add("ev_a1", gateway.ProgressPart{Message: m.ID, Receipt: "s/1", Text: "one"})
	m2 := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "s/2"})
	for range 2 { // once
		w.same("pictures", w.add("ev_a1", gateway.ProgressPart{Message: m2.ID, Receipt: "s/2", Picture: "f1"}).Pictures, []string{"f1"})
	}
	w.poll("ev_a1", false)
	w.same("the words", w.delivery(m.ID, gateway.MessageAccepted), "delivered")
	w.same("a picture before the end", w.delivery(m2.ID, gateway.MessageAccepted), "")
	m3, a3 := w.begin(conv)
	p := w.add("ev_a1", gateway.ProgressPart{Message: m3.ID, Receipt: "s/3", Picture: "f2", Last: true})
	w.same("before the end", [2]any{p.PicturesTaken, p.Fetched()}, [2]any{0, false})
	p, _ = w.poll("ev_a1", true)
	w.same("the end", [3]any{p.PicturesTaken, p.Fetched(), len(p.Pictures)}, [3]any{2, true, 2})
	w.end(a3, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "s/3"})
	w.same("a picture", w.delivery(m2.ID, gateway.MessageAccepted), "delivered")
	w.same("added behind the end", w.add("ev_a1", gateway.ProgressPart{Message: "ms_late", Picture: "f3", Last: true}).Fetched(), false)
	w.same("read again", w.progress("ev_a1").PicturesTaken, 2)

	conv = w.say("b1", "2", "one", "two")
	m = w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "s/b1"})
	w.add("ev_b1", gateway.ProgressPart{Message: m.ID, Receipt: "s/b1", Picture: "f1"})
	m2, _ = w.begin(conv)
	w.add("ev_b1", gateway.ProgressPart{Message: m2.ID, Receipt: "s/b2", Text: "two", Last: true})
	w.must(w.l.FailProgress(w.ctx, "ev_b1", gateway.ProgressFailure{Code: "picture_late", Pictures: true}, w.now))
	w.same("its picture", w.delivery(m.ID, gateway.MessageAccepted), " failed picture_late")
	w.same("its words", w.delivery(m2.ID, gateway.MessageSending), "")
	w.balanced()
}
