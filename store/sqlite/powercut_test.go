package sqlite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// TestPowerCut takes away the power between an answer's commit and its fsync, at
// any byte of the log behind the last one. A log is written in order and each
// frame vouches for those before it, so what SQLite reads again is an earlier
// state of the whole ledger: answers, their replies and the position in the stream
// of answers go back together, what a durable write told is there, and the events
// whose answers are lost are handed out again in their order.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	w := newCut(t)
	w.settle(3)
	w.attempt()
	w.settle(5)
	w.attempt() // its fsync took all before it to the disk
	synced, atSync := w.log(), w.settled
	for range 6 {
		w.settle(4)
	}
	w.relay(20) // not durable either
	w.settle(4)
	end := w.log()
	if end <= synced {
		t.Fatalf("nothing was written after the fsync: %d bytes, then %d", synced, end)
	}
	cuts := []int64{synced, synced + 1, end - 1, end}
	r := rand.New(rand.NewPCG(7, 11))
	for range 12 {
		cuts = append(cuts, synced+r.Int64N(end-synced))
	}
	earlier, all := false, false
	for _, at := range cuts {
		n := w.cut(at, atSync)
		earlier, all = earlier || n < w.settled, all || n == w.settled
	}
	if !earlier || !all {
		t.Errorf("states: an earlier one %v, the last one %v", earlier, all)
	}
}

// cut is a ledger and what is known of it.
type cut struct {
	t        *testing.T
	dir      string
	l        *Ledger
	at       time.Time
	relayed  int
	settled  int   // answers, in the order of counts
	counts   []int // settled after each call of Settle; its index is the position
	attempts []string
}

const cutConvs = 7

func newCut(t *testing.T) *cut {
	t.Helper()
	w := &cut{t: t, dir: t.TempDir(), at: time.Now(), counts: []int{0}}
	w.l = openAt(t, w.dir).Ledger
	w.relay(60)
	return w
}

func (w *cut) relay(n int) {
	w.t.Helper()
	if _, err := w.l.Relay(w.t.Context(), benchBatch(w.relayed+1, n, cutConvs, w.at), w.at); err != nil {
		w.t.Fatal(err)
	}
	w.relayed += n
}

// settle answers the heads of n conversations, each with a reply.
func (w *cut) settle(n int) {
	w.t.Helper()
	heads, err := w.l.Heads(w.t.Context(), "bot", "", n)
	if err != nil || len(heads) != n {
		w.t.Fatalf("%d heads: %v", len(heads), err)
	}
	var answers []gateway.Settlement
	for _, h := range heads {
		answers = append(answers, gateway.Settlement{App: h.App, Conv: h.Conv, Answer: gateway.Answer{Event: h.Delivery()}})
	}
	reply := gateway.Decision{State: gateway.EventSettled, Reason: "done", Tries: 1, Replies: []gateway.Reply{{Type: "text", Text: "ok"}}}
	_, err = w.l.Settle(w.t.Context(), gateway.ReplyPosition{Created: w.at, Seq: uint64(len(w.counts))}, answers,
		func(*gateway.Pending, *gateway.Answer) gateway.Decision { return reply }, w.at)
	if err != nil {
		w.t.Fatal(err)
	}
	w.settled += n
	w.counts = append(w.counts, w.settled)
}

// attempt begins to send the first message that waits.
func (w *cut) attempt() {
	w.t.Helper()
	list, err := w.l.OpenConversations(w.t.Context(), "", 100)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, open := range list {
		conv := open.Conv
		m, a, err := w.l.NextMessage(w.t.Context(), conv)
		if err != nil {
			w.t.Fatal(err)
		}
		if m == nil || a != nil {
			continue
		}
		if err := w.l.BeginAttempt(w.t.Context(), &gateway.Attempt{Message: m.ID, StartedAt: w.at, VoidAfter: w.at.Add(time.Minute)}, conv); err != nil {
			w.t.Fatal(err)
		}
		w.attempts = append(w.attempts, conv)
		return
	}
	w.t.Fatal("nothing to send")
}

// log is where the log's last frame ends; zeros follow it.
func (w *cut) log() int64 {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, "ledger.db-wal"))
	if err != nil {
		w.t.Fatal(err)
	}
	const head, frame = 32, 24 + ledgerPage // sqlite.org/fileformat2.html, section 4.1
	used := int64(len(bytes.TrimRight(b, "\x00")))
	return head + (used-head+frame-1)/frame*frame
}

// cut opens what a power cut leaves when the log reached the disk up to a byte,
// and returns how many answers are in it, which are at least those of the last
// fsync.
func (w *cut) cut(at int64, least int) (settled int) {
	w.t.Helper()
	dir := w.t.TempDir()
	for _, name := range []string{"archive.db", "archive.db-wal", "ledger.db", "ledger.db-wal"} {
		b, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
		if name == "ledger.db-wal" {
			b = b[:at]
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	l := openAt(w.t, dir).Ledger
	agree(w.t, l)
	ctx := w.t.Context()
	sums, err := l.Sums(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	taken, err := l.Taken(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	settled = int(sums.Apps["bot"].Settled)
	messages := int(sums.Messages.Taken)
	if taken.Seq >= uint64(len(w.counts)) || settled != w.counts[taken.Seq] || settled < least || messages != settled {
		w.t.Errorf("cut at %d: position %d with %d settled and %d messages of it, at least %d were on disk", at, taken.Seq, settled, messages, least)
	}
	for _, conv := range w.attempts {
		if m, a, err := l.NextMessage(ctx, conv); err != nil || m == nil || a == nil {
			w.t.Errorf("cut at %d: an attempt that was stored is gone: %+v %+v %v", at, m, a, err)
		}
	}
	w.again(l, int(sums.Apps["bot"].Wanted), settled)
	return settled
}

// again answers what waits: each conversation goes on behind what was settled, in
// the order of its seq, to its end.
func (w *cut) again(l *Ledger, wanted, settled int) {
	w.t.Helper()
	next := map[string]int64{}
	done := gateway.Decision{State: gateway.EventSettled, Reason: "done", Tries: 1}
	before := int64(0) // events before the first heads
	for round := uint64(1); settled < wanted; round++ {
		heads, err := l.Heads(w.t.Context(), "bot", "", 100)
		if err != nil || len(heads) == 0 {
			w.t.Fatalf("%d of %d settled and %d heads: %v", settled, wanted, len(heads), err)
		}
		var answers []gateway.Settlement
		for _, h := range heads {
			if next[h.Conv] == 0 {
				next[h.Conv], before = h.Seq, before+h.Seq-1
			}
			if h.Seq != next[h.Conv] {
				w.t.Errorf("seq %d is handed out, want %d", h.Seq, next[h.Conv])
			}
			next[h.Conv]++
			answers = append(answers, gateway.Settlement{App: h.App, Conv: h.Conv, Answer: gateway.Answer{Event: h.Delivery()}})
		}
		if round == 1 && int(before) != settled {
			w.t.Errorf("the heads stand behind %d events, %d are settled", before, settled)
		}
		out, err := l.Settle(w.t.Context(), gateway.ReplyPosition{Created: w.at, Seq: 1000 + round}, answers,
			func(*gateway.Pending, *gateway.Answer) gateway.Decision { return done }, w.at)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range out {
			if out[i].Late {
				w.t.Error("an event handed out again was late: " + fmt.Sprint(out[i].Was.Seq))
			}
			settled++
		}
	}
}
