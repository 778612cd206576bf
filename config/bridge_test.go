package config

import (
	"net"
	"strings"
	"testing"
	"time"
)

func TestBridge(t *testing.T) {
	const apps = `applications:
  - {name: faq, url: "http://127.0.0.1:9/hook", secret: whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX, headers: [{name: Authorization, value: key}]}
  - {name: slow, replies: false, url: "http://bot.internal/hook", insecure: true, secret: whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX, timeout: 7m, handler_max: 20m}
  - {name: short, replies: false, url: "https://10.0.0.7/hook", secret: whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX, ack_wait: 2s, handler_max: 20s}
  - {name: plain, replies: false}
`
	c, err := Parse("causeway.yaml", []byte(meta+apps), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		concurrency       int
		timeout, answerBy time.Duration
	}{
		{16, 30 * time.Second, 5 * time.Minute}, {16, 7 * time.Minute, 7 * time.Minute}, {16, 20 * time.Second, 20 * time.Second}, {},
	} {
		a := c.Applications[i]
		if a.Concurrency != want.concurrency || a.Timeout != want.timeout || a.AnswerBy != want.answerBy {
			t.Errorf("%s: %d, %s, %s", a.Name, a.Concurrency, a.Timeout, a.AnswerBy)
		}
	}
}

// Bots are told an address that leads to the gateway, or none.
func TestAnswersURL(t *testing.T) {
	for _, c := range []struct{ url, listening, want string }{
		{"", "127.0.0.1:8081", "http://127.0.0.1:8081/api/v1/answers"},
		{"", "[::1]:8081", "http://[::1]:8081/api/v1/answers"},
		{"", "[::]:8081", ""},
		{"", "0.0.0.0:8081", ""},
		{"https://gateway.internal/", "0.0.0.0:8081", "https://gateway.internal/api/v1/answers"},
		{"https://proxy.internal/causeway", "127.0.0.1:1", "https://proxy.internal/causeway/api/v1/answers"},
	} {
		addr, err := net.ResolveTCPAddr("tcp", c.listening)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Admin: Admin{URL: c.url}}
		if got := cfg.AnswersURL(addr); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	cfg, err := Parse("causeway.yaml", []byte(meta+"admin: {url: gateway.internal}\n"), noEnv)
	if err == nil || !strings.Contains(err.Error(), "admin.url") {
		t.Errorf("%v, %v", cfg, err)
	}
}
