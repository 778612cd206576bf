package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/worker"
)

// What the broker answers goes wherever who asks says, with the broker's own rights: a
// worker of one application can fill the gate of another, put what is no answer among
// its answers, and even delete streams (gateway/stream/rights.go). None of it counts:
// every event reaches both applications, in order, no try is spent, nothing is sent but
// what was answered.
func TestHostileWorkerDisturbsAndLosesNothing(t *testing.T) {
	begin(t)
	w := newWorld(t, worldOptions{apps: "  - {name: echo, tries: 2, delays: [100ms]}\n  - {name: audit, replies: false, tries: 2, delays: [100ms]}\n"})
	w.edit("users: [{name: bot, password: bot-password, apps: [echo], observe: true}]", "users: ["+
		"{name: evil, password: evil-password, apps: [audit]}, {name: bot, password: bot-password, apps: [echo]}, {name: eye, password: eye-password, apps: [audit]}]")
	w.start("")
	w.up()
	for i := range 3 {
		for c := range 2 {
			w.says(customer(c), text(i))
		}
	}
	conv := w.customerConv(customer(0)).Conv
	w.until(time.Minute, "the heads are offered", func() bool { return w.appNamed("echo").Ready == 2 && w.appNamed("audit").Ready == 2 })

	evil := connectAs(t, "nats://"+w.nats, "evil", "evil-password")
	const info, next = "$JS.API.CONSUMER.INFO.CW_READY_audit.audit", "$JS.API.CONSUMER.MSG.NEXT.CW_READY_audit.audit"
	own := "cw.reply.audit.whatsapp.shop-a." + conv
	place := ".whatsapp.shop-a." + conv
	asks := func(subject, answerTo, body string) {
		if err := evil.PublishMsg(&nats.Msg{Subject: subject, Reply: answerTo, Data: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []string{"cw.ready.echo" + place, "cw.ready.echo.whatsapp.shop-a.aaaaaaaaaaaaaaaaaaaaaaaaaa", "cw.ready.echo.x",
		"cw.reply.echo" + place, "cw.reply.echo.x", "cw.event.x", "cw.event" + place + ".message", "cw.result" + place, "$KV.CW_STATE." + conv,
		"cw.send.shop-a", stream.CurrentSubject("echo"), "$JS.API.STREAM.PURGE.CW_READY_echo", "$JS.ACK.CW_READY_echo.echo.1.1.1.1.1"} {
		asks(info, to, "")
		asks(own, to, "{}")
		asks(next, to, `{"batch":1,"no_wait":true}`)
	}
	if err := evil.Flush(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	handled := map[string][]string{}
	attach := func(app, user string) {
		b, err := worker.New(worker.Options{URL: "nats://" + w.nats, User: user, Password: user + "-password", App: app, Grace: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				_ = b.Run(ctx, func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
					mu.Lock()
					defer mu.Unlock()
					key := app + " " + ev.Conv
					if got := handled[key]; !slices.Contains(got, ev.Text) { // again is allowed, and one answer counts
						handled[key] = append(got, ev.Text)
					}
					if app == "audit" {
						return nil, nil
					}
					return worker.Text(ev.Text), nil
				})
				wait(ctx, 100*time.Millisecond) // its consumer is gone with the stream, and comes again
			}
		}()
		t.Cleanup(func() { cancel(); <-done })
	}
	for _, name := range []string{"CW_READY_echo", "CW_REPLY", "CW_EVENT", "CW_READY_audit"} { // a message for each to be deleted with
		asks(next, "$JS.API.STREAM.DELETE."+name, `{"batch":1,"no_wait":true}`)
	}
	if err := evil.Flush(); err != nil {
		t.Fatal(err)
	}
	// Should a later server refuse this, say so in rights.go and in the README.
	w.until(time.Minute, "the broker deleted streams at a worker's word", func() bool {
		return strings.Count(w.said(), `"msg":"stream.made","stream":"CW_READY_echo"`) > 1
	})
	attach("echo", "bot")
	attach("audit", "eye")
	w.says(customer(0), text(3))
	w.says(customer(1), text(3))
	w.settled(2 * time.Minute)

	want := []string{text(0), text(1), text(2), text(3)}
	for c := range 2 {
		if got := texts(accepted(w.calls(customer(c)))); !slices.Equal(got, want) {
			t.Errorf("customer %d was sent %v", c, got)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for key, got := range handled {
		if !slices.Equal(got, want) {
			t.Errorf("%s was handed %v", key, got)
		}
	}
	if len(handled) != 4 || len(w.calls("")) != 8 {
		t.Errorf("%d conversations of applications, %d calls of the platform", len(handled), len(w.calls("")))
	}
	if dead := w.deadLetters(); len(dead) != 0 {
		t.Errorf("dead letters %+v", dead)
	}
	s := w.sums()
	for _, app := range []string{"echo", "audit"} {
		if s.Apps[app] != (gateway.AppSums{Wanted: 8, Settled: 8}) {
			t.Errorf("%s: %+v", app, s.Apps[app])
		}
	}
	for _, e := range w.customerConv(customer(0)).Events {
		for app, v := range e.Verdicts {
			if v.Tries > 1 {
				t.Errorf("event %d of %s took %d tries", e.Seq, app, v.Tries)
			}
		}
	}
	w.oncePerMessage()
}
