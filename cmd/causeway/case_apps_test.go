package main

import (
	"strings"
	"testing"
	"time"
)

// What an application is doing is seen by `apps` and in the metrics, also what was
// spent and what comes late, and the dead letters of it.
func TestAppsTell(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	w.says("16660300078", "one")
	w.says("16660300078", "two")
	w.settled(30 * time.Second)
	var list appList
	if err := w.get("/api/v1/apps", &list); err != nil || len(list.Apps) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	a := list.Apps[0]
	if a.Pending != 0 || a.Ready != 0 || a.Waiting != 0 || a.Oldest != nil || a.Tries != 2 || a.Rate <= 0 || list.At.IsZero() {
		t.Errorf("at rest: %+v", a)
	}
	if said, code := w.cli("pause", "app", "echo"); code != exitOK {
		t.Fatal(said)
	}
	w.says("16660300078", "three")
	w.says("16660300078", "four")
	w.until(30*time.Second, "two events wait", func() bool {
		list = appList{}
		return w.get("/api/v1/apps", &list) == nil && list.Apps[0].Pending == 2 && list.Apps[0].Oldest != nil
	})
	if a := list.Apps[0]; !a.Paused || a.Waiting+a.Ready != 2 || list.At.Before(*a.Oldest) {
		t.Errorf("paused: %+v", a)
	}
	if said, code := w.cli("apps"); code != exitOK || !strings.Contains(said, "paused") {
		t.Errorf("%d %s", code, said)
	}
	_, text := w.raw("GET", "/metrics", testToken, nil)
	for _, want := range []string{
		`causeway_app_waiting{app="echo"}`, `causeway_app_tries_total{app="echo"} 2`, `causeway_app_oldest_seconds{app="echo"}`,
		`causeway_app_settled_per_second{app="echo"}`, `causeway_app_late_total{app="echo"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics do not hold %s", want)
		}
	}
	if said, code := w.cli("resume", "app", "echo"); code != exitOK {
		t.Fatal(said)
	}
	w.settled(30 * time.Second)
}
