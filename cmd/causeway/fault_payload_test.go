package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/admin"
)

// NATS outside takes less in one message than ours does. Events that are larger
// go without their raw part, whether the gateway knew the limit when it relayed
// them or met the server only later; one that is too large without it is a dead
// item, and those behind it go on.
func TestBrokerOutsideTakesLittle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		most int
		late bool // the server is there only after the callbacks
	}{{"1MiB", 1 << 20, false}, {"256KiB", 256 << 10, false}, {"256KiB-late", 256 << 10, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{apps: appByWorker})
			w.outside()
			start := func() { startNATS(t, filepath.Join(w.dir, "outside"), w.nats, c.most) }
			if !c.late {
				start()
			}
			w.start("")
			w.up()
			if !c.late {
				w.until(30*time.Second, "the gateway is connected", func() bool {
					var r admin.Readiness
					return w.get("/readyz", &r) == nil && slices.ContainsFunc(r.Components, func(c admin.Component) bool {
						return c.Name == "nats" && c.State == "ok"
					})
				})
			}
			pad := c.most * 6 / 10 // fits once, not twice: as text and within raw
			l := &load{w: w, convs: 3, each: 3, pad: pad}
			underLoad(t, l, time.Minute, func(context.Context) {})
			_, huge := w.wa.CustomerBody(customer(0), strings.Repeat("x", c.most+4096))
			w.post(t.Context(), huge)
			_, small := w.wa.CustomerBody(customer(0), "message 999")
			w.post(t.Context(), small)
			if c.late {
				start()
			}
			var mu sync.Mutex
			var odd []string
			w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
				small := ev.Text == "message 999"
				if (len(ev.Raw) > 0) != small || !small && len(ev.Text) != pad+len("message 000") {
					mu.Lock()
					odd = append(odd, fmt.Sprintf("%d bytes of text, %d of raw", len(ev.Text), len(ev.Raw)))
					mu.Unlock()
				}
				return worker.Text(ev.Text[:len("message 000")]), nil
			}, 8)
			w.until(time.Minute, "everything is answered", func() bool { return len(accepted(w.wa.Calls())) >= 10 })
			w.quiet(time.Minute)
			mu.Lock()
			defer mu.Unlock()
			if len(odd) > 0 {
				t.Errorf("events came otherwise: %v", odd)
			}
			dead := w.deadLetters()
			if want := map[bool]string{true: gateway.ReasonTooLarge, false: gateway.ReasonBadItem}[c.late]; len(dead) != 1 || dead[0].Reason != want {
				t.Errorf("dead letters %+v, want one of reason %s", dead, want)
			}
			l.each, l.convs = 0, 0 // counted above
			l.verify()
		})
	}
}
