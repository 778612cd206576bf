package wecom_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	stores "github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/store/files"
	"github.com/causewayhq/causeway/store/sqlite"
)

// botRig is a robot's sandbox, a real ledger with one message in it, and the client
// that answers; the sandbox's questions are answered from the same ledger.
type botRig struct {
	*testing.T
	clock  *movable
	bot    *wecomtest.Bot
	ledger stores.Ledger
	client *wecom.BotClient
	files  keptFiles
	end    *wecom.BotEndpoint
	msgID  string
	event  string
	conv   string
	pos    int64
}

// ledgerStreams is the ledger as an endpoint asks it.
type ledgerStreams struct{ r *botRig }

func (s ledgerStreams) Progress(ctx context.Context, event, _ string, chat gateway.Chat) (*gateway.Progress, error) {
	p, err := s.r.ledger.Progress(ctx, event, []string{"bot"})
	if err == nil && !p.Of(chat.Identities[0]) {
		err = gateway.ErrNotFound
	}
	return p, err
}

func (s ledgerStreams) Polled(ctx context.Context, event string, end bool) (*gateway.Progress, error) {
	p, _, err := s.r.ledger.PollProgress(ctx, event, end, s.r.clock.now())
	return p, err
}

func newBotRig(t *testing.T, quiet time.Duration, say wecomtest.BotEvent) *botRig {
	t.Helper()
	r := &botRig{T: t, clock: &movable{t: time.Now()}}
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Now: r.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r.ledger = s.Ledger
	kept, err := files.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.files = keptFiles{kept}
	r.bot, err = wecomtest.NewBot(wecomtest.BotOptions{BotID: "aib1", Token: botToken, EncodingAESKey: botKey, Now: r.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.bot.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.bot.Close() })
	e := egress.New(egress.Options{})
	t.Cleanup(e.Close)
	r.client, err = wecom.NewBotClient(wecom.BotClientConfig{APIBase: r.bot.URL(), Progress: r.ledger, Files: r.files, Quiet: quiet}, e, r.clock.now)
	if err != nil {
		t.Fatal(err)
	}
	r.end = botEndpointOf(t, ledgerStreams{r}, r.files)
	r.hear(say)
	return r
}

// hear brings a callback into the ledger, as the front door and the relay do.
func (r *botRig) hear(e wecomtest.BotEvent) {
	r.Helper()
	id, err := r.bot.Tell(e) // nobody takes it; the sandbox knows its address for a late answer
	if err != nil {
		r.Fatal(err)
	}
	r.msgID = id
	address := e.Response
	if address == "" {
		address = r.bot.ResponseURL(id)
	}
	again := e
	again.ID, again.Response = id, address
	_, inner, err := again.Inner("aib1", id, r.clock.now())
	if err != nil {
		r.Fatal(err)
	}
	items, _, err := r.end.Decode(&gateway.Payload{Body: told(r.T, inner, "n").Body, ReceivedAt: r.clock.now()})
	if err != nil {
		r.Fatal(err)
	}
	content, err := gateway.EncodeContent(&items[0].Content)
	if err != nil {
		r.Fatal(err)
	}
	r.pos++
	r.event = gateway.EventID("wecom", &items[0])
	row := gateway.ItemRow{State: gateway.ItemEvent, Chat: items[0].Chat, Wanted: []string{"bot"}, Event: gateway.EventRow{
		ID: r.event, Platform: "wecom", Account: "helper", Chat: items[0].Chat.Kind, Kind: items[0].Kind, Origin: gateway.OriginLive,
		ReceivedAt: r.clock.now(), Content: content}}
	res, err := r.ledger.Relay(r.Context(), &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{{
		Pos: r.pos, Platform: "wecom", Endpoint: "bot", ReceivedAt: r.clock.now(), Items: []gateway.ItemRow{row}, Last: true}}}, r.clock.now())
	if err != nil || len(res.Pending) != 1 {
		r.Fatalf("%d pending, %v", len(res.Pending), err)
	}
	r.conv = res.Pending[0].Conv
}

// answer is a worker's answer.
func (r *botRig) answer(replies ...gateway.Reply) {
	r.Helper()
	_, err := r.ledger.Settle(r.Context(), gateway.ReplyPosition{Created: time.Unix(1, 0), Seq: uint64(r.pos)},
		[]gateway.Settlement{{App: "bot", Conv: r.conv, Answer: gateway.Answer{Event: r.event, Verdict: gateway.VerdictDone, Replies: replies}}},
		func(p *gateway.Pending, a *gateway.Answer) gateway.Decision {
			return gateway.Decide(&gateway.Application{Name: "bot", Tries: 1, Replies: true}, p, a, r.clock.now())
		}, r.clock.now())
	if err != nil {
		r.Fatal(err)
	}
}

// send sends the conversation's next message as the outbox does, within life.
func (r *botRig) send(life time.Duration) gateway.Outcome {
	r.Helper()
	m, _, err := r.ledger.NextMessage(r.Context(), r.conv)
	if err != nil || m == nil {
		r.Fatalf("nothing to send, %v", err)
	}
	now := r.clock.now()
	a := &gateway.Attempt{Message: m.ID, N: m.Attempts + 1, StartedAt: now, VoidAfter: now.Add(life)}
	if err := r.ledger.BeginAttempt(r.Context(), a, r.conv); err != nil {
		r.Fatal(err)
	}
	m.Attempts = a.N
	o := r.client.Send(r.Context(), gateway.Outgoing{Message: *m, VoidAfter: a.VoidAfter})
	if err := r.ledger.EndAttempt(r.Context(), &gateway.AttemptEnd{Attempt: a.ID, Message: m.ID, At: r.clock.now(), Outcome: o,
		NextAt: r.clock.now(), UnknownUntil: r.clock.now(), By: "answer"}); err != nil {
		r.Fatal(err)
	}
	return o
}

// poll asks for the stream once and returns what it shows.
func (r *botRig) poll() string {
	r.Helper()
	body, err := json.Marshal(map[string]any{"msgid": r.msgID, "aibotid": "aib1", "chattype": "single",
		"from": map[string]string{"userid": "LinXiaoyu"}, "msgtype": "stream", "stream": map[string]string{"id": wecom.StreamID(r.event)}})
	if err != nil {
		r.Fatal(err)
	}
	answer, polled := r.end.Poll(r.Context(), told(r.T, body, "n"))
	if !polled {
		r.Fatal("not taken for a question")
	}
	var a struct {
		Type   string
		Stream struct {
			Finish  bool
			Content string
		}
		Card json.RawMessage `json:"template_card"`
	}
	if err := json.Unmarshal([]byte(opened(r.T, answer, "n")), &a); err != nil {
		r.Fatal(err)
	}
	shown := a.Stream.Content
	if a.Stream.Finish {
		shown += "."
	}
	return shown + string(a.Card)
}

// states are the states of all messages, oldest first, with how far they got.
func (r *botRig) states() (out []string) {
	r.Helper()
	c, err := r.ledger.Conversation(r.Context(), r.conv, 100)
	if err != nil {
		r.Fatal(err)
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		s := string(m.State)
		for _, more := range []string{m.Reason, string(m.Delivery)} {
			if more != "" {
				s += " " + more
			}
		}
		if m.Failed != nil {
			s += " failed " + m.Failed.Title
		}
		out = append(out, s)
	}
	return out
}

func (r *botRig) same(what string, got, want any) {
	r.Helper()
	if d := cmp.Diff(want, got); d != "" {
		r.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// late is what came by the address of the message.
func (r *botRig) late() string {
	t, _ := r.bot.Talk(r.msgID)
	return t.Late + t.LateCard
}

func say(text string) gateway.Reply { return gateway.Reply{Type: gateway.ReplyText, Text: text} }

const botCard = `{"card_type":"button_interaction","main_title":{"title":"Well?"},"button_list":[{"text":"Yes","key":"y"}]}`

func card() gateway.Reply {
	return gateway.Reply{Type: gateway.ReplyCard, Card: &gateway.CardReply{Content: json.RawMessage(botCard)}}
}

// botText is a text in a single chat that the callbacks of this file begin with.
func botText() wecomtest.BotEvent { return wecomtest.BotEvent{Kind: "aibot-text", From: "LinXiaoyu"} }

// The texts of a task grow into one answer, which the platform fetches; the last
// message is taken when it has.
func TestBotStream(t *testing.T) {
	r := newBotRig(t, time.Minute, botText())
	r.same("before the answer", r.poll(), "")
	r.answer(say("one"), gateway.Reply{Type: gateway.ReplyMarkdown, Text: "**two**"}, card())
	r.same("the first", r.send(time.Minute).Kind, gateway.OutcomeAccepted)
	r.clock.move(3 * time.Second)
	r.same("so far", r.poll(), "one")
	r.same("the second", r.send(time.Minute).Kind, gateway.OutcomeAccepted)
	r.clock.move(3 * time.Second)
	var wg sync.WaitGroup
	var o gateway.Outcome
	wg.Go(func() { o = r.send(time.Minute) })
	var shown string
	for shown = r.poll(); !strings.Contains(shown, "."); shown = r.poll() {
	}
	wg.Wait()
	marker := shown[strings.Index(shown, `"task_id":"`)+len(`"task_id":"`):][:29]
	if !gateway.OurMarker(marker) {
		t.Errorf("the card's task is %q", marker)
	}
	r.same("shown", strings.HasPrefix(shown, "one\n\n**two**.{"), true)
	r.same("the last", o.Kind, gateway.OutcomeAccepted)
	r.same("states", r.states(), []string{"accepted delivered", "accepted delivered", "accepted delivered"})
	r.same("asked again", r.poll(), shown)
	r.same("late", r.late(), "")
}

// When nobody asks any more, the whole answer goes once by the address that came
// with the message, and the stream shows nothing.
func TestBotAnswersLate(t *testing.T) {
	r := newBotRig(t, 10*time.Second, botText())
	r.clock.move(time.Minute)
	r.answer(say("one"), say("two <&>"))
	r.same("the first", r.send(time.Minute).Kind, gateway.OutcomeAccepted)
	r.same("the last", r.send(time.Minute).Kind, gateway.OutcomeAccepted)
	r.same("late", r.late(), "one\n\ntwo <&>")
	r.same("the stream", r.poll(), ".")
	r.same("states", r.states(), []string{"accepted", "accepted"})
	r.same("calls", len(r.bot.Calls()), 1)
}

// A platform that stops asking while the client waits is answered late.
func TestBotPollsStop(t *testing.T) {
	r := newBotRig(t, 10*time.Second, botText())
	r.same("asked", r.poll(), "")
	r.answer(say("one"))
	var wg sync.WaitGroup
	var o gateway.Outcome
	wg.Go(func() { o = r.send(time.Minute) })
	for r.unsent() { // until the answer is there
	}
	r.clock.move(11 * time.Second)
	wg.Wait()
	r.same("outcome", o.Kind, gateway.OutcomeAccepted)
	r.same("late", r.late(), "one")
}

func (r *botRig) unsent() bool {
	p, err := r.ledger.Progress(r.Context(), r.event, nil)
	return err == nil && p.State != gateway.ProgressFinished
}

// Whoever comes first has the words: they are fetched, or sent, never both.
func TestBotFetchedOrSent(t *testing.T) {
	fetched := 0
	for range 6 {
		r := newBotRig(t, 10*time.Second, botText())
		r.clock.move(time.Minute) // nobody seems to ask
		r.answer(say("one"))
		var wg sync.WaitGroup
		var o gateway.Outcome
		var shown string
		wg.Go(func() { o = r.send(time.Minute) })
		wg.Go(func() {
			for shown = r.poll(); !strings.HasSuffix(shown, "."); shown = r.poll() {
			}
		})
		wg.Wait()
		r.same("outcome", o.Kind, gateway.OutcomeAccepted)
		if (shown == "one.") == (r.late() == "one") {
			t.Errorf("the stream shows %q, late came %q", shown, r.late())
		}
		if shown == "one." {
			fetched++
		}
	}
	t.Logf("fetched %d times of 6", fetched)
}

// What cannot be sent says why; texts of the task that were taken go all the same.
func TestBotRefusals(t *testing.T) {
	long := strings.Repeat("字", wecom.MaxBotTextBytes/3)
	for _, c := range []struct {
		name    string
		event   wecomtest.BotEvent
		after   time.Duration
		replies []gateway.Reply
		states  []string
		late    string
	}{
		{"nothing but a file", botText(), time.Minute, []gateway.Reply{{Type: gateway.ReplyImage, File: &gateway.FileReply{ID: "x"}}},
			[]string{"rejected unsupported"}, ""},
		{"a file behind a text", botText(), time.Minute, []gateway.Reply{say("one"), {Type: gateway.ReplyImage, File: &gateway.FileReply{ID: "x"}}, say("three")},
			[]string{"accepted", "rejected unsupported", "cancelled after rejected"}, "one"},
		{"the longest text", botText(), time.Minute, []gateway.Reply{say(long)}, []string{"accepted"}, long},
		{"too long together", botText(), time.Minute, []gateway.Reply{say(long), say("x")}, []string{"accepted", "rejected too_long"}, long},
		{"the change of a card", botText(), time.Minute, []gateway.Reply{{Type: gateway.ReplyCard, Card: &gateway.CardReply{Code: "c", Button: "b"}}},
			[]string{"rejected unsupported"}, ""},
		{"a card that is none", botText(), time.Minute, []gateway.Reply{{Type: gateway.ReplyCard, Card: &gateway.CardReply{Content: json.RawMessage(`{}`)}}},
			[]string{"rejected bad_card"}, ""},
		{"a card before the end", botText(), time.Minute, []gateway.Reply{card(), say("x")}, []string{"rejected card_not_last", "cancelled after rejected"}, ""},
		{"late, words and a card", botText(), time.Minute, []gateway.Reply{say("one"), card()}, []string{"accepted", "rejected response_used"}, "one"},
		{"the hour is over", botText(), 61 * time.Minute, []gateway.Reply{say("one"), say("two")},
			[]string{"accepted failed response_expired", "rejected response_expired"}, ""},
		{"no address came", wecomtest.BotEvent{Kind: "aibot-text", Response: "-"}, time.Minute, []gateway.Reply{say("one")}, []string{"rejected no_response_url"}, ""},
		{"an address that is not WeCom's", wecomtest.BotEvent{Kind: "aibot-text", Response: "https://qyapi.weixin.qq.com.evil.example/x?code=1"}, time.Minute,
			[]gateway.Reply{say("one")}, []string{"rejected forbidden_address"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newBotRig(t, 10*time.Second, c.event)
			r.clock.move(c.after)
			r.answer(c.replies...)
			for {
				m, _, err := r.ledger.NextMessage(t.Context(), r.conv)
				if err != nil {
					t.Fatal(err)
				}
				if m == nil {
					break
				}
				r.send(time.Minute)
			}
			r.same("states", r.states(), c.states)
			r.same("late", r.late(), c.late)
		})
	}
}

// A card alone goes late as one; a press of it is answered late too, once.
func TestBotCardLate(t *testing.T) {
	r := newBotRig(t, 10*time.Second, wecomtest.BotEvent{Kind: "aibot-card", From: "LinXiaoyu"})
	r.clock.move(time.Minute)
	r.answer(card())
	r.same("outcome", r.send(time.Minute).Kind, gateway.OutcomeAccepted)
	if !strings.Contains(r.late(), `"title":"Well?"`) || !strings.Contains(r.late(), `"task_id":"ms_`) {
		t.Errorf("late came %s", r.late())
	}
}

// Faults of the late answer: what was certainly not sent goes again, what may have
// been sent does not, and no other message uses the address.
func TestBotLateFaults(t *testing.T) {
	r := newBotRig(t, 10*time.Second, botText())
	r.clock.move(time.Minute)
	r.answer(say("one"))
	for _, f := range []sandbox.Fault{{Code: 45009, Next: 1}, {Code: -1, Next: 1}} {
		if _, err := r.bot.Faults().Add(f); err != nil {
			t.Fatal(err)
		}
		r.same("outcome", r.send(time.Minute).Kind, gateway.OutcomeRetry)
	}
	if _, err := r.bot.Faults().Add(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropReset, Next: 1}); err != nil {
		t.Fatal(err)
	}
	o := r.send(time.Minute)
	r.same("outcome", o.Kind, gateway.OutcomeUnknown)
	r.same("late", r.late(), "one")
	r.same("states", r.states(), []string{"unknown reset"})
	if strings.Contains(o.Detail, "response_code") {
		t.Error(o.Detail)
	}

	r = newBotRig(t, 10*time.Second, botText())
	r.clock.move(time.Minute)
	r.bot.UseUp(r.msgID)
	r.answer(say("one"))
	r.same("a code outside the table is tried once more", r.send(time.Minute).Kind, gateway.OutcomeRejected)
	r.same("states", r.states(), []string{"rejected 40058"})
}

// A robot says nothing by itself.
func TestBotWithoutEvent(t *testing.T) {
	r := newBotRig(t, time.Minute, botText())
	o := r.client.Send(t.Context(), gateway.Outgoing{Message: gateway.Message{ID: "ms_1", Reply: say("x"), Parts: 1}, VoidAfter: r.clock.now().Add(time.Minute)})
	r.same("outcome", o.Kind, gateway.OutcomeRejected)
	r.same("code", o.Code, "no_event")
}
