package whatsapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

const examinedWABA = "217700000000201"

// examine asks a sandbox in the given standing, at a fixed time, and returns the
// facts as text.
func examine(t *testing.T, set func(*whatsapptest.Standing, *whatsapptest.Sandbox), change func(*whatsapp.ClientConfig, *whatsapp.Callbacks)) string {
	t.Helper()
	now := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	s, err := whatsapptest.New(whatsapptest.Options{AppSecret: "SECRETMARK-app", AccessToken: accessToken, PhoneNumberID: numberID,
		WABAID: examinedWABA, DisplayNumber: "15550100099", CallbackURL: "https://gw.test/webhooks/whatsapp/meta",
		Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if set != nil {
		st := s.Standing()
		set(&st, s)
		s.SetStanding(st)
	}
	e := egress.New(egress.Options{Now: func() time.Time { return now }})
	defer e.Close()
	c := whatsapp.ClientConfig{APIBase: s.URL(), PhoneNumberID: numberID, WABAID: examinedWABA, AccessToken: accessToken}
	cb := whatsapp.Callbacks{Names: []string{"other", "meta"}, Secrets: []string{"SECRETMARK-other", "SECRETMARK-app"}}
	if change != nil {
		change(&c, &cb)
	}
	facts := whatsapp.NewClient(c, e).Examine(t.Context(), cb)
	if n := len(s.Calls()); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	text := strings.ReplaceAll(factsText(facts), s.URL(), "http://sandbox")
	for _, h := range []string{accessToken, numberID, examinedWABA, "15550100099", "SECRETMARK", "300000000000001", "input_token", "appsecret_proof="} {
		if strings.Contains(text, h) {
			t.Errorf("%q is in the facts:\n%s", h, text)
		}
	}
	return text
}

func factsText(facts []handlers.Fact) string {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "%s: %s\n", f.Level, f.What)
		if f.Detail != "" {
			fmt.Fprintf(&b, "  said: %s\n", f.Detail)
		}
		if f.Do != "" {
			fmt.Fprintf(&b, "  do: %s\n", f.Do)
		}
	}
	return b.String()
}

// The facts of each standing are in testdata/golden/examine. UPDATE_GOLDEN=1
// writes them anew.
func TestExamine(t *testing.T) {
	t.Parallel()
	type standing = whatsapptest.Standing
	const day = 24 * 3600
	now := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC).Unix()
	for name, c := range map[string]struct {
		set    func(*standing, *whatsapptest.Sandbox)
		change func(*whatsapp.ClientConfig, *whatsapp.Callbacks)
	}{
		"well": {},
		"refused": {change: func(c *whatsapp.ClientConfig, _ *whatsapp.Callbacks) {
			c.AccessToken = "TOKENMARK-wrong"
		}},
		"away": {set: func(_ *standing, s *whatsapptest.Sandbox) {
			addFault(t, s, sandbox.Fault{Op: sandbox.OpRead, Status: 503})
		}},
		"token-ends": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.TokenType, st.ExpiresAt, st.DataAccessUntil = "USER", now+3*day, now+60*day
		}},
		"token-ended": {set: func(st *standing, _ *whatsapptest.Sandbox) { st.ExpiresAt = now - day }},
		"token-kind": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.TokenType, st.Scopes = "PAGE", []string{"public_profile"}
		}},
		"token-limited": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.Targets = []string{"217700000000999"}
		}},
		"token-unlimited": {set: func(st *standing, _ *whatsapptest.Sandbox) { st.Targets = []string{examinedWABA} }},
		"app-secret":      {change: func(_ *whatsapp.ClientConfig, cb *whatsapp.Callbacks) { cb.Secrets = cb.Secrets[:1] }},
		"unregistered": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.Status, st.PlatformType, st.CodeVerification, st.NameStatus = "PENDING", "NOT_APPLICABLE", "NOT_VERIFIED", "PENDING_REVIEW"
		}},
		"banned": {set: func(st *standing, _ *whatsapptest.Sandbox) { st.Status, st.NameStatus = "BANNED", "DECLINED" }},
		"quality": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.Status, st.Quality, st.Throughput = "FLAGGED", "RED", "HIGH"
		}},
		"code-expired": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.CodeVerification = "EXPIRED" // of a connected number: no matter
		}},
		"limited": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.Health, st.Info = "LIMITED", "Your display name has not been approved yet, see 15550100099."
		}},
		"blocked": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.Health, st.Problem, st.Solution = "BLOCKED", "The phone number +15550100099 is not registered.", "Register the number."
		}},
		"no-url": {set: func(st *standing, s *whatsapptest.Sandbox) { s.SetCallbackURL("") }},
		"other-url": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.AppURL = "https://old.test/hook?secret=SECRETMARK-query"
		}},
		"http-url": {set: func(st *standing, _ *whatsapptest.Sandbox) { st.AppURL = "http://gw.test/webhooks/whatsapp/meta" }},
		"here-url": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.AppURL = "http://127.0.0.1:8080/webhooks/whatsapp/meta"
		}},
		"overridden": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.AppURL, st.WABAURL = "https://app.test/hook", "https://waba.test/webhooks/whatsapp/other"
		}},
		"overridden-number": {set: func(st *standing, _ *whatsapptest.Sandbox) {
			st.WABAURL, st.NumberURL = "https://waba.test/webhooks/whatsapp/other", "https://number.test/webhooks/whatsapp/elsewhere"
		}},
		"no-app":     {set: func(st *standing, _ *whatsapptest.Sandbox) { st.Subscribed = nil }},
		"other-app":  {set: func(st *standing, _ *whatsapptest.Sandbox) { st.Subscribed = []string{"300000000000009"} }},
		"more-apps":  {set: func(st *standing, _ *whatsapptest.Sandbox) { st.Subscribed = append(st.Subscribed, "300000000000009") }},
		"no-waba":    {change: func(c *whatsapp.ClientConfig, _ *whatsapp.Callbacks) { c.WABAID = "" }},
		"wrong-waba": {change: func(c *whatsapp.ClientConfig, _ *whatsapp.Callbacks) { c.WABAID = "217700000000999" }},
		// The first question is answered, the others are not allowed.
		"only-messaging": {set: func(_ *standing, s *whatsapptest.Sandbox) {
			addFault(t, s, sandbox.Fault{Op: sandbox.OpRead, Code: 200, Skip: 1})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := examine(t, c.set, c.change)
			path := filepath.Join("testdata", "golden", "examine", name+".txt")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func addFault(t *testing.T, s *whatsapptest.Sandbox, f sandbox.Fault) {
	t.Helper()
	if _, err := s.Faults().Add(f); err != nil {
		t.Error(err)
	}
}

// Whatever stands where Meta should, the facts are bounded, and nothing panics or
// is shown that was not asked for.
func TestExamineStrangers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000) + accessToken
	for name, answer := range map[string]any{
		"empty":  map[string]any{"id": numberID},
		"nulls":  map[string]any{"id": numberID, "data": nil, "health_status": nil, "throughput": nil, "webhook_configuration": nil},
		"shapes": map[string]any{"id": numberID, "data": []int{1}, "health_status": "x", "throughput": 7, "webhook_configuration": []string{"x"}},
		"odd": map[string]any{
			"id": numberID, "status": long, "platform_type": long, "name_status": long, "quality_rating": long, "throughput": map[string]any{"level": long},
			"health_status": map[string]any{"can_send_message": "BLOCKED", "entities": []any{
				map[string]any{"entity_type": long, "can_send_message": "BLOCKED"},
				map[string]any{"entity_type": "WABA", "can_send_message": "BLOCKED", "errors": []any{map[string]any{"error_code": 1, "error_description": long}}},
			}},
			"webhook_configuration": map[string]any{"application": "://" + accessToken, "phone_number": "mailto:x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
			t.Cleanup(s.Close)
			e := egress.New(egress.Options{})
			t.Cleanup(e.Close)
			c := whatsapp.NewClient(whatsapp.ClientConfig{APIBase: s.URL, PhoneNumberID: numberID, WABAID: examinedWABA, AccessToken: accessToken}, e)
			text := factsText(c.Examine(t.Context(), whatsapp.Callbacks{Names: []string{"meta"}, Secrets: []string{"s"}}))
			if strings.Contains(text, accessToken) || len(text) > 10_000 {
				t.Errorf("%d bytes: %.2000s", len(text), text)
			}
		})
	}
}

// It ends with its context.
func TestExamineEnds(t *testing.T) {
	t.Parallel()
	s := sandboxOfNumber(t)
	addFault(t, s, sandbox.Fault{Op: sandbox.OpRead, Drop: sandbox.DropHang, Skip: 2})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	facts := newSender(t, s.URL(), egress.Options{}).Examine(ctx, whatsapp.Callbacks{Names: []string{"meta"}, Secrets: []string{"app-secret"}})
	last := facts[len(facts)-1]
	if len(facts) < 4 || facts[0].Level != "info" || last.Level != "warning" {
		t.Errorf("%s", factsText(facts))
	}
}
