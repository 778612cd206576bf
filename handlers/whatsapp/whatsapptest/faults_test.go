package whatsapptest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

func TestPairLimit(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	s := start(t, whatsapptest.Options{Rules: whatsapptest.Rules{Pair: true}, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	refused := 0
	for n := range 50 {
		if status, body := send(t, s, "+15550100025", "x", fmt.Sprint(n)); status == 400 && strings.Contains(body, `"code":131056`) {
			refused++
		}
	}
	if refused != 5 {
		t.Errorf("%d refused of 50, want 5", refused)
	}
	if status, _ := send(t, s, "+15550100026", "x", "other"); status != 200 {
		t.Error("another recipient was refused")
	}
	mu.Lock()
	now = now.Add(6 * time.Second)
	mu.Unlock()
	first, _ := send(t, s, "+15550100025", "x", "a")
	second, _ := send(t, s, "+15550100025", "x", "b")
	if first != 200 || second != 400 {
		t.Errorf("after 6 s: %d, %d; want one message only", first, second)
	}
	s.SetRules(whatsapptest.Rules{})
	if status, _ := send(t, s, "+15550100025", "x", "c"); status != 200 {
		t.Error("refused with the limit off")
	}
}

func TestFaultsOfMessages(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Workers: 1})
	add := func(f sandbox.Fault) {
		t.Helper()
		if _, err := s.Faults().Add(f); err != nil {
			t.Fatal(err)
		}
	}
	add(sandbox.Fault{Text: "throttled", Code: 130429, Status: 429, RetryAfterS: 5, Next: 1})
	if status, body := send(t, s, "+1555010001", "throttled", "a"); status != 429 || !strings.Contains(body, "130429") {
		t.Errorf("got %d %s", status, body)
	}
	if status, _ := send(t, s, "+1555010001", "throttled", "a"); status != 200 {
		t.Errorf("the fault hit more than once: %d", status)
	}
	for range 3 {
		<-g.came
	}
	add(sandbox.Fault{Text: "fails later", Stage: sandbox.After, FailCode: 131047})
	if status, _ := send(t, s, "+1555010002", "fails later", "b"); status != 200 {
		t.Error("not accepted")
	}
	st := decode(t, <-g.came).Entry[0].Changes[0].Value.Statuses[0]
	if st["status"] != "failed" || st["errors"].([]any)[0].(map[string]any)["code"] != 131047.0 || st["biz_opaque_callback_data"] != "b" {
		t.Errorf("got %v", st)
	}
	add(sandbox.Fault{Text: "silent", Stage: sandbox.After, NoStatuses: true})
	send(t, s, "+1555010003", "silent", "c")
	flush(t, s)
	if len(g.came) != 0 {
		t.Errorf("a status came: %s", <-g.came)
	}
	s.Courier().Distort(sandbox.Distortion{Reverse: true, Copies: 1})
	send(t, s, "+1555010004", "reversed", "d")
	flush(t, s)
	counts, first := map[string]int{}, ""
	for range 6 {
		state := decode(t, <-g.came).Entry[0].Changes[0].Value.Statuses[0]["status"].(string)
		if first == "" {
			first = state
		}
		counts[state]++
	}
	if d := cmp.Diff(map[string]int{"sent": 2, "delivered": 2, "read": 2}, counts); d != "" || first != "read" {
		t.Errorf("first %s; %s", first, d)
	}
}

// A status may come before the answer to the send call.
func TestStatusOvertakesTheAnswer(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL, Delivered: -1, Read: -1})
	if _, err := s.Faults().Add(sandbox.Fault{Stage: sandbox.After, DelayMS: 60_000}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v26.0/"+number+"/messages",
			strings.NewReader(`{"messaging_product":"whatsapp","to":"+15550100025","text":{"body":"x"},"biz_opaque_callback_data":"m"}`))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
			t.Error("the answer came before its time")
		}
	}()
	if st := decode(t, <-g.came).Entry[0].Changes[0].Value.Statuses[0]; st["status"] != "sent" {
		t.Errorf("got %v", st)
	}
	if sum := s.CallLog().Summary(); sum.Running != 1 || sum.Accepted != 1 {
		t.Errorf("got %+v", sum)
	}
	cancel()
	<-answered
}

func TestControl(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{})
	do := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/_sandbox/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, strings.TrimSpace(string(b))
	}
	steps := []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"PUT", "callback", `{"url":"` + g.URL + `"}`, 200, "http"},
		{"POST", "verify", `{"verify_token":"verify"}`, 200, `true`},
		{"POST", "verify", `{"verify_token":"no"}`, 400, `error`},
		{"POST", "customer", `{"from":"15550100025","text":"hi"}`, 200, "wamid."},
		{"POST", "customer", `{"from":""}`, 400, "must be set"},
		{"POST", "colleague", `{"to":"15550100025","text":"hi"}`, 200, "wamid."},
		{"POST", "colleague", `{}`, 400, "must be set"},
		{"POST", "deliver", `{"any":"body"}`, 200, "queued"},
		{"PUT", "limits", `{"pair":true}`, 200, "true"},
		{"POST", "faults", `{"code":131056,"next":1}`, 200, "fault-1"},
		{"GET", "faults", ``, 200, "131056"},
		{"POST", "faults", `{"stage":"never"}`, 400, "stage must be"},
		{"POST", "faults", `{"flavor":"sour"}`, 400, "unknown field"},
		{"DELETE", "faults?name=other", ``, 400, "no fault"},
		{"DELETE", "faults", ``, 200, "[]"},
		{"GET", "summary", ``, 200, `"calls":0`},
		{"GET", "calls", ``, 200, "[]"},
		{"PUT", "calls", ``, 405, ""},
		{"GET", "nothing", ``, 404, ""},
	}
	for _, st := range steps {
		if status, body := do(st.method, st.path, st.body); status != st.status || !strings.Contains(body, st.has) {
			t.Errorf("%s %s %s: got %d %s", st.method, st.path, st.body, status, body)
		}
	}
	flush(t, s)
	if len(g.came) != 3 {
		t.Errorf("%d callbacks came, want 3", len(g.came))
	}
}
