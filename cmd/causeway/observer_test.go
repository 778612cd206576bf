package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// The subjects that the README gives observers bring what it says, to a user who may
// observe and nothing else.
func TestObserversOfTheREADME(t *testing.T) {
	begin(t)
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	subs := map[string]*nats.Subscription{}
	for _, line := range regexp.MustCompile(`(?m)^nats sub '([^']+)'`).FindAllSubmatch(readme, -1) {
		subs[string(line[1])] = nil
	}
	w := newWorld(t, worldOptions{apps: appEcho})
	w.edit("observe: true}]", "observe: true}, {name: watcher, password: watcher-password, observe: true}]")
	w.start("")
	w.up()
	before := w.observe()
	w.says(customer(1), "before the others look")
	w.until(time.Minute, "its copies are out", func() bool { return len(before.list()) == 4 }) // and three statuses
	conv := w.customerConv(customer(1)).Conv

	refused := make(chan error, 10)
	nc, err := nats.Connect("nats://"+w.nats, nats.UserInfo("watcher", "watcher-password"), nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	for subject := range subs {
		if subs[subject], err = nc.SubscribeSync(strings.ReplaceAll(subject, "CONVERSATION", conv)); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	w.says(customer(1), "one")
	w.says(customer(2), "two")
	w.quiet(30 * time.Second)

	// Of each customer a message and three statuses of the reply, sent, delivered and
	// read; how many changes a message has is not counted here.
	want := map[string]int{"cw.event.>": 8, "cw.event.whatsapp.*.*.message": 2, "cw.event.*.shop-a.*.status": 6, "cw.event.*.*.CONVERSATION.*": 4, "cw.result.>": 0}
	if len(want) != len(subs) {
		t.Errorf("the README has %d subjects, this test knows %d", len(subs), len(want))
	}
	for subject, n := range want {
		sub := subs[subject]
		if sub == nil {
			t.Errorf("the README does not have %s", subject)
			continue
		}
		for i := 0; i < n || subject == "cw.result.>" && i < 2; i++ {
			m, err := sub.NextMsg(30 * time.Second)
			if err != nil {
				t.Errorf("%s: %d of %d messages: %v", subject, i, n, err)
				break
			}
			var body map[string]any
			if err := json.Unmarshal(m.Data, &body); err != nil || body["conv"] == "" || !strings.HasPrefix(m.Subject, strings.SplitN(subject, "*", 2)[0][:8]) {
				t.Errorf("%s: %s %s", subject, m.Subject, m.Data)
			}
		}
		if left, _, err := sub.Pending(); n > 0 && (err != nil || left != 0) {
			t.Errorf("%s: %d more than %d, %v", subject, left, n, err)
		}
	}
	// Who observes can write to nobody.
	if err := nc.Publish("cw.reply.echo.whatsapp.shop-a."+conv, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-refused:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("refused with %v", err)
		}
	case <-time.After(leastLimit):
		t.Error("an observer may publish answers")
	}
}
