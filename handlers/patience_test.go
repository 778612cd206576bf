package handlers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPatienceIsSharedAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length = 5 * time.Second
		p := &patience{length: length}
		start := time.Now()
		first := p.context()
		time.Sleep(length/50 - 1)
		if p.context() != first {
			t.Error("two contexts within a fiftieth of the time")
		}
		time.Sleep(time.Nanosecond)
		second := p.context()
		if second == first {
			t.Error("one context for longer than a fiftieth of the time")
		}
		for i, c := range []context.Context{first, second} {
			<-c.Done()
			want := length + time.Duration(i)*length/50
			if took := time.Since(start); took != want || !errors.Is(c.Err(), context.DeadlineExceeded) {
				t.Errorf("context %d ended after %s with %v, want %s", i, took, c.Err(), want)
			}
		}
		if c := p.context(); c.Err() != nil {
			t.Errorf("a context is given out that is over: %v", c.Err())
		}
	})
}
