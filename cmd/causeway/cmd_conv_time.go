package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// moment is one line of a timeline.
type moment struct {
	at   time.Time
	what string
}

// printTimeline prints all that is known of a conversation by our time; statuses have
// the platform's.
func printTimeline(w io.Writer, v *gateway.Conversation) {
	var list []moment
	add := func(at time.Time, format string, args ...any) {
		list = append(list, moment{at, fmt.Sprintf(format, args...)})
	}
	for i := range v.Events {
		e := &v.Events[i]
		name := "event " + e.Event
		if e.Seq > 0 {
			name = "seq " + count(e.Seq)
		}
		add(e.ReceivedAt, "%s  %s %s%s", name, eventKind(*e), printable(e.Type, 16), said(e.Text))
		for _, try := range e.Tries {
			add(try.At, "%s  %s: try %d failed (%s)%s", name, printable(try.App, 40), try.Try, printable(try.Reason, 24), said(try.Error))
		}
		for _, app := range slices.Sorted(maps.Keys(e.States)) {
			if verdict, ok := e.Verdicts[app]; ok {
				add(verdict.At, "%s  %s: %s (%s) after %s", name, app, e.States[app], printable(verdict.Reason, 24), amount(verdict.Tries, "try", "tries"))
			} else if wait := e.Waits[app]; wait.NextAt != nil {
				add(*wait.NextAt, "%s  %s: %s until then, %s spent", name, app, e.States[app], amount(wait.Tries, "try", "tries"))
			} else {
				add(e.ReceivedAt, "%s  %s: %s", name, app, e.States[app])
			}
		}
	}
	for i := range v.Messages {
		m := &v.Messages[i]
		if len(m.Calls) == 0 {
			add(m.DueAt, "%s  part %d: %s, due%s", m.Message, m.Part+1, heldWords(m), said(m.Text))
		} else if m.State == gateway.MessageHeld {
			add(m.DueAt, "%s  part %d: %s", m.Message, m.Part+1, heldWords(m))
		}
		for n, call := range m.Calls {
			outcome := string(cmp.Or(call.Outcome, "under way"))
			if call.Code != "" {
				outcome += " (" + printable(call.Code, 24) + ")"
			}
			add(call.StartedAt, "%s  part %d, attempt %d: %s%s", m.Message, m.Part+1, n+1, outcome, said(m.Text))
		}
		for _, s := range m.Statuses {
			add(s.At, "%s  %s, says the platform", m.Message, s.State)
		}
	}
	for i := range v.Holds {
		add(v.Holds[i].At, "stopped: %s", holdWords(&v.Holds[i]))
	}
	if v.State != nil && v.State.Takeover != nil {
		add(v.State.Takeover.Since, "a colleague has it until %s", instant(v.State.Takeover.Until))
	}
	slices.SortStableFunc(list, func(a, b moment) int { return a.at.Compare(b.at) })
	if len(list) == 0 {
		_, _ = fmt.Fprintln(w, "nothing happened")
	}
	for _, m := range list {
		_, _ = fmt.Fprintf(w, "%s  %s\n", m.at.UTC().Format("2006-01-02T15:04:05.000Z"), m.what)
	}
	for i := range v.Offers {
		_, _ = fmt.Fprintf(w, "now                       %s\n", offerWords(&v.Offers[i]))
	}
}

// holdWords says what is stopped, and by whom.
func holdWords(b *gateway.Brake) string {
	by := printable(b.By, 24)
	if b.Reason != "" {
		by += " (" + printable(b.Reason, 24) + ")"
	}
	return fmt.Sprintf("%s %s, by %s", b.Scope, printable(b.Name, 40), by)
}

// offerWords says what is out.
func offerWords(o *gateway.ConversationOffer) string {
	where := "not handed out yet"
	if o.With {
		where = "with a worker"
	}
	return fmt.Sprintf("%s of %s, round %d, %s", printable(o.Delivery, 60), printable(o.App, 40), o.Round, where)
}

// said is a text behind a line; nothing for none.
func said(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("  %q", printable(text, 200))
}

// heldWords is why a message does not leave.
func heldWords(m *gateway.ConversationMessage) string {
	if m.Reason == "" {
		return string(m.State)
	}
	return fmt.Sprintf("%s (%s)", m.State, printable(m.Reason, 24))
}

// orders are the places of one event in each of the four orders; 0 where it has none.
type orders struct {
	seq                          int64
	dated, came, handled, sent   int
	datedAt, handledAt, sentAt   time.Time
	event                        string
	offDated, offHandled, offOut bool
}

// ordersOf are the ordered events of a conversation with their places. app is whose
// verdicts count; "" is that of each event that came last.
func ordersOf(v *gateway.Conversation, app string) []orders {
	sent := map[string]time.Time{}
	for i := range v.Messages {
		m := &v.Messages[i]
		if len(m.Calls) > 0 && (sent[m.Event].IsZero() || m.Calls[0].StartedAt.Before(sent[m.Event])) {
			sent[m.Event] = m.Calls[0].StartedAt
		}
	}
	var out []orders
	for i := range v.Events {
		e := &v.Events[i]
		if e.Seq == 0 {
			continue
		}
		o := orders{seq: e.Seq, event: e.Event, sentAt: sent[e.Event]}
		if e.OccurredAt != nil {
			o.datedAt = *e.OccurredAt
		}
		for name, verdict := range e.Verdicts {
			if (app == "" || app == name) && verdict.At.After(o.handledAt) {
				o.handledAt = verdict.At
			}
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b orders) int { return cmp.Compare(a.seq, b.seq) })
	for i := range out {
		out[i].came = i + 1
	}
	place(out, func(o *orders) (time.Time, *int, *bool) { return o.datedAt, &o.dated, &o.offDated })
	place(out, func(o *orders) (time.Time, *int, *bool) { return o.handledAt, &o.handled, &o.offHandled })
	place(out, func(o *orders) (time.Time, *int, *bool) { return o.sentAt, &o.sent, &o.offOut })
	return out
}

// place numbers the events by a time, equal ones in the order they came, and marks
// those that have another place among them than by the order they came.
func place(list []orders, of func(*orders) (at time.Time, place *int, off *bool)) {
	var have []*orders
	for i := range list {
		if at, _, _ := of(&list[i]); !at.IsZero() {
			have = append(have, &list[i])
		}
	}
	sorted := slices.Clone(have)
	slices.SortStableFunc(sorted, func(a, b *orders) int {
		x, _, _ := of(a)
		y, _, _ := of(b)
		return x.Compare(y)
	})
	for i, o := range sorted {
		_, n, off := of(o)
		*n, *off = i+1, have[i] != o
	}
}

// printOrders puts the four orders side by side and marks where one differs from the
// order of arrival.
func printOrders(w io.Writer, v *gateway.Conversation, app string) {
	list := ordersOf(v, app)
	cell := func(n int, off bool) string {
		switch {
		case n == 0:
			return "-"
		case off:
			return strconv.Itoa(n) + " !"
		}
		return strconv.Itoa(n)
	}
	rows := make([][]string, 0, len(list))
	marked := 0
	for i := range list {
		o := &list[i]
		if o.offDated || o.offHandled || o.offOut {
			marked++
		}
		rows = append(rows, []string{count(o.seq), cell(o.dated, o.offDated), strconv.Itoa(o.came), cell(o.handled, o.offHandled), cell(o.sent, o.offOut), o.event})
	}
	table(w, "no events have a place", []string{"SEQ", "DATED", "CAME", "HANDLED", "SENT", "EVENT"}, rows)
	if marked > 0 {
		_, _ = fmt.Fprintf(w, "\n%s at another place than by the order they came\n", amount(marked, "is", "are"))
	}
}
