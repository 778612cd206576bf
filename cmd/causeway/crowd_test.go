package main

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Goroutines that all want to run make a crowd; when they are gone there is none.
func TestCrowd(t *testing.T) {
	c := newCrowd()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for range 8 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil {
				for start := time.Now(); time.Since(start) < time.Millisecond; {
				}
				runtime.Gosched()
			}
		})
	}
	comes := func(what string, ok func() bool) {
		t.Helper()
		for limit := time.Now().Add(30 * time.Second); !ok(); {
			if time.Now().After(limit) {
				t.Fatalf("%s for 30 s", what)
			}
			runtime.Gosched()
		}
	}
	comes("no crowd", c.seen)
	cancel()
	wg.Wait()
	ping, pong := make(chan struct{}), make(chan struct{})
	defer close(ping)
	go func() {
		for range ping {
			pong <- struct{}{}
		}
	}()
	comes("a crowd of nobody", func() bool {
		for range 1000 { // handing over to one that waits takes no time
			ping <- struct{}{}
			<-pong
		}
		return !c.seen()
	})
}
