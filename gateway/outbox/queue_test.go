package outbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the machine may have none

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// ask submits texts to a customer, with what change does to the request.
func (r *rig) ask(customer string, change func(s *gateway.Submission), texts ...string) gateway.Submitted {
	r.t.Helper()
	s := &gateway.Submission{Platform: "whatsapp", Account: "shop", By: "ops",
		Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: customer}}}}
	for _, t := range texts {
		s.Replies = append(s.Replies, gateway.Reply{Type: gateway.ReplyText, Text: t})
	}
	change(s)
	out, err := r.store.Ledger.Submit(r.t.Context(), s, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	r.sender.Wake(out.Conv)
	return out
}

// With more conversations ready than can be served, the best priority goes first, equal
// ones as they came, and accounts take turns. A conversation keeps its own order, and
// goes by the best that is due in it.
func TestPriorityOfConversations(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		begin := time.Now()
		r.stop()
		r.concurrency = 1
		r.takes = time.Second
		for i := range 6 {
			r.ask(fmt.Sprint("low", i), func(s *gateway.Submission) { s.Priority = 9 }, fmt.Sprint("low", i))
		}
		for i := range 3 {
			r.ask(fmt.Sprint("high", i), func(s *gateway.Submission) { s.Priority = 1 }, fmt.Sprint("high", i))
		}
		r.ask("low5", func(s *gateway.Submission) { s.Priority = 0 }, "urgent")
		for i := range 2 {
			r.ask(fmt.Sprint("other", i), func(s *gateway.Submission) { s.Account, s.Priority = "shop-2", 9 }, fmt.Sprint("other", i))
		}
		r.start(begin)
		time.Sleep(time.Minute)
		r.settle()
		var shop, other []string
		for i, c := range r.called() {
			if strings.HasPrefix(c.text, "other") {
				if other = append(other, c.text); i > 4 {
					t.Errorf("%s was call %d: the accounts do not take turns", c.text, i)
				}
				continue
			}
			shop = append(shop, c.text)
		}
		want := []string{"low5", "urgent", "high", "high", "high", "low", "low", "low", "low", "low"}
		for i := range shop {
			if i < len(want) && (shop[i] != want[i] && strings.TrimRight(shop[i], "0123456789") != want[i]) {
				t.Fatalf("order %v", shop)
			}
		}
		if len(shop) != len(want) || len(other) != 2 {
			t.Errorf("calls %v and %v", shop, other)
		}
	})
}

// So it is while conversations stand in line, for their account's pace or for a place: a
// customer with a message of a campaign in it who writes, and is answered, goes before
// those who are not, as does one whose message an operator puts first, and one put last
// goes last.
func TestPriorityInLine(t *testing.T) {
	for name, crowd := range map[string]func(r *rig){
		"pace":        func(r *rig) { r.limits = map[string][]gateway.Limit{"shop": {{N: 1, Per: 10 * time.Second, Burst: 1}}} },
		"concurrency": func(r *rig) { r.concurrency, r.takes = 1, 10*time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.stop()
				crowd(r)
				r.start(time.Now())
				tasks := map[string]gateway.Submitted{}
				for i := range 8 {
					name := fmt.Sprint("c", i)
					tasks[name] = r.ask(name, func(s *gateway.Submission) { s.Priority = 5 }, name+".0", name+".1")
					r.settle()
				}
				time.Sleep(time.Second) // c0 has its first, and all stand
				r.settle()
				r.answered("c6", "reply to c6")
				for name, priority := range map[string]int{"c5": 1, "c1": 9} {
					for _, id := range tasks[name].Messages {
						r.deed(t, store.MessageChange{Do: store.DeedPriority, Messages: []string{id}, Priority: priority})
					}
				}
				time.Sleep(10 * time.Minute)
				r.settle()
				got := r.texts()
				want := []string{"c0.0", "c6.0", "c6.1", "reply to c6", "c5.0", "c5.1"}
				if len(got) != 17 || !slices.Equal(got[:len(want)], want) || got[16] != "c1.1" {
					t.Errorf("sent %v,\nwant first %v", got, want)
				}
			})
		})
	}
}

// What is taken back, held, moved, stopped or too old while it stands in its account's
// line leaves the line: it takes no place of those that can be sent.
func TestNothingStandsInLineForNothing(t *testing.T) {
	for name, stop := range map[string]func(r *rig, id string){
		"cancelled": func(r *rig, id string) { r.change(store.DeedCancel, id, 2) },
		"held":      func(r *rig, id string) { r.change(store.DeedHold, id, 2) },
		"moved": func(r *rig, id string) {
			out, err := r.store.Ledger.ChangeMessages(r.t.Context(), store.MessageChange{Do: store.DeedReschedule, Messages: []string{id},
				At: []time.Time{time.Now().Add(time.Hour)}}, "ops", time.Now())
			if err != nil || out.Changed != 2 {
				r.t.Fatalf("%+v, %v", out, err)
			}
			r.sender.Wake(out.Convs...)
		},
		"too old": func(*rig, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.stop()
				r.limits = map[string][]gateway.Limit{"shop": {{N: 1, Per: 10 * time.Second, Burst: 1}}}
				r.start(time.Now())
				ends := time.Duration(0)
				if name == "too old" {
					ends = time.Second
				}
				r.submit("first", 0, 0, "first")
				r.settle()
				var tasks []gateway.Submitted
				for i := range 30 {
					tasks = append(tasks, r.submit(fmt.Sprint(i), 0, ends, "one", "two"))
				}
				r.settle()
				time.Sleep(2 * time.Second)
				for _, task := range tasks {
					stop(r, task.ID)
				}
				r.settle()
				if a := r.sender.Account("shop"); a.Waiting != 0 {
					t.Errorf("%d stand in line still", a.Waiting)
				}
				r.submit("last", 0, 0, "last")
				time.Sleep(9 * time.Second)
				r.left("in the next place", "first", "last")
			})
		})
	}
}

// What has a window leaves in it, holds up nothing outside of it, and no call may begin
// past its end; what did not leave in time is due when it opens again.
func TestSendWindow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		begin := time.Now() // midnight, UTC
		var voids []time.Time
		r.voids = func(at time.Time) { voids = append(voids, at) }
		window := &gateway.SendWindow{From: "00:05", To: "00:15", TimeZone: "UTC"}
		out := r.ask("1", func(s *gateway.Submission) { s.Window = window }, "one", "two")
		r.ask("1", func(*gateway.Submission) {}, "now")
		r.plays(0, func(n int, m *gateway.Message) gateway.Outcome {
			if m.Reply.Text == "two" && n < 5 { // away until after the window
				return gateway.Outcome{Kind: gateway.OutcomeRetry, Code: "busy", Scope: gateway.ScopePair, After: 5 * time.Minute}
			}
			return gateway.Outcome{Kind: gateway.OutcomeAccepted}
		})
		time.Sleep(time.Hour)
		r.settle()
		opens := begin.Add(5 * time.Minute)
		if got, want := r.texts(), []string{"now", "one", "two", "two"}; !slices.Equal(got, want) {
			t.Fatalf("calls %v, want %v", got, want)
		}
		m, _, err := r.store.Ledger.Message(t.Context(), out.Messages[1])
		if err != nil || m.State != gateway.MessageWaiting || !m.DueAt.Equal(opens.AddDate(0, 0, 1)) {
			t.Errorf("%+v, %v", m, err)
		}
		r.ask("1", func(*gateway.Submission) {}, "meanwhile")
		r.settle()
		r.stop()
		time.Sleep(23 * time.Hour)
		r.start(begin)
		time.Sleep(time.Hour)
		r.settle()
		if got := r.texts(); len(got) != 6 || got[4] != "meanwhile" || got[5] != "two" {
			t.Errorf("calls %v", got)
		}
		for _, at := range voids[1:4] {
			if at.After(opens.Add(10 * time.Minute)) {
				t.Errorf("a call may be written until %s", at)
			}
		}
	})
}

// An account that has better messages than it can send for as long as anybody looks does
// not keep the worst ones for ever: they get one place in ten. The better ones keep the
// rest, and the parts of a task keep their order.
func TestPriorityStarvesNobody(t *testing.T) {
	for name, set := range map[string]func(r *rig){
		"pace":        func(r *rig) { r.limits = map[string][]gateway.Limit{"shop": {{N: 2, Per: time.Second, Burst: 1}}} },
		"concurrency": func(r *rig) { r.concurrency, r.takes = 1, 500*time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				begin := time.Now()
				r.stop()
				set(r)
				r.start(begin)
				const tasks, seconds = 4, 60
				for i := range tasks { // nobody is in a hurry about these
					r.ask(fmt.Sprint("low", i), func(s *gateway.Submission) { s.Priority = 9 }, fmt.Sprintf("low %d.0", i), fmt.Sprintf("low %d.1", i))
				}
				for i := range seconds { // twice as many better ones as can leave
					for j := range 4 {
						r.ask(fmt.Sprint("high", i, j), func(s *gateway.Submission) { s.Priority = 0 }, "high")
					}
					time.Sleep(time.Second)
				}
				r.settle()
				low, texts := map[string]int{}, r.texts()
				for i, text := range texts {
					if strings.HasPrefix(text, "low") {
						low[text] = i
					}
				}
				if len(texts) < 2*seconds-5 || len(low) != 2*tasks {
					t.Errorf("%d of the %d worst left among %d, want all: a tenth of the places is theirs", len(low), 2*tasks, len(texts))
				}
				for i := range tasks {
					first, second := low[fmt.Sprintf("low %d.0", i)], low[fmt.Sprintf("low %d.1", i)]
					if first > second {
						t.Errorf("task %d left out of order", i)
					}
					if i > 0 && second < 20 { // the first task found the account free
						t.Errorf("task %d was done at place %d, before the better ones", i, second)
					}
				}
			})
		})
	}
}
