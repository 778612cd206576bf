package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// The process dies between the acknowledgement of a state in CW_STATE and the cursor
// behind it, or right after the cursor. The next one puts the state again or goes on
// behind it: the bucket has what the rows have, of every conversation, and nothing
// older afterwards.
func TestKillWhilePublishingStates(t *testing.T) {
	t.Parallel()
	for _, step := range steps("states.") {
		for _, n := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/%d", step, n), func(t *testing.T) {
				t.Parallel()
				w, wc := newWeComCase(t, worldOptions{apps: "  - {name: echo, builtin: echo}\n"})
				at := time.Now().Add(-time.Hour).Truncate(time.Second)
				changes := [][]byte{w.happens(wc, "add_external_contact", "XuAn", at)}
				for i, who := range []string{"BaiLu", "ChenHao", "LinXiaoyu"} {
					last := []string{"XuAn", "BaiLu", "ChenHao"}[i]
					moved := at.Add(time.Duration(i+1) * time.Minute)
					changes = append(changes, w.happens(wc, "add_external_contact", who, moved), w.happens(wc, "transferred", last, moved))
				}
				w.stop()
				p := w.start(fmt.Sprintf("%s:%d", step, n))
				w.up()
				said, before := 0, gateway.State{}
				for ; said < len(changes); said++ {
					if status, _, err := wc.Post(t.Context(), changes[said]); err != nil || status != http.StatusOK {
						break // it died; the platform comes again
					}
					// Each is a round of its own: otherwise one could have them all.
					ended := false
					w.until(30*time.Second, "the change is published, or the process died", func() bool {
						now := w.bucket(w.stateConv())
						ended = p.ended()
						return ended || now.Rev > before.Rev
					})
					before = w.bucket(w.stateConv())
					if ended {
						break
					}
				}
				w.dies(p, step)
				w.start("")
				w.up()
				for _, change := range changes[said:] {
					w.arrives(wc, change)
				}
				w.relayedAll()
				c := w.customerKey()
				if c.State == nil || c.State.Owner != "LinXiaoyu" {
					t.Fatalf("the rows say %+v", c.State)
				}
				w.until(30*time.Second, "the bucket has what the rows have", func() bool {
					got := w.bucket(c.Conv)
					return got.Owner == "LinXiaoyu" && got.Rev == c.State.Rev && len(got.Members) == len(c.State.Members)
				})
			})
		}
	}
}

// stateConv is the conversation of the customer's state, "" before it is known.
func (w *world) stateConv() string {
	var found struct{ Conv string }
	for _, account := range []string{"corp-a", "approvals"} {
		q := url.Values{"platform": {"wecom"}, "account": {account}, "kind": {"customer"}, "identity": {theCustomer}}
		if w.get("/api/v1/conversations:find?"+q.Encode(), &found) == nil {
			return found.Conv
		}
	}
	return ""
}

// bucket is the state of a conversation in CW_STATE; a zero one where there is none.
func (w *world) bucket(conv string) (s gateway.State) {
	w.t.Helper()
	nc, err := nats.Connect("nats://"+w.nats, nats.UserInfo("bot", "bot-password"), nats.CustomInboxPrefix("_INBOX_bot"))
	if err != nil {
		return s
	}
	defer nc.Close()
	if conv == "" {
		return s
	}
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	kv, err := js.KeyValue(w.t.Context(), stream.StateBucket)
	if err != nil {
		return s
	}
	e, err := kv.Get(w.t.Context(), conv)
	if err != nil || json.Unmarshal(e.Value(), &s) != nil {
		return gateway.State{}
	}
	return s
}
