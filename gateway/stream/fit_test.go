package stream_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// A broker outside that takes little: what is too large with its raw part goes
// without, byte by byte up to the limit; what is too large without is refused by
// name and harms no other. The row that others hold is left as it is.
func TestSmallMaxPayload(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true, MaxPayload: most})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	nc, err := stream.Dial(srv.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s, err := stream.Open(t.Context(), nc, stream.Options{StoreID: "store", Apps: []gateway.Application{bot()}, Log: quiet(t), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	var rows []gateway.EventRow
	var offers []gateway.Offer
	var want []string // "raw", "lean" or "refused"
	add := func(text, raw int, what string) {
		n := len(rows) + 1
		o := offer("bot", n, n, 0)
		var err error
		o.Event.Content, err = gateway.EncodeContent(&gateway.Content{Type: "text", Text: strings.Repeat("t", text),
			Raw: json.RawMessage(`"` + strings.Repeat("r", raw) + `"`)})
		if err != nil {
			t.Fatal(err)
		}
		rows, offers, want = append(rows, o.Event), append(offers, o), append(want, what)
	}
	add(10, 10, "raw")
	add(10, most, "lean")
	add(most, 10, "refused")
	add(most-4096, 1000, "raw")
	add(most-4096, 4096, "lean")
	for n := most - 1100; n < most-700; n += 7 { // every size around the limit
		add(n, 0, "")
	}
	before := strings.Clone(string(rows[1].Content))
	errs, offered := s.PublishEvents(t.Context(), rows), s.Offer(t.Context(), "bot", offers)
	js := jet(t, &rig{t: t, nc: nc})
	for i := range rows {
		refused := errors.Is(errs[i], gateway.ErrTooLarge)
		if (errs[i] != nil) != refused || (want[i] != "" && refused != (want[i] == "refused")) {
			t.Fatalf("row %d, %d bytes of content: %v", i, len(rows[i].Content), errs[i])
		}
		switch state := offered[i].State; {
		case state != gateway.OfferTooLarge && state != gateway.OfferTaken:
			t.Fatalf("offer %d: %+v", i, offered[i])
		case (state == gateway.OfferTooLarge) != refused && want[i] != "": // an offer has two headers more
			t.Fatalf("offer %d is %s, as a copy %v", i, state, errs[i])
		}
		if refused {
			continue
		}
		st, err := js.Stream(t.Context(), stream.EventStream)
		if err != nil {
			t.Fatal(err)
		}
		subject, err := stream.EventSubject(rows[i].Platform, rows[i].Account, rows[i].Conv, rows[i].Kind)
		if err != nil {
			t.Fatal(err)
		}
		m, err := st.GetLastMsgForSubject(t.Context(), subject)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := gateway.DecodeEvent(m.Data)
		if err != nil || ev.Type != "text" || len(ev.Text) == 0 {
			t.Fatalf("row %d is read as %+v, %v", i, ev, err)
		}
		if want[i] != "" && (len(ev.Raw) > 0) != (want[i] == "raw") {
			t.Errorf("row %d, %d bytes of content, came with %d bytes of raw, want %s", i, len(rows[i].Content), len(ev.Raw), want[i])
		}
	}
	if string(rows[1].Content) != before {
		t.Error("the row itself was changed")
	}
	bundles(t, s, js, most)
}

// bundles fit in the same way: all events or none have their raw parts.
func bundles(t *testing.T, s *stream.Streams, js jetstream.JetStream, most int) {
	t.Helper()
	for i, c := range []struct {
		raw, text int
		state     gateway.OfferState
		had       bool
	}{{10, 10, gateway.OfferTaken, true}, {most / 3, 10, gateway.OfferTaken, false}, {10, most / 3, gateway.OfferTooLarge, false}} {
		o := offer("bot", 900+i, 3, 0)
		content, err := gateway.EncodeContent(&gateway.Content{Type: "text", Text: strings.Repeat("t", c.text), Raw: json.RawMessage(`"` + strings.Repeat("r", c.raw) + `"`)})
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n < 3; n++ {
			o.Before = append(o.Before, event(900+i, n))
			o.Before[n-1].Content = content
		}
		o.Event.Content = content
		o.Pending.Seq, o.Pending.Last = 1, o.Event.ID
		got := s.Offer(t.Context(), "bot", []gateway.Offer{o})[0]
		if got.State != c.state {
			t.Fatalf("bundle %d: %+v", i, got)
		}
		if got.State != gateway.OfferTaken {
			continue
		}
		st, err := js.Stream(t.Context(), stream.ReadyName("bot"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := st.GetMsg(t.Context(), got.Seq)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := gateway.DecodeEvent(m.Data)
		if err != nil || len(ev.Collected) != 2 || ev.Delivery != o.Event.ID+".c1" || m.Header.Get(stream.HeaderID) != ev.Delivery || m.Header.Get(stream.HeaderSeq) != "3" {
			t.Fatalf("bundle %d is read as %+v, %v", i, ev, err)
		}
		for _, one := range ev.All() {
			if one.Delivery != ev.Delivery || len(one.Text) != c.text || (len(one.Raw) > 0) != c.had {
				t.Errorf("bundle %d: %s has %d bytes of text and %d of raw", i, one.Event, len(one.Text), len(one.Raw))
			}
		}
	}
}
