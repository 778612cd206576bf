package gate_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// What lies in the stream is little more than what workers have, and what has waited
// longest: a conversation whose turn comes does not stand behind all that were there.
func TestWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const convs, least = 900, 16
		m := newModel()
		m.pulls = 1
		m.set(func() {
			for i := range convs { // the one that comes last by name has waited longest
				n := int64(convs - i)
				conv := fmt.Sprintf("c%04d", i)
				m.pending[conv] = []gateway.Pending{{App: "bot", Conv: conv, Seq: 1, N: n, Event: conv + "-1"}}
			}
		})
		g := start(t, m, app())
		time.Sleep(time.Second) // virtual
		oldest := func() (conv string) {
			m.set(func() {
				for c, s := range m.stream {
					if s.seq > 0 && c > conv {
						conv = c
					}
				}
			})
			return conv
		}
		if n := m.offered(); n < least || n > 2*least {
			t.Fatalf("%d offers for %d conversations and no worker", n, convs)
		}
		m.set(func() { m.unacked = 400 }) // workers came and have so many
		time.Sleep(time.Second)           // virtual
		if n := m.offered(); n < 400+least || n > 400+2*least {
			t.Fatalf("%d offers while workers have 400", n)
		}
		m.set(func() { m.unacked = 0 })
		for i := range convs {
			conv := oldest()
			if want := fmt.Sprintf("c%04d", convs-1-i); conv != want {
				t.Fatalf("%s is the oldest of the offers, want %s", conv, want)
			}
			var s stored
			m.set(func() { s = m.stream[conv] })
			answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictDone})
			synctest.Wait()
			if i%100 == 0 {
				time.Sleep(time.Second) // virtual
			}
		}
	})
}
