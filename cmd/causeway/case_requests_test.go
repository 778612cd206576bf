package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// asks sends by request, to a name of an account; several texts are one task.
func (w *world) asks(account, kind, who string, parts ...string) gateway.Submitted {
	w.t.Helper()
	replies := make([]string, 0, len(parts))
	for _, p := range parts {
		replies = append(replies, fmt.Sprintf(`{"text":%q}`, p))
	}
	status, out, said := w.submit(fmt.Sprintf(`{"account":%q,"to":{"kind":%q,"value":%q},"parts":[%s]}`, account, kind, who, strings.Join(replies, ",")))
	if status != http.StatusAccepted {
		w.t.Fatalf("%d %s", status, said)
	}
	return out
}

// Cases 15, 16, 20, 21 and 24 for what no customer asked for: numbers, order, statuses
// and lost answers of requested messages are as those of replies.
func TestCasesByRequest(t *testing.T) {
	begin(t)
	const typed, real = "5511900000001", "551100000001"
	w := newCase(t, worldOptions{account: `pace: {account: "0", pair: "0"}, `, waID: func(number string) string {
		if number == typed {
			return real
		}
		return ""
	}})
	state := func(id string) string { return w.message(id).State }
	sent := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			w.until(30*time.Second, "the message is taken", func() bool { return state(id) == "accepted" })
		}
	}
	t.Run("Case15", func(t *testing.T) {
		first := w.asks("shop-a", "phone", typed, "one")
		sent(first.ID)
		second := w.asks("shop-a", "phone", real, "two") // who the answer said it is
		third := w.asks("shop-a", "phone", "551130000001", "a landline")
		sent(second.ID, third.ID)
		if second.Conv != first.Conv || third.Conv == first.Conv {
			t.Errorf("conversations %s, %s, %s", first.Conv, second.Conv, third.Conv)
		}
		if got := texts(w.calls("551130000001")); !slices.Equal(got, []string{"a landline"}) {
			t.Errorf("the landline got %v", got)
		}
	})
	t.Run("Case16", func(t *testing.T) {
		w.fault(sandbox.Fault{Name: "slow", DelayMS: 150, Text: "image"})
		defer w.wa.Faults().Remove("slow")
		const who = "16660600016"
		var want []string
		var last gateway.Submitted
		for i := range 5 {
			parts := []string{fmt.Sprint("image ", i), fmt.Sprint("text ", i)}
			want, last = append(want, parts...), w.asks("shop-a", "phone", who, parts...)
		}
		sent(last.Messages...)
		calls := w.calls(who)
		if got := texts(calls); !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
		for i := 1; i < len(calls); i++ {
			if calls[i].Start.Before(calls[i-1].End) {
				t.Errorf("%s began before %s had its answer", calls[i].Text, calls[i-1].Text)
			}
		}
	})
	t.Run("Case20", func(t *testing.T) {
		const who = "16660600020"
		out := w.asks("shop-a", "phone", who, "hello")
		sent(out.ID)
		call := w.calls(who)[0]
		for _, s := range []string{"read", "delivered", "sent", "delivered"} {
			w.taken(w.wa.StatusBody(call.MessageID, "", who, s, 0))
		}
		w.until(30*time.Second, "all is known", func() bool { return len(w.message(out.ID).Statuses) == 3 })
		if m := w.message(out.ID); m.Result != "read" || m.Delivery != gateway.StatusRead {
			t.Errorf("%s, %s", m.Result, m.Delivery)
		}
	})
	t.Run("Case21", func(t *testing.T) {
		const who = "16660600021"
		w.fault(sandbox.Fault{Name: "slow answer", Stage: sandbox.After, Text: "early", DelayMS: 1500})
		defer w.wa.Faults().Remove("slow answer")
		out := w.asks("shop-a", "phone", who, "early")
		w.until(30*time.Second, "the platform has it", func() bool { c := w.calls(who); return len(c) == 1 && c[0].Accepted })
		call := w.calls(who)[0]
		w.taken(w.wa.StatusBody(call.MessageID, call.Marker, who, "delivered", 0))
		w.until(30*time.Second, "the status is known", func() bool { return w.message(out.ID).Delivery == gateway.StatusDelivered })
		got := state(out.ID)
		if call := w.calls(who)[0]; call.End.IsZero() && got != "sending" {
			t.Errorf("the message is %s while its call runs", got)
		}
		sent(out.ID)
		if m := w.message(out.ID); m.Result != "delivered" || len(m.Calls) != 1 {
			t.Errorf("%s after %d calls", m.Result, len(m.Calls))
		}
		if n := w.counter("parked"); n != 0 {
			t.Errorf("%d are parked", n)
		}
	})
	t.Run("Case24", func(t *testing.T) {
		const who = "16660600024"
		w.fault(sandbox.Fault{Name: "lost", Stage: sandbox.After, Drop: sandbox.DropReset, Text: "lost"})
		defer w.wa.Faults().Remove("lost")
		task := w.asks("shop-a", "phone", who, "first", "lost", "behind it")
		next := w.asks("shop-a", "phone", who, "another task")
		sent(next.ID)
		var got []string
		for _, id := range task.Messages {
			got = append(got, state(id))
		}
		if want := []string{"accepted", "unknown", "cancelled"}; !slices.Equal(got, want) {
			t.Errorf("states %v, want %v", got, want)
		}
		if m := w.message(task.ID); m.TaskState != "partial" {
			t.Errorf("the task is %s", m.TaskState)
		}
		calls := w.calls(who)
		if got := texts(calls); !slices.Equal(got, []string{"first", "lost", "another task"}) {
			t.Errorf("the platform saw %v", got)
		}
		w.taken(w.wa.StatusBody(calls[1].MessageID, calls[1].Marker, who, "sent", 0))
		w.until(30*time.Second, "a late status settles it", func() bool { return state(task.Messages[1]) == "accepted" })
	})
	w.oncePerMessage()
	if dead := w.deadLetters(); len(dead) != 0 {
		t.Errorf("dead letters %+v", dead)
	}
}

// Case 12: a token that ended, said in either way, is fetched again once and the message
// leaves in the same attempt. Where every token is refused the account is paused, its
// messages keep their places, gettoken is not stormed, and other accounts go on.
func TestCase12TokenCodes(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{})
	wait := func(out gateway.Submitted) {
		t.Helper()
		w.until(30*time.Second, "the message is taken", func() bool { return w.message(out.ID).State == "accepted" })
	}
	fault := func(f sandbox.Fault) {
		t.Helper()
		if _, err := wc.Faults().Add(f); err != nil {
			t.Fatal(err)
		}
	}
	wait(w.asks("corp-a", "userid", "warm", "up"))
	for _, code := range []int{40014, 42001, 40001} {
		before := wc.TokenCalls()
		fault(sandbox.Fault{Code: code, Next: 1, To: fmt.Sprint("member", code)})
		out := w.asks("corp-a", "userid", fmt.Sprint("member", code), "once")
		wait(out)
		if got := wc.TokenCalls() - before; got != 1 {
			t.Errorf("%d: %d calls of gettoken, want 1", code, got)
		}
		if m := w.message(out.ID); len(m.Calls) != 1 {
			t.Errorf("%d: %d attempts", code, len(m.Calls))
		}
	}
	before := wc.TokenCalls()
	fault(sandbox.Fault{Name: "always", Code: 40014})
	var held []gateway.Submitted
	for i := range 3 {
		held = append(held, w.asks("corp-a", "userid", "patient", fmt.Sprint("message ", i)))
	}
	w.until(30*time.Second, "the account is paused", func() bool {
		a := w.fares("corp-a")
		return a.State == gateway.AccountPaused && a.Reason == gateway.BlameCredential
	})
	wait(w.asks("shop-a", "phone", "16660600012", "goes on"))
	if a := w.fares("shop-a"); a.State != gateway.AccountHealthy {
		t.Errorf("the other account is %s", a.State)
	}
	for _, out := range held {
		if m := w.message(out.ID); m.State != "waiting" {
			t.Errorf("a message of the paused account is %s", m.State)
		}
	}
	if got := wc.TokenCalls() - before; got > 5 {
		t.Errorf("%d calls of gettoken", got)
	}
	wc.Faults().Remove("always")
	if said, code := w.cli("accounts", "resume", "corp-a"); code != exitOK {
		t.Fatalf("%d %s", code, said)
	}
	wait(held[2])
	if got := texts(accepted(callsTo(wc.Calls(), "patient"))); !slices.Equal(got, []string{"message 0", "message 1", "message 2"}) {
		t.Errorf("the member was sent %v", got)
	}
	if dead := w.deadLetters(); len(dead) != 0 {
		t.Errorf("dead letters %+v", dead)
	}
}

// Case 25: a limit of one pair holds that pair, with growing waits, and its next message
// behind it; 429 with Retry-After the account, for as long as it says; what cannot be
// sent at all is given up at once. The gateway is ready throughout.
func TestCase25PairRate(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	const a, b, c, d, e = "16660600251", "16660600252", "16660600253", "16660600254", "16660600255"
	var tries atomic.Int64
	var quick atomic.Bool // b has its message
	w.fault(sandbox.Fault{Code: 131056, To: a, Text: "a1", Match: func(*sandbox.Call) bool { return tries.Add(1) <= 2 || !quick.Load() }})
	w.fault(sandbox.Fault{Code: 131047, To: d})
	first, second := w.asks("shop-a", "phone", a, "a1"), w.asks("shop-a", "phone", a, "a2")
	state := func(id string) string { return w.message(id).State }
	w.until(30*time.Second, "the pair is limited", func() bool { return tries.Load() > 0 })
	other := w.asks("shop-a", "phone", b, "b1")
	w.until(30*time.Second, "another pair does not wait", func() bool { return state(other.ID) == "accepted" })
	quick.Store(true)
	never := w.asks("shop-a", "phone", d, "d1")
	w.until(30*time.Second, "it is given up", func() bool { return state(never.ID) == "rejected" })
	if s := state(second.ID); s != "waiting" {
		t.Errorf("the message behind is %s", s)
	}
	if m := w.message(never.ID); len(m.Calls) != 1 || m.Reason != "131047" {
		t.Errorf("%d calls, %s", len(m.Calls), m.Reason)
	}
	w.until(time.Minute, "the pair goes on", func() bool { return state(first.ID) == "accepted" && state(second.ID) == "accepted" })
	calls := w.calls(a)
	if got := texts(calls); got[len(got)-1] != "a2" || slices.Contains(got[:len(got)-1], "a2") {
		t.Errorf("the pair was sent %v", got)
	}
	var gaps []time.Duration // at least these: a busy machine makes them longer
	for i, least := range []time.Duration{time.Second, 4 * time.Second} {
		if gaps = append(gaps, calls[i+1].Start.Sub(calls[i].End)); gaps[i] < least*8/10 {
			t.Errorf("try %d came after %s, want at least %s", i+2, gaps[i], least)
		}
	}
	w.fault(sandbox.Fault{Status: http.StatusTooManyRequests, Code: 130429, RetryAfterS: 2, To: c, Next: 1})
	slowed := w.asks("shop-a", "phone", c, "c1")
	w.until(30*time.Second, "the account is limited", func() bool { return len(w.calls(c)) == 1 })
	w.until(30*time.Second, "the account waits", func() bool { return w.fares("shop-a").State == gateway.AccountSlowed })
	after := w.asks("shop-a", "phone", e, "e1")
	w.until(time.Minute, "it goes on", func() bool { return state(slowed.ID) == "accepted" && state(after.ID) == "accepted" })
	limited := w.calls(c)
	for _, next := range []time.Time{limited[1].Start, w.calls(e)[0].Start} {
		if gap := next.Sub(limited[0].End); gap < 2*time.Second-100*time.Millisecond {
			t.Errorf("the account went on after %s", gap)
		}
	}
	if dead := w.deadLetters(); len(dead) != 1 || dead[0].Message != never.ID {
		t.Errorf("dead letters %+v, want that of d1", dead)
	}
	if status, _ := w.raw(http.MethodGet, "/readyz", "", nil); status != http.StatusOK {
		t.Errorf("readyz says %d", status)
	}
	w.oncePerMessage()
}
