package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

// Where the platform's time, the handling or the sending disagree with the order of
// arrival is marked; what has no time has no place.
func TestOrders(t *testing.T) {
	at := func(second int) *time.Time { t := sampleTime.Add(time.Duration(second) * time.Second); return &t }
	event := func(seq int64, id string, dated *time.Time, verdicts map[string]gateway.EventVerdict) gateway.ConversationEvent {
		return gateway.ConversationEvent{Seq: seq, Event: id, OccurredAt: dated, Verdicts: verdicts}
	}
	by := func(app string, second int) map[string]gateway.EventVerdict {
		return map[string]gateway.EventVerdict{app: {At: *at(second)}}
	}
	v := &gateway.Conversation{
		Events: []gateway.ConversationEvent{
			event(1, "ev_1", at(5), by("bot", 20)),
			event(2, "ev_2", at(4), by("bot", 40)), // dated before the first, requeued after the third
			event(3, "ev_3", nil, by("bot", 30)),
			event(4, "ev_4", at(6), by("faq", 1)),
			event(0, "ev_status", at(1), nil),
		},
		Messages: []gateway.ConversationMessage{
			{Event: "ev_1", Calls: []gateway.MessageCall{{StartedAt: *at(21)}, {StartedAt: *at(60)}}},
			{Event: "ev_2", Calls: []gateway.MessageCall{{StartedAt: *at(41)}}},
			{Event: "ev_3"},
		},
	}
	var got bytes.Buffer
	printOrders(&got, v, "bot")
	want := `SEQ  DATED  CAME  HANDLED  SENT  EVENT
1    2 !    1     1        1     ev_1
2    1 !    2     3 !      2     ev_2
3    -      3     2 !      -     ev_3
4    3      4     -        -     ev_4

3 are at another place than by the order they came
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}
