package stream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
)

// sink collects what TakeAnswers hands on.
type sink struct {
	mu   sync.Mutex
	got  []string
	last gateway.ReplyPosition
	fail int // so many calls fail first
	call int
}

func (s *sink) take(_ context.Context, at gateway.ReplyPosition, answers []gateway.TakenAnswer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.call++
	if s.call <= s.fail {
		return errors.New("the ledger is away")
	}
	for _, a := range answers {
		s.got = append(s.got, a.App+"/"+a.Conv+"/"+string(a.Data))
	}
	s.last = at
	return nil
}

func (s *sink) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

func (s *sink) position() gateway.ReplyPosition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// answerAs publishes as a worker does and waits for the acknowledgement; false
// when there was none.
func answerAs(r *rig, n int) bool {
	_, err := r.nc.Request("cw.reply.bot.whatsapp.shop-a."+convID(1), fmt.Appendf(nil, "%d", n), time.Second)
	return err == nil
}

func (r *rig) take(from gateway.ReplyPosition, s *sink) (stop func()) {
	ctx, cancel := context.WithCancel(r.ctx())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.s.TakeAnswers(ctx, from, s.take); err != nil {
			r.t.Errorf("TakeAnswers: %v", err)
		}
	})
	return func() { cancel(); wg.Wait() }
}

func wantAnswers(t *testing.T, s *sink, ns ...int) {
	t.Helper()
	until(t, fmt.Sprintf("%d answers", len(ns)), func() bool { return len(s.texts()) >= len(ns) })
	got := s.texts()
	for i, n := range ns {
		if want := fmt.Sprintf("bot/%s/%d", convID(1), n); got[i] != want {
			t.Fatalf("answer %d is %q, want %q (all: %v)", i, got[i], want, got)
		}
	}
	if len(got) != len(ns) {
		t.Fatalf("%d answers, want %d: %v", len(got), len(ns), got)
	}
}

func TestTakeAnswersFromPosition(t *testing.T) {
	r := newRig(t)
	for n := 1; n <= 3; n++ {
		answerAs(r, n)
	}
	first := &sink{fail: 2} // the same batch comes again
	stop := r.take(gateway.ReplyPosition{}, first)
	wantAnswers(t, first, 1, 2, 3)
	answerAs(r, 4)
	wantAnswers(t, first, 1, 2, 3, 4)
	stop()
	answerAs(r, 5)
	answerAs(r, 6)
	second := &sink{}
	stop = r.take(first.position(), second)
	wantAnswers(t, second, 5, 6)
	stop()

	// A position of another life, or beyond the stream's end, means: from the
	// beginning.
	for name, from := range map[string]gateway.ReplyPosition{
		"other life": {Created: time.Unix(1, 0), Seq: 4},
		"lost tail":  {Created: second.position().Created, Seq: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sink{}
			stop := r.take(from, s)
			defer stop()
			wantAnswers(t, s, 1, 2, 3, 4, 5, 6)
		})
	}
}

func TestTakeAnswersOutlivesRestartAndWipe(t *testing.T) {
	r := newRig(t)
	s := &sink{}
	stop := r.take(gateway.ReplyPosition{}, s)
	defer stop()
	answerAs(r, 1)
	wantAnswers(t, s, 1)
	created := s.position().Created

	if err := r.srv.Restart(r.ctx()); err != nil {
		t.Fatal(err)
	}
	until(t, "the answer after the restart is stored", func() bool { return answerAs(r, 2) })
	wantAnswers(t, s, 1, 2)
	if got := s.position(); !got.Created.Equal(created) || got.Seq != 2 {
		t.Errorf("position after the restart %+v, want sequence 2 of the same life", got)
	}

	if err := jet(t, r).DeleteStream(r.ctx(), "CW_REPLY"); err != nil {
		t.Fatal(err)
	}
	until(t, "the answer after the wipe is stored", func() bool { return answerAs(r, 3) })
	wantAnswers(t, s, 1, 2, 3)
	if got := s.position(); got.Created.Equal(created) || got.Seq != 1 {
		t.Errorf("position after the wipe %+v, want sequence 1 of a new life", got)
	}
}

// Whoever may answer may set any header; none of them may look like a word of
// the broker.
func TestAnswersWithHostileHeaders(t *testing.T) {
	r := newRig(t)
	s := &sink{}
	stop := r.take(gateway.ReplyPosition{}, s)
	defer stop()
	for n, status := range []string{"503", "409", "100", "404"} {
		m := nats.NewMsg("cw.reply.bot.whatsapp.shop-a." + convID(1))
		m.Header.Set("Status", status)
		m.Header.Set("Description", "Consumer Deleted")
		m.Data = fmt.Appendf(nil, "%d", n)
		if _, err := r.nc.RequestMsg(m, 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	wantAnswers(t, s, 0, 1, 2, 3)
}

// Many answers come in batches of at most 500, in order, none twice.
func TestTakeAnswersBatches(t *testing.T) {
	r := newRig(t)
	const n = 3000
	for i := range n {
		if err := r.nc.Publish("cw.reply.bot.whatsapp.shop-a."+convID(i%7), fmt.Appendf(nil, "%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(r.ctx())
	defer cancel()
	next, largest := uint64(1), 0
	err := r.s.TakeAnswers(ctx, gateway.ReplyPosition{}, func(_ context.Context, at gateway.ReplyPosition, answers []gateway.TakenAnswer) error {
		largest = max(largest, len(answers))
		for _, a := range answers {
			if a.Seq != next {
				t.Errorf("sequence %d, want %d", a.Seq, next)
			}
			next = a.Seq + 1
		}
		if at.Seq != next-1 {
			t.Errorf("position %d after sequence %d", at.Seq, next-1)
		}
		if at.Seq == n {
			cancel()
		}
		return nil
	})
	if err != nil || next != n+1 || largest > 500 {
		t.Errorf("%v; next %d, largest batch %d", err, next, largest)
	}
}

func TestReplyStateAndPurge(t *testing.T) {
	r := newRig(t)
	for n := 1; n <= 5; n++ {
		answerAs(r, n)
	}
	last, bytes, limit, err := r.s.ReplyState(r.ctx())
	if err != nil || last.Seq != 5 || last.Created.IsZero() || bytes == 0 || limit == 0 {
		t.Fatalf("state %+v, %d of %d bytes, %v", last, bytes, limit, err)
	}
	if err := r.s.PurgeReplies(r.ctx(), 3); err != nil {
		t.Fatal(err)
	}
	s := &sink{}
	stop := r.take(gateway.ReplyPosition{Created: last.Created, Seq: 1}, s) // purged meanwhile
	defer stop()
	wantAnswers(t, s, 3, 4, 5)
	after, fewer, _, err := r.s.ReplyState(r.ctx())
	if err != nil || after != last || fewer >= bytes {
		t.Errorf("after the purge: %+v, %d bytes (before %d), %v", after, fewer, bytes, err)
	}
}
