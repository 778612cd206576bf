package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

const (
	testBot      = "aibTestRobot0001"
	testBotToken = "BotTestToken"
	testBotKey   = "K0d1ngAesKeyForRobotSampleOnly0123456789abX"
)

// newBotCase is newCase with an intelligent robot beside; every is how often the
// platform asks for an open stream.
func newBotCase(t *testing.T, o worldOptions, every time.Duration) (*world, *wecomtest.Bot) {
	t.Helper()
	b, err := wecomtest.NewBot(wecomtest.BotOptions{BotID: testBot, Token: testBotToken, EncodingAESKey: testBotKey, PollEvery: every,
		Retry: []time.Duration{300 * time.Millisecond, 300 * time.Millisecond, time.Second, time.Second, 3 * time.Second, 5 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	o.endpoints += fmt.Sprintf("  - {name: bot, platform: wecom, kind: aibot, token: %s, encoding_aes_key: %s}\n", testBotToken, testBotKey)
	o.accounts += fmt.Sprintf("  - {name: helper, platform: wecom, kind: aibot, bot_id: %s, welcome: \"Hello, I am new\", feedback: true, api_base: %q}\n", testBot, b.URL())
	w := newCase(t, o)
	b.SetCallbackURL(strings.Replace(w.url, "/whatsapp/meta", "/wecom/bot", 1))
	return w, b
}

// shows waits until a chat shows the end of an answer.
func (w *world) shows(b *wecomtest.Bot, msgID string) wecomtest.Talk {
	w.t.Helper()
	var talk wecomtest.Talk
	w.until(40*time.Second, "the stream ends", func() bool {
		talk, _ = b.Talk(msgID)
		return talk.Finished
	})
	return talk
}

// Somebody writes to a robot: the callback is answered with a stream, the worker's
// replies grow in it, the platform fetches the end, and no question is archived.
func TestBotAnswersInItsStream(t *testing.T) {
	begin(t)
	w, b := newBotCase(t, worldOptions{apps: appByWorker}, 50*time.Millisecond)
	if err := b.VerifyCallback(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		switch ev.Text {
		case "nothing":
			return nil, nil
		case "long":
			return []gateway.Reply{{Type: gateway.ReplyText, Text: strings.Repeat("x", 30_000)}}, nil
		}
		return slices.Concat(worker.Text("you said "+ev.Text), worker.Markdown("**bye**")), nil
	}, 2)
	var ids []string
	for _, text := range []string{"hi <&>", "nothing", "long"} {
		ids = append(ids, b.Say("LinXiaoyu", "", text))
	}
	other := b.Say("ChenHao", "", "me too")
	want := map[string]string{ids[0]: "you said hi <&>\n\n**bye**", ids[1]: "", ids[2]: "", other: "you said me too\n\n**bye**"}
	streams := map[string]bool{}
	for id, text := range want {
		talk := w.shows(b, id)
		if talk.Text != text || talk.Late != "" || !strings.Contains(talk.Answer, `"finish":false`) {
			t.Errorf("%+v, want %q", talk, text)
		}
		streams[talk.Stream] = true
	}
	if len(streams) != len(want) {
		t.Errorf("%d streams for %d messages", len(streams), len(want))
	}
	w.settled(40 * time.Second)
	s := w.sums()
	if s.Payloads.Archived != int64(len(want)) || s.Messages.Accepted != 4 || s.Messages.Rejected != 1 {
		t.Errorf("archived %d, %+v", s.Payloads.Archived, s.Messages)
	}
	c := w.conversation("wecom", "helper", "userid", "linxiaoyu")
	var delivered []string
	for _, m := range c.Messages {
		delivered = append(delivered, string(m.State)+" "+string(m.Delivery)+m.Reason)
	}
	slices.Sort(delivered) // the three came at once
	if d := cmp.Diff([]string{"accepted delivered", "accepted delivered", "rejected too_long"}, delivered); d != "" {
		t.Error(d)
	}
	if _, err := b.Tell(wecomtest.BotEvent{Kind: "aibot-enter", From: "LinXiaoyu"}); err != nil {
		t.Fatal(err)
	}
	w.until(20*time.Second, "the robot welcomes who enters", func() bool {
		return slices.ContainsFunc(b.Talks(), func(x wecomtest.Talk) bool {
			return x.Answer == `{"msgtype":"text","text":{"content":"Hello, I am new"}}`
		})
	})
	group := b.Say("LinXiaoyu", "wrGroup1", "hello all")
	w.until(20*time.Second, "a message that no application wants is archived", func() bool { return w.sums().Payloads.Archived == int64(len(want))+2 })
	if talk, _ := b.Talk(group); talk.Answer != "" {
		t.Errorf("no application answers groups, and a stream was opened: %s", talk.Answer)
	}
	for _, secret := range []string{"LinXiaoyu", "linxiaoyu", "you said", "response_code", "Hello, I am", testBotKey, testBotToken} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// A robot sends a picture with the end of its answer, which is judged: the judgement
// names the event that was answered.
func TestBotPictureAndFeedback(t *testing.T) {
	begin(t)
	w, b := newBotCase(t, worldOptions{apps: appByWorker}, 50*time.Millisecond)
	eyes := w.observe()
	status, body := w.put("image/png", []byte("\x89PNG\r\n\x1a\nthe picture"))
	var kept struct{ File string }
	if err := json.Unmarshal([]byte(body), &kept); err != nil || status != http.StatusCreated && status != http.StatusOK {
		t.Fatal(status, body, err)
	}
	w.bot(func(context.Context, *gateway.Event) ([]gateway.Reply, error) {
		return append(worker.Text("look"), gateway.Reply{Type: gateway.ReplyImage, File: &gateway.FileReply{File: kept.File, MIME: "image/png"}}), nil
	}, 1)
	id := b.Say("LinXiaoyu", "", "show me")
	talk := w.shows(b, id)
	if d := cmp.Diff([]string{kept.File}, talk.Pictures); d != "" || talk.Text != "look" || !strings.HasPrefix(talk.Feedback, "ev_") {
		t.Errorf("%+v %s", talk, d)
	}
	w.settled(40 * time.Second)
	if _, err := b.Tell(wecomtest.BotEvent{Kind: "aibot-feedback", Variant: "1", From: "LinXiaoyu", Task: talk.Feedback}); err != nil {
		t.Fatal(err)
	}
	w.until(20*time.Second, "the judgement is relayed", func() bool { return w.sums().Items.Events == 2 })
	ev := w.sees(eyes, 2)[1]
	c := w.conversation("wecom", "helper", "userid", "linxiaoyu")
	if ev.Type != "event.feedback_event" || ev.QuotedID != talk.Feedback || c.Events[0].Event != talk.Feedback {
		t.Errorf("%s of %s, want that of %s", ev.Type, ev.QuotedID, c.Events[0].Event)
	}
}

// The platform asks again after a restart and sees the same end; a callback that
// comes again opens the same stream and is one event.
func TestBotStreamSurvives(t *testing.T) {
	begin(t)
	w, b := newBotCase(t, worldOptions{apps: appByWorker}, 50*time.Millisecond)
	var handled atomic.Int32
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		handled.Add(1)
		return worker.Text("you said " + ev.Text), nil
	}, 1)
	id, inner, err := b.Make(wecomtest.BotEvent{Kind: "aibot-text", From: "LinXiaoyu", Text: "once"})
	if err != nil {
		t.Fatal(err)
	}
	said, err := b.Tell(wecomtest.BotEvent{Kind: "aibot-text", From: "LinXiaoyu", Text: "once", ID: id})
	if err != nil || said != id {
		t.Fatal(said, err)
	}
	talk := w.shows(b, id)
	w.settled(40 * time.Second)
	w.kill()
	w.start("")
	w.up()
	if done, err := b.Ask(id); err != nil || !done {
		t.Errorf("after a restart the stream is open: %v", err)
	}
	if again, _ := b.Talk(id); again.Text != "you said once" || again.Text != talk.Text {
		t.Errorf("after a restart it shows %q", again.Text)
	}
	status, answer, err := b.Post(t.Context(), inner)
	if err != nil || status != http.StatusOK || answer != talk.Answer {
		t.Errorf("the callback again: %d %s %v, want %s", status, answer, err, talk.Answer)
	}
	w.settled(40 * time.Second)
	if s := w.sums(); s.Payloads.Duplicate != 1 || s.Messages.Taken != 1 || handled.Load() != 1 {
		t.Errorf("duplicates %d, messages %d, handled %d", s.Payloads.Duplicate, s.Messages.Taken, handled.Load())
	}
}

// The gateway dies between the archive and the answer: the platform comes again, and
// the one event is answered in the stream that the second callback opened.
func TestBotKilledBeforeTheOpener(t *testing.T) {
	begin(t)
	w, b := newBotCase(t, worldOptions{apps: appByWorker}, 50*time.Millisecond)
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Text("you said " + ev.Text), nil
	}, 1)
	w.kill()
	p := w.start("ingest.archived:1")
	w.up()
	id := b.Say("LinXiaoyu", "", "hello")
	w.until(30*time.Second, "the gateway died", p.ended)
	w.start("")
	w.up()
	if talk := w.shows(b, id); talk.Text != "you said hello" || talk.Late != "" {
		t.Errorf("%+v", talk)
	}
	w.settled(40 * time.Second)
	if s := w.sums(); s.Payloads.Archived != 2 || s.Payloads.Duplicate != 1 || s.Messages.Taken != 1 {
		t.Errorf("%+v %+v", s.Payloads, s.Messages)
	}
}

// Nobody asks for the stream: the answer goes once by the address of the message.
func TestBotAnswersLate(t *testing.T) {
	begin(t)
	w, b := newBotCase(t, worldOptions{apps: appByWorker}, -1)
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return slices.Concat(worker.Text("you said "+ev.Text), worker.Text("bye")), nil
	}, 1)
	id := b.Say("LinXiaoyu", "", "hello")
	w.until(60*time.Second, "the answer comes late", func() bool {
		talk, _ := b.Talk(id)
		return talk.Late == "you said hello\n\nbye"
	})
	w.settled(40 * time.Second)
	if s := w.sums(); s.Messages.Accepted != 2 || len(b.Calls()) != 1 {
		t.Errorf("%+v, %d calls", s.Messages, len(b.Calls()))
	}
}

// simulate asks for the answer as WeCom does, and writes it.
func TestSimulateFollowsTheAnswer(t *testing.T) {
	begin(t)
	w, _ := newBotCase(t, worldOptions{apps: "  - {name: echo, builtin: echo}\n"}, -1)
	out, code := w.cli("simulate", "wecom", "aibot-text", "--text", "are you there?", "--follow")
	if code != exitOK || !strings.Contains(out, "are you there?") || !strings.Contains(out, "true") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := w.cli("simulate", "wecom", "aibot-text", "--follow", "--count", "2"); code != exitUsage || !strings.Contains(out, "--follow") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// Every kind of callback of a robot, by simulate, becomes an event; nothing is dead,
// and a picture is fetched and opened.
func TestSimulateEveryBotKind(t *testing.T) {
	begin(t)
	w, b := newBotCase(t, worldOptions{apps: "  - {name: echo, builtin: echo}\n" +
		"  - {name: seen, kinds: [notice], chats: [single], replies: false, builtin: echo}\n"}, -1)
	picture := []byte("\x89PNG\r\n\x1a\n a picture")
	address, err := b.AddFile("application/octet-stream", picture)
	if err != nil {
		t.Fatal(err)
	}
	eyes := w.observe()
	want := map[string]int{}
	for _, k := range wecomtest.BotKinds() {
		args := []string{"simulate", "wecom", k.Name, "--from", "M-" + k.Name}
		if k.Name == "aibot-image" {
			args = append(args, "--file-url", address)
		}
		if out, code := w.cli(args...); code != exitOK {
			t.Errorf("%s: exit code %d: %s", k.Name, code, out)
		}
		typ := k.Type
		if typ == "" {
			typ = "event." + k.Variants
		}
		want[string(k.Class)+" "+typ]++
	}
	w.until(60*time.Second, "the picture is there", func() bool {
		out, code := w.cli("media", "ls", "--state", "ready", "--json")
		return code == exitOK && strings.Contains(out, `"mime":"image/png"`) || strings.Contains(out, `"mime": "image/png"`)
	})
	w.until(60*time.Second, "every callback is relayed", func() bool {
		s := w.sums()
		return s.Payloads.Pending == 0 && s.Payloads.Archived == int64(len(wecomtest.BotKinds()))
	})
	got := map[string]int{}
	for _, ev := range w.sees(eyes, len(wecomtest.BotKinds())) {
		got[string(ev.Kind)+" "+ev.Type]++
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if s := w.sums(); s.Items.Dead != 0 || s.Payloads.Dead != 0 {
		t.Errorf("%+v %+v", s.Items, s.Payloads)
	}
}
