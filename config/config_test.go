package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

func noEnv(string) (string, bool) { return "", false }

func envOf(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

const meta = "endpoints: [{name: meta, platform: whatsapp, app_secret: s, verify_token: v}]\n"

// Every mistake is named with line, field and what would be right, and no value
// that could be a secret is repeated. UPDATE_GOLDEN=1 writes the texts anew.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse("causeway.yaml", text, noEnv)
			var wrong *Errors
			if !errors.As(err, &wrong) || c != nil {
				t.Fatalf("config %v, error %v", c, err)
			}
			got := err.Error() + "\n"
			if strings.Contains(got, "LEAK") {
				t.Errorf("a value of the file is in the error:\n%s", got)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The example loads, validates, and every value it shows as a default is the
// default.
func TestExample(t *testing.T) {
	env := envOf(map[string]string{
		"WHATSAPP_APP_SECRET":   "app-secret",
		"WHATSAPP_VERIFY_TOKEN": "verify",
		"WHATSAPP_ACCESS_TOKEN": "access",
		"WECOM_TOKEN":           "token",
		"WECOM_AES_KEY":         strings.Repeat("a", 43),
		"WECOM_SECRET":          "secret",
	})
	c, err := Parse("example.yaml", []byte(Example()), env)
	if err != nil {
		t.Fatal(err)
	}
	d := Default()
	d.Complete()
	if diff := cmp.Diff(d.Limits, c.Limits); diff != "" {
		t.Errorf("limits: %s", diff)
	}
	if diff := cmp.Diff(d.NATS, c.NATS); diff != "" {
		t.Errorf("nats: %s", diff)
	}
	if d.Listen != c.Listen || d.Store != c.Store || d.Log != c.Log || d.Admin.Listen != c.Admin.Listen {
		t.Errorf("got %+v, want the defaults %+v", c, d)
	}
	want := DefaultApplication("support")
	want.Accounts, want.Platforms, want.Kinds, want.Chats = []string{"shop-a"}, []string{"whatsapp"}, []string{"message"}, []string{"single"}
	if diff := cmp.Diff(want, c.Applications[0]); diff != "" {
		t.Errorf("application: %s", diff)
	}
	if c.Accounts[0].APIBase != WhatsAppAPIBase || c.Accounts[1].APIBase != WeComAPIBase {
		t.Error("api_base of the example is not the default")
	}
}

// Every field of the structs stands in the example, commented out or not.
func TestExampleShowsEveryField(t *testing.T) {
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(typ.Elem())
		case reflect.Struct:
			for _, f := range fieldsOf(typ) {
				if !strings.Contains(Example(), f.name+":") {
					t.Errorf("%s.%s is not in the example", typ.Name(), f.name)
				}
				walk(typ.Field(f.index).Type)
			}
		default:
		}
	}
	walk(reflect.TypeFor[Config]())
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "causeway.yaml")
	text := `store: "sqlite:/var/lib/causeway"
endpoints:
  - {name: meta, platform: whatsapp, app_secret: "${file:` + secret + `}", verify_token: "a-${env:V}-$${env:V}"}
accounts:
  - {name: shop-a, platform: whatsapp, phone_number_id: 0012345, waba_id: 77, access_token: t}
  - {name: shop-b, platform: whatsapp, phone_number_id: "2", waba_id: "77", access_token: t}
  - {name: corp, platform: wecom, kind: app, corp_id: ww1, agent_id: 1000002, secret: s}
applications:
  - {name: bot, accounts: [shop-a], kinds: [message, state], chats: [group], delays: [2s], replies: false, stale_after: 1h30m}
limits: {body: 4194304, ack_timeout: 2s}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, envOf(map[string]string{"V": "${env:V}"}))
	if err != nil {
		t.Fatal(err)
	}
	e := c.Endpoints[0]
	if e.AppSecret.Reveal() != "from a file" || e.VerifyToken.Reveal() != "a-${env:V}-${env:V}" {
		t.Errorf("secrets %q, %q", e.AppSecret.Reveal(), e.VerifyToken.Reveal())
	}
	if c.Store.Dir() != "/var/lib/causeway" || c.NATS.Embedded.Dir != "/var/lib/causeway/nats" || c.NATS.Embedded.Listen != "127.0.0.1:4222" {
		t.Errorf("store %+v, nats %+v", c.Store, c.NATS.Embedded)
	}
	if c.Limits.Body != 4<<20 || c.Limits.AckTimeout != 2*time.Second || c.Limits.ReadTimeout != 10*time.Second {
		t.Errorf("limits %+v", c.Limits)
	}
	want := []gateway.Application{{
		Name: "bot", Accounts: []string{"shop-a"}, Kinds: []gateway.Kind{gateway.KindMessage, gateway.KindState},
		Chats: []gateway.ChatKind{gateway.ChatGroup}, Tries: 4, Delays: []time.Duration{2 * time.Second},
		BlockFor: 10 * time.Minute, BlockTries: 20, AckWait: 30 * time.Second, HandlerMax: 10 * time.Minute, StaleAfter: 90 * time.Minute,
		AnswerWithin: 30 * time.Minute,
	}}
	if diff := cmp.Diff(want, c.Apps()); diff != "" {
		t.Error(diff)
	}
	ids := map[string]string{}
	for _, acc := range c.Accounts {
		ids[acc.Name] = acc.PlatformID()
	}
	if diff := cmp.Diff(map[string]string{"shop-a": "0012345", "shop-b": "2", "corp": "ww1/1000002"}, ids); diff != "" {
		t.Error(diff)
	}
	if _, err := Load(filepath.Join(dir, "none"), noEnv); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestOverrides(t *testing.T) {
	text := meta + `accounts: [{name: shop-a, platform: whatsapp, phone_number_id: "1", access_token: t}]
applications: [{name: bot}]
trusted_proxies: [127.0.0.1]
`
	c, err := Parse("f", []byte(text), envOf(map[string]string{
		"CAUSEWAY_LISTEN":                       ":9",
		"CAUSEWAY_ADMIN_LISTEN":                 "localhost:10",
		"CAUSEWAY_STORE":                        "sqlite:elsewhere",
		"CAUSEWAY_STORE_RESERVE":                "2GiB",
		"CAUSEWAY_NATS_EMBEDDED_LISTEN":         "",
		"CAUSEWAY_TRUSTED_PROXIES":              "10.0.0.1, 10.1.0.0/16",
		"CAUSEWAY_ENDPOINTS_META_APP_SECRET":    "${env:NOT_READ}",
		"CAUSEWAY_ACCOUNTS_SHOP_A_ACCESS_TOKEN": "t2",
		"CAUSEWAY_APPLICATIONS_BOT_TRIES":       "7",
		"CAUSEWAY_APPLICATIONS_BOT_DELAYS":      "1s,2s",
		"CAUSEWAY_LIMITS_REJECT_STORE_AGE":      "1h",
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Listen, " ", c.Admin.Listen, " ", c.Store, " ", c.NATS.Embedded.Dir, " [", c.NATS.Embedded.Listen, "] ", c.TrustedProxies, " ",
		c.Endpoints[0].AppSecret.Reveal(), " ", c.Accounts[0].AccessToken.Reveal(), " ", c.Applications[0].Tries, " ", c.Applications[0].Delays, " ", c.Limits.RejectStore.Age)
	want := ":9 localhost:10 {sqlite:elsewhere 2GiB} elsewhere/nats [] [10.0.0.1 10.1.0.0/16] ${env:NOT_READ} t2 7 [1s 2s] 1h0m0s"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c.TLS != nil {
		t.Error("tls was made out of nothing")
	}

	_, err = Parse("f", []byte(meta), envOf(map[string]string{"CAUSEWAY_LOG_LEVEL": "loud", "CAUSEWAY_LIMITS_BODY": "x", "CAUSEWAY_TLS_CERT": "a"}))
	if err == nil {
		t.Fatal("wrong overrides were taken")
	}
	want = `f: tls.key: is empty; a value is needed
CAUSEWAY_LIMITS_BODY: limits.body: must be an amount such as 512KiB, 64MiB or 1GiB
CAUSEWAY_LOG_LEVEL: log.level: must be debug, info, warn or error`
	for line := range strings.SplitSeq(want, "\n") {
		if !strings.Contains(err.Error(), line) {
			t.Errorf("no line %q in\n%v", line, err)
		}
	}
}

// A secret stays hidden whatever prints it.
func TestSecret(t *testing.T) {
	type holder struct {
		S Secret
		P *Secret
	}
	s := Secret("LEAKMARK")
	h := holder{S: s, P: &s}
	js, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	ym, err := yaml.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%T %[1]v"} {
		js = append(js, fmt.Sprintf(verb+verb, s, h)...)
		js = append(js, fmt.Sprintf(verb, []Secret{s})...)
	}
	text := string(js) + string(ym)
	if strings.Contains(text, "LEAK") || strings.Contains(text, "4c45414b") {
		t.Errorf("shown: %s", text)
	}
	if !strings.Contains(text, `"S":"***"`) || fmt.Sprint(Secret("")) != "" {
		t.Errorf("not as documented: %s", text)
	}
}

// The effective configuration can be written out, hidden and all, and its
// durations and sizes read again.
func TestMarshal(t *testing.T) {
	c, err := Parse("f", []byte(meta), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("f", text, noEnv)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c.Endpoints[0].AppSecret, c.Endpoints[0].VerifyToken = hidden, hidden
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "1KiB": 1024, "2 MiB": 2 << 20, "3GiB": 3 << 30, "1KB": 1000, "5B": 5,
		"-1": -1, "": -1, "KiB": -1, "1.5GiB": -1, "9999999999GiB": -1, "1TiB": -1,
	} {
		got, err := ParseBytes(text)
		if want < 0 && err == nil || want >= 0 && (err != nil || int64(got) != want) {
			t.Errorf("%q = %d, %v; want %d", text, got, err, want)
		}
		if err == nil {
			if back, err := ParseBytes(got.String()); back != got || err != nil {
				t.Errorf("%s does not read back", got)
			}
		}
	}
}

// A configuration built by hand is held to the same rules.
func TestValidate(t *testing.T) {
	c := Default()
	c.Endpoints = []Endpoint{{Name: "meta", Platform: "whatsapp", AppSecret: "s", VerifyToken: "v"}}
	c.Applications = []Application{DefaultApplication("echo")}
	c.Complete()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.Applications[0].Tries = 0
	if err := c.Validate(); err == nil || err.Error() != "configuration: applications[0].tries: must be at least 1" {
		t.Errorf("got %v", err)
	}
}

// The defaults here and the front door's own are the same.
func TestHandlerLimits(t *testing.T) {
	if diff := cmp.Diff(handlers.DefaultLimits(), Default().HandlerLimits()); diff != "" {
		t.Error(diff)
	}
	c := Default()
	c.Limits = Limits{Body: 1, BodyMemory: 2, HeaderTimeout: 3, ReadTimeout: 4, IdleTimeout: 5, AckTimeout: 6}
	l := c.HandlerLimits()
	if l.Body != 1 || l.BodyMemory != 2 || l.Header != 3 || l.Read != 4 || l.Idle != 5 || l.AckTimeout != 6 || l.HeaderBytes == 0 {
		t.Errorf("limits %+v", l)
	}
}

// No text makes the reader fail in another way than by naming mistakes.
func FuzzParse(f *testing.F) {
	f.Add(Example())
	f.Add(meta)
	f.Add("store: sqlite:data\nlimits: {body: 1GiB}")
	f.Add("a: &a [*a, *a]")
	f.Add("? {a: b}\n: c")
	f.Add("applications: [{name: ${env:A}, tries: 0x10, delays: [1h, ~]}]")
	f.Add("!!binary aGk=: !!binary aGk=")
	f.Add("tls:\n  cert: !!null x\n--- \n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "file:") {
			t.Skip("would read files")
		}
		c, err := Parse("f", []byte(text), noEnv)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", c, err)
		}
		var wrong *Errors
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("error %v", err)
		}
	})
}
