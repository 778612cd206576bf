package main

import (
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Case 32: two workers whose handlers take three quarters of ack_wait, or more than
// twice as long, in each language. Who works says so to the broker and has asked for
// nothing more, so every event is handled once, by one of them; only what a worker has
// in hand that leaves in the middle is begun again, by another.
func TestCase32SlowHandler(t *testing.T) {
	const ackWait = 3 * time.Second // so long that a busy machine does not take the event away
	goes, dies := (*botProcess).leave, (*botProcess).kill
	for name, c := range map[string]struct {
		bot   func(w *world, takes time.Duration) *botProcess
		takes time.Duration
		end   func(*botProcess)
	}{
		"Go within ack_wait":         {(*world).botProcess, ackWait * 3 / 4, goes},
		"Go beyond ack_wait":         {(*world).botProcess, ackWait * 9 / 4, goes},
		"JavaScript beyond ack_wait": {(*world).jsProcess, ackWait * 9 / 4, dies},
		"Python beyond ack_wait":     {(*world).pyProcess, ackWait * 9 / 4, dies},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			w := newCase(t, worldOptions{apps: "  - {name: echo, ack_wait: 3s, tries: 2, delays: [100ms]}\n"})
			bots := []*botProcess{c.bot(w, c.takes), c.bot(w, c.takes)}
			for i := range 2 {
				for n := range 3 {
					w.says(customer(n), text(i))
				}
			}
			var held []string
			w.until(time.Minute, "a worker is in the middle", func() bool {
				slices.SortFunc(bots, func(a, b *botProcess) int { return len(b.open()) - len(a.open()) })
				held = bots[0].open()
				return bots[0].ended()+bots[1].ended() > 0 && len(held) > 0
			})
			c.end(bots[0])
			held = append(held, bots[0].cut()...) // it may have begun more meanwhile
			bots = append(bots, c.bot(w, c.takes))
			w.settled(2 * time.Minute)
			for n := range 3 {
				if got := texts(accepted(w.calls(customer(n)))); !slices.Equal(got, []string{text(0), text(1)}) {
					t.Errorf("customer %d was sent %v", n, got)
				}
			}
			w.oncePerMessage()
			var all []handled
			for _, b := range bots {
				all = append(all, b.told()...)
			}
			if found := disorder(all); len(found) > 0 {
				t.Errorf("violations of the order: %q", found)
			}
			times := map[string]int{}
			for i := range all {
				times[all[i].event()]++
			}
			for event, n := range times {
				if n > 2 || n == 2 && !slices.Contains(held, event) {
					t.Errorf("%s was handled %d times", event, n)
				}
			}
			if s := w.sums(); s.Apps["echo"] != (gateway.AppSums{Wanted: 6, Settled: 6}) || w.counter("overrun") != 0 {
				t.Errorf("%+v, overrun %d", s.Apps["echo"], w.counter("overrun"))
			}
		})
	}
}
