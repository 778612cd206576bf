package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The process dies around a bundle: before and after it is written down, offered,
// answered, and taken in. Afterwards each customer has had one reply for each three
// messages, with just these in it: what came meanwhile is in none of them.
func TestKillAroundABundle(t *testing.T) {
	for _, step := range []string{"gate.collecting", "gate.collected", "gate.offered", "worker.answered", "intake.taken", "intake.committed"} {
		for _, n := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/%d", step, n), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{apps: "  - {name: echo, builtin: echo, " + collectThree + "}\n"})
				p := w.start(fmt.Sprintf("%s:%d", step, n))
				l := &load{w: w, convs: 4, each: 9, dead: 4 * 6} // a reply for each three
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				done := make(chan struct{})
				go func() { l.run(ctx); close(done) }()
				select {
				case <-p.done:
				case <-ctx.Done():
					t.Fatalf("never came to %s", step)
				}
				w.start("")
				<-done
				w.up()
				w.quiet(time.Minute)
				for c := range l.convs {
					for _, call := range accepted(w.calls(customer(c))) {
						lines := strings.Split(call.Text, "\n")
						var first int
						if _, err := fmt.Sscanf(lines[0], "message %d", &first); err != nil || first%3 != 0 || len(lines) != 3 ||
							lines[1] != text(first+1) || lines[2] != text(first+2) {
							t.Errorf("%s was answered %q", customer(c), call.Text)
						}
					}
				}
				if unknown := l.verify(); unknown > l.convs {
					t.Errorf("%d unknown messages after one death at %s", unknown, step)
				}
			})
		}
	}
}
