package storetest

import (
	"encoding/json"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// reply relays a message of who and answers it with replies of any kind.
func (w *world) reply(id, who string, replies ...gateway.Reply) string {
	w.Helper()
	d := done()
	d.Replies = replies
	p := w.relay(w.message(id, who)).Pending[0]
	if s := w.answer(p, d); s.Late || s.Messages != len(replies) {
		w.Fatalf("answer: late %v, %d messages", s.Late, s.Messages)
	}
	return p.Conv
}

// outboxKinds: a reply leaves as the worker wrote it, whatever it is.
func outboxKinds(w *world) {
	replies := []gateway.Reply{
		{Type: "text", Text: "nul \x00 and <b>", Preview: true, Quote: "wamid.q"},
		{Type: "image", Text: "caption", File: &gateway.FileReply{URL: "https://x.test/a?b=<c>&d"}},
		{Type: "document", File: &gateway.FileReply{File: "00ff", Name: "ä.pdf", MIME: "application/pdf"}},
		{Type: "location", Location: &gateway.Location{Latitude: -33.865143, Longitude: 151.2099, Name: "n", Address: "a"}},
		{Type: "contacts", Contacts: []gateway.ContactCard{{Name: "n", Phones: []string{"+1"}, Emails: []string{"a@b"}, Org: "o"}}},
		{Type: "reaction", Quote: "wamid.q", Emoji: "👍"},
		{Type: "reaction", Quote: "wamid.q"},
		{Type: "template", Template: &gateway.TemplateReply{Name: "t", Language: "en", Components: json.RawMessage(`[{"type":"body","n":9007199254740993.10}]`)}},
		{Type: "buttons", Text: "b", Header: "h", Footer: "f", Buttons: []gateway.Choice{{ID: "1", Title: "t"}}},
		{Type: "list", Text: "b", List: &gateway.MenuReply{Button: "o", Sections: []gateway.MenuSection{{Rows: []gateway.Choice{{ID: "1", Title: "t", Description: "d"}}}}}},
		{Type: "link", Text: "b", Link: &gateway.LinkReply{Title: "t", URL: "https://x.test"}},
		{Type: "flow", Text: "b", Flow: &gateway.FormReply{ID: "1", Title: "t", Screen: "S", Data: json.RawMessage(`{"a":[1,{"b":null}]}`)}},
		{Type: "markdown", Text: "**b** <font color=\"info\">g</font>"},
		{Type: "news", News: []gateway.Article{{Title: "t", Description: "d", URL: "https://x.test/?a=1&b=<2>", Picture: "https://x.test/p"}}},
		{Type: "card", Card: &gateway.CardReply{Content: json.RawMessage(`{"card_type":"text_notice","n":9007199254740993.10}`), Code: "c"}},
		{Type: "card", Card: &gateway.CardReply{Button: "done", Code: "c"}},
		{Type: "recall", Quote: "msgid"},
		{Type: "text", Text: "t", Handle: &gateway.Handle{Kind: "welcome", Code: "c"}},
		{Type: "welcome", Handle: &gateway.Handle{Kind: "welcome", Code: "c"}, Attachments: []gateway.Attachment{
			{Type: "mini", File: &gateway.FileReply{ID: "m"}, Mini: &gateway.MiniProgram{Title: "t", AppID: "wx", Page: "p?a=1&b=<2>"}}}},
		{Type: "transfer", Transfer: &gateway.TransferReply{To: gateway.SessionHuman, Servicer: "ChenHao"}},
		{Type: "read", Quote: "wamid.q", Typing: true},
	}
	conv := w.reply("a1", "1", replies...)
	for _, want := range replies {
		m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted})
		w.same("reply "+string(want.Type), m.Reply, want)
	}
	w.balanced()
}

func readMark() gateway.Reply {
	return gateway.Reply{Type: gateway.ReplyRead, Quote: "wamid.q", Typing: true}
}

// outboxHarmless: whatever becomes of marking read, the parts behind it leave.
func outboxHarmless(w *world) {
	text := gateway.Reply{Type: "text", Text: "answer"}
	finish := func(a *gateway.Attempt, kind gateway.OutcomeKind, next time.Time) {
		w.Helper()
		w.must(w.l.EndAttempt(w.ctx, &gateway.AttemptEnd{Attempt: a.ID, Message: a.Message, At: w.now, NextAt: next, By: "answer",
			UnknownUntil: w.now.Add(time.Minute), Outcome: gateway.Outcome{Kind: kind, Code: "timeout"}}))
	}
	for i, c := range []struct {
		kind  gateway.OutcomeKind
		state gateway.MessageState
	}{
		{gateway.OutcomeAccepted, gateway.MessageAccepted}, // without a receipt
		{gateway.OutcomeUnknown, gateway.MessageExpired},
		{gateway.OutcomeRetry, gateway.MessageExpired},
		{gateway.OutcomeRejected, gateway.MessageRejected},
	} {
		who := string(rune('1' + i))
		conv := w.reply("a"+who, who, readMark(), text)
		if c.state == gateway.MessageExpired { // once more first
			m, at := w.begin(conv)
			finish(at, c.kind, w.now)
			got, _ := w.next(conv)
			w.same("it waits again", [3]any{got.ID, got.State, got.Attempts}, [3]any{m.ID, gateway.MessageWaiting, 1})
		}
		m, at := w.begin(conv)
		w.same("the mark is first", m.Reply, readMark())
		finish(at, c.kind, time.Time{})
		if m := w.find(m.ID, c.state); m.ExternalID != "" || m.State == gateway.MessageExpired && m.Reason != "timeout" {
			w.Errorf("%s: %+v", c.kind, m)
		}
		next, open := w.next(conv)
		if next == nil || open != nil || next.State != gateway.MessageWaiting || next.Reply.Text != "answer" {
			w.Fatalf("after %s the answer does not leave: %+v", c.kind, next)
		}
		w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted})
		w.balanced()
	}
	// What ends a message ends the marks behind it with it.
	conv := w.reply("b", "9", text, readMark())
	m := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeUnknown})
	w.must(w.l.Conclude(w.ctx, m.ID, gateway.MessageUnknown, "no evidence", w.now))
	if next, _ := w.next(conv); next != nil {
		w.Errorf("a mark of a task that ended is open: %+v", next)
	}
	// One that waited too long ends alone; the answer does so by itself.
	conv = w.reply("c", "8", readMark(), text)
	m, _ = w.next(conv)
	w.must(w.l.Conclude(w.ctx, m.ID, gateway.MessageExpired, "old", w.now))
	next, _ := w.next(conv)
	w.same("the answer stays", next.Reply.Text, "answer")
	sums := w.balanced()
	x := sums.Messages
	w.same("sums", [7]int64{x.Taken, x.Accepted, x.Rejected, x.Unknown, x.Expired, x.Cancelled, x.Waiting}, [7]int64{12, 5, 1, 1, 3, 1, 1})
}

// outboxHarmlessRefused: a refused mark is a dead letter; to requeue it moves
// nothing else of its task.
func outboxHarmlessRefused(w *world) {
	conv := w.reply("a1", "1", readMark(), gateway.Reply{Type: "text", Text: "1"}, gateway.Reply{Type: "text", Text: "2"})
	mark := w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131009"})
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131026"})
	dl, err := w.l.Dead(w.ctx, store.DeadQuery{Kind: "message", Reason: gateway.ReasonRejected})
	w.must(err)
	w.same("dead letters", len(dl), 2)
	for _, d := range dl {
		if d.Message != mark.ID {
			continue
		}
		_, err := w.l.Requeue(w.ctx, d.ID, "ops", w.now)
		w.must(err)
	}
	next, _ := w.next(conv)
	w.same("the mark waits again", next.ID, mark.ID)
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted})
	if next, _ := w.next(conv); next != nil {
		w.Errorf("the cancelled part moved: %+v", next)
	}
	w.balanced()
}

// evidenceMembers: receipts of a group are per member. The message goes as far as
// the one it got farthest with; a member's failure is that member's.
func evidenceMembers(w *world) {
	group := gateway.Identity{Kind: "group", Value: "g1"}
	in := w.message("a1", "")
	in.Chat = gateway.Chat{Kind: gateway.ChatGroup, Identities: []gateway.Identity{group}}
	in.Event.Chat = gateway.ChatGroup
	p := w.relay(in).Pending[0]
	w.answer(p, done("hello all"))
	m := w.send(p.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.g"})
	w.same("to", m.To, []gateway.Identity{group})
	n := 0
	say := func(member string, state gateway.StatusState) {
		w.later(time.Second)
		n++
		it := w.status(string(rune('a'+n)), "", "w.g", "", state)
		it.Chat, it.Event.Chat = in.Chat, gateway.ChatGroup
		if member != "" {
			id := gateway.Identity{Kind: "bsuid", Value: member}
			it.Status.Participant = &id
		}
		w.relay(it)
		w.judge()
	}
	for _, s := range []struct {
		member string
		state  gateway.StatusState
	}{
		{"US.1", "failed"}, {"", "sent"}, {"US.2", "delivered"}, {"US.2", "read"}, {"US.2", "delivered"}, {"US.3", "delivered"}, {"US.1", "failed"},
	} {
		say(s.member, s.state)
	}
	got := w.find(m.ID, gateway.MessageAccepted)
	w.same("the message", [2]any{got.Delivery, got.Failed}, [2]any{gateway.StatusRead, (*gateway.Problem)(nil)})
	c, err := w.l.Conversation(w.ctx, p.Conv, 100)
	w.must(err)
	begin := w.now.Add(-8 * time.Second) // when the message was relayed; the platform is a second behind
	member := func(id string) gateway.Identity { return gateway.Identity{Kind: "bsuid", Value: id} }
	w.same("members", c.Messages[0].Members, []gateway.MemberReceipt{
		{Member: member("US.1"), Failed: &gateway.Problem{Code: 131026, Title: "undeliverable"}, At: begin.Add(1 * time.Second)},
		{Member: member("US.2"), Delivery: gateway.StatusRead, At: begin.Add(4 * time.Second)},
		{Member: member("US.3"), Delivery: gateway.StatusDelivered, At: begin.Add(6 * time.Second)},
	})
	w.same("statuses of the message itself", len(c.Messages[0].Statuses), 1)
	say("", "failed") // of the whole message
	if got := w.find(m.ID, gateway.MessageAccepted); got.Failed == nil || got.Failed.Code != 131026 {
		w.Errorf("failed: %+v", got)
	}
	w.balanced()
}
