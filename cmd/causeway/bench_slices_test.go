package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/relay"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
	"github.com/causewayhq/causeway/store/sqlite"
)

// BenchmarkLargeCallback relays a callback of 1,000 messages and 3 MB and one of
// another customer that was archived right behind it. It reports how long the ledger
// was held at once, how long the other one waited for its commit, how long all of it
// took and what of that was decoding.
func BenchmarkLargeCallback(b *testing.B) {
	wa, err := whatsapptest.New(whatsapptest.Options{AppSecret: benchAppSecret, AccessToken: "t", PhoneNumberID: "1", WABAID: "2"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = wa.Close() }()
	ctx := b.Context()
	s, err := sqlite.Open(ctx, b.TempDir(), sqlite.Options{Now: time.Now, Log: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ep := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{benchAppSecret}, VerifyToken: benchVerifyToken})
	var held, waited, decoded, began, whole, sliced time.Duration
	var behind atomic.Int64 // when the other one was handed to the archive
	slices := 0
	start := time.Now()
	since := func() time.Duration { return time.Since(start) }
	done := make(chan struct{}, 1)
	relayed := 0
	r := relay.New(relay.Options{
		Archive: s.Archive, Ledger: s.Ledger, Decoder: timedDecoder{ep, &decoded}, Directory: benchDirectory{gateway.Application{Name: "bot"}},
		Boundary: func(step string) {
			switch step {
			case "relay.decoded":
				began = since()
			case "relay.committed":
				held = max(held, since()-began)
				sliced += since() - began
				slices++
			}
		},
		Relayed: func(res gateway.RelayResult) {
			for i := range res.Pending {
				if bytes.Contains(res.Pending[i].Row.Content, []byte(`"wamid.s`)) {
					waited += since() - time.Duration(behind.Load())
				}
			}
			if relayed += res.Events; relayed == 1001 {
				relayed = 0
				done <- struct{}{}
			}
		},
		Now: time.Now, Log: zap.NewNop(),
	})
	rctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { _ = r.Run(rctx); close(ended) }()
	probing := make(chan struct{})
	defer func() { cancel(); <-ended; <-probing }()
	var probed time.Duration
	go func() { // another conversation's settlement, as it were
		defer close(probing)
		for n := int64(1); rctx.Err() == nil; n++ {
			at := since()
			if s.Ledger.SetPublished(rctx, 0) == nil {
				probed = max(probed, since()-at)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		var all []whatsapptest.Event
		for n := range 1000 {
			all = append(all, whatsapptest.Event{Kind: "text", ID: fmt.Sprintf("wamid.%d.%d", i, n), Text: strings.Repeat("x", 2600),
				Customer: whatsapptest.Customer{Phone: fmt.Sprintf("1555%07d", n)}})
		}
		var payloads []*gateway.Payload
		for _, events := range [][]whatsapptest.Event{all, {{Kind: "text", ID: fmt.Sprint("wamid.s", i), Customer: whatsapptest.Customer{Phone: "15560000001"}}}} {
			body, err := whatsapptest.Business{WABAID: "2", PhoneNumberID: "1", Number: "15540000000"}.Callback(events...).Body()
			if err != nil {
				b.Fatal(err)
			}
			payloads = append(payloads, &gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Now(), Body: body})
		}
		b.StartTimer()
		at := since()
		for _, p := range payloads {
			behind.Store(int64(since()))
			if err := s.Archive.Append(ctx, p); err != nil {
				b.Fatal(err)
			}
			r.Kick()
		}
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			at, err := s.Ledger.Position(ctx)
			b.Fatalf("%d of 1001 events, position %+v (%v)", relayed, at, err)
		}
		whole += since() - at
	}
	b.ReportMetric(float64(sliced.Microseconds())/1000/float64(slices), "slice-ms")
	b.ReportMetric(float64(probed.Milliseconds()), "probe-max-ms")
	b.ReportMetric(float64(held.Milliseconds()), "longest-ms")
	b.ReportMetric(float64(waited.Milliseconds())/float64(b.N), "waited-ms/op")
	b.ReportMetric(float64(whole.Milliseconds())/float64(b.N), "whole-ms/op")
	b.ReportMetric(float64(decoded.Milliseconds())/float64(b.N), "decoded-ms/op")
}

type timedDecoder struct {
	ep   *whatsapp.Endpoint
	took *time.Duration
}

func (d timedDecoder) Decode(p *gateway.Payload) ([]gateway.Item, string, error) {
	start := time.Now()
	defer func() { *d.took += time.Since(start) }()
	return d.ep.Decode(p)
}
