package workertest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/worker"
)

// Ask calls the handler with one event and returns the answer that a worker
// would publish.
func Ask(ctx context.Context, h worker.Handler, ev *gateway.Event) gateway.Answer {
	if ev.Delivery == "" {
		ev.Delivery = ev.Event
	}
	return worker.Answer(worker.WithDelivery(ctx, worker.Delivery{
		ID: ev.Delivery, Try: 1, Delivered: 1, Traceparent: gateway.Traceparent(ev.Event, ev.Delivery),
	}), h, ev)
}

// Run hands events to the handler, one after another, and returns its answers in
// the same order. Nothing is started: no broker, no gateway. Event and answer go
// through their JSON, so that the handler sees what it would see and an answer
// that the gateway would refuse fails the test. A retry is an answer like any
// other; give the event again for its next try.
func Run(t testing.TB, h worker.Handler, events ...*gateway.Event) []gateway.Answer {
	t.Helper()
	answers := make([]gateway.Answer, 0, len(events))
	for i, ev := range events {
		seen, err := published(ev)
		if err != nil {
			t.Fatalf("workertest: event %d: %v", i+1, err)
		}
		body, err := worker.Encode(Ask(t.Context(), h, seen))
		if err != nil {
			t.Fatalf("workertest: the answer to event %d is not encodable: %v", i+1, err)
		}
		a, err := gateway.ParseAnswer(body)
		if err != nil {
			t.Errorf("workertest: event %d: %v", i+1, err)
		}
		answers = append(answers, a)
	}
	return answers
}

// published is the event as a worker reads it.
func published(ev *gateway.Event) (*gateway.Event, error) {
	row, before, err := rowsOf(ev)
	if err != nil {
		return nil, err
	}
	delivery := ev.Delivery
	if delivery == "" {
		delivery = ev.Event
	}
	return gateway.DecodeEvent(row.BodyWith(before, delivery))
}

// rowsOf is rowOf with what was collected before it.
func rowsOf(ev *gateway.Event) (row gateway.EventRow, before []gateway.EventRow, err error) {
	if row, err = rowOf(ev); err != nil {
		return row, nil, err
	}
	for _, one := range ev.Collected {
		r, err := rowOf(one)
		if err != nil {
			return row, nil, err
		}
		before = append(before, r)
	}
	return row, before, nil
}

// rowOf is the event as the ledger keeps it.
func rowOf(ev *gateway.Event) (gateway.EventRow, error) {
	content, err := gateway.EncodeContent(&ev.Content)
	row := gateway.EventRow{
		ID: ev.Event, Run: ev.Run, Platform: ev.Platform, Account: ev.Account, Conv: ev.Conv, Chat: ev.Chat,
		Seq: ev.Seq, Kind: ev.Kind, Origin: ev.Origin, Payload: ev.Payload, ReceivedAt: ev.ReceivedAt, Content: content,
	}
	if ev.OccurredAt != nil {
		row.OccurredAt = *ev.OccurredAt
	}
	return row, err
}

// Events reads a file that `causeway archive export` wrote, for Run.
func Events(t testing.TB, path string) []*gateway.Event {
	t.Helper()
	f, err := os.Open(path) //nolint:gosec // the test's own file
	if err != nil {
		t.Fatalf("workertest: %v", err)
	}
	defer func() { _ = f.Close() }()
	events, err := ReadEvents(f)
	if err != nil {
		t.Fatalf("workertest: %s: %v", path, err)
	}
	return events
}

// ReadEvents reads events as JSON, one a line; empty lines are passed over. An
// error names the line, and never says what stands in it.
func ReadEvents(r io.Reader) ([]*gateway.Event, error) {
	var events []*gateway.Event
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, end := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			ev, err := gateway.DecodeEvent(line)
			switch {
			case err != nil:
				return nil, fmt.Errorf("line %d: not the JSON of an event", n)
			case ev.Event == "":
				return nil, fmt.Errorf("line %d: event is empty", n)
			}
			if _, err := stream.EventSubject(ev.Platform, ev.Account, ev.Conv, ev.Kind); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			events = append(events, ev)
		}
		switch {
		case errors.Is(end, io.EOF):
			return events, nil
		case end != nil:
			return nil, fmt.Errorf("line %d: %w", n, end)
		}
	}
}
