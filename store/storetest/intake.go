package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

func settleDone(w *world) {
	p := w.relay(w.message("a1", "1")).Pending[0]
	second := w.relay(w.message("a2", "1")).Pending[0]
	s := w.answer(p, done("one", "two\x00three"))
	if s.Late || s.Messages != 2 || s.Head == nil || s.Head.Event != "ev_a2" || s.Was.Event != "ev_a1" {
		w.Fatalf("settled: %+v", s)
	}
	taken, err := w.l.Taken(w.ctx)
	w.must(err)
	w.same("position", taken, gateway.ReplyPosition{Created: w.now, Seq: 1})
	w.must(w.l.Sync(w.ctx))
	s = w.answer(p, done("again"))
	if !s.Late || s.Messages != 0 || s.Head == nil || s.Head.Event != "ev_a2" {
		w.Errorf("the same answer twice: %+v", s)
	}
	w.same("late", w.counter("late"), int64(1))
	never := gateway.Pending{App: "bot", Conv: strings.Repeat("x", 26), Event: "ev_never"}
	w.same("an answer to nothing", w.answer(never, done()).Late, true)
	w.same("no head", w.answer(second, done()).Head, (*gateway.Pending)(nil))

	m, _ := w.next(p.Conv)
	if m == nil {
		w.Fatal("nothing in the outbox")
	}
	if !gateway.OurMarker(m.ID) {
		w.Errorf("the id %q is no marker", m.ID)
	}
	want := gateway.Message{ID: m.ID, Task: m.Task, Parts: 2, App: "bot", Event: "ev_a1", Platform: "whatsapp", Account: "shop", Conv: p.Conv,
		DueAt: w.now, State: gateway.MessageWaiting, Reply: gateway.Reply{Type: "text", Text: "one"}, To: []gateway.Identity{phone("1")}}
	w.same("message", *m, want)
	w.send(p.Conv, gateway.Outcome{Kind: gateway.OutcomeAccepted})
	m, _ = w.next(p.Conv)
	w.same("second part", [2]any{m.Part, m.Reply.Text}, [2]any{1, "two\x00three"})
	w.balanced()
}

func settleRetry(w *world) {
	p := w.relay(w.message("a1", "1"), w.message("a2", "1")).Pending[0]
	at := w.now.Add(5 * time.Second)
	s := w.answer(p, gateway.Decision{State: gateway.EventPending, Reason: "retry", Tries: 1, NextAt: at, Detail: "no"})
	want := p
	want.Tries, want.NextAt, want.Round = 1, at, 1
	if s.Head == nil {
		w.Fatal("no head")
	}
	w.same("head after a retry", *s.Head, want)
	s = w.answer(p, gateway.Decision{State: gateway.EventPending, Reason: "handback", Tries: 1})
	w.same("round after a handback, whatever round was answered", s.Head.Round, 2)
	s = w.answer(p, done())
	if s.Head == nil || s.Head.Event != "ev_a2" || s.Was.Round != 2 {
		w.Errorf("settled: %+v", s)
	}
	w.must(w.l.CountBadAnswers(w.ctx, 3))
	w.same("bad answers", w.counter("bad_answer"), int64(3))
	w.balanced()
}

// settleAgain: an answer that ends nothing counts once, however often it comes, and
// what was said before a requeue ends nothing after it.
func settleAgain(w *world) {
	app := gateway.Application{Name: "bot", Tries: 3, Delays: []time.Duration{0}, Replies: true}
	p := w.relay(w.message("a1", "1")).Pending[0]
	say := func(a gateway.Answer) gateway.Settled {
		w.Helper()
		w.seq++
		out, err := w.l.Settle(w.ctx, gateway.ReplyPosition{Created: w.now, Seq: w.seq}, []gateway.Settlement{{App: p.App, Conv: p.Conv, Answer: a}},
			func(p *gateway.Pending, a *gateway.Answer) gateway.Decision { return gateway.Decide(&app, p, a, w.now) }, w.now)
		w.must(err)
		return out[0]
	}
	retry := gateway.Answer{Event: p.Delivery(), Verdict: gateway.VerdictRetry, Try: 1}
	first, second := say(retry), say(retry)
	if first.Late || !second.Late || second.Head == nil || second.Head.Tries != 1 || second.Head.Round != first.Head.Round {
		w.Fatalf("one retry that comes twice: %+v, %+v", first, second)
	}
	w.same("late", w.counter("late"), int64(1))
	retry.Try = 2
	w.same("tries after another one", say(retry).Head.Tries, 2)
	dead := gateway.Answer{Event: p.Delivery(), Verdict: gateway.VerdictDead, Try: 3}
	buried := say(dead)
	re, err := w.l.Requeue(w.ctx, buried.Dead, "ops", w.now)
	w.must(err)
	for _, old := range []gateway.Answer{retry, dead} {
		if s := say(old); !s.Late || s.Dead != "" || s.Head.Round != re.Pending.Round || s.Head.Tries != 0 {
			w.Errorf("%s of before the requeue: %+v", old.Verdict, s)
		}
	}
	if s := say(gateway.Answer{Event: p.Delivery(), Verdict: gateway.VerdictDone}); s.Late || s.Decision.State != gateway.EventSettled {
		w.Errorf("work that was done before the requeue: %+v", s)
	}
	w.balanced()
}

func settleDead(w *world) {
	p := w.relay(w.message("a1", "1"), w.message("a2", "1"), w.message("a3", "1")).Pending[0]
	s := w.answer(p, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 4, Detail: "boom"})
	if s.Dead == "" || s.Head == nil || s.Head.Event != "ev_a2" {
		w.Fatalf("dead: %+v", s)
	}
	d, err := w.l.DeadLetter(w.ctx, s.Dead)
	w.must(err)
	w.same("dead letter", *d, gateway.DeadLetter{ID: s.Dead, Kind: "event", At: w.now, Reason: "tries", Detail: "boom", App: "bot",
		Platform: "whatsapp", Account: "shop", Conv: p.Conv, Event: "ev_a1", N: 1, Payload: store.PayloadID(w.now, 1), Pos: 1, Tries: 4, State: "open"})
	w.balanced()

	re, err := w.l.Requeue(w.ctx, s.Dead, "ops", w.now)
	w.must(err)
	want := p
	want.Round, want.Requeue = 1, 1
	if re.Pending == nil {
		w.Fatal("nothing waits")
	}
	w.same("pending again", *re.Pending, want)
	w.same("delivery id", re.Pending.Delivery(), "ev_a1.q1")
	heads, err := w.l.Heads(w.ctx, "bot", "", 10)
	w.must(err)
	w.same("head in its old place", heads, []gateway.Pending{want})
	if _, err := w.l.Requeue(w.ctx, s.Dead, "ops", w.now); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("requeued twice: %v", err)
	}
	w.balanced()

	s = w.answer(want, gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonVerdict, Tries: 1})
	w.must(w.l.Drop(w.ctx, s.Dead, "ops", "no use", w.now))
	if err := w.l.Drop(w.ctx, s.Dead, "ops", "no use", w.now); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("dropped twice: %v", err)
	}
	if err := w.l.Drop(w.ctx, "dl_none", "ops", "", w.now); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("dropped nothing: %v", err)
	}
	for state, want := range map[string]int{"": 0, "requeued": 1, "dropped": 1} {
		got, err := w.l.Dead(w.ctx, store.DeadQuery{State: state})
		w.must(err)
		w.same("dead letters in state "+state, len(got), want)
	}
	sums := w.balanced()
	w.same("sums", sums.Apps["bot"], gateway.AppSums{Wanted: 3, Dropped: 1, Pending: 2})
}

func settleBatch(w *world) {
	var items []gateway.ItemRow
	for i := range 6 {
		items = append(items, w.message(fmt.Sprint(i), fmt.Sprint(i%2)))
	}
	ps := w.relay(items...).Pending
	var answers []gateway.Settlement
	add := func(p gateway.Pending) {
		answers = append(answers, gateway.Settlement{App: p.App, Conv: p.Conv, Answer: gateway.Answer{Event: p.Delivery()}})
	}
	for _, i := range []int{0, 1, 2, 2, 5, 4} { // 5 stands behind the head, 2 comes twice
		add(ps[i])
	}
	out, err := w.l.Settle(w.ctx, gateway.ReplyPosition{Created: w.now, Seq: 6}, answers,
		func(*gateway.Pending, *gateway.Answer) gateway.Decision { return done("ok") }, w.now)
	w.must(err)
	var got []string
	for _, s := range out {
		head := "none"
		if s.Head != nil {
			head = s.Head.Event
		}
		got = append(got, fmt.Sprintf("%v %s", s.Late, head))
	}
	w.same("results", got, []string{"false ev_2", "false ev_3", "false ev_4", "true ev_4", "false ev_3", "false none"})
	w.balanced()

	// A decision that cannot be carried out leaves nothing of the batch.
	p := w.relay(w.message("z", "1")).Pending[0]
	_, err = w.l.Settle(w.ctx, gateway.ReplyPosition{Created: w.now, Seq: 7},
		[]gateway.Settlement{{App: p.App, Conv: p.Conv, Answer: gateway.Answer{Event: p.Delivery()}}},
		func(*gateway.Pending, *gateway.Answer) gateway.Decision { return gateway.Decision{} }, w.now)
	if err == nil {
		w.Error("a decision without a state was carried out")
	}
	taken, terr := w.l.Taken(w.ctx)
	w.must(terr)
	w.same("position after a failure", taken.Seq, uint64(6))
	w.balanced()
}

func settleHeld(w *world) {
	conv := w.relay(w.message("a1", "1")).Pending[0].Conv
	_, err := w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now, HoldReplies: true})
	w.must(err)
	p := w.payload(w.message("a1", "1"))
	p.Pos = 1
	replayed := w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{p}}).Pending[0]
	s := w.answer(replayed, done("held"))
	if s.Late || s.Messages != 1 {
		w.Fatalf("settled: %+v", s)
	}
	if m, _ := w.next(conv); m != nil {
		w.Errorf("a held message is open")
	}
	ms, err := w.l.Messages(w.ctx, gateway.MessageHeld, 10)
	w.must(err)
	w.same("held", len(ms), 1)
	w.balanced()
	w.later(time.Hour)
	convs, err := w.l.ReleaseRun(w.ctx, "run_1", "ops", w.now)
	w.must(err)
	w.same("released", convs, []string{conv})
	m, _ := w.next(conv)
	w.same("state", m.State, gateway.MessageWaiting)
	if _, err := w.l.ReleaseRun(w.ctx, "run_none", "ops", w.now); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("released nothing: %v", err)
	}
	w.balanced()
}

// settleLong answers what waits in one conversation out of order, with a write
// that fails half way, a dead letter requeued and a replay behind it all.
func settleLong(w *world) {
	const n = 150
	var ps []gateway.Pending
	for i := 0; i < n; i += 50 {
		var items []gateway.ItemRow
		for j := range 50 {
			items = append(items, w.message(fmt.Sprint("a", i+j), "1"))
		}
		ps = append(ps, w.relay(items...).Pending...)
	}
	_, err := w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", By: "ops", At: w.now})
	w.must(err)
	again := w.payload(w.message("a0", "1"))
	replayed := w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{again}}).Pending
	if len(ps) != n || len(replayed) != 1 {
		w.Fatalf("%d and %d rows wait", len(ps), len(replayed))
	}
	settle := func(want int, p gateway.Pending) {
		w.Helper()
		s := w.answer(p, done())
		if s.Late || s.Was.Event != p.Event || s.Head == nil || s.Head.Event != ps[want].Event {
			w.Errorf("settled %s: late %v, head %+v", p.Event, s.Late, s.Head)
		}
	}
	settle(0, ps[n-1])
	settle(0, ps[70])
	settle(0, ps[3])
	settle(1, ps[0])
	// The first of two is good, the second is refused: both are taken back.
	decisions := []gateway.Decision{done(), {}}
	_, err = w.l.Settle(w.ctx, gateway.ReplyPosition{Created: w.now, Seq: 99},
		[]gateway.Settlement{
			{App: "bot", Conv: ps[1].Conv, Answer: gateway.Answer{Event: ps[1].Delivery()}},
			{App: "bot", Conv: ps[1].Conv, Answer: gateway.Answer{Event: ps[2].Delivery()}},
		}, func(p *gateway.Pending, _ *gateway.Answer) gateway.Decision {
			if p.Event == ps[1].Event {
				return decisions[0]
			}
			return decisions[1]
		}, w.now)
	if !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("a decision without a state: %v", err)
	}
	s := w.answer(ps[1], gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 4})
	if s.Late || s.Head == nil || s.Head.Event != ps[2].Event {
		w.Fatalf("after a write that failed: %+v", s)
	}
	settle(4, ps[2])
	re, err := w.l.Requeue(w.ctx, s.Dead, "ops", w.now)
	w.must(err)
	settle(1, ps[80])
	settle(4, *re.Pending)
	for i := 4; i < n-1; i++ {
		if i == 70 || i == 80 {
			continue
		}
		head, err := w.l.Heads(w.ctx, "bot", "", 2)
		w.must(err)
		if len(head) != 1 || head[0].Event != ps[i].Event || head[0].Run != "" {
			w.Fatalf("heads: %+v, want %s", head, ps[i].Event)
		}
		s = w.answer(head[0], done())
		if s.Late {
			w.Errorf("the head %s was late", head[0].Event)
		}
	}
	if s.Head == nil || s.Head.Run != "run_1" || s.Head.Lane != gateway.LaneReplay {
		w.Fatalf("the replay comes last: %+v", s.Head)
	}
	w.relay(w.message("b1", "1"))
	s = w.answer(replayed[0], done())
	if s.Late || s.Head == nil || s.Head.Event != "ev_b1" {
		w.Errorf("the replay: %+v", s)
	}
	w.same("nothing more", w.answer(*s.Head, done()).Head, (*gateway.Pending)(nil))
	w.balanced()
}
