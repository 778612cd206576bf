package wecom_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// documented are the codes that WeCom lists for what a sender calls, and what they
// must become at the first try. It is written out beside the table on purpose: a
// row moved by mistake is seen.
func documented() map[string][]int {
	return map[string][]int{
		// a fault of the moment: this conversation, again
		"retry pair 1s": {-1, 6000, 41063},
		// too fast: the account waits the window
		"retry account 1m0s pace corp": {45009, 45011},
		"retry account 1s pace corp":   {45033},
		// nothing of the account goes before its token or a person is there
		"retry account 30s credential": {
			40001, 40014, 41001, 42001, 42009, 40082, 40013, 40091, 48001, 48002, 60011, 60020, 301002, 95011, 95012,
		},
		"retry account 30s policy": {45031, 48004, 48006, 50003, 301007, 93004, 301052, 301053, 95010, 95017},
		// not now, or never
		"rejected  0s": {
			95001, 95002, 95003, 95007, 95013, 95014, 95016, 95018, 95019, 41050, 41051, 41096,
			40003, 40004, 40005, 40006, 40007, 40008, 40009, 40011, 40031, 40033, 40035, 40056, 40058, 40063, 40096, 41005, 41006, 44001, 44004,
			45001, 45002, 45004, 45007, 45008, 46004, 47001, 60111, 81013, 82001, 82004, 84061, 86001, 86003, 86008, 86216, 86217, 93000, 93008,
			95000, 95004, 95008, 95009,
		},
	}
}

// brief is what follows: kind, who waits, for how long, why, and who else.
func brief(o gateway.Outcome) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %v %s %s", o.Kind, o.Scope, o.After, o.Blame, o.Share))
}

// refreshed are the codes that say that the token is used up: one more is fetched
// and the call made once more.
func refreshed(code int) bool {
	return code == 40001 || code == 40014 || code == 41001 || code == 42001
}

func TestDocumentedCodes(t *testing.T) {
	t.Parallel()
	listed := map[int]bool{}
	for want, codes := range documented() {
		for _, code := range codes {
			if listed[code] {
				t.Errorf("%d is listed twice", code)
			}
			listed[code] = true
			a := newAPI(t, says(200, nil, fmt.Sprintf(`{"errcode":%d}`, code)))
			o := newSender(t, a.URL, egress.Options{}, nil).Send(t.Context(), outgoing(toMember("a"), "x", 1))
			calls := 1
			if refreshed(code) {
				calls = 2
			}
			if brief(o) != want || o.Code != strconv.Itoa(code) || len(a.bodies) != calls || a.tokens != calls {
				t.Errorf("%d: got %s (code %s) by %d calls and %d tokens, want %s by %d", code, brief(o), o.Code, len(a.bodies), a.tokens, want, calls)
			}
		}
	}
	for _, c := range wecom.Codes() {
		if !listed[c.Code] {
			t.Errorf("%d is in the table and not in this test", c.Code)
		}
		if c.Meaning == "" || c.Code == 0 || c.Class != wecom.ClassBusy && c.Tries > 0 {
			t.Errorf("%d: %+v", c.Code, c)
		}
	}
	if len(listed) != len(wecom.Codes()) {
		t.Errorf("%d codes listed, %d in the table: one is there twice", len(listed), len(wecom.Codes()))
	}
}

// Every HTTP status without an errcode; with one, the errcode decides.
func TestEveryStatus(t *testing.T) {
	t.Parallel()
	for status := 200; status <= 599; status++ {
		if status == http.StatusNoContent || status == http.StatusNotModified { // no body by HTTP itself
			continue
		}
		a := newAPI(t, func(n int, w http.ResponseWriter) {
			w.WriteHeader(status)
			if n == 2 {
				_, _ = w.Write([]byte(`{"errcode":81013}`))
			}
		})
		c := newSender(t, a.URL, egress.Options{}, nil)
		o := c.Send(t.Context(), outgoing(toMember("a"), "x", 1))
		want, code := "retry account 30s reach", "http_"+strconv.Itoa(status)
		switch {
		case status < 300:
			want, code = "unknown  0s", "unreadable"
		case status >= 500, status == http.StatusRequestTimeout:
			want = "unknown  0s"
		case status == http.StatusTooManyRequests:
			want = "retry account 1s pace"
		case status == http.StatusRequestEntityTooLarge:
			want = "rejected  0s"
		}
		if brief(o) != want || o.Code != code {
			t.Errorf("%d: got %s (%s), want %s (%s)", status, brief(o), o.Code, want, code)
		}
		if o = c.Send(t.Context(), outgoing(toMember("a"), "x", 1)); o.Kind != gateway.OutcomeRejected || o.Code != "81013" {
			t.Errorf("%d with an errcode: %+v", status, o)
		}
		a.Close()
	}
}

// 60020 tells the operator which address to add, wherever it is met, and stops the
// account.
func TestEgressAddress(t *testing.T) {
	t.Parallel()
	const advice = "WeCom sees this machine as 203.0.113.7: add that address to the app's trusted addresses"
	for _, op := range []string{"send", "token", "read"} {
		s := startSandbox(t, wecomtest.Options{})
		c := newSender(t, s.URL(), egress.Options{}, nil)
		addFault(t, s, op, 60020)
		if op != "read" {
			o := c.Send(t.Context(), outgoing(toMember("a"), "x", 1))
			if o.Kind != gateway.OutcomeRetry || o.Scope != gateway.ScopeAccount || o.After < 29*time.Second || !strings.Contains(o.Detail, advice) {
				t.Errorf("%s: %+v", op, o)
			}
		}
		if op != "send" {
			if r := c.TryCredentials(t.Context()); !strings.HasPrefix(r.Do, advice) {
				t.Errorf("%s: %+v", op, r)
			}
		}
	}
	for _, words := range []string{"", "from ip: ", "from ip: LinXiaoyu", "not from here"} {
		a := newAPI(t, says(200, nil, fmt.Sprintf(`{"errcode":60020,"errmsg":%q}`, words)))
		o := newSender(t, a.URL, egress.Options{}, nil).Send(t.Context(), outgoing(toMember("LinXiaoyu"), "x", 1))
		checkQuiet(t, o, "LinXiaoyu")
		if o.Code != "60020" || strings.Contains(o.Detail, "sees") {
			t.Errorf("%q: %+v", words, o)
		}
	}
}
