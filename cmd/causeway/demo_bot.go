package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// demoBot is the bot of the demo. It repeats what it is told, fails for one text
// while it is broken, and measures what the gateway promises about order: it
// believes nothing, it counts.
type demoBot struct {
	mu      sync.Mutex
	broken  string // texts that hold this fail; "" for a bot that works
	seen    []demoDelivery
	last    map[string]demoDelivery // by conversation: the last first-hand delivery
	running map[string]int          // by conversation
	total   int                     // running now
	most    int                     // most of one conversation at once
	widest  int                     // most conversations at once
	replies int                     // given to live and requeued events
	wrong   []string                // violations of the order
}

// demoDelivery is one call of the handler.
type demoDelivery struct {
	Conv     string
	Event    string
	Delivery string
	Payload  string
	Text     string
	Seq      int64
	Origin   gateway.Origin
	Failed   bool
}

func newDemoBot() *demoBot {
	return &demoBot{last: map[string]demoDelivery{}, running: map[string]int{}}
}

// handle is the worker.Handler.
func (b *demoBot) handle(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
	d := demoDelivery{
		Conv: ev.Conv, Event: ev.Event, Delivery: ev.Delivery, Payload: ev.Payload,
		Text: ev.Text, Seq: ev.Seq, Origin: ev.Origin,
	}
	fail := b.begin(&d)
	defer b.end(d.Conv)
	if !wait(ctx, thinkingTime()) {
		return nil, worker.Handback(0)
	}
	if fail {
		return nil, errors.New("the bot of the demo is broken for this text")
	}
	if d.Origin != gateway.OriginReplay {
		b.mu.Lock()
		b.replies++
		b.mu.Unlock()
	}
	return worker.Text(demoReply(d.Text)), nil
}

// demoReply is what the bot says to a text.
func demoReply(text string) string { return "You wrote: " + text }

// thinkingTime makes the bot slow enough that two deliveries of one conversation
// would meet, if there were two.
func thinkingTime() time.Duration {
	return 5*time.Millisecond + rand.N(25*time.Millisecond) //nolint:gosec // not a secret
}

// begin notes a call, checks it against the one before, and says whether to fail.
// Live events of a conversation must come one at a time and with rising seq, a
// failed one again before any later one. A requeued event comes in its old place
// and a replayed one has no seq; both are only checked for being alone.
func (b *demoBot) begin(d *demoDelivery) (fail bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running[d.Conv]++
	if n := b.running[d.Conv]; n > b.most {
		b.most = n
	}
	if b.running[d.Conv] > 1 {
		b.wrong = append(b.wrong, fmt.Sprintf("two events of conversation %s at once", d.Conv))
	} else if b.total++; b.total > b.widest {
		b.widest = b.total
	}
	d.Failed = b.broken != "" && strings.Contains(d.Text, b.broken)
	if d.Delivery == d.Event { // neither requeued nor replayed
		before, known := b.last[d.Conv]
		again := known && before.Event == d.Event
		if known && !again && d.Seq != before.Seq+1 || !known && d.Seq != 1 {
			b.wrong = append(b.wrong, fmt.Sprintf("conversation %s: seq %d after %d", d.Conv, d.Seq, before.Seq))
		}
		if again && !before.Failed {
			b.wrong = append(b.wrong, fmt.Sprintf("conversation %s: seq %d again after it was answered", d.Conv, d.Seq))
		}
		b.last[d.Conv] = *d
	}
	b.seen = append(b.seen, *d)
	return d.Failed
}

func (b *demoBot) end(conv string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running[conv]--; b.running[conv] == 0 {
		b.total--
		delete(b.running, conv)
	}
}

// fails makes the bot fail for texts that hold the words; "" mends it.
func (b *demoBot) fails(words string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = words
}

// deliveries are the calls so far that pick chooses, in order.
func (b *demoBot) deliveries(pick func(*demoDelivery) bool) []demoDelivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []demoDelivery
	for i := range b.seen {
		if pick(&b.seen[i]) {
			out = append(out, b.seen[i])
		}
	}
	return out
}

// texts are the texts of the calls that pick chooses, in order.
func (b *demoBot) texts(pick func(*demoDelivery) bool) []string {
	var out []string
	for _, d := range b.deliveries(pick) {
		out = append(out, d.Text)
	}
	return out
}

// demoMeasure is what the bot counted.
type demoMeasure struct {
	Deliveries int      `json:"deliveries"`
	Replies    int      `json:"replies"`
	Most       int      `json:"most_at_once_of_a_conversation"`
	Widest     int      `json:"most_conversations_at_once"`
	Wrong      []string `json:"order_violations"`
}

func (b *demoBot) measure() demoMeasure {
	b.mu.Lock()
	defer b.mu.Unlock()
	return demoMeasure{
		Deliveries: len(b.seen), Replies: b.replies, Most: b.most, Widest: b.widest,
		Wrong: append([]string{}, b.wrong...),
	}
}
