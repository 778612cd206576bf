package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// submit posts a submission and returns status, answer and body.
func (w *world) submit(body string) (int, gateway.Submitted, string) {
	w.t.Helper()
	status, text := w.raw(http.MethodPost, "/api/v1/messages", testToken, []byte(body))
	var out gateway.Submitted
	if status/100 == 2 && json.Unmarshal([]byte(text), &out) != nil {
		w.t.Fatalf("%d %s", status, text)
	}
	return status, out, text
}

func (w *world) message(id string) (m messageView) {
	w.t.Helper()
	if err := w.get("/api/v1/messages/"+id, &m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// We write first: to somebody unknown, in parts, by command, under a key. What the
// customer writes then is in the same conversation. What would be refused is said
// at once and is not taken.
func TestSubmitToACustomer(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	const who = "16660300001"
	status, out, text := w.submit(`{"account":"shop-a","to":{"kind":"phone","value":"+` + who + `"},
		"parts":[{"text":"one"},{"text":"two"}],"idempotency_key":"order-17"}`)
	if status != http.StatusAccepted || out.State != gateway.MessageWaiting || len(out.Messages) != 2 || out.ID != out.Messages[0] {
		t.Fatalf("%d %s", status, text)
	}
	w.settled(30 * time.Second)
	w.says(who, "three")
	w.settled(30 * time.Second)
	if said, code := w.cli("send", "--account", "shop-a", "--to", "phone:"+who, "four"); code != exitOK || !strings.Contains(said, out.Conv) {
		t.Errorf("%d %s", code, said)
	}
	w.settled(30 * time.Second)
	if got := texts(accepted(w.calls(who))); len(got) != 4 || got[0] != "one" || got[1] != "two" || got[3] != "four" {
		t.Errorf("sent %v", got)
	}
	c := w.customerConv(who)
	if c.Conv != out.Conv || len(c.Events) == 0 || len(c.Messages) != 4 || c.Messages[0].Event != "" || c.Messages[2].Event == "" {
		t.Errorf("conversation %+v", c)
	}
	again, known, text := w.submit(`{"idempotency_key":"order-17","parts":[{"text":"one"},{"text":"two"}],"to":{"value":"+` + who + `","kind":"phone"},"account":"shop-a"}`)
	out.State = gateway.MessageAccepted
	if d := cmp.Diff(out, known); again != http.StatusOK || d != "" {
		t.Errorf("the same request: %d %s\n%s", again, text, d)
	}
	for body, field := range map[string]string{
		`{"account":"shop-a","to":{"kind":"phone","value":"` + who + `"},"content":{"text":"` + strings.Repeat("x", 4097) + `"}}`:                                "content.text",
		`{"account":"shop-a","to":{"kind":"phone","value":"` + who + `"},"parts":[{"text":"x"},{"type":"news","news":[{"title":"t","url":"http://x.test"}]}]}`:   "parts[1].type",
		`{"account":"nobody","to":{"kind":"phone","value":"` + who + `"},"content":{"text":"x"}}`:                                                                "account",
		`{"account":"shop-a","to":{"kind":"userid","value":"LiSi"},"content":{"text":"x"}}`:                                                                      "to.kind",
		`{"account":"shop-a","to":{"kind":"phone","value":"Ann"},"content":{"text":"x"}}`:                                                                        "to.value",
		`{"account":"shop-a","content":{"text":"x"}}`:                                                                                                            "to",
		`{"account":"shop-a","conversation":"` + strings.Repeat("a", 26) + `","content":{"text":"x"}}`:                                                           "conversation",
		`{"account":"shop-a","conversation":"` + out.Conv + `","content":{"type":"image","file":{"file":"` + strings.Repeat("0", 64) + `","mime":"image/png"}}}`: "content.file.file",
		`{"account":"shop-a","conversation":"` + out.Conv + `","content":{"text":"x"},"expires_at":"2020-01-01T00:00:00Z"}`:                                      "expires_at",
		`{"account":"shop-a","conversation":"` + out.Conv + `","content":{"text":"x"},"scheduled_at":"2226-01-01T00:00:00Z"}`:                                    "scheduled_at",
	} {
		status, _, text := w.submit(body)
		var p admin.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || status != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%.100s: %d %s, want %s", body, status, text, field)
		}
	}
	// All of it at once.
	_, _, text = w.submit(`{"account":"shop-a","to":{"kind":"phone","value":"Ann"},"callback":"nobody","scheduled_at":"2226-01-01T00:00:00Z","expires_at":"2020-01-01T00:00:00Z",
		"parts":[{"text":"` + strings.Repeat("x", 4097) + `"},{"text":"right"},{"type":"news","news":[{"title":"t","url":"http://x.test"}]}]}`)
	var wrong admin.Problem
	if err := json.Unmarshal([]byte(text), &wrong); err != nil {
		t.Error(err)
	}
	var fields []string
	for _, f := range wrong.Errors {
		fields = append(fields, f.Field)
	}
	if d := cmp.Diff([]string{"scheduled_at", "expires_at", "callback", "to.value", "parts[0].text", "parts[2].type"}, fields); d != "" {
		t.Error(d)
	}
	if status, _, text := w.submit(`{"account":"shop-a","to":{"kind":"phone","value":"` + who + `"},"content":{"text":"other"},"idempotency_key":"order-17"}`); status != http.StatusConflict {
		t.Errorf("another request under the key: %d %s", status, text)
	}
	if s := w.sums(); s.Messages.Taken != 4 || s.Messages.Accepted != 4 {
		t.Errorf("messages %+v", s.Messages)
	}
	w.oncePerMessage()
	for _, secret := range []string{who, "order-17"} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// The process dies between the check and the commit, or after the commit and before
// the answer. The same request finds what is there, and one message leaves.
func TestKillWhileSubmitting(t *testing.T) {
	t.Parallel()
	for _, step := range steps("submit.") {
		t.Run(step, func(t *testing.T) {
			begin(t)
			w := newWorld(t, worldOptions{})
			p := w.start(step + ":1")
			w.up()
			const who = "16660300002"
			const body = `{"account":"shop-a","to":{"kind":"phone","value":"` + who + `"},"content":{"text":"once"},"idempotency_key":"k"}`
			if err := w.call(http.MethodPost, "/api/v1/messages", json.RawMessage(body), nil); err == nil {
				t.Fatal("answered by a process that should have died")
			}
			w.dies(p, step)
			w.start("")
			w.up()
			want := http.StatusAccepted
			if step == "submit.committed" {
				want = http.StatusOK
				w.quiet(30 * time.Second) // it leaves, though nobody asks again
			}
			status, out, text := w.submit(body)
			if status != want {
				t.Errorf("asked again: %d %s, want %d", status, text, want)
			}
			w.quiet(30 * time.Second)
			calls := w.calls(who)
			if len(calls) != 1 || calls[0].Marker != out.ID {
				t.Errorf("%d calls, of %q; the message is %s", len(calls), texts(calls), out.ID)
			}
			if s := w.sums(); s.Messages.Taken != 1 || s.Messages.Accepted != 1 {
				t.Errorf("messages %+v", s.Messages)
			}
		})
	}
}

// A message for later survives a restart and leaves once, at its time. One that is
// taken back and one whose end comes first do not leave.
func TestSubmitForLater(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	const who = "16660300003"
	w.fault(sandbox.Fault{Text: "never", Code: 130429})
	at := time.Now().Add(8 * time.Second).UTC().Truncate(time.Second)
	var ids []string
	for _, part := range []string{
		`"content":{"text":"kept"},"scheduled_at":"` + at.Format(time.RFC3339) + `"`,
		`"parts":[{"text":"taken back"},{"text":"and this"}],"scheduled_at":"` + at.Format(time.RFC3339) + `"`,
		`"content":{"text":"never"},"scheduled_at":"` + at.Add(time.Second).Format(time.RFC3339) + `","expires_at":"` + at.Add(2*time.Second).Format(time.RFC3339) + `"`,
	} {
		status, out, text := w.submit(`{"account":"shop-a","to":{"kind":"phone","value":"` + who + `"},` + part + `}`)
		if status != http.StatusAccepted {
			t.Fatalf("%d %s", status, text)
		}
		ids = append(ids, out.ID)
	}
	if said, code := w.cli("messages", "cancel", ids[1]); code != exitOK {
		t.Errorf("cancel: %d %s", code, said)
	}
	w.stop()
	w.start("")
	w.up()
	w.until(time.Minute, "the one that is left leaves", func() bool { return w.message(ids[0]).State == "accepted" })
	w.until(time.Minute, "the other expires", func() bool { return w.message(ids[2]).State == "expired" })
	calls := accepted(w.calls(who))
	if len(calls) != 1 || calls[0].Text != "kept" || calls[0].Start.Before(at) {
		t.Errorf("calls %+v", calls)
	}
	if said, code := w.cli("messages", "cancel", ids[0]); code != exitFailed {
		t.Errorf("cancelled after it left: %d %s", code, said)
	}
	m := w.message(ids[1])
	if s := w.sums().Messages; m.State != "cancelled" || m.Reason != "by operator" || s.Taken != 4 || s.Accepted != 1 || s.Cancelled != 2 || s.Expired != 1 {
		t.Errorf("%s %q, %+v", m.State, m.Reason, s)
	}
}

// An app writes to a member and to a chat that it made, each in order; a chat that
// is not there is a dead letter.
func TestSubmitToAChat(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{})
	chat, _ := wc.MakeChat("CHAT17", "LiSi", "ZhangSan")
	for _, body := range []string{
		`{"account":"corp-a","to":{"kind":"group","value":"` + chat + `"},"parts":[{"text":"one"},{"type":"markdown","text":"**two**"}]}`,
		`{"account":"corp-a","to":{"kind":"userid","value":"LiSi"},"content":{"text":"to you"}}`,
		`{"account":"corp-a","to":{"kind":"group","value":"CHATNONE"},"content":{"text":"nobody"}}`,
	} {
		if status, _, text := w.submit(body); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, text)
		}
	}
	w.settled(30 * time.Second)
	for to, want := range map[string][]string{chat: {"one", "**two**"}, "LiSi": {"to you"}} {
		if got := texts(accepted(callsTo(slices.Clone(wc.Calls()), to))); !slices.Equal(got, want) {
			t.Errorf("%s was sent %v", to, got)
		}
	}
	if s := w.sums().Messages; s.Accepted != 3 || s.Rejected != 1 {
		t.Errorf("messages %+v", s)
	}
	if dead := w.deadLetters(); len(dead) != 1 || !strings.HasPrefix(dead[0].Detail, "86003") || dead[0].App != "" {
		t.Errorf("dead letters %+v", dead)
	}
	// The member writes: it is the same conversation, whatever the case of the name.
	_, inner := wc.Message("lisi", "text", wecomtest.Field{Name: "Content", Value: "hello"})
	if code, _, err := wc.Post(t.Context(), inner); err != nil || code != http.StatusOK {
		t.Fatal(code, err)
	}
	w.settled(30 * time.Second)
	if c := w.conversation("wecom", "corp-a", "userid", "lisi"); len(c.Messages) != 2 || len(c.Events) == 0 {
		t.Errorf("%d messages, %d events", len(c.Messages), len(c.Events))
	}
	for _, body := range []string{
		`{"account":"corp-a","to":{"kind":"group","value":"` + chat + `"},"content":{"text":"` + strings.Repeat("谢", 683) + `"}}`,
		`{"account":"corp-a","to":{"kind":"group","value":"` + chat + `"},"content":{"type":"recall","quote":"m1"}}`,
		`{"account":"corp-a","to":{"kind":"userid","value":"@all"},"content":{"text":"everybody"}}`,
	} {
		if status, _, text := w.submit(body); status != http.StatusBadRequest {
			t.Errorf("%d %s", status, text)
		}
	}
}

// The robot of a group writes to its group without anybody being named, and every
// request finds the same conversation.
func TestSubmitToARobotsGroup(t *testing.T) {
	begin(t)
	const key = "693a91f6-7xxx-4bc4-97a0-0ec2sifa5aaa"
	g, err := wecomtest.NewGroup(wecomtest.GroupOptions{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	w := newCase(t, worldOptions{accounts: fmt.Sprintf("  - {name: alerts, platform: wecom, kind: robot, key: %s, api_base: %q}\n", key, g.URL())})
	_, first, text := w.submit(`{"account":"alerts","parts":[{"text":"one"},{"type":"markdown","text":"**two**"}]}`)
	if said, code := w.cli("send", "--account", "alerts", "three"); code != exitOK || first.Conv == "" || !strings.Contains(said, first.Conv) {
		t.Errorf("%d %s; first %s", code, said, text)
	}
	w.settled(30 * time.Second)
	if got, want := texts(accepted(g.Calls())), []string{"one", "**two**", "three"}; !slices.Equal(got, want) {
		t.Errorf("the group was sent %v", got)
	}
	if status, _, text := w.submit(`{"account":"alerts","to":{"kind":"group","value":"another"},"content":{"text":"x"}}`); status != http.StatusBadRequest {
		t.Errorf("to another group: %d %s", status, text)
	}
	if strings.Contains(w.said(), key) {
		t.Error("the log holds the key")
	}
}
