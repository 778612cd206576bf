package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// collectThree hands out three messages together, and fewer after minutes only: what
// goes together does not depend on how fast the machine is.
const collectThree = "ack_wait: 2s, collect: {wait: 5m, longest: 1h, max: 3}"

// What a customer writes in three messages is one delivery with one reply; a bundle
// that is given up is a dead letter for each, and what is requeued goes alone.
func TestCollectedMessages(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: "  - {name: echo, " + collectThree + "}\n"})
	var mu sync.Mutex
	var seen []string
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		mu.Lock()
		seen = append(seen, fmt.Sprintf("%d %s", ev.Seq, ev.AllText()))
		mu.Unlock()
		if strings.Contains(ev.AllText(), "poison") && len(ev.Collected) > 0 {
			return nil, worker.Dead(errors.New("no poison"))
		}
		return []gateway.Reply{{Text: "You asked: " + ev.AllText()}}, nil
	}, 4)
	const who = "16660300081"
	for _, text := range []string{"hi", "I have a question", "about order 12"} {
		w.says(who, text)
	}
	w.replied(who, 1)
	for _, text := range []string{"and", "poison", "too"} {
		w.says(who, text)
	}
	w.until(time.Minute, "three dead letters", func() bool { return len(w.deadLetters()) == 3 })
	for _, d := range w.deadLetters() {
		if d.Reason != gateway.ReasonVerdict || d.Tries != 1 {
			t.Errorf("dead letter %+v", d)
		}
	}
	w.says(who, "hello?") // nothing else is written: it waits
	w.until(time.Minute, "it is waited for more", func() bool { return w.appNamed("echo").Collecting == 1 })
	if said := w.does("apps"); !strings.Contains(said, "echo waits in 1 conversation for what else is written") {
		t.Error(said)
	}
	conv := w.customerConv(who)
	for _, e := range conv.Events {
		want := map[int64]string{1: "settled " + gateway.ReasonCollected, 2: "settled " + gateway.ReasonCollected, 3: "settled done",
			4: "dead verdict", 5: "dead verdict", 6: "dead verdict", 7: "pending "}[e.Seq]
		if got := string(e.States["echo"]) + " " + e.Verdicts["echo"].Reason; got != want {
			t.Errorf("event %d is %q, want %q", e.Seq, got, want)
		}
	}
	for _, d := range w.deadLetters() {
		if d.Event == conv.Events[4].Event {
			w.does("dead", "requeue", d.ID)
		}
	}
	w.replied(who, 2)
	mu.Lock()
	defer mu.Unlock()
	if d := cmp.Diff([]string{"3 hi\nI have a question\nabout order 12", "6 and\npoison\ntoo", "5 poison"}, seen); d != "" {
		t.Errorf("handed out (-want +got):\n%s", d)
	}
	if s := w.sums(); s.Apps["echo"] != (gateway.AppSums{Wanted: 7, Settled: 4, Dead: 2, Pending: 1}) || len(s.Broken()) > 0 {
		t.Errorf("sums %+v %v", s.Apps["echo"], s.Broken())
	}
}
