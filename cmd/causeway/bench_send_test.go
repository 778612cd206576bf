package main

import (
	"context"
	"testing"
	"time"
)

func TestBenchSend(t *testing.T) {
	o := sendOptions{delay: 5 * time.Millisecond, duration: 200 * time.Millisecond, setUp: time.Second, only: "4 "}
	cases := []sendCase{{3, 0, false}, {4, 400, true}}
	r := runBench(t, "send", func(b *bench, ctx context.Context, dir string, r *benchReport) error {
		return b.send(ctx, dir, o, cases, r)
	})
	if len(r.Send) != 1 || len(r.Targets) != 6 {
		t.Fatalf("%d results and %d targets, want 1 and 6", len(r.Send), len(r.Targets))
	}
	s := r.Send[0]
	if l := s.Log; s.Messages != 80 || l.Taken != 80 || s.Missing != 0 || l.Violations+l.Doubles+l.Strange != 0 || l.InFlight != 1 || l.Running > 4 {
		t.Errorf("%+v: want 80 messages once and in order, one at a time", s)
	}
	if l := s.Log; l.Told != 3*80 || l.Refused != 0 || l.Turn.P50 <= 0 || l.Turn.P99 < l.Turn.P50 {
		t.Errorf("%+v: want 240 statuses and how long a turn takes", s.Log)
	}
	if s.Possible != 400 || s.Rate <= 0 || s.Seconds <= 0 || s.Ideal != 0.1 || s.Share > 1 {
		t.Errorf("%+v: want a share of 400 a second", s)
	}
}

func TestSlowSandbox(t *testing.T) {
	s := newSlowSandbox(slowSandboxOptions{each: 3})
	at := time.Now()
	call := func(customer string, serial int64) *slowConv { return s.took(customer, serial, true, at) }
	first := call(benchCustomer(0), 0)
	other := call(benchCustomer(1), 3)
	beside := call(benchCustomer(0), 1) // while the first one runs
	for _, c := range []*slowConv{first, other, beside} {
		s.answered(c)
	}
	s.answered(call(benchCustomer(0), 1)) // again
	s.answered(call(benchCustomer(1), 5)) // before the one in front of it
	s.answered(call(benchCustomer(1), 2)) // of another conversation
	if l := s.seen(); l.Taken != 6 || l.Doubles != 1 || l.Violations != 1 || l.Strange != 1 || l.InFlight != 2 || l.Running != 3 || l.First != at.UnixNano() {
		t.Errorf("%+v", l)
	}
}
