package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// Sizes of the first two scenes.
const (
	demoEach       = 10 // customers per platform
	demoMessages   = 3  // of each customer
	demoDeliveries = 20 // of one callback
	demoRedelivers = 3  // of one WeCom message
)

// sceneMany: different conversations do not wait for each other, one
// conversation never overtakes itself.
func sceneMany(ctx context.Context, r *demoRig, s *sceneNotes) error {
	s.did("%d WhatsApp and %d WeCom customers write %d messages each, all at once.", demoEach, demoEach, demoMessages)
	var mu sync.Mutex
	var took []time.Duration
	timed := func(post func() error) error {
		started := time.Now()
		err := post()
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(started))
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	texts := map[string][]string{}
	for n := 1; n <= demoEach; n++ {
		for _, who := range []string{demoCustomer(n), demoMember(n)} {
			for i := 1; i <= demoMessages; i++ {
				texts[who] = append(texts[who], fmt.Sprintf("message %d of %s", i, who))
			}
			write := r.says
			if strings.HasPrefix(who, "M") {
				write = r.memberSays
			}
			list := texts[who]
			g.Go(func() error {
				for _, text := range list {
					if err := timed(func() error { return write(gctx, who, text) }); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, who := range slices.Sorted(maps.Keys(texts)) {
		if err := r.waitReplies(ctx, who, texts[who]...); err != nil {
			return err
		}
	}
	slices.Sort(took)
	m := r.bot.measure()
	if len(m.Wrong) > 0 {
		return fmt.Errorf("the bot saw: %s", m.Wrong[0])
	}
	s.saw("%d callbacks answered 200: half within %s, the slowest after %s.",
		len(took), msWords(took[len(took)/2]), msWords(took[len(took)-1]))
	s.saw("The bot had up to %d conversations at once, never two messages of one.", m.Widest)
	s.saw("%d replies arrived: to every customer those to 1, 2 and 3, in this order.", 2*demoEach*demoMessages)
	return nil
}

// sceneDuplicates: platforms deliver again when they heard no answer; a fact is
// one event all the same.
func sceneDuplicates(ctx context.Context, r *demoRig, s *sceneNotes) error {
	s.did("One WhatsApp callback is delivered %d times at once, one WeCom message %d", demoDeliveries, demoRedelivers)
	s.did("times, each time encrypted anew, as WeCom does it.")
	before, err := r.quiet(ctx)
	if err != nil {
		return err
	}
	who, member, text, other := demoCustomer(21), demoMember(21), "sent once, delivered often", "sent once by a member, delivered often"
	_, body := r.wa.CustomerBody(who, text)
	_, inner := r.wc.Message(member, "text", wecomtest.Field{Name: "Content", Value: other})
	g, gctx := errgroup.WithContext(ctx)
	for range demoDeliveries {
		g.Go(func() error { return wanted200(r.wa.Post(gctx, body)) })
	}
	for range demoRedelivers {
		g.Go(func() error {
			status, _, err := r.wc.Post(gctx, inner)
			return wanted200(status, err)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := r.waitReplies(ctx, who, text); err != nil {
		return err
	}
	if err := r.waitReplies(ctx, member, other); err != nil {
		return err
	}
	after, err := r.quiet(ctx) // nothing is on its way any more: no second reply can come
	if err != nil {
		return err
	}
	duplicates := after.Payloads.Duplicate - before.Payloads.Duplicate
	handled := len(r.bot.deliveries(func(d *demoDelivery) bool { return d.Text == text || d.Text == other }))
	replies := len(r.got(who)) + len(r.got(member))
	if duplicates != demoDeliveries+demoRedelivers-2 || handled != 2 || replies != 2 {
		return fmt.Errorf("%d duplicates, %d deliveries to the bot and %d replies, instead of %d, 2 and 2",
			duplicates, handled, replies, demoDeliveries+demoRedelivers-2)
	}
	s.saw("All %d answered 200 and archived; %d recorded as duplicates.", demoDeliveries+demoRedelivers, duplicates)
	s.saw("The bot was called once for each message, and each customer got one reply.")
	return nil
}

// sceneWrongOrder: live events are never sorted again by the platform's time; a
// counter shows where it disagrees.
func sceneWrongOrder(ctx context.Context, r *demoRig, s *sceneNotes) error {
	s.did("A customer writes twice; the callback of the later message arrives first.")
	who := demoCustomer(22)
	before, err := r.api.Counters(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	arrivals := []struct {
		text string
		at   time.Time
	}{{"written second, arrived first", now}, {"written first, arrived second", now.Add(-5 * time.Second)}}
	var texts []string
	for i, a := range arrivals {
		_, body, err := r.wa.Body(whatsapptest.Event{Kind: "text", Customer: whatsapptest.Customer{Phone: who, Name: "Maya"},
			Text: a.text, At: a.at, ID: fmt.Sprintf("wamid.DEMO-ORDER-%d", i)})
		if err != nil {
			return err
		}
		if err := wanted200(r.wa.Post(ctx, body)); err != nil {
			return err
		}
		texts = append(texts, a.text)
	}
	if err := r.waitReplies(ctx, who, texts...); err != nil {
		return err
	}
	after, err := r.api.Counters(ctx)
	if err != nil {
		return err
	}
	if n := after["out_of_order"] - before["out_of_order"]; n != 1 {
		return fmt.Errorf("the counter out_of_order grew by %d, not by 1", n)
	}
	s.saw("Both handled and answered in the order of arrival; nothing was re-sorted.")
	s.saw("The counter out_of_order went from %d to %d: the disagreement is visible.", before["out_of_order"], after["out_of_order"])
	return nil
}

// sceneEcho: what we sent is known by the id the platform gave it.
func sceneEcho(ctx context.Context, r *demoRig, s *sceneNotes) error {
	s.did("A reply of the bot comes back as an echo, under the id that WhatsApp gave it.")
	who := demoCustomer(1)
	calls := r.calls(who)
	if len(calls) == 0 || calls[0].MessageID == "" {
		return fmt.Errorf("no reply of the first scene to play back")
	}
	handled := r.bot.measure().Deliveries
	r.wa.Echo(calls[0].MessageID, who, calls[0].Text)
	judged, err := r.waitEcho(ctx, who)
	if err != nil {
		return err
	}
	if judged != gateway.JudgedOurs {
		return fmt.Errorf("the echo was judged %q, not ours", judged)
	}
	if _, err := r.quiet(ctx); err != nil {
		return err
	}
	if now := r.bot.measure().Deliveries; now != handled || len(r.calls(who)) != len(calls) {
		return fmt.Errorf("the echo set something off: %d more calls of the bot, %d more messages", now-handled, len(r.calls(who))-len(calls))
	}
	s.saw("Recognised as ours by its id. The bot was not called, nothing was sent.")
	return nil
}

// sceneColleague: what a person wrote is not taken for ours, whatever it says.
func sceneColleague(ctx context.Context, r *demoRig, s *sceneNotes) error {
	s.did("A colleague answers a customer by hand in the WhatsApp Business app, with")
	s.did("the very words the bot used before.")
	who := demoCustomer(2)
	calls := r.calls(who)
	if len(calls) == 0 {
		return fmt.Errorf("no reply of the first scene to repeat")
	}
	handled, started := r.bot.measure().Deliveries, time.Now()
	r.wa.Colleague(who, calls[0].Text)
	judged, err := r.waitEcho(ctx, who)
	if err != nil {
		return err
	}
	took := time.Since(started)
	c, err := r.conversation(ctx, who)
	if err != nil {
		return err
	}
	switch {
	case judged != gateway.JudgedHuman:
		return fmt.Errorf("the echo was judged %q, not human", judged)
	case c.LastHumanAt == nil:
		return fmt.Errorf("the conversation does not tell that a person wrote in it")
	case r.bot.measure().Deliveries != handled:
		return fmt.Errorf("the bot was called for a colleague's message")
	}
	s.saw("Judged human after %s; the conversation tells when a person last wrote.", msWords(took))
	s.saw("The bot was not called: it does not answer its own side.")
	return nil
}

// waitEcho waits until the echo of a conversation is judged.
func (r *demoRig) waitEcho(ctx context.Context, who string) (gateway.Judgement, error) {
	find := func(c *gateway.Conversation) gateway.Judgement {
		for _, e := range slices.Backward(c.Events) {
			if e.Kind == gateway.KindEcho {
				return e.Echo
			}
		}
		return ""
	}
	c, err := r.waitConversation(ctx, who, "the echo to be judged", func(c *gateway.Conversation) bool {
		j := find(c)
		return j != "" && j != gateway.JudgedUndecided
	})
	if err != nil {
		return "", err
	}
	return find(c), nil
}

// msWords renders a measured duration in milliseconds, with as many digits as are
// of use; spell a configured one.
func msWords(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

func spell(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%g s", d.Seconds())
}
