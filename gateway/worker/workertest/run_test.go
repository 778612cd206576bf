package workertest_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

// A handler is run on what came from an archive, without a broker.
func TestRunOnExportedEvents(t *testing.T) {
	events := workertest.Events(t, "testdata/conversation.jsonl")
	h := func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if i := worker.Info(ctx); i.ID != ev.Delivery || i.Try != 1 || i.Traceparent == "" {
			t.Errorf("info %+v", i)
		}
		switch {
		case ev.Kind != gateway.KindMessage:
			return nil, nil
		case strings.Contains(ev.Text, "price"):
			return nil, worker.Dead(errors.New("no prices here"))
		}
		return worker.Text("You wrote: " + ev.Text), nil
	}
	want := []gateway.Answer{
		{Event: events[0].Event, Verdict: gateway.VerdictDone, Replies: []gateway.Reply{{Type: gateway.ReplyText, Text: "You wrote: hello <you> & me"}}},
		{Event: events[1].Event, Verdict: gateway.VerdictDead, Replies: []gateway.Reply{}, Error: "no prices here"},
		{Event: events[2].Event, Verdict: gateway.VerdictDone, Replies: []gateway.Reply{}},
	}
	if d := cmp.Diff(want, workertest.Run(t, h, events...)); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
}

func TestReadEventsNamesTheLine(t *testing.T) {
	good := `{"event":"ev_1","delivery":"ev_1","conv":"c","seq":1,"kind":"message","origin":"live","platform":"whatsapp","account":"a","chat":"single","payload":"p","received_at":"2026-11-30T08:00:00Z","occurred_at":null,"type":"text"}`
	for _, c := range []struct{ in, want string }{
		{good + "\n\n" + good, ""},
		{"", ""},
		{good + "\n{", "line 2: not the JSON"},
		{good + "\n\n{}", "line 3: event is empty"},
		{strings.Replace(good, `"conv":"c"`, `"conv":"c.d"`, 1), "line 1: not a subject token: conversation"},
		{strings.Replace(good, `"account":"a"`, `"account":""`, 1), "line 1: not a subject token: account"},
		{good + "secret", "line 1"},
	} {
		_, err := workertest.ReadEvents(strings.NewReader(c.in))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v, want %q", c.in, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error says what stands there: %v", err)
		}
	}
}

// Whatever is read can be handed to a handler, and reading never panics.
func FuzzReadEvents(f *testing.F) {
	f.Add([]byte(`{"event":"ev_1","delivery":"ev_1","conv":"c","kind":"message","platform":"whatsapp","account":"a","received_at":"2026-11-30T08:00:00Z","type":"text","raw":{"a":1}}`))
	f.Add([]byte("{}\n\n[1]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := workertest.ReadEvents(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, ev := range events {
			a := workertest.Ask(t.Context(), func(context.Context, *gateway.Event) ([]gateway.Reply, error) { return nil, nil }, ev)
			if a.Event == "" {
				t.Errorf("an answer to nothing: %+v", a)
			}
		}
	})
}
