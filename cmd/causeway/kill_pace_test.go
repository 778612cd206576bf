package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// The process dies twice while a customer's burst leaves, each time in a call that the
// platform's status proves (one that was not made would end its task: unknown). The burst of 45 is lent once:
// what comes after it leaves at one in a second, not in another burst. (The pair's own
// pace, one in six seconds, would make the test long.)
func TestKillLendsNoBurstAnew(t *testing.T) {
	begin(t)
	w := newWorld(t, worldOptions{account: `pace: {account: "0", pair: 60/min, burst: 45}, `})
	first := w.start("outbox.called:20")
	w.up()
	texts := make([]gateway.Reply, 20)
	for i := range texts {
		texts[i].Text = fmt.Sprint("part ", i)
	}
	raw, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 { // for later, so that all are there before the first leaves
		body := fmt.Sprintf(`{"account":"shop-a","to":{"kind":"phone","value":"16660440001"},"parts":%s,"idempotency_key":"k%d","scheduled_at":%q}`,
			raw, i, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		if err := w.call(http.MethodPost, "/api/v1/messages", json.RawMessage(body), nil); err != nil {
			t.Fatal(err)
		}
	}
	now := fmt.Sprintf(`{"do":"reschedule","filter":{"key":"k"},"at":%q}`, time.Now().UTC().Format(time.RFC3339))
	if err := w.call(http.MethodPost, "/api/v1/messages:change", json.RawMessage(now), nil); err != nil && !first.ended() {
		t.Fatal(err) // it may be answered by nobody: the burst leaves at once
	}
	w.dies(first, "outbox.called:20")
	w.dies(w.start("outbox.called:15"), "outbox.called:15")
	w.start("")
	w.up()
	const lent, more = 45, 2
	w.until(60*time.Second, "some leave behind the burst", func() bool { return len(w.wa.Calls()) >= lent+more })
	for i, c := range w.wa.Calls() {
		if want := fmt.Sprint("part ", i%len(texts)); !c.Accepted || c.Text != want {
			t.Errorf("call %d is %q (taken: %t), want %q", i, c.Text, c.Accepted, want)
		}
	}
	var began []time.Time // as the pace counted them
	var list messageList
	if err := w.get("/api/v1/messages?key=k&limit=100", &list); err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Messages {
		var detail struct {
			Calls []struct {
				StartedAt time.Time `json:"started_at"`
			} `json:"calls"`
		}
		if err := w.get("/api/v1/messages/"+m.ID, &detail); err != nil {
			t.Fatal(err)
		}
		for _, c := range detail.Calls {
			began = append(began, c.StartedAt)
		}
	}
	if len(began) < lent+more {
		t.Fatalf("%d calls, want %d", len(began), lent+more)
	}
	for i := lent; i < len(began); i++ {
		if least, got := time.Duration(i+1-lent)*time.Second, began[i].Sub(began[0]); got < least-10*time.Millisecond {
			t.Errorf("call %d began %s after the first, want at least %s", i+1, got, least)
		}
	}
}
