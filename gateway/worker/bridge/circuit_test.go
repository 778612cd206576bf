package bridge

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// entered says at once whether a call may be made now.
func entered(c *circuit) (probe, ok bool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.mu.Lock()
	blocked := c.open && (c.probing || c.now().Before(c.until))
	c.mu.Unlock()
	if blocked {
		_, ok := c.enter(ctx, nil)
		return false, ok
	}
	return c.enter(context.Background(), nil)
}

// It opens when the last ten calls over five conversations failed, and for nothing
// less; one that was not reached opens it at once.
func TestCircuitOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fresh := func() *circuit { return newCircuit(time.Now, func(bool, string, time.Duration) {}) }
		c := fresh()
		for i := range 100 {
			if !c.leave(false, "a poisoned one", fails, "500") || c.state().Circuit != CircuitClosed {
				t.Fatalf("call %d of one conversation: %+v", i, c.state())
			}
		}
		c = fresh()
		for i := range 100 {
			f := fails
			if i%10 == 9 {
				f = works
			}
			if c.leave(false, fmt.Sprint(i%7), f, "500"); c.state().Circuit != CircuitClosed {
				t.Fatalf("nine of ten fail, call %d: %+v", i, c.state())
			}
		}
		c = fresh()
		for i := range 10 {
			if c.state().Circuit != CircuitClosed {
				t.Fatalf("open after %d", i)
			}
			if !c.leave(false, fmt.Sprint(i%5), fails, "500") {
				t.Errorf("call %d spends no try", i)
			}
		}
		if s := c.state(); s.Circuit != CircuitOpen || s.Why != "500" || c.leave(false, "x", fails, "500") {
			t.Errorf("%+v, want open, and no more tries spent", s)
		}
		c = fresh()
		if c.leave(false, "a", away, "nobody"); c.state().Circuit != CircuitOpen {
			t.Errorf("%+v, want open", c.state())
		}
	})
}

// One probe after 1 s, then after 2, 4, ... 30 s; one that works closes it and wakes
// all who wait.
func TestCircuitProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		c := newCircuit(time.Now, func(open bool, why string, _ time.Duration) { said = append(said, fmt.Sprint(open, why)) })
		c.leave(false, "a", away, "nobody")
		begun, stop := time.Now(), make(chan struct{})
		got := make(chan bool, 100)
		for range 20 { // all wait; whoever probes fails and waits again, until the seventh
			go func() {
				for {
					probe, ok := c.enter(t.Context(), stop)
					if !ok {
						return
					}
					if !probe {
						got <- true
						return
					}
					if time.Since(begun) < time.Minute {
						c.leave(true, "a", away, "nobody")
						continue
					}
					c.leave(true, "a", works, "")
					got <- true
					return
				}
			}()
		}
		probes := 0
		for at := range 200 {
			time.Sleep(time.Second)
			synctest.Wait()
			c.mu.Lock()
			n := len(said) - 1
			c.mu.Unlock()
			if n != probes {
				probes = n
				t.Logf("probe %d after %d s", probes, at+1)
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		// After 1, 3, 7, 15, 31, 61 s: the last one works.
		if len(said) != 7 || said[6] != "false" || len(got) != 20 {
			t.Errorf("%v, %d went through; want six probes and all of them", said, len(got))
		}
		if c.open {
			t.Error("still open")
		}
	})
}

// A probe that came to nothing is free for another one; what began before it opened
// decides nothing.
func TestCircuitReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircuit(time.Now, func(bool, string, time.Duration) {})
		c.leave(false, "a", away, "nobody")
		if _, ok := entered(c); ok {
			t.Error("through an open circuit")
		}
		c.leave(false, "b", works, "")
		if c.state().Circuit != CircuitOpen {
			t.Error("a call from before closed it")
		}
		time.Sleep(time.Second)
		probe, ok := entered(c)
		if !probe || !ok || c.state().Circuit != CircuitHalfOpen {
			t.Fatalf("no probe after a second: %+v", c.state())
		}
		if _, ok := entered(c); ok {
			t.Error("two probes at once")
		}
		c.release(probe)
		if probe, ok := entered(c); !probe || !ok {
			t.Error("the probe is lost")
		}
		c.release(true)
		stop := make(chan struct{})
		close(stop)
		c.leave(false, "a", works, "")
		c.trip(time.Hour, "nobody")
		if _, ok := c.enter(t.Context(), stop); ok {
			t.Error("through although stopped")
		}
	})
}
