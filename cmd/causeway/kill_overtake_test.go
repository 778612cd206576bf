package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// The process dies while small callbacks overtake a large one that was archived
// before them: before and after their commit, and between the slices. Nothing of
// them is lost or answered twice, and the customers of the large one who wrote again
// are answered in the order of archiving.
func TestKillWhileOvertaking(t *testing.T) {
	t.Parallel()
	const convs, each, others = 10, 25, 4
	for _, at := range []string{"relay.overtaking:1", "relay.overtook:1", "relay.committed:1", "relay.committed:2"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			w.start("")
			w.up()
			w.stop() // what it has archived when it comes back is there before it looks
			s, err := w.openStore()
			if err != nil {
				t.Fatal(err)
			}
			text := func(c, i int) whatsapptest.Event {
				return whatsapptest.Event{Kind: "text", ID: fmt.Sprintf("wamid.%d.%d", c, i), Text: text(i), Customer: whatsapptest.Customer{Phone: customer(c)}}
			}
			var large []whatsapptest.Event
			for i := range each - 1 {
				for c := range convs {
					large = append(large, text(c, i))
				}
			}
			callbacks := [][]whatsapptest.Event{large}
			for c := range convs + others {
				callbacks = append(callbacks, []whatsapptest.Event{text(c, each-1)})
			}
			for _, events := range callbacks {
				body, err := whatsapptest.Business{WABAID: "900000000000001", PhoneNumberID: testPhone, Number: "15540000000"}.Callback(events...).Body()
				if err != nil {
					t.Fatal(err)
				}
				p := &gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Now(), Body: body}
				if err := s.Archive.Append(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			w.dies(w.start(at), at)
			w.start("")
			w.up()
			w.quiet(2 * time.Minute)
			l := &load{w: w, convs: convs, each: each}
			unknown, missing := l.verify(), 0
			got := map[string]int{}
			for _, c := range w.wa.Calls() {
				if c.Accepted {
					got[c.To]++
				}
			}
			want := slices.Concat(slices.Repeat([]int{each}, convs), slices.Repeat([]int{1}, others))
			for c, n := range want {
				if got[customer(c)] > n {
					t.Errorf("%s was answered %d times, want %d", customer(c), got[customer(c)], n)
				}
				missing += n - got[customer(c)]
			}
			// Behind a commit a reply may be on its way when the process dies.
			if missing > unknown || unknown > 0 && at != "relay.committed:2" {
				t.Errorf("%d replies are missing, %d are unknown", missing, unknown)
			}
		})
	}
}
