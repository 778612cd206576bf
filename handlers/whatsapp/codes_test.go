package whatsapp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// documented are the codes that Meta lists for sending, and what they must become.
// It is written out beside the table on purpose: a row moved by mistake is seen.
func documented() map[string][]int {
	return map[string][]int{
		// too fast, certainly not sent
		"retry account 1m0s pace app":  {4, 613},
		"retry account 1m0s pace waba": {80007},
		"retry account 1s pace":        {130429},
		"retry pair 1s pace":           {131056, 131208},
		// nothing that begins a conversation goes just now
		"retry templates 5m0s":       {131048},
		"retry templates 5m0s  waba": {131064},
		// its number is being worked on
		"retry account 1m0s": {131057, 2494100},
		// not just now, a few times
		"retry pair 5s":   {131053},
		"retry pair 1m0s": {134101},
		// nobody can tell whether it was sent
		"unknown  0s": {1, 2, 131000, 131016, 133004},
		// this message never goes
		"rejected  0s": {
			100, 130403, 130472, 130497, 131008, 131009, 131020, 131021, 131026, 131030, 131041, 131047, 131049, 131050, 131051, 131052, 131055,
			131062, 131063, 131207, 131212, 132000, 132001, 132005, 132007, 132012, 132015, 132016, 132068, 132069,
			134100, 134102, 135000, 137000,
		},
		// nothing of the account goes before a person acts
		"retry account 30s credential app":    {0, 190},
		"retry account 30s credential access": {3, 10, 200, 210, 299, 131005},
		"retry account 30s credential":        {33},
		"retry account 30s policy waba":       {368, 131031, 131042, 131044, 134011},
		"retry account 30s policy":            {131037, 131045, 133006, 133010, 133016, 136024},
	}
}

// brief is what follows: kind, who waits, for how long, why, and who else.
func brief(o gateway.Outcome) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %v %s %s", o.Kind, o.Scope, o.After, o.Blame, o.Share))
}

func TestDocumentedCodes(t *testing.T) {
	t.Parallel()
	listed := map[int]bool{}
	for want, codes := range documented() {
		for _, code := range codes {
			listed[code] = true
			c := newSender(t, answering(t, 400, nil, fmt.Sprintf(`{"error":{"code":%d}}`, code)), egress.Options{})
			o := c.Send(t.Context(), outgoing(toPhone("15550100025"), "x", 1))
			if brief(o) != want || o.Code != strconv.Itoa(code) {
				t.Errorf("%d: got %s (code %s), want %s", code, brief(o), o.Code, want)
			}
		}
	}
	for _, c := range whatsapp.Codes() {
		if !listed[c.Code] {
			t.Errorf("%d is in the table and not in this test", c.Code)
		}
		if (c.Class == whatsapp.ClassBusy) != (c.Tries > 0) {
			t.Errorf("%d: class %s with %d tries", c.Code, c.Class, c.Tries)
		}
	}
}

// A code that came in the status of a message says the same of all but the message as
// one that came in the answer; that a token is refused is not said so.
func TestFailedLater(t *testing.T) {
	t.Parallel()
	for said, codes := range documented() {
		more := strings.HasPrefix(said, "retry") && !strings.Contains(said, "credential")
		for _, code := range codes {
			if code == 131053 || code == 134101 { // about this message
				more = false
			}
			c := newSender(t, "http://127.0.0.1:1", egress.Options{})
			for range 2 { // told twice it is the same
				o, ok := c.FailedLater(code)
				if ok != more || ok && (brief(o) != said || o.Code != strconv.Itoa(code) || o.Detail == "") {
					t.Errorf("%d: %v, %s, want %v, %s", code, ok, brief(o), more, said)
				}
			}
		}
	}
	if o, ok := newSender(t, "http://127.0.0.1:1", egress.Options{}).FailedLater(4711); ok {
		t.Errorf("a code of no table: %+v", o)
	}
}

// While a number may begin no conversation its tries become rarer, also when answers are
// taken meanwhile; a template that is taken ends that.
func TestTemplatesAreTriedMoreRarely(t *testing.T) {
	t.Parallel()
	taken := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"template"`) && !taken {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"code":131048}}`)
			return
		}
		_, _ = io.WriteString(w, `{"messages":[{"id":"wamid.1"}]}`)
	}))
	defer s.Close()
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	c := newSender(t, s.URL, egress.Options{Now: func() time.Time { return now }})
	template := outgoing(toPhone("15550100025"), "", 1)
	template.Message.Reply = gateway.Reply{Type: gateway.ReplyTemplate, Template: &gateway.TemplateReply{Name: "hello", Language: "en"}}
	try := func(want time.Duration) {
		t.Helper()
		o := c.Send(t.Context(), template)
		if o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeTemplates || o.After != want {
			t.Errorf("%+v, want a wait of %s", o, want)
		}
		now = now.Add(want)
		if o := c.Send(t.Context(), outgoing(toPhone("15550100025"), "an answer", 1)); o.Kind != gateway.OutcomeAccepted {
			t.Errorf("an answer: %+v", o)
		}
	}
	for _, minutes := range []int{5, 10, 20, 40, 60, 60} {
		try(time.Duration(minutes) * time.Minute)
	}
	taken = true
	if o := c.Send(t.Context(), template); o.Kind != gateway.OutcomeAccepted {
		t.Errorf("%+v", o)
	}
	taken = false
	try(5 * time.Minute)
}

// What is busy is sent again a few times, then it is refused for good.
func TestBusyEnds(t *testing.T) {
	t.Parallel()
	for code, tries := range map[int]int{131053: 2, 134101: 15} {
		c := newSender(t, answering(t, 400, nil, fmt.Sprintf(`{"error":{"code":%d}}`, code)), egress.Options{})
		for attempt := 1; attempt <= tries+1; attempt++ {
			o := c.Send(t.Context(), outgoing(toPhone("15550100025"), "x", attempt))
			if retried := o.Kind == gateway.OutcomeRetry && o.Scope == gateway.ScopePair; retried != (attempt < tries) || !retried && o.Kind != gateway.OutcomeRejected {
				t.Errorf("%d, attempt %d: %+v", code, attempt, o)
			}
		}
		spared := outgoing(toPhone("15550100025"), "x", tries+3) // refused as an account before
		spared.Message.Spared = tries + 2
		if o := c.Send(t.Context(), spared); o.Kind != gateway.OutcomeRetry {
			t.Errorf("%d: an attempt that was not about the message was a try: %+v", code, o)
		}
	}
}

// Every HTTP status: with a code of the table the code decides; with a code that
// nobody knows, and with none, the written defaults.
func TestEveryStatus(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	var body atomic.Pointer[string]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, *body.Load())
	}))
	defer s.Close()
	for code := 200; code <= 599; code++ {
		status.Store(int64(code))
		known, unknown, bare := "rejected  0s", "rejected  0s", "retry account 30s reach"
		switch {
		case code < 300, code >= 500, code == 408:
			unknown, bare = "unknown  0s", "unknown  0s"
		case code == 429:
			unknown, bare = "retry account 1s pace", "retry account 1s pace"
		case code == 413:
			bare = "rejected  0s"
		}
		for text, want := range map[string]string{`{"error":{"code":131026}}`: known, `{"error":{"code":98765}}`: unknown, "": bare, "<html>": bare} {
			if (code == 204 || code == 304) && text != "" {
				continue // these have no body
			}
			body.Store(&text)
			o := newSender(t, s.URL, egress.Options{}).Send(t.Context(), outgoing(toPhone("15550100025"), "x", 1))
			if got := brief(o); got != want {
				t.Errorf("%d %s: got %s (%s), want %s", code, text, got, o.Code, want)
			}
			if strings.Contains(text, "98765") && (o.Code != "other" || !strings.Contains(o.Detail, "98765")) {
				t.Errorf("%d: an unknown code is told as %q, %q", code, o.Code, o.Detail)
			}
		}
	}
}
