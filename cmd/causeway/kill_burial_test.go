package main

import (
	"bytes"
	"database/sql"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// inLedger runs a statement in the ledger of a gateway that is stopped.
func (w *world) inLedger(text string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "data", "ledger.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(w.t.Context(), text); err != nil {
		w.t.Fatal(err)
	}
}

// The ledger refuses the dead letter of a message that cannot be read: its conversation
// waits, everybody else goes on, doctor names it. Mended, the process dies right after
// the commit that buries it; the next one lets the conversation go on, in order, and
// the letter is there once.
func TestKillAfterALateBurial(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.start("")
	w.up()
	w.stop()
	w.inLedger("CREATE TRIGGER refuse BEFORE INSERT ON dead BEGIN SELECT RAISE(ABORT, 'refused'); END")
	w.start("")
	w.up()
	says := func(c, i int) {
		_, body := w.wa.CustomerBody(customer(c), text(i))
		w.post(t.Context(), body)
	}
	says(0, 0)
	w.until(30*time.Second, "the first is answered", func() bool { return len(accepted(w.calls(customer(0)))) == 1 })
	id, body := w.wa.CustomerBody(customer(0), text(1))
	w.post(t.Context(), bytes.Replace(body, []byte(id), nil, 1)) // a message without an id
	w.post(t.Context(), []byte(`{"object": "something else`))    // no conversation's
	says(0, 2)
	says(1, 0)
	w.until(30*time.Second, "another customer is answered", func() bool { return len(accepted(w.calls(customer(1)))) == 1 })
	w.until(30*time.Second, "the statuses are in", func() bool { s := w.sums(); return s.Payloads.Pending == 0 && s.Apps["echo"].Pending == 1 })
	if s := w.sums(); s.Items.Dead != 1 || s.Payloads.Dead != 2 {
		t.Errorf("while letters are refused: %v", s.Lines())
	}
	out, _ := w.cli("doctor")
	if !strings.Contains(out, "not buried") || !strings.Contains(out, "conversation paused by gateway (not_buried)") {
		t.Errorf("doctor does not name it:\n%s", out)
	}
	_, metrics := w.raw(http.MethodGet, "/metrics", testToken, nil)
	if !strings.Contains(metrics, `causeway_ledger_count{name="unburied"} 2`) || !strings.Contains(metrics, `causeway_paused{scope="conversation"} 1`) {
		t.Error("the metrics do not count it")
	}
	w.kill()
	w.inLedger("DROP TRIGGER refuse")
	w.dies(w.start("bury.committed:1"), "bury.committed")
	w.start("")
	w.up()
	w.quiet(time.Minute)
	if got := texts(accepted(w.calls(customer(0)))); !slices.Equal(got, []string{text(0), text(2)}) {
		t.Errorf("answered %v", got)
	}
	letters := w.deadLetters()
	kinds := make([]string, 0, len(letters))
	for i := range letters {
		kinds = append(kinds, letters[i].Kind+" "+letters[i].Reason)
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{"item " + gateway.ReasonBadItem, "payload " + gateway.ReasonBadPayload}) {
		t.Errorf("dead letters %v", kinds)
	}
	if out, _ := w.cli("pause", "ls", "--json"); strings.Contains(out, gateway.ReasonNotBuried) {
		t.Errorf("still stopped: %s", out)
	}
}
