package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The gateway stands still between the attempt that it stored and the call, until
// the call may not be made any more, as a leader does that was paused while another
// one took over: what it was about to send it does not send. The message goes by an
// attempt of its own, once, and those behind it in order.
func TestGatewayStandsStillBeforeACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	p := w.start("outbox.attempt_stored:1" + standsStill)
	w.up()
	w.says(customer(1), "first")
	w.until(30*time.Second, "the gateway stands still", func() bool { return standing(t, p.cmd.Process.Pid) })
	wait(t.Context(), testCallTimeout+200*time.Millisecond) // the attempt is void by then
	if calls := w.calls(customer(1)); len(calls) != 0 {
		t.Errorf("%d calls of a gateway that stands still", len(calls))
	}
	resumed := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.says(customer(1), "second")
	w.quiet(time.Minute)
	calls := w.calls(customer(1))
	if len(calls) != 2 || calls[0].Text != "first" || calls[1].Text != "second" {
		t.Fatalf("calls: %+v", calls)
	}
	if calls[0].Start.Before(resumed) {
		t.Error("the first call began before the gateway went on")
	}
	if m := w.sums().Messages; m.Accepted != 2 {
		t.Errorf("messages: %+v", m)
	}
	if said := w.said(); !strings.Contains(said, `"code":"void"`) {
		t.Error("no attempt was void")
	}
}

// standing says whether a process is stopped by a signal.
func standing(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if os.IsNotExist(err) {
		t.Skip("only where /proc tells that a process stands still")
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "T")
}
