package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// Who asks names where the answer goes. The gateway may publish anywhere and they may
// not, so it answers in inboxes only: no gate, copy or state is filled by a request.
func TestAnswersGoToInboxesOnly(t *testing.T) {
	r := newRig(t)
	ctx, stop := context.WithCancel(r.ctx())
	ended := make(chan error, 1)
	go func() {
		ended <- r.s.ServeCurrent(ctx, 1, func(context.Context, string, string) (*gateway.State, string) {
			return &gateway.State{Conv: convID(1)}, ""
		})
	}()
	defer func() {
		stop()
		<-ended
	}()
	ask := stream.CurrentSubject("bot")
	body := []byte(`{"conv":"` + convID(1) + `"}`)
	for { // until it listens
		if _, err := r.nc.Request(ask, body, time.Second); err == nil {
			break
		} else if r.ctx().Err() != nil {
			t.Fatal(err)
		}
	}
	tail := ".whatsapp.shop." + convID(2)
	elsewhere := map[string]string{
		stream.ReadyName("bot"): "cw.ready.bot" + tail, stream.ReplyStream: "cw.reply.bot" + tail,
		stream.EventStream: "cw.event" + tail + ".message", stream.StateStream: "$KV.CW_STATE." + convID(2),
	}
	for _, subject := range elsewhere {
		if err := r.nc.PublishRequest(ask, subject, body); err != nil {
			t.Fatal(err)
		}
	}
	// One is answered after the other, so this one's answer comes last.
	if _, err := r.nc.Request(ask, body, time.Minute); err != nil {
		t.Fatal(err)
	}
	for name, subject := range elsewhere {
		s, err := jet(t, r).Stream(r.ctx(), name)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.CachedInfo().State.Msgs; n != 0 {
			t.Errorf("%d messages on %s", n, subject)
		}
	}
}
