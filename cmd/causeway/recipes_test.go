package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// collectThreeInTwo is collectThree for bots that answer "retry": two tries.
const collectThreeInTwo = "  - {name: echo, " + collectThree + ", tries: 2, delays: [100ms]}\n"

// What several messages together become does not depend on the language of the worker:
// each of these reads collected. A bundle at which it fails is tried again as the same
// bundle, and each message of it is a dead letter in the end; what is requeued comes
// alone.
func TestRecipesReadCollected(t *testing.T) {
	for name, start := range map[string]func(w *world) *botProcess{
		"JavaScript": func(w *world) *botProcess { return w.jsProcess(time.Millisecond) },
		"Python":     func(w *world) *botProcess { return w.pyProcess(time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			w := newCase(t, worldOptions{apps: collectThreeInTwo})
			bot := start(w)
			const one, other = "16660300091", "16660300092"
			for _, text := range []string{"hi", "I have a question", "about order 12"} {
				w.says(one, text)
				w.says(other, failing+text)
			}
			w.replied(one, 1)
			want := []string{"hi\nI have a question\nabout order 12"}
			if got := texts(w.calls(one)); !slices.Equal(got, want) {
				t.Errorf("sent %q, want %q", got, want)
			}
			w.until(time.Minute, "three dead letters", func() bool { return len(w.deadLetters()) == 3 })
			conv := w.customerConv(other)
			for _, d := range w.deadLetters() {
				if d.Conv != conv.Conv || d.Reason != gateway.ReasonTries || d.Tries != 2 {
					t.Errorf("dead letter %+v", d)
				}
			}
			handed := func() (list []int64) {
				for _, h := range bot.told() {
					if h.Conv == conv.Conv {
						list = append(list, h.Seq)
					}
				}
				return list
			}
			if got := handed(); !slices.Equal(got, []int64{3, 3}) {
				t.Errorf("the bot was handed %v, want the last of the three, twice", got)
			}
			for _, d := range w.deadLetters() {
				if d.Event == ordered(conv)[1].Event {
					w.does("dead", "requeue", d.ID)
				}
			}
			w.until(time.Minute, "it comes alone, and fails", func() bool { return slices.Equal(handed(), []int64{3, 3, 2, 2}) })
			w.settled(time.Minute)
			if app := w.sums().Apps["echo"]; app != (gateway.AppSums{Wanted: 6, Settled: 3, Dead: 3}) {
				t.Errorf("sums %+v", app)
			}
		})
	}
}

// The worker that the README has for JavaScript, as it stands there but for names and
// address, works: in order, one at a time, one reply for each message.
func TestWorkerOfTheREADME(t *testing.T) {
	begin(t)
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```js\n(import .*?)```").FindSubmatch(readme)
	if code == nil {
		t.Fatal("the README has no worker in JavaScript")
	}
	program := string(code[1])
	w := newCase(t, worldOptions{apps: appByWorker})
	for old, of := range map[string]string{`user = "worker", app = "support"`: `user = "bot", app = "echo"`, "127.0.0.1:4222": w.nats} {
		if strings.Count(program, old) != 1 {
			t.Fatalf("the README's worker does not have %s once", old)
		}
		program = strings.Replace(program, old, of, 1)
	}
	w.nodeProcess([]string{"--input-type=module", "-e", program}, "NATS_PASSWORD=bot-password")
	for _, text := range []string{"one", "two", "three"} {
		w.says(customer(1), text)
		w.says(customer(2), text)
	}
	w.settled(time.Minute)
	for i := 1; i <= 2; i++ {
		if got := texts(accepted(w.calls(customer(i)))); !slices.Equal(got, []string{"You wrote: one", "You wrote: two", "You wrote: three"}) {
			t.Errorf("customer %d was sent %q", i, got)
		}
	}
	w.oncePerMessage()
	if app := w.sums().Apps["echo"]; app != (gateway.AppSums{Wanted: 6, Settled: 6}) {
		t.Errorf("sums %+v", app)
	}
}
