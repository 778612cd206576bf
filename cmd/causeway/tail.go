package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// Tail begins to tell what happens.
func (x adminAPI) Tail(f gateway.TailFilter) (admin.TailReader, error) {
	// A name that nothing has would be waited for without end.
	if names := x.a.accountNames(); f.Account != "" && !slices.Contains(names, f.Account) {
		return nil, noSuch("account", names)
	}
	if names := applicationNames(x.a.dir.apps); f.App != "" && !slices.Contains(names, f.App) {
		return nil, noSuch("app", names)
	}
	r, err := x.a.tail.Listen(f)
	if err != nil {
		return nil, err
	}
	x.a.watchers()
	return r, nil
}

// tailRows is how many events one read for the tail takes.
const tailRows = 200

// tailRelayed tells of relayed events: of every kind, so it reads the rows that the
// relay made, which costs the relay nothing. r is of one transaction.
func (a *app) tailRelayed(r gateway.RelayResult) {
	if !a.tail.Listening() {
		return
	}
	for i := range r.Buried {
		d := &r.Buried[i]
		a.tail.Tell(gateway.TailLine{At: d.At, What: gateway.TailDead, Platform: d.Platform, Account: d.Account, Event: d.Event, Dead: d.ID,
			State: d.Kind, Reason: d.Reason})
	}
	apps := map[int64][]string{}
	for i := range r.Pending {
		apps[r.Pending[i].N] = append(apps[r.Pending[i].N], r.Pending[i].App)
	}
	for first := r.LastN - int64(r.Events) + 1; first <= r.LastN; first += tailRows {
		var ns []int64
		for n := first; n <= min(first+tailRows-1, r.LastN); n++ {
			ns = append(ns, n)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		rows, err := a.ledger.Events(ctx, ns)
		cancel()
		if err != nil {
			a.o.Log.Warn("tail.failed", zap.Error(err))
			return
		}
		for _, n := range ns {
			if row := rows[n]; row != nil {
				slices.Sort(apps[n])
				a.tail.Tell(relayedLine(row, apps[n], a.o.Now()))
			}
		}
	}
}

func relayedLine(row *gateway.EventRow, apps []string, now time.Time) gateway.TailLine {
	return gateway.TailLine{At: now, What: gateway.TailRelayed, Apps: apps, Platform: row.Platform, Account: row.Account, Conv: row.Conv, Kind: row.Kind,
		Seq: row.Seq, Event: row.ID, State: string(row.Origin), Text: textOf(row.Content)}
}

// textOf is the text of an event's content.
func textOf(content []byte) string {
	var says struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &says) != nil {
		return ""
	}
	return says.Text
}

// settled takes what answers did, or a gate by itself, for those who look.
func (a *app) settled(list []gateway.Settled) {
	a.activity.settled(list)
	a.tailSettled(list)
}

// tailSettled tells what answers did, or a gate by itself.
func (a *app) tailSettled(list []gateway.Settled) {
	if !a.tail.Listening() {
		return
	}
	now := a.o.Now()
	for i := range list {
		s := &list[i]
		l := gateway.TailLine{At: now, What: gateway.TailSettled, Apps: []string{s.App}, Conv: s.Conv, Seq: s.Was.Seq, Event: s.Was.Event,
			State: string(s.Decision.State), Reason: s.Decision.Reason, Tries: s.Decision.Tries, Build: s.Build, Dead: s.Dead}
		if row := s.Was.Row; row != nil {
			l.Platform, l.Account, l.Kind = row.Platform, row.Account, row.Kind
		}
		switch {
		case s.Late:
			l.What = gateway.TailLate
		case s.Dead != "":
			l.What, l.State = gateway.TailDead, "event"
		}
		a.tail.Tell(l)
		for j := range s.Also {
			also := &s.Also[j]
			l.Seq, l.Event, l.Dead = also.Was.Seq, also.Was.Event, also.Dead
			a.tail.Tell(l)
		}
	}
}

// tailAttempted tells how an attempt to send ended.
func (a *app) tailAttempted(m *gateway.Message, out *gateway.Outcome, took time.Duration) {
	if !a.tail.Listening() {
		return
	}
	l := gateway.TailLine{At: a.o.Now(), What: gateway.TailAttempted, Platform: m.Platform, Account: m.Account, Conv: m.Conv, Event: m.Event,
		Message: m.ID, State: string(out.Kind), Reason: out.Code, Tries: m.Attempts, TookMS: took.Milliseconds(), Text: m.Reply.Text}
	if m.App != "" {
		l.Apps = []string{m.App}
	}
	a.tail.Tell(l)
}
