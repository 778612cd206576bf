package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

func application(name string, from gateway.From) gateway.Application {
	return gateway.Application{Name: name, Replies: true, From: from}
}

// tend does what is left of the applications and returns what was given, as
// "conversation's customer/seq".
func (w *world) tend(apps ...gateway.Application) (given []gateway.Pending) {
	w.Helper()
	for range 10_000 { // slices are cut by time: on a busy machine there are many
		t, err := w.l.TendApplications(w.ctx, apps, w.now)
		w.must(err)
		given = append(given, t.Pending...)
		if t.Done {
			return given
		}
	}
	w.Fatal("the applications are never done")
	return nil
}

func (w *world) keep(apps ...gateway.Application) (removed []string) {
	w.Helper()
	removed, err := w.l.KeepApplications(w.ctx, apps, w.now)
	w.must(err)
	return removed
}

func events(ps []gateway.Pending) (out []string) {
	for _, p := range ps {
		out = append(out, p.Event)
	}
	return out
}

// waiting are the events that wait for an application in a customer's
// conversation, in order, found by settling them.
func (w *world) settleAll(app string) (out []string) {
	w.Helper()
	for range 10_000 {
		heads, err := w.l.Heads(w.ctx, app, "", 1000)
		w.must(err)
		if len(heads) == 0 {
			return out
		}
		for _, h := range heads {
			out = append(out, h.Event)
			w.answer(h, done())
		}
	}
	w.Fatal("events without end")
	return nil
}

// appFrom: an application begins where it says, in order, and what comes while it
// is brought up follows.
func appFrom(w *world) {
	bot := application("bot", gateway.From{})
	w.same("removed", len(w.keep(bot)), 0)
	w.same("given at first", len(w.tend(bot)), 0)
	var all []string
	for i := range 300 { // more than a slice
		it := w.message(fmt.Sprintf("a%03d", i), fmt.Sprint(i%3))
		w.relay(it)
		all = append(all, it.Event.ID)
		w.later(time.Second)
	}
	old := w.now
	observed := w.message("o1", "1")
	observed.Observed = gateway.ObservedHistory
	group := w.message("g1", "1")
	group.Event.Chat, group.Chat.Kind = gateway.ChatGroup, gateway.ChatGroup
	group.Wanted = nil
	w.relay(observed, group, w.status("s1", "1", "x", "", gateway.StatusSent))
	w.later(time.Second)
	begins := application("begins", gateway.From{Beginning: true})
	since := application("since", gateway.From{Time: old.Add(-2 * time.Second)})
	now := application("now", gateway.From{})
	apps := []gateway.Application{bot, begins, since, now}
	w.same("removed", len(w.keep(apps...)), 0)
	first, err := w.l.TendApplications(w.ctx, apps, w.now)
	w.must(err)
	if len(first.Pending) == 0 || first.Done {
		w.Fatalf("the first slice: %+v", first)
	}
	late := w.message("late", "1")
	late.Wanted = []string{"bot", "begins", "since", "now"}
	r := w.relay(late)
	w.same("who is given it at once", [2]string{r.Pending[0].App, r.Pending[1].App}, [2]string{"bot", "now"})
	all = append(all, "ev_late")
	given := append(first.Pending, w.tend(apps...)...)
	of := func(app string) []string {
		return events(slices.DeleteFunc(slices.Clone(given), func(p gateway.Pending) bool { return p.App != app }))
	}
	w.same("from the beginning", of("begins"), all)
	w.same("from a time", of("since"), all[298:])
	w.same("from now", len(of("now")), 0)
	// Its place is the past: before what comes, in each conversation.
	later := w.message("later", "1")
	later.Wanted = []string{"begins"}
	w.same("given by the relay from now on", len(w.relay(later).Pending), 1)
	got := w.settleAll("begins")
	w.same("handed out", len(got), len(all)+1)
	for _, who := range []int{0, 1, 2} {
		if !slices.IsSorted(slices.DeleteFunc(slices.Clone(got), func(e string) bool {
			var n int
			_, err := fmt.Sscanf(e, "ev_a%d", &n)
			return err != nil || n%3 != who
		})) {
			w.Errorf("out of order: %v", got)
		}
	}
	w.same("the last one", slices.Index(got, "ev_later") > slices.Index(got, "ev_late"), true)
	w.balanced()
	w.keep(apps...)
	w.same("known applications begin nothing", len(w.tend(apps...)), 0)
}

// appRemoved: what waits for an application that is gone is dropped, and the sums
// hold; when it comes back it begins by its From.
func appRemoved(w *world) {
	bot, other := application("bot", gateway.From{}), application("other", gateway.From{})
	w.keep(bot, other)
	var ps []gateway.Pending
	for i := range 600 {
		it := w.message(fmt.Sprintf("a%03d", i), fmt.Sprint(i%7))
		it.Wanted = []string{"bot", "other"}
		ps = append(ps, w.relay(it).Pending[0])
	}
	w.answer(ps[0], done())
	dead := w.answer(ps[1], gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 4})
	w.must(w.l.SetBreaker(w.ctx, gateway.Breaker{App: "bot", Since: w.now, ProbeAt: w.now, Wait: time.Second}))
	w.same("removed", w.keep(other), []string{"bot"})
	w.same("removed once", len(w.keep(other)), 0)
	dropped := 0
	for slice := -1; slice != 0; dropped += slice { // several of them, and a death behind each
		t, err := w.l.TendApplications(w.ctx, []gateway.Application{other}, w.now)
		w.must(err)
		slice = t.Dropped
		w.keep(other)
	}
	w.tend(other)
	w.same("dropped", dropped, 598)
	s := w.balanced()
	w.same("sums of the removed", s.Apps["bot"], gateway.AppSums{Wanted: 600, Settled: 1, Dead: 1, Dropped: 598})
	w.same("sums of the other", s.Apps["other"], gateway.AppSums{Wanted: 600, Pending: 600})
	b, err := w.l.Breakers(w.ctx)
	w.must(err)
	w.same("breakers", len(b), 0)
	w.same("its answer is late", w.answer(ps[2], done()).Late, true)
	// What is requeued for it meanwhile goes as well.
	_, err = w.l.Requeue(w.ctx, dead.Dead, "ops", w.now)
	w.must(err)
	w.keep(other)
	w.tend(other)
	w.same("a requeued one", w.balanced().Apps["bot"].Dropped, int64(599))
	// It comes back from now on; then, once more, from the beginning.
	w.keep(bot, other)
	w.same("given again", len(w.tend(bot, other)), 0)
	it := w.message("new", "1")
	w.same("new events", len(w.relay(it).Pending), 1)
	w.keep(other)
	bot.From.Beginning = true
	w.keep(bot, other) // nothing of it was tended in between
	if it = w.message("newer", "1"); len(w.relay(it).Pending) != 0 {
		w.Error("it was given a new event before the old ones")
	}
	w.same("all but what it settled", len(w.tend(bot, other)), 601)
	w.same("handed out", len(w.settleAll("bot")), 601)
	w.same("sums afterwards", w.balanced().Apps["bot"], gateway.AppSums{Wanted: 602, Settled: 602})
}

// appMerged: an application that begins in the past meets conversations that became
// one since: the older waits for the younger.
func appMerged(w *world) {
	w.say("a1", "1")
	w.say("b1", "2")
	both := w.message("c1", "1")
	both.Chat.Identities = append(both.Chat.Identities, phone("2"))
	w.answer(w.relay(both).Pending[0], done())
	w.same("merges before", len(w.merges()), 0)
	app := application("begins", gateway.From{Beginning: true})
	w.keep(app)
	t, err := w.l.TendApplications(w.ctx, []gateway.Application{app}, w.now)
	w.must(err)
	w.same("who waits for whom", t.Merged, w.merges())
	w.same("merges", len(t.Merged), 1)
	w.settleAll("begins")
	w.same("merges afterwards", len(w.merges()), 0)
	w.balanced()
}

// recoveredMessages: a message that was recovered is offered as long as somebody
// may wait for an answer.
func recoveredMessages(w *world) {
	recovered := func(id, who string, at time.Time) gateway.ItemRow {
		it := w.message(id, who)
		it.Event.OccurredAt, it.Event.ReceivedAt = at, at
		it.Wanted, it.IfLast = []string{"bot", "watch"}, []string{"bot"}
		return it
	}
	again := func(it gateway.ItemRow) []gateway.Pending {
		w.Helper()
		dead := it
		dead.State, dead.Reason = gateway.ItemDead, gateway.ReasonNoAccount
		w.relay(dead)
		pos := w.pos
		w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: pos, Item: -1}}, "ops", w.now))
		return w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{{Pos: pos, Platform: "whatsapp", Endpoint: "meta",
			ReceivedAt: it.Event.ReceivedAt, Items: []gateway.ItemRow{it}, Last: true}}}).Pending
	}
	apps := func(ps []gateway.Pending) (out []string) {
		for _, p := range ps {
			out = append(out, p.App)
		}
		return out
	}
	at := w.now.Add(-time.Minute)
	ps := again(recovered("r1", "1", at))
	w.same("the last word of a new conversation", apps(ps), []string{"bot", "watch"})
	w.same("origin", ps[0].Row.Origin, gateway.OriginBackfill)
	w.same("the next of the same customer", apps(again(recovered("r2", "1", at.Add(time.Second)))), []string{"bot", "watch"})
	w.same("an earlier one", apps(again(recovered("r0", "1", at.Add(-time.Second)))), []string{"watch"})
	conv := w.say("n1", "2", "an answer")
	w.same("the customer wrote since", apps(again(recovered("r3", "2", at))), []string{"watch"})
	w.send(conv, gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: "w.1"})
	w.same("we wrote since", apps(again(recovered("r4", "2", w.now.Add(-time.Millisecond)))), []string{"watch"})
	w.later(time.Second)
	w.same("nobody since", apps(again(recovered("r5", "2", w.now))), []string{"bot", "watch"})
	old := recovered("r6", "3", at)
	old.Wanted, old.IfLast, old.Unanswered = []string{"watch"}, nil, []string{"bot"}
	w.same("too old", apps(again(old)), []string{"watch"})
	list, err := w.l.Unanswered(w.ctx, "", 0, 10)
	w.must(err)
	var got []string
	for _, u := range list {
		got = append(got, u.App+" "+u.Event)
	}
	w.same("unanswered", got, []string{"bot ev_r6", "bot ev_r4", "bot ev_r3", "bot ev_r0"})
	page, err := w.l.Unanswered(w.ctx, "bot", list[1].N, 1)
	w.must(err)
	w.same("a page", page, list[2:3])
	none, err := w.l.Unanswered(w.ctx, "watch", 0, 10)
	w.must(err)
	w.same("of the observer", len(none), 0)
	w.same("dropped", w.balanced().Apps["bot"].Dropped, int64(4))

	// An event that was too late for two applications: a page does not end between them,
	// since the next one begins behind the event.
	both := recovered("r7", "4", at)
	both.Wanted, both.IfLast, both.Unanswered = []string{"watch"}, nil, []string{"bot", "help"}
	w.same("too old for two", apps(again(both)), []string{"watch"})
	for _, limit := range []int{1, 2, 3} {
		got = nil
		for before := int64(0); ; {
			page, err := w.l.Unanswered(w.ctx, "", before, limit)
			w.must(err)
			if len(page) == 0 {
				break
			}
			for _, u := range page {
				got = append(got, u.App+" "+u.Event)
			}
			before = page[len(page)-1].N
		}
		w.same("pages", got, []string{"bot ev_r7", "help ev_r7", "bot ev_r6", "bot ev_r4", "bot ev_r3", "bot ev_r0"})
	}
}

// relaxedDuplicates: a duplicate is an event of its own, once.
func relaxedDuplicates(w *world) {
	relaxed := func() gateway.ItemRow {
		it := w.message("a1", "1")
		it.Relaxed = true
		return it
	}
	w.relay(relaxed())
	r := w.relay(relaxed(), relaxed())
	w.same("events", [2]int{r.Events, len(r.Pending)}, [2]int{2, 2})
	w.same("ids", [2]string{r.Pending[0].Event, r.Pending[1].Event},
		[2]string{gateway.CopyID("ev_a1", w.pos, 0), gateway.CopyID("ev_a1", w.pos, 1)})
	w.same("seqs", [2]int64{r.Pending[0].Seq, r.Pending[1].Seq}, [2]int64{2, 3})
	w.same("counted", w.counter("relaxed"), int64(2))
	strict := w.message("a1", "1")
	w.same("strict again", w.relay(strict).Events, 0)
	// The payload is read again: the same events.
	pos := w.pos - 1
	w.must(w.l.ReadAgain(w.ctx, []gateway.AgainRow{{Pos: pos, Item: -1}}, "ops", w.now))
	a, b := relaxed(), relaxed()
	b.Index = 1
	p := gateway.RelayedPayload{Pos: pos, Platform: "whatsapp", Endpoint: "meta", ReceivedAt: w.now, Items: []gateway.ItemRow{a, b}, Last: true}
	w.same("read again", w.batch(&gateway.RelayBatch{Again: true, Payloads: []gateway.RelayedPayload{p}}).Events, 0)
	w.same("counted again", w.counter("relaxed"), int64(2))
	st, err := w.l.PayloadState(w.ctx, pos)
	w.must(err)
	w.same("its items", [2]string{st.Items[0].Event, st.Items[1].Event}, [2]string{r.Pending[0].Event, r.Pending[1].Event})
	// A replay hands each of them out, under its own id, whatever is set by then.
	_, err = w.l.StartRun(w.ctx, gateway.ReplayRun{ID: "run_1", At: w.now})
	w.must(err)
	p.Items[0].Relaxed, p.Items[1].Relaxed = false, false
	re := w.batch(&gateway.RelayBatch{Run: "run_1", Payloads: []gateway.RelayedPayload{p}})
	w.same("replayed", events(re.Pending), events(r.Pending))
	w.balanced()
}
