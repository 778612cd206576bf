package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// A plain client of the broker writes first: answered when the message is on disk, so
// that a death right afterwards loses nothing; refused with the field named; and only
// from the accounts it may.
func TestSendByRequest(t *testing.T) {
	begin(t)
	w := newWorld(t, worldOptions{})
	w.edit("observe: true}", "observe: true, send: [shop-a]}")
	w.fault(sandbox.Fault{Name: "no statuses", Stage: sandbox.After, NoStatuses: true})
	w.start("")
	w.up()
	nc, err := stream.Dial("nats://"+w.nats, nats.UserInfo("bot", "bot-password"), nats.CustomInboxPrefix(stream.InboxPrefix("bot")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	const who = "16660310001"
	ask := func(subject, body string) (answer struct {
		gateway.Submitted
		Status int
		Errors []admin.InvalidField
	}) {
		t.Helper()
		w.until(30*time.Second, "the gateway answers on "+subject, func() bool { // it may come up after the webhook does
			m, err := nc.Request(subject, []byte(body), 2*time.Second)
			return err == nil && json.Unmarshal(m.Data, &answer) == nil
		})
		return answer
	}
	body := `{"to":{"kind":"phone","value":"` + who + `"},"content":{"text":"hello"},"idempotency_key":"k1",
		"scheduled_at":"` + time.Now().Add(8*time.Second).UTC().Format(time.RFC3339) + `"}` // so that the kill comes before the call
	first := ask("cw.send.shop-a", body)
	w.kill()
	w.start("")
	w.up()
	if first.Status != 0 || first.State != gateway.MessageWaiting || len(first.Messages) != 1 {
		t.Fatalf("answer %+v", first)
	}
	w.settled(30 * time.Second)
	if got := texts(accepted(w.calls(who))); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("sent %v", got)
	}
	if again := ask("cw.send.shop-a", body); again.ID != first.ID || again.State != gateway.MessageAccepted {
		t.Errorf("asked again: %+v", again)
	}
	for body, field := range map[string]string{
		`{"account":"corp-a","to":{"kind":"phone","value":"` + who + `"},"content":{"text":"x"}}`:              "account",
		`{"to":{"kind":"phone","value":"` + who + `"},"content":{"text":"` + strings.Repeat("x", 4097) + `"}}`: "content.text",
		`{"to":{"kind":"phone","value":"` + who + `"},"content":{"text":"x"},"callback":"crm"}`:                "callback",
		`not JSON`: "body",
	} {
		if got := ask("cw.send.shop-a", body); got.Status != http.StatusBadRequest || len(got.Errors) != 1 || got.Errors[0].Field != field {
			t.Errorf("%.60s: %+v", body, got)
		}
	}
	if m, err := nc.Request("cw.send.shop-b", []byte(body), time.Second); err == nil {
		t.Errorf("from another account: %s", m.Data)
	}
	if s := w.sums().Messages; s.Taken != 1 {
		t.Errorf("messages %+v", s)
	}
}

// Scheduled messages are found, moved, spread, held, released and taken back by
// command; over a restart, what is left fires once and in order.
func TestQueueByCommand(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	const who = "1666031100"
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for i := range 5 {
		for j := range 2 {
			status, _, text := w.submit(fmt.Sprintf(`{"account":"shop-a","to":{"kind":"phone","value":"%s%d"},"parts":[{"text":"%d.1"},{"text":"%d.2"}],
				"idempotency_key":"june-%d-%d","scheduled_at":"%s"}`, who, i, j, j, i, j, at.Add(time.Duration(j)*time.Minute).Format(time.RFC3339)))
			if status != http.StatusAccepted {
				t.Fatalf("%d %s", status, text)
			}
		}
	}
	run := func(want string, args ...string) {
		t.Helper()
		if said, code := w.cli(append([]string{"messages"}, args...)...); code != exitOK || !strings.Contains(said, want) {
			t.Errorf("%v: %d %s, want %q", args, code, said, want)
		}
	}
	run("there is more", "ls", "--state", "waiting", "--limit", "3")
	run("no messages", "ls", "--state", "waiting", "--due-until", "+30m")
	run("20 messages would be cancelled", "cancel", "--key", "june-", "--dry-run")
	run("4 messages cancelled", "cancel", "--key", "june-4-")
	run("8 messages held", "set", "--due-until", at.Add(time.Second).Format(time.RFC3339), "--state", "waiting", "--hold")
	run("8 messages changed", "set", "--state", "held", "--priority", "1")
	run("8 messages released", "set", "--state", "held", "--release")
	run("16 messages moved", "reschedule", "--key", "june-", "--at", time.Now().Add(3*time.Second).UTC().Format(time.RFC3339))
	w.kill()
	w.start("")
	w.up()
	w.quiet(30 * time.Second)
	for i := range 4 {
		if got, want := texts(accepted(w.calls(fmt.Sprint(who, i)))), []string{"0.1", "0.2", "1.1", "1.2"}; !slices.Equal(got, want) {
			t.Errorf("customer %d was sent %v", i, got)
		}
	}
	w.oncePerMessage()
	if s := w.sums().Messages; s.Accepted != 16 || s.Cancelled != 4 {
		t.Errorf("messages %+v", s)
	}
	var log struct{ Audit []gateway.AuditEntry }
	if err := w.get("/api/v1/audit?limit=5", &log); err != nil || log.Audit[0].What != "reschedule" || !strings.HasPrefix(log.Audit[0].Target, "16 messages, ms_") {
		t.Errorf("audit %+v, %v", log.Audit, err)
	}
}

// An unknown message is settled by a person: sent again once, with the parts behind it.
func TestUnknownIsResolved(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	const who = "16660312001"
	w.fault(sandbox.Fault{Text: "two", Drop: sandbox.DropReset, Next: 1})
	_, out, _ := w.submit(`{"account":"shop-a","to":{"kind":"phone","value":"` + who + `"},"parts":[{"text":"one"},{"text":"two"},{"text":"three"}]}`)
	w.until(30*time.Second, "the outcome is not known", func() bool { return w.message(out.Messages[1]).State == "unknown" })
	if said, code := w.cli("messages", "resolve", out.Messages[0], "--sent"); code != exitFailed {
		t.Errorf("one that was taken: %d %s", code, said)
	}
	if said, code := w.cli("messages", "resolve", out.Messages[1], "--send-again", "--rest"); code != exitOK {
		t.Errorf("%d %s", code, said)
	}
	w.settled(30 * time.Second)
	if got, want := texts(accepted(w.calls(who))), []string{"one", "two", "three"}; !slices.Equal(got, want) {
		t.Errorf("sent %v", got)
	}
	if m := w.message(out.Messages[1]); m.State != "accepted" || m.TaskState != "accepted" || m.Attempts != 2 || len(m.Calls) != 2 {
		t.Errorf("%+v", m)
	}
}
