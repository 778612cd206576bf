package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/store/sqlite"
)

//nolint:gochecknoglobals // flags of this test binary
var (
	faultConvs = flag.Int("faults.convs", 200, "how many conversations TestKillUnderFaults has")
	faultParts = flag.Int("faults.parts", 5, "how many parts each of their tasks has")
	faultKills = flag.Int("faults.kills", 2, "how often the gateway is killed meanwhile")
	faultSeed  = flag.Uint64("faults.seed", 1, "the seed")
)

// faultsOf are the ways in which the platform can fail for one message, by a word in
// its text. once ones go away with the first call of a message.
func faultsOf() (always, once map[string]sandbox.Fault) {
	return map[string]sandbox.Fault{
			"[refused]":     {Code: 131026},
			"[window]":      {Code: 131047},
			"[fails]":       {Stage: sandbox.After, FailCode: 131026},
			"[fails later]": {Stage: sandbox.After, FailCode: 131053, FailAfterSent: true},
			"[silent]":      {Stage: sandbox.After, NoStatuses: true},
		}, map[string]sandbox.Fault{
			"[reset before]": {Drop: sandbox.DropReset},
			"[reset after]":  {Stage: sandbox.After, Drop: sandbox.DropReset},
			"[hang before]":  {Drop: sandbox.DropHang},
			"[hang after]":   {Stage: sandbox.After, Drop: sandbox.DropHang},
			"[500 before]":   {Status: http.StatusInternalServerError},
			"[500 after]":    {Stage: sandbox.After, Status: http.StatusInternalServerError},
			"[pair]":         {Code: 131056, RetryAfterS: 1},
			"[busy]":         {Code: 131016},
			"[slow]":         {Stage: sandbox.After, DelayMS: 300},
		}
}

// Many tasks to a platform that fails in every way it can, and a gateway that is killed
// meanwhile: each message ends in a state that is true, none is taken twice, the parts
// of a task leave in order, and none behind one that is not known to be taken.
func TestKillUnderFaults(t *testing.T) {
	begin(t)
	r := rand.New(rand.NewPCG(*faultSeed, 7)) //nolint:gosec // a test's seed
	w := newWorld(t, worldOptions{extra: "send: {tries: 4, first: 200ms, factor: 1}\n"})
	w.edit("access_token: access-token-1,", `access_token: access-token-1, pace: {account: "0", pair: "0"},`)
	words := w.fail()
	w.start("")
	w.up()
	var todo []string
	for c := range *faultConvs {
		var parts []gateway.Reply
		for i := range *faultParts {
			text := fmt.Sprintf("%d ", i)
			if r.IntN(12) == 0 {
				text += words[r.IntN(len(words))]
			}
			parts = append(parts, gateway.Reply{Text: text})
		}
		raw, err := json.Marshal(parts)
		if err != nil {
			t.Fatal(err)
		}
		todo = append(todo, fmt.Sprintf(`{"account":"shop-a","to":{"kind":"phone","value":%q},"parts":%s,"idempotency_key":"task-%d","priority":%d}`,
			customer(c), raw, c, r.IntN(10)))
	}
	tasks := w.submitAll(todo, func() {
		for range *faultKills {
			wait(t.Context(), time.Duration(200+r.IntN(1500))*time.Millisecond)
			w.kill()
			w.start("")
			w.up()
		}
	})
	limit := 2*time.Minute + time.Duration(*faultConvs)*time.Second/5
	w.quiet(limit)
	if s := w.sums().Messages; s.Taken != int64(*faultConvs**faultParts) || s.Waiting+s.Held > 0 {
		t.Errorf("messages %+v", s)
	}
	w.oncePerMessage()
	w.stop()
	st, err := w.openStore()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	counts := map[gateway.MessageState]int{}
	for c, task := range tasks {
		w.trueTask(st, task, accepted(w.calls(customer(c))), counts)
	}
	t.Logf("seed %d: %v", *faultSeed, counts)
	if *faultConvs >= 200 {
		for _, s := range []gateway.MessageState{gateway.MessageAccepted, gateway.MessageRejected, gateway.MessageUnknown, gateway.MessageCancelled, gateway.TaskPartial} {
			if counts[s] == 0 {
				t.Errorf("nothing was %s: the run shows little", s)
			}
		}
	}
}

// fail puts the faults in force and returns the words that call them.
func (w *world) fail() (words []string) {
	w.t.Helper()
	always, once := faultsOf()
	for word, f := range always {
		f.Text = word
		w.fault(f)
		words = append(words, word)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	for word, f := range once {
		f.Text = word
		f.Match = func(c *sandbox.Call) bool {
			mu.Lock()
			defer mu.Unlock()
			again := seen[c.Marker]
			seen[c.Marker] = true
			return !again
		}
		w.fault(f)
		words = append(words, word)
	}
	slices.Sort(words) // the same for a seed
	return words
}

// submitAll submits every body until it is taken, while meanwhile runs, and returns the
// ids of the tasks.
func (w *world) submitAll(bodies []string, meanwhile func()) []string {
	w.t.Helper()
	ids := make([]string, len(bodies))
	var wg sync.WaitGroup
	next := make(chan int)
	for range 8 {
		wg.Go(func() {
			for i := range next {
				deadline := time.Now().Add(2 * time.Minute)
				for ids[i] == "" {
					var out gateway.Submitted
					err := w.call(http.MethodPost, "/api/v1/messages", json.RawMessage(bodies[i]), &out)
					if ids[i] = out.ID; err == nil {
						continue
					}
					if time.Now().After(deadline) {
						w.t.Errorf("never taken: %v", err)
						break
					}
					wait(w.t.Context(), 50*time.Millisecond)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range bodies {
			next <- i
		}
		close(next)
	})
	meanwhile()
	wg.Wait()
	return ids
}

// trueTask holds the ledger's states of a task against what the platform took.
func (w *world) trueTask(st *sqlite.Store, task string, took []sandbox.Call, counts map[gateway.MessageState]int) {
	w.t.Helper()
	page, err := st.Ledger.FindMessages(w.t.Context(), store.MessageQuery{Task: task, Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	taken := map[string]bool{}
	for i, c := range took {
		taken[c.Marker] = true
		if !strings.HasPrefix(c.Text, fmt.Sprintf("%d ", i)) {
			w.t.Errorf("task %s: part %d taken is %q", task, i, c.Text)
		}
	}
	var states []gateway.MessageState
	for i := range page.Messages {
		m := &page.Messages[i]
		counts[m.State]++
		states = append(states, m.State)
		ok := true
		switch m.State {
		case gateway.MessageAccepted:
			ok = taken[m.ID] && (i == 0 || states[i-1] == gateway.MessageAccepted)
		case gateway.MessageRejected, gateway.MessageExpired, gateway.MessageCancelled:
			ok = !taken[m.ID]
		case gateway.MessageUnknown: // nobody knows, and the platform did not tell
		case gateway.MessageWaiting, gateway.MessageSending, gateway.MessageHeld, gateway.TaskPartial:
			ok = false
		}
		if !ok {
			w.t.Errorf("task %s part %d is %s (%s), taken: %v; %v", task, i, m.State, m.Reason, taken[m.ID], texts(took))
		}
	}
	want := gateway.TaskState(states)
	if len(page.Messages) != *faultParts || page.Messages[0].TaskState != want {
		w.t.Errorf("task %s of %v is %s, want %s", task, states, page.Messages[0].TaskState, want)
	}
	if want == gateway.TaskPartial {
		counts[want]++
	}
}
