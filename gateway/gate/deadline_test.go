package gate_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// The lane of an event with a code that ends: it is offered at once; when its turn
// comes too late, when nobody takes it, and when its only try fails without a word
// it is a dead letter, and the conversation goes on.
func TestDeadlineLane(t *testing.T) {
	for name, c := range map[string]struct {
		left   time.Duration // at the start
		play   func(m *model)
		buried []string
		within time.Duration
	}{
		"too late already": {-time.Second, func(*model) {}, []string{gateway.ReasonTooLate}, 0},
		"nobody takes it":  {20 * time.Second, func(*model) {}, []string{gateway.ReasonTooLate}, 24 * time.Second},
		"a worker is at it for too long": {20 * time.Second, func(m *model) {
			m.pulls = 1
			_, _, _ = m.deliver(rand.New(rand.NewPCG(1, 1)))
		}, []string{gateway.ReasonTooLate}, 24 * time.Second},
		"acked without a word": {20 * time.Second, func(m *model) {
			conv, s, ok := m.deliver(rand.New(rand.NewPCG(1, 1)))
			if !ok {
				panic("not offered at once")
			}
			m.ack(conv, s.seq)
		}, []string{gateway.ReasonSilent}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				m.until = map[int64]time.Time{1: time.Now().Add(c.left)}
				m.add("c", 2)
				start(t, m, app())
				c.play(m)
				if c.within > 0 && c.left-time.Second < c.within { // nothing before its time
					time.Sleep(min(c.left, c.within/2))
					synctest.Wait()
				}
				time.Sleep(c.within - min(c.left, c.within/2) + time.Second)
				synctest.Wait()
				var buried []string
				var second stored
				m.set(func() { buried, second = slices.Clone(m.buried), m.stream["c"] })
				if !slices.Equal(buried, c.buried) {
					t.Errorf("buried %v, want %v", buried, c.buried)
				}
				if m.left() != 1 || second.delivery != m.pending["c"][0].Event {
					t.Errorf("the next event is not offered: %+v", second)
				}
			})
		})
	}
}

// Answered in time it is settled, although the net looks after the deadline.
func TestDeadlineMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.pulls = 1
		m.until = map[int64]time.Time{1: time.Now().Add(20 * time.Second)}
		m.add("c", 1)
		g := start(t, m, app())
		time.Sleep(19 * time.Second)
		conv, s, ok := m.deliver(rand.New(rand.NewPCG(1, 1)))
		if !ok {
			t.Fatal("not offered")
		}
		answer(m, g, conv, s, gateway.Answer{Event: s.delivery, Verdict: gateway.VerdictDone})
		time.Sleep(time.Minute)
		synctest.Wait()
		if m.left() != 0 || len(m.buried) != 0 {
			t.Errorf("%d left, buried %v", m.left(), m.buried)
		}
	})
}
