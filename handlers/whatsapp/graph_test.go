package whatsapp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

func sandboxOfNumber(t *testing.T) *whatsapptest.Sandbox {
	t.Helper()
	s, err := whatsapptest.New(whatsapptest.Options{AppSecret: "app-secret", AccessToken: accessToken, PhoneNumberID: numberID, DisplayNumber: "15550100099"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// checkTried wants a state and a code, advice exactly where nothing is well, and
// no secret, id or number.
func checkTried(t *testing.T, r handlers.Credentials, state handlers.CredentialState, code string) {
	t.Helper()
	if r.State != state || r.Code != code {
		t.Errorf("got %+v, want %s %q", r, state, code)
	}
	if (r.Do == "") != (state == handlers.CredentialsTaken) || (r.Detail == "" && state != handlers.CredentialsTaken) {
		t.Errorf("advice or meaning is missing: %+v", r)
	}
	for _, h := range []string{accessToken, numberID, "15550100099", "access_token=", "fields="} {
		if strings.Contains(r.Detail+r.Code+strings.ReplaceAll(r.Do, "access_token of", ""), h) {
			t.Errorf("the result holds %q: %+v", h, r)
		}
	}
}

// What Meta answers to a question about the number decides, and nothing is sent.
func TestTryCredentials(t *testing.T) {
	t.Parallel()
	s := sandboxOfNumber(t)
	ask := func(id, token string) handlers.Credentials {
		e := egress.New(egress.Options{})
		defer e.Close()
		return whatsapp.NewClient(whatsapp.ClientConfig{APIBase: s.URL(), PhoneNumberID: id, AccessToken: token}, e).TryCredentials(t.Context())
	}
	checkTried(t, ask(numberID, accessToken), handlers.CredentialsTaken, "")
	checkTried(t, ask(numberID, "TOKENMARK-other"), handlers.CredentialsRefused, "190")
	checkTried(t, ask("417700000000999", accessToken), handlers.CredentialsRefused, "33")
	checkTried(t, ask("a/b?c", accessToken), handlers.CredentialsRefused, "33")

	const refused, untried = handlers.CredentialsRefused, handlers.CredentialsUntried
	for _, tt := range []struct {
		fault sandbox.Fault
		state handlers.CredentialState
		code  string
		do    string
	}{
		{sandbox.Fault{Code: 10}, refused, "10", "whatsapp_business_management"},
		{sandbox.Fault{Code: 200}, refused, "200", "whatsapp_business_management"},
		{sandbox.Fault{Code: 299}, refused, "299", "whatsapp_business_management"},
		{sandbox.Fault{Code: 100}, refused, "100", "phone_number_id"},
		{sandbox.Fault{Code: 131031}, refused, "131031", "appeals"},
		{sandbox.Fault{Code: 999}, refused, "999", "list of error codes"},
		{sandbox.Fault{Code: 999, Status: 503}, untried, "999", "later"},
		{sandbox.Fault{Code: 4}, untried, "4", "later"},
		{sandbox.Fault{Code: 80007}, untried, "80007", "later"},
		{sandbox.Fault{Code: 2}, untried, "2", "later"},
		{sandbox.Fault{Status: 502}, untried, "http_502", "proxy"},
		{sandbox.Fault{Status: 401}, untried, "http_401", "proxy"},
		{sandbox.Fault{Drop: sandbox.DropReset}, untried, "reset", "HTTPS"},
	} {
		tt.fault.Op, tt.fault.Name = sandbox.OpRead, "one"
		if _, err := s.Faults().Add(tt.fault); err != nil {
			t.Fatal(err)
		}
		r := ask(numberID, accessToken)
		checkTried(t, r, tt.state, tt.code)
		if !strings.Contains(r.Do, tt.do) {
			t.Errorf("%+v: advice %q", tt.fault, r.Do)
		}
		s.Faults().Remove("one")
	}
	if n := len(s.Calls()); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	checkTried(t, ask(numberID, accessToken), untried, "refused")
}

// A platform that says nothing is given up with the context, and a page in its
// place is none of its answers.
func TestTryCredentialsOfStrangers(t *testing.T) {
	t.Parallel()
	played := fmt.Sprintf(`{"error":{"message":"Error validating access token %s of %s","code":190}}`, accessToken, numberID)
	for name, c := range map[string]struct {
		h     http.HandlerFunc
		state handlers.CredentialState
		code  string
	}{
		"silent":      {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, handlers.CredentialsUntried, "timeout"},
		"page":        {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, handlers.CredentialsUntried, "http_200"},
		"other":       {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":"1"}`)) }, handlers.CredentialsUntried, "unreadable"},
		"other shape": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":1}`)) }, handlers.CredentialsUntried, "unreadable"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/?t="+accessToken, http.StatusFound)
		},
			handlers.CredentialsUntried, "http_302"},
		"plays back": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(played)) }, handlers.CredentialsRefused, "190"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.h)
			t.Cleanup(s.Close)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			checkTried(t, newSender(t, s.URL, egress.Options{}).TryCredentials(ctx), c.state, c.code)
		})
	}
	checkTried(t, newSender(t, "://"+accessToken, egress.Options{}).TryCredentials(t.Context()), handlers.CredentialsRefused, "bad_url")
}

// A number of poor quality is still taken, and said.
func TestTryCredentialsTellsQuality(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer "+accessToken || !strings.Contains(r.URL.Query().Get("fields"), "quality_rating") {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		_, _ = fmt.Fprintf(w, `{"id":%q,"display_phone_number":"+1 555-010-0099","verified_name":"Shop","quality_rating":"RED"}`, numberID)
	}))
	t.Cleanup(s.Close)
	r := newSender(t, s.URL, egress.Options{}).TryCredentials(t.Context())
	checkTried(t, r, handlers.CredentialsTaken, "")
	if r.Detail != "quality rating red" {
		t.Errorf("%+v", r)
	}
}

// A refused question holds back no send: the next message goes at once.
func TestTryCredentialsHoldsNoSend(t *testing.T) {
	t.Parallel()
	s := sandboxOfNumber(t)
	if _, err := s.Faults().Add(sandbox.Fault{Op: sandbox.OpRead, Code: 190}); err != nil {
		t.Fatal(err)
	}
	c := newSender(t, s.URL(), egress.Options{})
	checkTried(t, c.TryCredentials(t.Context()), handlers.CredentialsRefused, "190")
	if o := c.Send(t.Context(), outgoing(toPhone("15550100025"), "x", 1)); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("%+v", o)
	}
	// And the first refusal of a send begins with the shortest pause.
	if _, err := s.Faults().Add(sandbox.Fault{Code: 190}); err != nil {
		t.Fatal(err)
	}
	if o := c.Send(t.Context(), outgoing(toPhone("15550100025"), "x", 1)); o.After > 30*time.Second || o.After < 29*time.Second {
		t.Errorf("%+v", o)
	}
}
