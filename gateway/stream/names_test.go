package stream_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// hostile are identities as platforms and attackers send them. None may reach a
// subject as it is.
func hostile() []string {
	return []string{
		"", ".", "*", ">", "a.b", "li.>", "li.si", "a b", "a\tb", "a\r\nPUB cw.reply.x 0\r\n", "a\x00b", "a\u00a0b",
		"a/b", "a=b", "张三", "user@example.org", "120363@g.us", "$JS", strings.Repeat("x", 65), strings.Repeat("x", 4200),
	}
}

func TestHostileIdsAreRefused(t *testing.T) {
	for _, id := range hostile() {
		for name, make := range map[string]func(string) (string, error){
			"event platform": func(s string) (string, error) { return stream.EventSubject(s, "a", "c", gateway.KindMessage) },
			"event account":  func(s string) (string, error) { return stream.EventSubject("p", s, "c", gateway.KindMessage) },
			"event conv":     func(s string) (string, error) { return stream.EventSubject("p", "a", s, gateway.KindMessage) },
			"event kind":     func(s string) (string, error) { return stream.EventSubject("p", "a", "c", gateway.Kind(s)) },
			"ready app":      func(s string) (string, error) { return stream.ReadySubject(s, "p", "a", "c") },
			"ready conv":     func(s string) (string, error) { return stream.ReadySubject("x", "p", "a", s) },
			"reply conv":     func(s string) (string, error) { return stream.ReplySubject("x", "p", "a", s) },
			"result conv":    func(s string) (string, error) { return stream.ResultSubject("p", "a", s) },
		} {
			if got, err := make(id); !errors.Is(err, stream.ErrBadToken) || got != "" {
				t.Errorf("%s %.20q: %q, %v; want ErrBadToken", name, id, got, err)
			}
		}
	}
}

func TestSubjects(t *testing.T) {
	for _, c := range []struct {
		want string
		make func() (string, error)
	}{
		{"cw.event.wecom.corp-a.c1.message", func() (string, error) {
			return stream.EventSubject("wecom", "corp-a", "c1", gateway.KindMessage)
		}},
		{"cw.ready.bot.wecom.corp-a.c1", func() (string, error) { return stream.ReadySubject("bot", "wecom", "corp-a", "c1") }},
		{"cw.reply.bot.wecom.corp-a.c1", func() (string, error) { return stream.ReplySubject("bot", "wecom", "corp-a", "c1") }},
		{"cw.result.wecom.corp-a.c1", func() (string, error) { return stream.ResultSubject("wecom", "corp-a", "c1") }},
	} {
		if got, err := c.make(); got != c.want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, c.want)
		}
	}
	if got, ok := stream.ReplySubjectFor("cw.ready.bot.wecom.corp-a.c1"); got != "cw.reply.bot.wecom.corp-a.c1" || !ok {
		t.Errorf("reply subject %q, %t", got, ok)
	}
	for _, s := range []string{"", "cw.ready.", "cw.reply.bot.wecom.corp-a.c1", "cw.ready.bot.wecom.corp-a.c1.x", "cw.ready.bot"} {
		if got, ok := stream.ReplySubjectFor(s); ok {
			t.Errorf("%q: reply subject %q, want none", s, got)
		}
	}
}

// OfferID must differ whenever the offer differs, or the broker drops it as a
// duplicate without a word.
func TestOfferIDIsUnique(t *testing.T) {
	base := gateway.Pending{App: "bot", Event: "ev_1"}
	seen := map[string]gateway.Pending{}
	for _, app := range []string{"bot", "faq"} {
		for _, ev := range []string{"ev_1", "ev_11"} {
			for _, run := range []string{"", "run_a", "run_b"} {
				for requeue := range 3 {
					for round := range 12 {
						p := base
						p.App, p.Event, p.Run, p.Round = app, ev, run, round
						p.Requeue = requeue
						if run != "" && requeue > 0 {
							continue // a requeue raises the round, too
						}
						if old, ok := seen[stream.OfferID(&p)]; ok {
							t.Fatalf("%q is the id of %+v and %+v", stream.OfferID(&p), old, p)
						}
						seen[stream.OfferID(&p)] = p
					}
				}
			}
		}
	}
}

// FuzzReadySubject: whatever the parts are, a subject has six tokens without
// wildcards, or there is an error; and different parts give different subjects.
func FuzzReadySubject(f *testing.F) {
	for _, id := range hostile() {
		f.Add("bot", "whatsapp", "shop-a", id)
		f.Add(id, id, id, id)
	}
	f.Add("bot", "whatsapp", "shop-a", "abcdefghijklmnopqrstuvwxyz")
	f.Fuzz(func(t *testing.T, app, platform, account, conv string) {
		s, err := stream.ReadySubject(app, platform, account, conv)
		if err != nil {
			if !errors.Is(err, stream.ErrBadToken) || s != "" {
				t.Fatalf("%q, %v", s, err)
			}
			return
		}
		if want := strings.Join([]string{"cw.ready", app, platform, account, conv}, "."); s != want {
			t.Fatalf("%q, want %q", s, want)
		}
		if strings.Count(s, ".") != 5 || strings.ContainsAny(s, "*> \t\r\n\x00") || len(s) > 300 {
			t.Fatalf("unsafe subject %q", s)
		}
	})
}
