package sandbox

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCallLog(t *testing.T) {
	t.Parallel()
	l := NewCallLog(3)
	base := time.Unix(1_790_000_000, 0)
	var numbers []int64
	for i := range 5 {
		n := l.Begin(Call{Start: base.Add(time.Duration(i) * time.Second), To: "a", Marker: fmt.Sprint("m", i)})
		numbers = append(numbers, n)
	}
	for _, n := range numbers { // the first two have left the log
		l.Change(n, func(c *Call) { c.Accepted = true; c.End = c.Start.Add(time.Millisecond) })
	}
	var markers []string
	for _, c := range l.Calls() {
		markers = append(markers, c.Marker)
	}
	if d := cmp.Diff([]string{"m2", "m3", "m4"}, markers); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"m2": 1, "m3": 1, "m4": 1}, l.Accepted()); d != "" {
		t.Error(d)
	}
	running := l.Begin(Call{Start: base, Marker: "runs", To: "b"})
	l.Reset()
	if calls := l.Calls(); len(calls) != 1 || calls[0].Marker != "runs" {
		t.Errorf("after a reset: %v", calls)
	}
	l.Change(running, func(c *Call) { c.Code = "x" })
	if calls := l.Calls(); calls[0].Code != "x" {
		t.Errorf("a running call lost its place: %v", calls)
	}
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(1_790_000_000+int64(s), 0) }
	call := func(account, to string, from, until int) Call {
		c := Call{Account: account, To: to, Start: at(from)}
		if until > 0 {
			c.End = at(until)
		}
		return c
	}
	hung := func(from, until int) Call {
		c := call("n", "a", from, until)
		c.Code = string(DropHang)
		return c
	}
	soon := func(c Call, after time.Duration) Call {
		c.Start, c.End = c.Start.Add(after), c.End.Add(after)
		return c
	}
	tests := map[string]struct {
		calls []Call
		want  int
	}{
		"one after another":        {[]Call{call("n", "a", 1, 2), call("n", "a", 2, 3), call("n", "a", 5, 6)}, 0},
		"two recipients":           {[]Call{call("n", "a", 1, 9), call("n", "b", 2, 3)}, 0},
		"two accounts":             {[]Call{call("n", "a", 1, 9), call("m", "a", 2, 3)}, 0},
		"at the same time":         {[]Call{call("n", "a", 1, 5), call("n", "a", 4, 6)}, 1},
		"recorded in wrong order":  {[]Call{call("n", "a", 4, 6), call("n", "a", 1, 5)}, 1},
		"a long one over two":      {[]Call{call("n", "a", 1, 9), call("n", "a", 2, 3), call("n", "a", 4, 5)}, 2},
		"the first still runs":     {[]Call{call("n", "a", 1, 0), call("n", "a", 2, 3), call("n", "a", 4, 5)}, 2},
		"the last one still runs":  {[]Call{call("n", "a", 1, 2), call("n", "a", 2, 0)}, 0},
		"a caller gave up":         {[]Call{hung(1, 5), soon(call("n", "a", 5, 6), -2*time.Millisecond)}, 0},
		"it had not yet given up":  {[]Call{hung(1, 5), call("n", "a", 4, 6)}, 1},
		"calls without recipients": {[]Call{call("n", "", 1, 9), call("n", "", 2, 3)}, 0},
	}
	for name, tt := range tests {
		l := NewCallLog(0)
		for _, c := range tt.calls {
			l.Begin(c)
		}
		if got := len(l.Overlaps()); got != tt.want {
			t.Errorf("%s: %d overlaps, want %d", name, got, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	l := NewCallLog(0)
	now := time.Now()
	for _, c := range []Call{
		{Start: now, End: now, Marker: "m1", Accepted: true},
		{Start: now, End: now, Marker: "m1", Accepted: true},
		{Start: now, Text: "no marker", Accepted: true},
		{Start: now, End: now, Marker: "m2", Code: "131056"},
	} {
		l.Begin(c)
	}
	want := Summary{Calls: 4, Accepted: 3, Running: 1, Twice: []string{"m1"}, Codes: map[string]int{"131056": 1}}
	if d := cmp.Diff(want, l.Summary()); d != "" {
		t.Error(d)
	}
}

func TestFaultsAreTaken(t *testing.T) {
	t.Parallel()
	var fs Faults
	must := func(f Fault) {
		t.Helper()
		if _, err := fs.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	must(Fault{Name: "slow", DelayMS: 5})
	must(Fault{Name: "third", To: "a", Skip: 2, Next: 1, Code: 1})
	must(Fault{Name: "down", Text: "bad", Status: 500})
	must(Fault{Name: "never reached", Text: "bad", Status: 501, Next: 1})
	must(Fault{Name: "lost", Stage: After, Drop: DropReset, Match: func(c *Call) bool { return c.Marker == "m" }})
	must(Fault{Name: "token", Op: OpToken, Code: 45009})
	take := func(stage Stage, op string, c Call) []string {
		names := []string{}
		for _, f := range fs.Take(stage, op, &c) {
			names = append(names, f.Name)
		}
		return names
	}
	steps := []struct {
		stage Stage
		op    string
		call  Call
		want  []string
	}{
		{Before, OpSend, Call{To: "a"}, []string{"slow"}},
		{Before, OpSend, Call{To: "b"}, []string{"slow"}},
		{Before, OpSend, Call{To: "a"}, []string{"slow"}},
		{Before, OpSend, Call{To: "a"}, []string{"slow", "third"}},
		{Before, OpSend, Call{To: "a"}, []string{"slow"}},
		{Before, OpSend, Call{Text: "a bad one"}, []string{"slow", "down"}},
		{After, OpSend, Call{Marker: "m"}, []string{"lost"}},
		{After, OpSend, Call{Marker: "n"}, []string{}},
		{Before, OpToken, Call{}, []string{"token"}},
	}
	for i, st := range steps {
		if d := cmp.Diff(st.want, take(st.stage, st.op, st.call)); d != "" {
			t.Errorf("step %d: %s", i, d)
		}
	}
	if n := len(fs.List()); n != 5 {
		t.Errorf("%d faults in force, want 5", n)
	}
	if !fs.Remove("slow") || fs.Remove("slow") || !fs.Remove("") || len(fs.List()) != 0 {
		t.Error("removing")
	}
}

// However many calls come at once, Next hits exactly so many.
func TestNextUnderConcurrency(t *testing.T) {
	t.Parallel()
	var fs Faults
	if _, err := fs.Add(Fault{Code: 1, Next: 10}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	hits := make(chan int, 100)
	for range 100 {
		wg.Go(func() { hits <- len(fs.Take(Before, OpSend, &Call{})) })
	}
	wg.Wait()
	close(hits)
	sum := 0
	for n := range hits {
		sum += n
	}
	if sum != 10 {
		t.Errorf("%d hits, want 10", sum)
	}
}

func TestBadFaults(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]Fault{
		"nothing happens": {},
		"stage":           {Stage: "in the middle", Code: 1},
		"operation":       {Op: "dance", Code: 1},
		"drop":            {Drop: "bucket"},
		"status":          {Status: 99},
		"delay":           {DelayMS: -1},
		"fail before":     {FailCode: 1},
	} {
		var fs Faults
		if _, err := fs.Add(f); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	var fs Faults
	if _, err := fs.Add(Fault{Name: "a", Code: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Add(Fault{Name: "a", Code: 1}); err == nil {
		t.Error("a name was given twice")
	}
}
