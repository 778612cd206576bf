package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// PublishEvents publishes copies for observers, in order, and returns one error
// per row, nil when it is stored (also when it was before: the message id is the
// event id). An error wrapping gateway.ErrUnavailable may have been stored; one
// wrapping gateway.ErrTooLarge never will be.
func (s *Streams) PublishEvents(ctx context.Context, rows []gateway.EventRow) []error {
	return s.publishAll(ctx, EventStream, len(rows), func(i int) (*nats.Msg, error) {
		r := &rows[i]
		subject, err := EventSubject(r.Platform, r.Account, r.Conv, r.Kind)
		if err != nil {
			return nil, err
		}
		return s.fit(&nats.Msg{Subject: subject, Header: eventHeader(r, r.ID, r.ID, 0)}, nil, r, r.ID)
	})
}

// fit gives a message the body of an event, or of a bundle of which it is the last,
// without the raw parts when the broker takes less than that. The relay leaves large raw parts out itself, but it works
// also while no broker tells how much it takes, and a broker's limit can shrink.
func (s *Streams) fit(m *nats.Msg, before []gateway.EventRow, r *gateway.EventRow, delivery string) (*nats.Msg, error) {
	most := s.nc.MaxPayload()
	fits := func() bool { return int64(m.Size()-len(m.Subject)) <= most } // of headers and data
	if m.Data = r.BodyWith(before, delivery); fits() {
		return m, nil
	}
	lean, leaner := *r, slices.Clone(before)
	var had, one bool
	lean.Content, had = r.WithoutRaw()
	for i := range leaner {
		leaner[i].Content, one = before[i].WithoutRaw()
		had = had || one
	}
	if had {
		if m.Data = lean.BodyWith(leaner, delivery); fits() {
			return m, nil
		}
	}
	return nil, fmt.Errorf("event of %d bytes, the broker takes %d: %w", len(m.Data), most, gateway.ErrTooLarge)
}

// PublishChanges publishes changes of messages for observers; errors as
// PublishEvents. The message id is the number of the change.
func (s *Streams) PublishChanges(ctx context.Context, changes []gateway.Change) []error {
	return s.publishAll(ctx, ResultStream, len(changes), func(i int) (*nats.Msg, error) {
		c := &changes[i]
		subject, err := ResultSubject(c.Platform, c.Account, c.Conv)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("change %d: not encodable", c.N)
		}
		return &nats.Msg{Subject: subject, Data: body, Header: nats.Header{
			headerMsgID: {"change:" + strconv.FormatInt(c.N, 10)},
		}}, nil
	})
}

// publishAll publishes n messages into a stream. Those that cannot be made are
// left out and harm no other.
func (s *Streams) publishAll(ctx context.Context, name string, n int, message func(int) (*nats.Msg, error)) []error {
	errs := make([]error, n)
	acks := s.publishEach(ctx, name, n, message)
	for i := range acks {
		errs[i] = acks[i].Err
	}
	return errs
}

func (s *Streams) publishEach(ctx context.Context, name string, n int, message func(int) (*nats.Msg, error)) []Ack {
	out := make([]Ack, n)
	if n == 0 {
		return out
	}
	if err := s.need(ctx, name); err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	msgs := make([]*nats.Msg, 0, n)
	at := make([]int, 0, n)
	for i := range out {
		m, err := message(i)
		if err != nil {
			out[i].Err = err
			continue
		}
		msgs, at = append(msgs, m), append(at, i)
	}
	missing, silent := false, len(msgs) > 0 && ctx.Err() == nil
	for j, a := range s.pub.Publish(ctx, s.opts.Wait, msgs...) {
		if a.Err != nil {
			missing = missing || isMissing(a.Err)
			silent = silent && errors.Is(a.Err, errNoAnswer)
			a.Err = unavailable(name, a.Err)
		} else if silent = false; a.Stream != name {
			a.Err = fmt.Errorf("%w: stored in stream %s instead of %s", gateway.ErrUnavailable, a.Stream, name)
		}
		out[at[j]] = a
	}
	s.heard(name, silent)
	if missing {
		_ = s.check(name, errNoStream) // each of the messages carries the error
	}
	return out
}

// heard remembers which streams answer nothing at all.
func (s *Streams) heard(name string, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if silent && !s.mute[name] {
		s.mute[name] = true
		s.log.Error("stream.silent", zap.String("stream", name))
	} else if !silent {
		delete(s.mute, name)
	}
}

// eventHeader makes the headers of an event or offer. Every value is a name, an
// id, a number or a time of ours, so none needs the percent-encoding of the
// CloudEvents binding.
func eventHeader(r *gateway.EventRow, msgID, delivery string, extra int) nats.Header {
	when := r.OccurredAt
	if when.IsZero() {
		when = r.ReceivedAt
	}
	h := make(nats.Header, 13+extra)
	values := make([]string, 0, 13)
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set(headerMsgID, msgID)
	set(HeaderID, delivery)
	set(HeaderType, "causeway."+string(r.Kind))
	set(HeaderSource, "/"+r.Platform+"/"+r.Account)
	set(HeaderTime, when.UTC().Format(time.RFC3339Nano))
	set(HeaderSubject, r.Conv)
	set(HeaderSpecVersion, "1.0")
	set(HeaderContentType, "application/json")
	set(HeaderEvent, r.ID)
	if r.Seq > 0 {
		set(HeaderSeq, strconv.FormatInt(r.Seq, 10))
	}
	set(HeaderConv, r.Conv)
	set(HeaderOrigin, string(r.Origin))
	set(HeaderTrace, gateway.Traceparent(r.ID, msgID))
	return h
}
