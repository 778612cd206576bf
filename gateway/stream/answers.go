package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

const (
	answerRoom  = 2000 // answers held in memory
	answerBatch = 500  // answers in one call
	answerBytes = 16 << 20

	backoffFirst = 100 * time.Millisecond
	backoffMost  = 5 * time.Second
)

// TakeFunc gets answers in the order of CW_REPLY, and the position after them.
// When it fails it gets the same answers again after a while.
type TakeFunc func(ctx context.Context, at gateway.ReplyPosition, answers []gateway.TakenAnswer) error

// TakeAnswers hands on what is in CW_REPLY after from, then what comes, until
// ctx ends; it returns nil then. A batch is what is there, at most 500; while
// thousands come in a second it gathers for half a millisecond. A stream of another life than from, or one that
// lost its tail in a crash (its last sequence is below from), is read from the
// beginning; answers may so come twice, and the ledger finds those late. It
// outlives the broker's restarts and a wipe of the stream.
func (s *Streams) TakeAnswers(ctx context.Context, from gateway.ReplyPosition, fn TakeFunc) error {
	pos, wait, failed := readUpTo{ReplyPosition: from}, backoffFirst, false
	for {
		before := pos
		err := s.takeLife(ctx, &pos, fn)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the caller ended it
		}
		if !failed {
			s.log.Warn("answers.interrupted", zap.Error(err))
		}
		failed = true
		if pos != before {
			wait, failed = backoffFirst, false
		}
		if !sleep(ctx, wait) {
			return nil
		}
		wait = min(2*wait, backoffMost)
	}
}

// readUpTo is a position with the time of its message, as far as this call has
// seen it. A stream that lost its tail gives the same sequences out again, and
// may have grown past the position before anybody looks; the time tells.
type readUpTo struct {
	gateway.ReplyPosition
	stored time.Time
}

// takeLife reads through one consumer until something breaks.
func (s *Streams) takeLife(ctx context.Context, pos *readUpTo, fn TakeFunc) error {
	if err := s.need(ctx, ReplyStream); err != nil {
		return err
	}
	name, err := s.replyConsumer(ctx, pos)
	if err != nil {
		return s.check(ReplyStream, err)
	}
	defer s.dropReplyConsumer(name)
	in := make(chan *nats.Msg, answerRoom)
	p, err := NewPuller(s.nc, PullOptions{
		Stream: ReplyStream, Consumer: name, Room: answerRoom, MaxBytes: answerBytes,
		Into: func(_ *Puller, m *nats.Msg) {
			select {
			case in <- m:
			default: // more than asked for; the gap is seen below
			}
		},
	})
	if err != nil {
		return err
	}
	defer p.Close()
	var last uint64 // consumer sequence: it has no gaps
	var rate flow
	for {
		batch, err := nextBatch(ctx, p, in, &rate)
		if err != nil {
			return s.check(ReplyStream, err)
		}
		answers, stored, err := readAnswers(batch, &last)
		if err != nil {
			return err
		}
		at := gateway.ReplyPosition{Created: pos.Created, Seq: answers[len(answers)-1].Seq}
		if !s.handOn(ctx, at, answers, fn) {
			return ctx.Err()
		}
		*pos = readUpTo{at, stored}
		p.Release(len(batch))
	}
}

// replyConsumer makes a consumer for what comes after pos, which is set to the
// stream's life. It lives in the server's memory and ends a minute after we do.
func (s *Streams) replyConsumer(ctx context.Context, pos *readUpTo) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	str, err := s.js.Stream(ctx, ReplyStream)
	if err != nil {
		return "", err
	}
	info := str.CachedInfo()
	if err := s.stillOurs(info); err != nil {
		return "", err
	}
	if !pos.Created.Equal(life(info)) || info.State.LastSeq < pos.Seq || s.grownAgain(ctx, str, pos) {
		if !pos.Created.IsZero() {
			s.log.Warn("answers.from_beginning", zap.Uint64("was", pos.Seq), zap.Uint64("last", info.State.LastSeq))
		}
		*pos = readUpTo{ReplyPosition: gateway.ReplyPosition{Created: life(info)}}
	}
	c, err := str.CreateConsumer(ctx, jetstream.ConsumerConfig{
		AckPolicy:         jetstream.AckNonePolicy,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       pos.Seq + 1,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return "", err
	}
	return c.CachedInfo().Name, nil
}

// grownAgain says whether another message stands at the position than the one
// that was taken.
func (s *Streams) grownAgain(ctx context.Context, str jetstream.Stream, pos *readUpTo) bool {
	if pos.stored.IsZero() {
		return false
	}
	m, err := str.GetMsg(ctx, pos.Seq)
	return err == nil && !m.Time.Equal(pos.stored)
}

// dropReplyConsumer is a courtesy: the consumer would end by itself.
func (s *Streams) dropReplyConsumer(name string) {
	if s.nc.IsConnected() {
		_ = s.nc.Publish("$JS.API.CONSUMER.DELETE."+ReplyStream+"."+name, nil)
	}
}

// flow is how many answers come in a second, smoothed over some 20 ms.
type flow struct {
	perSecond float64
	at        time.Time
}

const (
	flowOver   = 20 * time.Millisecond
	flowMany   = 5000 // answers a second
	gatherTime = 500 * time.Microsecond
)

// took counts a batch and says whether answers come so fast that a commit is
// shared by more of them when the next batch gathers for a moment. A commit costs
// about as much as settling four answers, so this is a matter of processor time:
// with fewer, everybody would only wait.
func (f *flow) took(n int, now time.Time) {
	if since := now.Sub(f.at); since > 0 {
		share := min(float64(since)/float64(flowOver), 1)
		f.perSecond += share * (float64(n)/since.Seconds() - f.perSecond)
	}
	f.at = now
}

func (f *flow) gather() time.Duration {
	if f.perSecond < flowMany {
		return 0
	}
	return gatherTime
}

// nextBatch waits for a message and takes what else is there.
func nextBatch(ctx context.Context, p *Puller, in <-chan *nats.Msg, rate *flow) ([]*nats.Msg, error) {
	var batch []*nats.Msg
	select {
	case m := <-in:
		batch = append(batch, m)
	default:
		select {
		case m := <-in:
			batch = append(batch, m)
		case <-p.Done():
			return nil, p.Err()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if d := rate.gather(); d > 0 && !sleep(ctx, d) {
		return nil, ctx.Err()
	}
	for len(batch) < answerBatch {
		select {
		case m := <-in:
			batch = append(batch, m)
			continue
		default:
		}
		break
	}
	rate.took(len(batch), time.Now()) // the machine's own pace
	return batch, nil
}

// readAnswers also returns when the last one was stored.
func readAnswers(batch []*nats.Msg, last *uint64) (_ []gateway.TakenAnswer, stored time.Time, _ error) {
	out := make([]gateway.TakenAnswer, 0, len(batch))
	for _, m := range batch {
		meta, err := m.Metadata()
		if err != nil {
			return nil, stored, errors.New("answers: a message without metadata")
		}
		if meta.Sequence.Consumer != *last+1 {
			return nil, stored, fmt.Errorf("%w: answers: a gap after %d", gateway.ErrUnavailable, *last)
		}
		*last, stored = meta.Sequence.Consumer, meta.Timestamp
		a := gateway.TakenAnswer{Seq: meta.Sequence.Stream, Data: m.Data}
		a.App, a.Conv, _ = splitReply(m.Subject) // the stream takes no other subjects
		out = append(out, a)
	}
	return out, stored, nil
}

// handOn calls fn until it succeeds; false when ctx ended before.
func (s *Streams) handOn(ctx context.Context, at gateway.ReplyPosition, answers []gateway.TakenAnswer, fn TakeFunc) bool {
	for wait := backoffFirst; ; wait = min(2*wait, backoffMost) {
		err := fn(ctx, at, answers)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		s.log.Warn("answers.not_taken", zap.Int("answers", len(answers)), zap.Error(err))
		if !sleep(ctx, wait) {
			return false
		}
	}
}

// sleep waits; false when ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ReplyState tells the last position of CW_REPLY and its size and limit in
// bytes.
func (s *Streams) ReplyState(ctx context.Context) (last gateway.ReplyPosition, bytes, maxBytes uint64, err error) {
	if err := s.need(ctx, ReplyStream); err != nil {
		return last, 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	str, err := s.js.Stream(ctx, ReplyStream)
	if err != nil {
		return last, 0, 0, s.check(ReplyStream, err)
	}
	info := str.CachedInfo()
	if err := s.stillOurs(info); err != nil {
		return last, 0, 0, err
	}
	last = gateway.ReplyPosition{Created: life(info), Seq: info.State.LastSeq}
	return last, info.State.Bytes, uint64(max(info.Config.MaxBytes, 0)), nil
}

// PurgeReplies deletes the answers before upTo, which the ledger must have taken;
// the one at upTo stays, so that a stream that lost its tail is recognised.
func (s *Streams) PurgeReplies(ctx context.Context, upTo uint64) error {
	if err := s.need(ctx, ReplyStream); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	str, err := s.js.Stream(ctx, ReplyStream)
	if err != nil {
		return s.check(ReplyStream, err)
	}
	return s.check(ReplyStream, str.Purge(ctx, jetstream.WithPurgeSequence(upTo)))
}
