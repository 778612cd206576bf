package bridge

import (
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

func sealing(t testing.TB, app string, secrets ...string) *Bridge {
	t.Helper()
	k, err := gateway.ParseWebhookKeys(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Options{App: gateway.Application{Name: app}, URL: "http://127.0.0.1:1", Keys: k, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	first  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	second = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// A token opens the one delivery it was made for, while one of the application's
// secrets made it.
func TestTicket(t *testing.T) {
	b := sealing(t, "faq", first)
	for _, delivery := range []string{"ev_abc", "ev_abc.q1", "ev_abc.run_x.y"} {
		want := ticket{"faq", "whatsapp", "shop-a", "abcdefghijklmnopqrstuvwxyz", delivery}
		token := want.token(b.o.Keys)
		if got, ok := b.open(token); !ok || got != want || TokenApp(token) != "faq" {
			t.Errorf("%s: %+v, %t", token, got, ok)
		}
		if subject, err := want.subject(); err != nil || subject != "cw.reply.faq.whatsapp.shop-a.abcdefghijklmnopqrstuvwxyz" {
			t.Errorf("%s, %v", subject, err)
		}
		if _, ok := sealing(t, "faq", second, first).open(token); !ok {
			t.Error("a token of before the change of secret is lost")
		}
		for name, bad := range map[string]string{
			"another secret": token, "another application": token,
			"another delivery": strings.Replace(token, "ev_abc", "ev_abd", 1), "another conversation": strings.Replace(token, "abcdefg", "abcdefh", 1),
			"no seal": token[:strings.LastIndexByte(token, '.')], "cut": token[:len(token)-1], "nothing": "", "dots": ".....", "long": token + strings.Repeat("x", 600),
		} {
			who := b
			switch name {
			case "another secret":
				who = sealing(t, "faq", second)
			case "another application":
				who = sealing(t, "support", first)
			}
			if got, ok := who.open(bad); ok {
				t.Errorf("%s opens %+v", name, got)
			}
		}
	}
}

// No text that we did not make opens anything, whatever it is.
func FuzzTicket(f *testing.F) {
	b := sealing(f, "faq", first)
	token := ticket{"faq", "whatsapp", "shop-a", "abcdefghijklmnopqrstuvwxyz", "ev_abc.q1"}.token(b.o.Keys)
	for _, s := range []string{token, token + "x", token[1:], "", ".", "faq.a.b.c.d.e", "faq....ev.", strings.ReplaceAll(token, ".", "..")} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := b.open(text)
		if ok && got.token(b.o.Keys) != text {
			t.Errorf("%q opens %+v", text, got)
		}
		if ok && text != token {
			t.Errorf("%q is a token", text)
		}
	})
}
