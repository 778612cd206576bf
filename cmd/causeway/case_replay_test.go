package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/admin"
)

// replayBot answers every event with its text, and notes deliveries and whether
// two of one conversation ever ran at once.
type replayBot struct {
	mu      sync.Mutex
	got     []string // "origin text"
	running int
	overlap bool
}

func (b *replayBot) handle(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
	b.mu.Lock()
	b.running++
	b.overlap = b.overlap || b.running > 1
	b.got = append(b.got, string(ev.Origin)+" "+ev.Text)
	b.mu.Unlock()
	wait(ctx, 50*time.Millisecond) // room for an overlap
	b.mu.Lock()
	b.running--
	b.mu.Unlock()
	return worker.Text(ev.Text), nil
}

func (b *replayBot) of(origin gateway.Origin) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, s := range b.got {
		if text, ok := strings.CutPrefix(s, string(origin)+" "); ok {
			out = append(out, text)
		}
	}
	return out
}

// Case 34: the same replay asked for twice at once, within the broker's
// duplicate window. Three events come out again, once, in order and one at a
// time; nothing is sent until the run is released; the deed is in the audit, and
// without a token nothing happens.
func TestCase34Replay(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	b := &replayBot{}
	w.bot(b.handle, 16)
	for i := 1; i <= 3; i++ {
		w.says(customer(34), fmt.Sprint(i))
	}
	w.settled(30 * time.Second)
	order := fmt.Appendf(nil, `{"conv":%q,"run":"run_case-34"}`, w.customerConv(customer(34)).Conv)
	for _, token := range []string{"", "not-the-token-0000000000000"} {
		if status, _ := w.raw(http.MethodPost, "/api/v1/replays", token, order); status != http.StatusUnauthorized {
			t.Errorf("with token %q the replay was answered %d, want 401", token, status)
		}
	}
	if got := b.of(gateway.OriginReplay); len(got) != 0 {
		t.Errorf("refused replays handed out %v", got)
	}
	w.twiceAtOnce(order)
	w.says(customer(34), "live")
	held := func() int64 { return w.sums().Messages.Held }
	w.until(30*time.Second, "three replies of the replay are held", func() bool { return held() == 3 })
	w.settled(30 * time.Second)
	if got := b.of(gateway.OriginReplay); !slices.Equal(got, []string{"1", "2", "3"}) || b.overlap {
		t.Errorf("replayed %v, two at once: %v", got, b.overlap)
	}
	if got := texts(w.calls(customer(34))); !slices.Equal(got, []string{"1", "2", "3", "live"}) {
		t.Errorf("before the release the platform saw %v", got)
	}
	for range 2 { // the second release finds nothing
		if out, code := w.cli("replay", "release", "run_case-34"); code != exitOK {
			t.Fatalf("replay release: %d %s", code, out)
		}
		w.settled(30 * time.Second)
		if got := texts(w.calls(customer(34))); !slices.Equal(got, []string{"1", "2", "3", "live", "1", "2", "3"}) {
			t.Errorf("after the release the platform saw %v", got)
		}
	}
	w.oncePerMessage()
	w.audited("replay", "run_case-34")
	if s := w.sums(); s.Payloads.Archived != 4 || s.Payloads.Duplicate != 0 {
		t.Errorf("a replay is no callback: %+v", s.Payloads)
	}
}

// twiceAtOnce asks for a replay twice and wants one run to be started.
func (w *world) twiceAtOnce(order []byte) {
	w.t.Helper()
	var wg sync.WaitGroup
	answers := make([]admin.ReplayStarted, 2)
	for i := range answers {
		wg.Go(func() {
			status, body := w.raw(http.MethodPost, "/api/v1/replays", testToken, order)
			if status != http.StatusOK || json.Unmarshal([]byte(body), &answers[i]) != nil {
				w.t.Errorf("a replay was answered %d %s", status, body)
			}
		})
	}
	wg.Wait()
	if answers[0].Started == answers[1].Started || answers[0].Run != answers[1].Run {
		w.t.Errorf("answers %+v, want one run that was started once", answers)
	}
}

// audited wants one deed of this kind whose target names something.
func (w *world) audited(what, target string) {
	w.t.Helper()
	var log struct{ Audit []gateway.AuditEntry }
	if err := w.get("/api/v1/audit?limit=100", &log); err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, e := range log.Audit {
		if e.What == what && strings.Contains(e.Target, target) && e.By == "test" {
			n++
		}
	}
	if n != 1 {
		w.t.Errorf("%d audit entries %q of %s, want 1: %+v", n, what, target, log.Audit)
	}
}

// Case 34, one payload: its event goes to the worker again under another
// delivery id, and with send_replies the answer leaves at once.
func TestCase34PayloadAndSend(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	b := &replayBot{}
	w.bot(b.handle, 16)
	w.says(customer(34), "first")
	w.says(customer(35), "second")
	w.settled(30 * time.Second)
	list := w.archived()
	if len(list) != 2 {
		t.Fatalf("%d payloads, want 2", len(list))
	}
	out, code := w.cli("replay", "--payload", list[1], "--run", "run_one", "--send-replies")
	if code != exitOK {
		t.Fatalf("replay: %d %s", code, out)
	}
	w.until(30*time.Second, "the reply of the replay is sent", func() bool { return len(accepted(w.calls(customer(34)))) == 2 })
	w.settled(30 * time.Second)
	if got := b.of(gateway.OriginReplay); !slices.Equal(got, []string{"first"}) {
		t.Errorf("replayed %v", got)
	}
	if got := len(w.calls(customer(35))); got != 1 {
		t.Errorf("another customer was answered %d times", got)
	}
}

// archived are the ids of all payloads, newest first.
func (w *world) archived() []string {
	w.t.Helper()
	var ids []string
	for before := int64(0); ; {
		var page struct {
			Payloads []struct{ ID string }
			Next     int64
		}
		path := "/api/v1/payloads?limit=500"
		if before > 0 {
			path += fmt.Sprint("&before=", before)
		}
		if err := w.get(path, &page); err != nil {
			w.t.Fatal(err)
		}
		for _, p := range page.Payloads {
			ids = append(ids, p.ID)
		}
		if before = page.Next; before == 0 {
			return ids
		}
	}
}

// Case 35: the process is killed right after it answered 200, before anybody took
// the events. Everything answered 200 is in the archive, byte for byte, and gets
// to the worker, in order.
func TestCase35KilledAfterAck(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	acked := map[[32]byte]bool{}
	for i := range 60 {
		_, body := w.wa.CustomerBody(customer(i%6), text(i))
		w.taken(body)
		acked[sha256.Sum256(body)] = true
	}
	w.kill()
	w.start("")
	w.up()
	for _, id := range w.archived() {
		var p struct{ Body []byte }
		if err := w.get("/api/v1/payloads/"+id+"?body=1", &p); err != nil {
			t.Fatal(err)
		}
		delete(acked, sha256.Sum256(p.Body))
	}
	if len(acked) != 0 {
		t.Errorf("%d callbacks answered 200 are not in the archive", len(acked))
	}
	w.bot((&replayBot{}).handle, 16)
	w.until(30*time.Second, "every event is settled", func() bool { return w.sums().Apps["echo"].Settled == 60 })
	w.settled(30 * time.Second)
	for c := range 6 {
		got := texts(accepted(w.calls(customer(c))))
		if len(got) != 10 || !slices.IsSorted(got) {
			t.Errorf("customer %d was sent %v", c, got)
		}
	}
	w.oncePerMessage()
}
