package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// The vector that the published libraries are tested with (standard-webhooks,
// libraries/go/webhook_test.go).
const (
	webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	webhookID     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	webhookBody   = `{"test": 2432232314}`
	webhookSigned = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	webhookOther  = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

func TestWebhookVector(t *testing.T) {
	at := time.Unix(1614265330, 0)
	k, err := gateway.ParseWebhookKeys(webhookSecret, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Sign(webhookID, at, []byte(webhookBody)); got != webhookSigned {
		t.Errorf("signed %s, want %s", got, webhookSigned)
	}
	both, err := gateway.ParseWebhookKeys(webhookOther, webhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	both.Headers(webhookID, at, []byte(webhookBody), h.Set)
	if !strings.HasSuffix(h.Get("webhook-signature"), " "+webhookSigned) || h.Get("webhook-timestamp") != "1614265330" || h.Get("webhook-id") != webhookID {
		t.Errorf("headers %v", h)
	}
	if err := k.Verify(h.Get, []byte(webhookBody), at); err != nil {
		t.Errorf("while keys change: %v", err)
	}
}

func TestWebhookVerify(t *testing.T) {
	at := time.Unix(1614265330, 0)
	k, err := gateway.ParseWebhookKeys(webhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(h http.Header)
		body   string
		now    time.Time
		ok     bool
	}{
		{"as sent", func(http.Header) {}, webhookBody, at, true},
		{"a clock five minutes ahead", func(http.Header) {}, webhookBody, at.Add(5 * time.Minute), true},
		{"five minutes behind", func(http.Header) {}, webhookBody, at.Add(-5 * time.Minute), true},
		{"too old", func(http.Header) {}, webhookBody, at.Add(5*time.Minute + time.Second), false},
		{"too new", func(http.Header) {}, webhookBody, at.Add(-5*time.Minute - time.Second), false},
		{"another body", func(http.Header) {}, webhookBody + " ", at, false},
		{"another id", func(h http.Header) { h.Set("webhook-id", "msg_2") }, webhookBody, at, false},
		{"another time", func(h http.Header) { h.Set("webhook-timestamp", "1614265331") }, webhookBody, at, false},
		{"no id", func(h http.Header) { h.Del("webhook-id") }, webhookBody, at, false},
		{"no time", func(h http.Header) { h.Del("webhook-timestamp") }, webhookBody, at, false},
		{"a time that is none", func(h http.Header) { h.Set("webhook-timestamp", "now") }, webhookBody, at, false},
		{"no signature", func(h http.Header) { h.Del("webhook-signature") }, webhookBody, at, false},
		{"another scheme", func(h http.Header) { h.Set("webhook-signature", "v1a"+strings.TrimPrefix(webhookSigned, "v1")) }, webhookBody, at, false},
		{"several, one right", func(h http.Header) {
			h.Set("webhook-signature", "v2,AAAA v1,not-base64 v1,AAAA "+webhookSigned)
		}, webhookBody, at, true},
	} {
		h := http.Header{}
		k.Headers(webhookID, at, []byte(webhookBody), h.Set)
		c.change(h)
		if err := k.Verify(h.Get, []byte(c.body), c.now); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := (gateway.WebhookKeys{}).Verify(func(string) string { return "" }, nil, at); err == nil {
		t.Error("no keys verify nothing")
	}
}

func TestWebhookSeal(t *testing.T) {
	old, err := gateway.ParseWebhookKeys(webhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	both, err := gateway.ParseWebhookKeys(webhookOther, webhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	seal := old.Seal("answer", "a.b")
	if !old.Sealed("answer", "a.b", seal) || !both.Sealed("answer", "a.b", seal) {
		t.Error("a seal of the previous key does not hold")
	}
	for _, c := range [][3]string{{"answer", "a.c", seal}, {"other", "a.b", seal}, {"answer", "a.b", seal[1:]}, {"answer", "a.b", ""}, {"answer", "a.b", "%"}} {
		if both.Sealed(c[0], c[1], c[2]) {
			t.Errorf("%v holds", c)
		}
	}
	if old.Sealed("answer", "a.b", both.Seal("answer", "a.b")) {
		t.Error("a seal of a key that is not known holds")
	}
}

func TestWebhookKeys(t *testing.T) {
	for _, s := range []string{
		"", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa", "whsec_%%%", "whsec_" + strings.Repeat("AAAA", 22),
	} {
		if _, err := gateway.ParseWebhookKeys(s); err == nil || len(s) > 10 && strings.Contains(err.Error(), s[8:]) {
			t.Errorf("%q: %v", s, err)
		}
	}
}
