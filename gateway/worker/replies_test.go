package worker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

// Each constructor makes a reply of its type that the gateway takes.
func TestConstructors(t *testing.T) {
	t.Parallel()
	file := worker.File(strings.Repeat("0a", 32), "image/jpeg")
	seen := map[gateway.ReplyType]bool{}
	for typ, replies := range map[gateway.ReplyType][]gateway.Reply{
		gateway.ReplyText:     worker.Text("a", "b"),
		gateway.ReplyImage:    worker.Image(file, "c"),
		gateway.ReplyVideo:    worker.Video(worker.ID("1"), ""),
		gateway.ReplyAudio:    worker.Audio(worker.URL("https://x.test/a.mp3")),
		gateway.ReplyVoice:    worker.Voice(worker.ID("1")),
		gateway.ReplyDocument: worker.Document(worker.ID("1"), "a.pdf", "c"),
		gateway.ReplySticker:  worker.Sticker(worker.ID("1")),
		gateway.ReplyLocation: worker.Location(0, 0, "", ""),
		gateway.ReplyContacts: worker.Contacts(gateway.ContactCard{Name: "n"}),
		gateway.ReplyReaction: worker.React("wamid.1", ""),
		gateway.ReplyTemplate: worker.Template("t", "en", json.RawMessage(`[]`)),
		gateway.ReplyButtons:  worker.Buttons("b", worker.Button("1", "t")),
		gateway.ReplyList:     worker.List("b", "o", worker.Section("", worker.Row("1", "t", ""))),
		gateway.ReplyLink:     worker.Link("b", "t", "https://x.test"),
		gateway.ReplyFlow:     worker.Flow("b", gateway.FormReply{ID: "1", Title: "t"}),
		gateway.ReplyMarkdown: worker.Markdown("**b**", "c"),
		gateway.ReplyNews:     worker.News(worker.Article("t", "d", "https://x.test", "https://x.test/p.png"), worker.Article("t", "", "http://x.test", "")),
		gateway.ReplyCard: worker.Join(worker.Card(json.RawMessage(`{"card_type":"text_notice"}`)),
			worker.ChangeCard("code", json.RawMessage(`{"card_type":"text_notice"}`)), worker.ChangeButton("code", "Done")),
		gateway.ReplyWelcome: worker.Welcome(&gateway.Handle{Kind: "welcome", Code: "k"}, "hello", worker.AttachImage(worker.ID("1")),
			worker.AttachVideo(worker.ID("1")), worker.AttachFile(worker.ID("1"), "a.pdf"), worker.AttachPage(worker.Article("t", "", "https://x.test", "")),
			worker.AttachMini(gateway.MiniProgram{Title: "t", AppID: "wx1", Page: "index"}, worker.ID("1"))),
		gateway.ReplyRecall: worker.Recall("msgid"),
		gateway.ReplyTransfer: worker.Join(worker.Transfer(gateway.SessionHuman, "ChenHao"), worker.Transfer(gateway.SessionPool, ""),
			worker.Transfer(gateway.SessionEnded, ""), worker.Transfer(gateway.SessionAssistant, "")),
		gateway.ReplyRead: worker.Join(worker.Read("wamid.1"), worker.Typing("wamid.1")),
	} {
		for i := range replies {
			if err := gateway.CheckReply(&replies[i]); err != nil || replies[i].Type != typ {
				t.Errorf("%s: type %s, %v", typ, replies[i].Type, err)
			}
		}
		seen[typ] = true
	}
	if len(seen) != 22 {
		t.Errorf("%d types", len(seen))
	}
	code := &gateway.Handle{Kind: "session", Code: "c"}
	if with := worker.With(code, worker.Text("a", "b")); with[0].Handle != code || with[1].Handle != nil || gateway.CheckReply(&with[0]) != nil || worker.With(code, nil) != nil {
		t.Errorf("by a code: %+v", with)
	}
	plain := worker.Text("a", "b")
	quoting := worker.Quote("wamid.1", plain)
	if plain[0].Quote != "" || quoting[0].Quote != "wamid.1" || quoting[1].Quote != "" || worker.Quote("wamid.1", nil) != nil {
		t.Errorf("quoting: %+v of %+v", quoting, plain)
	}
}

// A reply that nobody could send is a failed try that names the field.
func TestWrongReplyIsATry(t *testing.T) {
	t.Parallel()
	bot := func(context.Context, *gateway.Event) ([]gateway.Reply, error) {
		return worker.Join(worker.Text("a"), worker.Buttons("SECRETWORDS")), nil
	}
	a := workertest.Ask(context.Background(), bot, workertest.Text("conv", 1, "x"))
	if a.Verdict != gateway.VerdictRetry || a.Error != "replies[1].buttons must be 1 to 3 buttons" || len(a.Replies) != 0 {
		t.Errorf("%+v", a)
	}
}
