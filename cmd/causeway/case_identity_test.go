package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
	"github.com/causewayhq/causeway/store/sqlite"
)

const appOfAll = "  - {name: echo, ack_wait: 5s, tries: 4, delays: [200ms], kinds: [message, change, state]}\n"

// told posts a callback of one item and wants 200; it returns the item's id.
func (w *world) told(e whatsapptest.Event) string {
	w.t.Helper()
	id, body, err := w.wa.Body(e)
	if err != nil {
		w.t.Fatal(err)
	}
	w.taken(body)
	return id
}

// diary is what a bot was handed, in order; it answers texts with "re <text>".
type diary struct {
	mu   sync.Mutex
	list []gateway.Event
	hold chan struct{} // closed when texts may be answered
}

func newDiary() *diary {
	d := &diary{hold: make(chan struct{})}
	close(d.hold)
	return d
}

func (d *diary) handle(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
	d.mu.Lock()
	d.list = append(d.list, *ev)
	hold := d.hold
	d.mu.Unlock()
	select {
	case <-hold:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ev.Kind != gateway.KindMessage {
		return nil, nil
	}
	return []gateway.Reply{{Type: gateway.ReplyText, Text: "re " + ev.Text}}, nil
}

func (d *diary) events() []gateway.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.list)
}

// read lists the events handed out as "type text" or "type emoji".
func (d *diary) read() (out []string) {
	for _, ev := range d.events() {
		says := ev.Text
		if ev.Target != nil && ev.Target.Emoji != "" {
			says = ev.Target.Emoji
		}
		out = append(out, strings.TrimSpace(ev.Type+" "+says))
	}
	return out
}

// Changes before their message: whatever the order in which Meta delivers, the
// newest reaction counts, a message that was taken back is not answered, and what is
// not handed out is recorded and says why.
func TestCaseChangesBeforeTheirMessage(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appOfAll})
	eyes, d := w.observe(), newDiary()
	w.bot(d.handle, 1)
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	who := whatsapptest.Customer{Phone: "15550106001"}
	later := func(s int) time.Time { return at.Add(time.Duration(s) * time.Second) }
	for _, e := range []whatsapptest.Event{
		{Kind: "reaction", Target: "wamid.ours", Emoji: "😍", At: later(5)},
		{Kind: "reaction", Target: "wamid.ours", Emoji: "🙂", At: later(3)}, // older: comes late
		{Kind: "reaction-removed", Target: "wamid.ours", At: later(9)},
		{Kind: "reaction", Target: "wamid.ours", Emoji: "😡", At: later(8)}, // older
		{Kind: "revoke", Target: "wamid.early", At: later(7)},
		{Kind: "text", ID: "wamid.early", Text: "never mind", At: later(6)}, // taken back before it came
		{Kind: "edit", Target: "wamid.early", Text: "no, wait", At: later(10)},
		{Kind: "edit", Target: "wamid.m2", Text: "edited", At: later(12)},
		{Kind: "text", ID: "wamid.m2", Text: "original", At: later(11)},
	} {
		e.Customer = who
		w.told(e)
	}
	w.settled(30 * time.Second)
	want := []string{"reaction 😍", "reaction", "revoke", "edit edited", "text original"}
	if got := d.read(); !slices.Equal(got, want) {
		t.Errorf("handed out: %q, want %q", got, want)
	}
	if got := texts(w.calls("")); !slices.Equal(got, []string{"re original"}) {
		t.Errorf("sent: %q", got)
	}
	why := map[string]int{}
	for _, ev := range w.sees(eyes, 9) {
		why[ev.Superseded]++
	}
	if why[""] != 5 || why[gateway.SupersededNewer] != 2 || why[gateway.SupersededRevoked] != 2 {
		t.Errorf("observers are told %v", why)
	}
	if out, code := w.cli("conv", "show", w.customerConv("15550106001").Conv); code != 0 || strings.Count(out, "superseded=newer") != 2 || strings.Count(out, "superseded=revoked") != 2 {
		t.Errorf("conv show (%d):\n%s", code, out)
	}

	// The same once more adds nothing, and a replay hands out what counted.
	w.sums()
	if n := w.counter("superseded"); n != 4 {
		t.Errorf("%d counted", n)
	}
}

// Copies of other traffic are recorded and shown, and nobody answers them.
func TestCaseObserved(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appEcho})
	eyes := w.observe()
	who := whatsapptest.Customer{Phone: "15550106002"}
	w.told(whatsapptest.Event{Kind: "history", Customer: who, Count: 3})
	w.told(whatsapptest.Event{Kind: "standby", Customer: who, Text: "to somebody else"})
	w.told(whatsapptest.Event{Kind: "standby-status", Customer: who, ID: "wamid.theirs"})
	w.told(whatsapptest.Event{Kind: "text", Customer: who, Text: "to us"})
	w.settled(30 * time.Second)
	if got := texts(w.calls("")); len(got) != 1 || !strings.Contains(got[0], "to us") {
		t.Errorf("sent: %q", got)
	}
	seen := map[gateway.Observed]int{}
	for _, ev := range w.sees(eyes, 6) {
		seen[ev.Observed]++
		if (ev.Observed != "") != (ev.Seq == 0) {
			t.Errorf("observed %q with seq %d", ev.Observed, ev.Seq)
		}
	}
	if seen[gateway.ObservedHistory] != 3 || seen[gateway.ObservedStandby] != 2 {
		t.Errorf("observers are told %v", seen)
	}
	out, code := w.cli("conv", "show", w.customerConv("15550106002").Conv)
	if code != 0 || strings.Count(out, "observed=history") != 3 || strings.Count(out, "observed=standby") != 2 {
		t.Errorf("conv show (%d):\n%s", code, out)
	}
	if n := w.counter("parked"); n != 0 {
		t.Errorf("%d copies wait to be judged", n)
	}
}

// A customer changes the number and another person gets the old one: the first goes
// on in the same conversation, the second begins one of their own, and nothing is
// ever sent to the first by the number that they gave up.
func TestCaseNumberOfAnotherPerson(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appEcho})
	const old, next = "15550106003", "15550106004"
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	ann := whatsapptest.Customer{Phone: old, UserID: "US.1001"}
	annNow := whatsapptest.Customer{Phone: next, UserID: "US.1002"}
	bob := whatsapptest.Customer{Phone: old, UserID: "US.2001"}
	w.told(whatsapptest.Event{Kind: "text", Customer: ann, Text: "one", At: at})
	w.settled(30 * time.Second)
	conv := w.customerConv(old).Conv
	w.told(whatsapptest.Event{Kind: "system-number", Customer: ann, Moved: annNow, At: at.Add(time.Minute)})
	w.told(whatsapptest.Event{Kind: "text", Customer: annNow, Text: "two", At: at.Add(2 * time.Minute)})
	w.told(whatsapptest.Event{Kind: "text", Customer: ann, Text: "late", At: at.Add(30 * time.Second)})
	w.told(whatsapptest.Event{Kind: "text", Customer: bob, Text: "three", At: at.Add(10 * time.Minute)})
	w.told(whatsapptest.Event{Kind: "text", Customer: annNow, Text: "four", At: at.Add(11 * time.Minute)})
	w.settled(30 * time.Second)

	if got := w.conversation("whatsapp", "shop-a", "phone", next); got.Conv != conv {
		t.Errorf("after the change the customer is in %s, before in %s", got.Conv, conv)
	}
	if got := w.conversation("whatsapp", "shop-a", "phone", old); got.Conv == conv || len(got.Events) != 1 {
		t.Errorf("the number's new owner is in %s with %d events", got.Conv, len(got.Events))
	}
	said := func(to string) (out []string) {
		for _, text := range texts(w.calls(to)) {
			out = append(out, text[strings.LastIndexByte(text, ' ')+1:])
		}
		return out
	}
	if got := said(old); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("sent to the old number: %q", got)
	}
	if got := said(next); !slices.Equal(got, []string{"two", "late", "four"}) {
		t.Errorf("sent to the new number: %q", got)
	}
	w.oncePerMessage()
}

// Two conversations turn out to be one while both have something waiting, and the
// process dies at the commit or right before it: the younger one's events and replies
// come first, then those of the older, nothing is lost or done twice.
func TestCaseMergeUnderKill(t *testing.T) {
	t.Parallel()
	for _, kill := range []string{"", "relay.decoded:5", "relay.committed:5"} {
		t.Run("die at "+kill, func(t *testing.T) {
			begin(t)
			w := newWorld(t, worldOptions{apps: appByWorker})
			p := w.start(kill)
			w.up()
			const number, user = "15550106005", "US.3001"
			older := whatsapptest.Customer{Phone: number, NoUserID: true}
			younger := whatsapptest.Customer{UserID: user}
			both := whatsapptest.Customer{Phone: number, UserID: user}
			// One callback at a time is relayed: the fifth makes them one. Nobody works
			// yet, so both have something waiting.
			var convs []string
			for i, c := range []whatsapptest.Customer{older, younger, younger, older, both, both} {
				_, body, err := w.wa.Body(whatsapptest.Event{Kind: "text", Customer: c, Text: fmt.Sprint("m", i)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), leastLimit)
				if i == 4 && kill != "" {
					var posted sync.WaitGroup // it may die between the archive and the 200
					posted.Go(func() { w.post(ctx, body) })
					<-p.done
					w.start("")
					w.up()
					posted.Wait()
				} else {
					w.post(ctx, body)
				}
				cancel()
				w.until(30*time.Second, "it is relayed", func() bool { return w.sums().Payloads.Pending == 0 })
				if i < 2 {
					convs = append(convs, w.conversation("whatsapp", "shop-a", []string{"phone", "bsuid"}[i], []string{number, user}[i]).Conv)
				}
			}
			for kind, identity := range map[string]string{"phone": number, "bsuid": user} {
				c := w.conversation("whatsapp", "shop-a", kind, identity)
				if c.Conv != convs[0] || len(c.Merged) != 1 || c.Merged[0].Conv != convs[1] || !c.Merged[0].Draining {
					t.Errorf("by %s: %s, merged %+v", kind, c.Conv, c.Merged)
				}
			}
			out, code := w.cli("conv", "show", convs[1])
			if code != 0 || !strings.Contains(out, "part of "+" "+convs[0]) {
				t.Errorf("conv show (%d):\n%s", code, out)
			}
			if out, _ := w.cli("doctor"); !strings.Contains(out, convs[1]) {
				t.Errorf("doctor does not tell of the merge:\n%s", out)
			}
			d := newDiary()
			stop := w.bot(d.handle, 4)
			w.quiet(time.Minute)
			stop()
			// What was offered before they became one may be handed out beside; the
			// order within each conversation holds, and what is new comes last.
			got := d.read()
			place := func(i int) int { return slices.Index(got, fmt.Sprint("text m", i)) }
			for _, pair := range [][2]int{{0, 3}, {3, 4}, {4, 5}, {1, 2}, {2, 3}, {2, 4}} {
				if place(pair[0]) < 0 || place(pair[0]) > place(pair[1]) {
					t.Errorf("m%d was handed out after m%d: %q", pair[0], pair[1], got)
				}
			}
			if len(got) != 6 {
				t.Errorf("handed out: %q", got)
			}
			replies := texts(w.calls(""))
			slices.Sort(replies)
			if !slices.Equal(replies, []string{"re m0", "re m1", "re m2", "re m3", "re m4", "re m5"}) {
				t.Errorf("sent: %q", replies)
			}
			w.oncePerMessage()
			w.stop()
			s, err := sqlite.Open(t.Context(), filepath.Join(w.dir, "data"), sqlite.Options{Now: time.Now, Log: zap.NewNop()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if merges, err := s.Ledger.Merges(t.Context()); err != nil || len(merges) != 0 {
				t.Errorf("afterwards somebody waits: %v, %v", merges, err)
			}
			kept, err := s.Ledger.Sums(t.Context())
			recounted, rerr := s.Ledger.Recount(t.Context())
			if err != nil || rerr != nil || fmt.Sprint(kept.Apps, kept.Messages, kept.Items) != fmt.Sprint(recounted.Apps, recounted.Messages, recounted.Items) {
				t.Errorf("kept %v, counted %v (%v, %v)", kept.Lines(), recounted.Lines(), err, rerr)
			}
		})
	}
}
