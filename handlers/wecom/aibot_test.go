package wecom_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/wecom"
)

const (
	botToken = "aibotTok42"
	botKey   = "K0d1ngAesKeyForRobotSampleOnly0123456789abX"
)

// noStreams knows of no stream.
type noStreams struct{}

func (noStreams) Progress(context.Context, string, string, gateway.Chat) (*gateway.Progress, error) {
	return nil, gateway.ErrNotFound
}

func (noStreams) Polled(context.Context, string, bool) (*gateway.Progress, error) {
	return nil, gateway.ErrNotFound
}

func botNow() time.Time { return time.Unix(1790000121, 0).UTC() }

func botEndpoint(t testing.TB, streams wecom.BotStreams) *wecom.BotEndpoint {
	t.Helper()
	return botEndpointOf(t, streams, nil)
}

func botEndpointOf(t testing.TB, streams wecom.BotStreams, files wecom.Files) *wecom.BotEndpoint {
	t.Helper()
	e, err := wecom.NewBotEndpoint(wecom.BotConfig{
		Ring: []wecom.Credential{{Token: "newTok", EncodingAESKey: aesKey}, {Token: botToken, EncodingAESKey: botKey}},
		Answers: func(account string, chat gateway.ChatKind) bool {
			return account != "bot:mute" && chat == gateway.ChatSingle
		},
		Welcome: func(string) string { return "你好 <>" }, Streams: streams, Files: files, Now: botNow,
		Feedback: func(account string) bool { return account == "bot:judged" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// told is a callback of a robot as the platform sends it.
func told(t testing.TB, plain []byte, nonce string) *handlers.Request {
	t.Helper()
	c := crypt(t, botToken, botKey, "")
	encrypted := c.Seal(plain, "", [16]byte{1})
	r := signed(c, nonce, encrypted)
	r.Body = wecom.JSONEnvelope(encrypted)
	return r
}

// decodeBots reads a callback of a robot as the relay does.
func decodeBots(t testing.TB, plain []byte) ([]gateway.Item, error) {
	t.Helper()
	e, r := botEndpoint(t, noStreams{}), told(t, plain, "n")
	fp, err := e.Verify(r)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	items, keyFP, err := e.Decode(&gateway.Payload{Platform: "wecom", Body: r.Body, KeyFP: fp, ReceivedAt: botNow()})
	if keyFP != fp {
		t.Errorf("opened by %q, verified by %q", keyFP, fp)
	}
	for i := range items {
		checkItem(t, &items[i])
	}
	return items, err
}

func botSamples(t testing.TB) []sample {
	t.Helper()
	var f struct {
		Files []sample `json:"files"`
	}
	if err := json.Unmarshal(read(t, "aibot_index.json"), &f); err != nil || len(f.Files) < 13 {
		t.Fatalf("%d samples, %v", len(f.Files), err)
	}
	return f.Files
}

// TestBotSamples holds every sample of a robot against the index.
func TestBotSamples(t *testing.T) {
	for _, s := range botSamples(t) {
		t.Run(s.File, func(t *testing.T) {
			plain := read(t, s.File)
			if s.Class == "poll" {
				answer, polled := botEndpoint(t, noStreams{}).Poll(t.Context(), told(t, plain, "n"))
				if got := opened(t, answer, "n"); !polled || got != `{"msgtype":"stream","stream":{"id":"strm-0001","finish":true,"content":""}}` {
					t.Errorf("%v %s", polled, got)
				}
				return
			}
			items, err := decodeBots(t, plain)
			if s.Expect == "quarantine" {
				wantErr(t, err, gateway.ErrUndecodable)
				return
			}
			if err != nil || len(items) != 1 {
				t.Fatalf("%d items, %v", len(items), err)
			}
			it := &items[0]
			kind := map[gateway.ChatKind]string{gateway.ChatSingle: "u", gateway.ChatGroup: "g"}[it.Chat.Kind]
			if got := strings.Replace(it.AccountID, ":", "|", 1) + "|" + kind + "|" + it.Chat.Identities[0].Spelling(); got != s.Key {
				t.Errorf("in %s, want %s", got, s.Key)
			}
			if want := "m:" + strings.TrimPrefix(s.Dedup, "msgid:"); it.Key != want || "m:"+it.Content.ID != want {
				t.Errorf("key %s, want %s", it.Key, want)
			}
			if isMessage := s.Class == "message" && it.Content.Type != "sticker3d"; isMessage != (it.Kind == gateway.KindMessage) {
				t.Errorf("a %s is %s", s.Class, it.Kind)
			}
			if (it.Content.Handle != nil) != strings.Contains(string(plain), "response_url") || it.OccurredAt.IsZero() == strings.Contains(string(plain), "create_time") {
				t.Errorf("handle %+v, time %s", it.Content.Handle, it.OccurredAt)
			}
			if h := it.Content.Handle; h != nil && (h.Kind != "response" || !h.Until.Equal(botNow().Add(time.Hour))) {
				t.Errorf("handle %s until %s", h.Kind, h.Until)
			}
			if string(it.Content.Raw) != strings.TrimSpace(string(plain)) {
				t.Error("raw is not the document")
			}
		})
	}
}

// TestBotVariants reads bodies written from WeCom's pages; see TestVariants.
func TestBotVariants(t *testing.T) {
	path := filepath.Join("testdata", "aibot_variants.txt")
	var out strings.Builder
	for _, part := range variants(t, path) {
		lines := strings.Split(part, "\n> ")
		name, doc, _ := strings.Cut(lines[0], "\n")
		want := strings.Split(strings.TrimSpace(strings.Join(lines[1:], "\n")), "\n")
		var got []string
		t.Run(name, func(t *testing.T) {
			items, err := decodeBots(t, []byte(doc))
			if err != nil {
				wantErr(t, err, gateway.ErrUndecodable)
				got = append(got, err.Error())
			}
			for i := range items {
				got = append(got, inShort(t, &items[i]))
			}
			if d := cmp.Diff(want, got); d != "" && os.Getenv("UPDATE_GOLDEN") == "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
		out.WriteString("# " + name + "\n" + doc + "\n> " + strings.Join(got, "\n> ") + "\n\n")
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// opened is what an answer says, as the platform reads it.
func opened(t testing.TB, answer []byte, nonce string) string {
	t.Helper()
	if len(answer) == 0 {
		return ""
	}
	plain, err := crypt(t, botToken, botKey, "").OpenPassive(answer, nonce)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// TestBotAnswers says what each callback is answered with within the call.
func TestBotAnswers(t *testing.T) {
	e := botEndpoint(t, noStreams{})
	answer := func(plain string) string {
		t.Helper()
		r := told(t, []byte(plain), "nonce 1")
		if _, polled := e.Poll(t.Context(), r); polled {
			t.Error("taken for a question")
		}
		return opened(t, e.Answer(r), "nonce 1")
	}
	const text = `"msgtype":"text","text":{"content":"x"}}`
	first := answer(`{"msgid":"m1","aibotid":"aib1","chattype":"single","from":{"userid":"u"},` + text)
	items, err := decodeBots(t, []byte(`{"msgid":"m1","aibotid":"aib1","chattype":"single","from":{"userid":"u"},`+text))
	if err != nil {
		t.Fatal(err)
	}
	id := wecom.StreamID(gateway.EventID("wecom", &items[0]))
	if want := `{"msgtype":"stream","stream":{"id":"` + id + `","finish":false,"content":""}}`; first != want {
		t.Errorf("%s, want %s", first, want)
	}
	if again := answer(`{"aibotid":"aib1","msgid":"m1","from":{"userid":"u"},` + text); again != first {
		t.Errorf("the same message again is answered %s", again)
	}
	judged := `{"msgid":"m1","aibotid":"judged","from":{"userid":"u"},` + text
	if items, err = decodeBots(t, []byte(judged)); err != nil {
		t.Fatal(err)
	}
	id = gateway.EventID("wecom", &items[0])
	if got, want := answer(judged), `{"msgtype":"stream","stream":{"id":"`+wecom.StreamID(id)+`","finish":false,"content":"","feedback":{"id":"`+id+`"}}}`; got != want {
		t.Errorf("judged: %s, want %s", got, want)
	}
	for name, c := range map[string][2]string{
		"nobody answers the robot":            {`{"msgid":"m1","aibotid":"mute","from":{"userid":"u"},` + text, ""},
		"nobody answers groups":               {`{"msgid":"m1","aibotid":"aib1","chatid":"g","from":{"userid":"u"},` + text, ""},
		"a type that nobody knows":            {`{"msgid":"m1","aibotid":"aib1","from":{"userid":"u"},"msgtype":"sticker3d"}`, ""},
		"what cannot be read":                 {`{"msgid":"m1","aibotid":"aib1","from":{"userid":"u"},"msgtype":"text","text":{"content":"x"}`, ""},
		"a pressed card":                      {`{"msgid":"m1","aibotid":"aib1","from":{"userid":"u"},"msgtype":"event","event":{"eventtype":"template_card_event"}}`, ""},
		"a group's of a robot that is judged": {`{"msgid":"m1","aibotid":"judged","chatid":"g","from":{"userid":"u"},` + text, ""},
		"somebody enters the chat":            {`{"msgid":"m1","aibotid":"aib1","from":{"userid":"u"},"msgtype":"event","event":{"eventtype":"enter_chat"}}`, `{"msgtype":"text","text":{"content":"你好 <>"}}`},
		"a stream without its part":           {`{"msgid":"m1","aibotid":"aib1","from":{"userid":"u"},"msgtype":"stream"}`, ""},
	} {
		if got := answer(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", name, got, c[1])
		}
	}
	if got := e.Answer(&handlers.Request{RawQuery: "a=b", Body: []byte("{}")}); got != nil {
		t.Errorf("no callback: %s", got)
	}
}

// fakeStream is one stream of one chat; end remembers that the end was handed out.
type fakeStream struct {
	p     gateway.Progress
	event string
	fails error
	noted int
	ended bool
}

func (f *fakeStream) Progress(_ context.Context, event, account string, chat gateway.Chat) (*gateway.Progress, error) {
	if f.fails != nil || event != f.event || account != "bot:aib1" || chat.Identities[0].Value != "u" {
		return nil, errors.Join(f.fails, gateway.ErrNotFound)
	}
	p := f.p
	return &p, nil
}

func (f *fakeStream) Polled(_ context.Context, _ string, end bool) (*gateway.Progress, error) {
	f.noted++
	f.ended = f.ended || end
	p := f.p
	return &p, f.fails
}

// TestBotPolls says what a question is answered with, by how far the answer is.
func TestBotPolls(t *testing.T) {
	event := "ev_abcdefghijklmnopqrstuvwx23"
	poll := func(f *fakeStream, user string) string {
		t.Helper()
		body := `{"msgid":"m1","aibotid":"aib1","from":{"userid":"` + user + `"},"msgtype":"stream","stream":{"id":"` + wecom.StreamID(event) + `"}}`
		answer, polled := botEndpoint(t, f).Poll(t.Context(), told(t, []byte(body), "n"))
		if !polled {
			t.Fatal("not taken for a question")
		}
		got := opened(t, answer, "n")
		return strings.TrimSuffix(strings.TrimPrefix(got, `{"msgtype":"stream","stream":{"id":"`+wecom.StreamID(event)+`",`), "}}")
	}
	young, old := botNow().Add(-time.Minute), botNow().Add(-wecom.StreamLife)
	for _, c := range []struct {
		name  string
		p     gateway.Progress
		user  string
		want  string
		noted int
		ended bool
	}{
		{"a worker is at it", gateway.Progress{ReceivedAt: young, Pending: []string{"faq"}}, "u", `"finish":false,"content":""`, 1, false},
		{"a part is there", gateway.Progress{ReceivedAt: young, State: gateway.ProgressOpen, Text: "one", Unsent: 1}, "u", `"finish":false,"content":"one"`, 1, false},
		{"it was noted just now", gateway.Progress{ReceivedAt: young, Unsent: 1, PolledAt: botNow().Add(-time.Second)}, "u", `"finish":false,"content":""`, 0, false},
		{"it is whole", gateway.Progress{ReceivedAt: young, State: gateway.ProgressFinished, Text: "one", Unsent: 1}, "u", `"finish":true,"content":"one"`, 1, true},
		{"nobody says anything", gateway.Progress{ReceivedAt: young}, "u", `"finish":true,"content":""`, 1, true},
		{"the rest was refused", gateway.Progress{ReceivedAt: young, State: gateway.ProgressOpen, Text: "one"}, "u", `"finish":true,"content":"one"`, 1, true},
		{"its time is over", gateway.Progress{ReceivedAt: old, State: gateway.ProgressOpen, Text: "one", Unsent: 1}, "u", `"finish":true,"content":"one"`, 1, true},
		{"it was fetched before", gateway.Progress{ReceivedAt: young, State: gateway.ProgressTaken, Text: "one\n\ntwo", Taken: 3}, "u", `"finish":true,"content":"one"`, 0, false},
		{"it left another way", gateway.Progress{ReceivedAt: young, State: gateway.ProgressClosed, Text: "one"}, "u", `"finish":true,"content":""`, 0, false},
		{"another chat asks", gateway.Progress{ReceivedAt: young, State: gateway.ProgressFinished, Text: "secret"}, "v", `"finish":false,"content":""`, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeStream{p: c.p, event: event}
			if got := poll(f, c.user); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if f.noted != c.noted || f.ended != c.ended {
				t.Errorf("noted %d times, ended %v", f.noted, f.ended)
			}
		})
	}
	if got := poll(&fakeStream{event: event, fails: errors.New("disk")}, "u"); got != `"finish":false,"content":""` {
		t.Errorf("without a store: %s", got)
	}
}

// unnoted is a stream whose end cannot be written.
type unnoted struct{ *fakeStream }

func (unnoted) Polled(context.Context, string, bool) (*gateway.Progress, error) {
	return nil, errors.New("disk")
}

// The end is not handed out before it is on disk: the same words would be sent again
// in another way.
func TestBotEndIsNotedFirst(t *testing.T) {
	event := "ev_abcdefghijklmnopqrstuvwx23"
	f := unnoted{&fakeStream{event: event, p: gateway.Progress{ReceivedAt: botNow(), State: gateway.ProgressFinished, Text: "one"}}}
	body := `{"msgid":"m1","aibotid":"aib1","from":{"userid":"u"},"msgtype":"stream","stream":{"id":"` + wecom.StreamID(event) + `"}}`
	answer, _ := botEndpoint(t, f).Poll(t.Context(), told(t, []byte(body), "n"))
	if got := opened(t, answer, "n"); !strings.Contains(got, `"finish":false`) {
		t.Error(got)
	}
}
