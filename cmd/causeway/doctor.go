package main

import (
	"context"
	"sort"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// readiness is the state of every part, for the admin side's readyz.
func (a *app) readiness(context.Context) admin.Readiness {
	r := admin.Readiness{OK: a.ready.ok()}
	state := "ok"
	if !r.OK {
		state = "unavailable"
	}
	r.Components = append(r.Components, admin.Component{Name: "archive", State: state})
	nats := a.broker.State()
	c := admin.Component{Name: "nats", State: "ok", Since: &nats.Since, Detail: nats.Word}
	if nats.Word != "ok" {
		c.State = "degraded" // callbacks are taken all the same
	}
	r.Components = append(r.Components, c)
	for name, p := range a.parts.snapshot() {
		c := admin.Component{Name: name, State: "ok", Since: &p.Since}
		if !p.Running {
			c.State, r.OK = "stopped", false
		}
		r.Components = append(r.Components, c)
	}
	sort.SliceStable(r.Components[2:], func(i, j int) bool { return r.Components[2+i].Name < r.Components[2+j].Name })
	return r
}

// Doctor looks for what an operator should know, worst first.
func (x adminAPI) Doctor(ctx context.Context) (admin.Report, error) {
	d := diagnosis{now: x.a.o.Now()}
	x.a.checkParts(&d)
	for _, c := range x.a.broker.complaints(ctx) {
		level := "warning"
		if c.Grave {
			level = "error"
		}
		d.add(level, c.What, c.Name, 0, time.Time{}, c.Do)
	}
	x.a.checkDisk(&d)
	x.a.tls.check(d.now, func(level, what, name, do string) { d.add(level, what, name, 0, time.Time{}, do) })
	if err := x.a.checkSums(ctx, &d); err != nil {
		return admin.Report{}, err
	}
	if err := x.a.checkStuck(ctx, &d); err != nil {
		return admin.Report{}, err
	}
	if err := x.a.checkCounters(ctx, &d); err != nil {
		return admin.Report{}, err
	}
	x.a.checkPuller(&d)
	x.a.checkAccounts(&d)
	x.a.checkBrakes(&d)
	if err := x.a.checkMedia(ctx, &d); err != nil {
		return admin.Report{}, err
	}
	found, err := x.a.creds.findings(ctx)
	if err != nil {
		return admin.Report{}, err
	}
	d.list = append(d.list, found...)
	apps, err := x.Applications(ctx)
	if err != nil {
		return admin.Report{}, err
	}
	reached := reachBridges(ctx, x.a.o.Config)
	for i := range apps {
		checkApplication(&d, &apps[i])
		if apps[i].Bridge != nil {
			checkBridge(&d, &apps[i], reached[apps[i].Name])
		}
	}
	return d.report(), nil
}

// diagnosis collects findings.
type diagnosis struct {
	now  time.Time
	list []admin.Finding
}

func (d *diagnosis) add(level, what, name string, count int64, since time.Time, do string) {
	f := admin.Finding{Level: level, What: what, Name: name, Count: count, Do: do}
	if !since.IsZero() {
		f.Since = &since
	}
	d.list = append(d.list, f)
}

func (d *diagnosis) report() admin.Report {
	rank := map[string]int{"error": 0, "warning": 1, "info": 2}
	sort.SliceStable(d.list, func(i, j int) bool { return rank[d.list[i].Level] < rank[d.list[j].Level] })
	r := admin.Report{OK: true, Findings: d.list}
	for i := range d.list {
		if d.list[i].Level == "error" {
			r.OK = false
		}
	}
	return r
}

func (a *app) checkParts(d *diagnosis) {
	if !a.ready.ok() {
		d.add("error", "the archive does not take callbacks; platforms are told 503", "archive", 0, time.Time{}, "free disk space, or make the store's folder writable")
	}
	switch s := a.broker.State(); s.Word {
	case "ok":
	case "other life":
		d.add("error", "NATS holds the streams of another store; callbacks are archived and nothing is handed out", "nats", 0, s.Since,
			"if this store is the right one: causeway adopt --yes")
	default:
		d.add("error", "NATS is "+s.Word+": "+s.Detail, "nats", 0, s.Since, "start NATS; everything waits in the ledger and goes on by itself")
	}
	if got := a.broker.maxPayload(); got > 0 && got < leastPayload {
		d.add("error", "NATS takes messages of at most "+humanize.IBytes(uint64(got))+"; a longer event would hold its conversation", "nats", 0, time.Time{},
			"set max_payload of the NATS servers to 1MB or more")
	}
	for _, r := range a.results.States() {
		if !r.Failing.IsZero() && d.now.Sub(r.Failing) > resultsPatience {
			d.add("warning", "results are not taken: "+r.Word, r.Receiver, int64(r.Open), r.Failing, "mend the receiver; what waits is posted then, each for a day")
		}
	}
	for name, p := range a.parts.snapshot() {
		if !p.Running {
			d.add("error", "stopped: "+p.Err, name, 0, p.Since, "restart the gateway")
		}
	}
}

// leastPayload is what the relay's default counts on at servers outside.
const leastPayload = 1 << 20

func (a *app) checkSums(ctx context.Context, d *diagnosis) error {
	s, err := a.sums(ctx, a.ledger.Sums)
	if err != nil {
		return err
	}
	for _, line := range s.Broken() {
		d.add("error", "an equation does not hold: "+line, "sums", 0, time.Time{}, "keep the store's folder and report this")
	}
	if n := s.Payloads.Sealed; n > 0 {
		d.add("error", "payloads are verified but no key opens them", "sealed", n, time.Time{},
			"put the right key into the configuration, restart, then: causeway replay --sealed")
	}
	if n := s.Payloads.Pending; n > 1000 {
		d.add("warning", "payloads wait for the relay", "relay", n, time.Time{}, "it catches up by itself; callbacks go first")
	}
	return nil
}

func (a *app) checkStuck(ctx context.Context, d *diagnosis) error {
	things, err := a.ledger.Stuck(ctx, d.now)
	if err != nil {
		return err
	}
	for _, t := range things {
		level, do := "info", ""
		if d.now.Sub(t.Since) > time.Minute {
			level = "warning"
		}
		switch t.What {
		case "pending":
			do = "causeway apps shows who waits for what"
		case "blocked":
			level, do = "warning", "each holds its conversation, as on_exhausted: block says; causeway apps, and the bot's log"
		case "unanswered":
			level, do = "info", "recovered too late to be answered, and not handed out: causeway conv unanswered"
		case "unknown":
			do = "causeway messages ls --state unknown"
		case "merging":
			do = "a conversation became part of another one, which waits until this one has nothing left: causeway conv show " + t.Name
		case "not buried":
			level, do = "error", "the ledger refuses these dead letters and they are tried again by themselves; their conversations wait (causeway pause ls), "+
				"the log has relay.not_buried; dead letters of events and messages in the same plight are counted in sums as not_buried"
		case "dead":
			level, do = "warning", "causeway dead ls"
		case "taken", "held for a colleague": // as it should be
			level, do = "info", "colleagues write by hand: causeway messages ls --state held; causeway conv release takes one back"
		}
		d.add(level, t.What, t.Name, t.Count, t.Since, do)
	}
	return nil
}

func (a *app) checkCounters(ctx context.Context, d *diagnosis) error {
	stats, err := a.archive.Stats(ctx)
	if err != nil {
		return err
	}
	if stats.Rejects > 0 {
		d.add("warning", "callbacks did not verify", "rejects", stats.Rejects, time.Time{},
			"causeway rejects ls; after mending the secret: causeway rejects readmit --all")
	}
	counters, err := a.ledger.Counters(ctx)
	if err != nil {
		return err
	}
	if n := counters["bad_answer"]; n > 0 {
		d.add("warning", "workers sent answers that could not be read", "answers", n, time.Time{}, "see the log for answer.bad")
	}
	if n := counters["echo_undecided"]; n > 0 {
		d.add("warning", "messages do not tell who wrote them and were not handed out", "echoes", n, time.Time{},
			"let from_self or own_id of the endpoint's decode tell; causeway archive shows what came")
	}
	return nil
}

// checkBrakes names what is stopped, but for applications, which are looked at by
// themselves.
func (a *app) checkBrakes(d *diagnosis) {
	for _, b := range a.brakes.list() {
		if b.Scope == gateway.BrakeApp {
			continue
		}
		what := string(b.Scope) + " paused by " + b.By
		if b.Reason != "" {
			what += " (" + b.Reason + ")"
		}
		d.add("warning", what, b.Name, 0, b.At, "causeway resume "+string(b.Scope)+" "+b.Name)
	}
}

func checkApplication(d *diagnosis, app *admin.ApplicationState) {
	switch {
	case app.Paused:
		d.add("warning", "paused by "+app.PausedBy, app.Name, app.Pending, *app.PausedAt, "causeway resume app "+app.Name)
	case app.Tripped:
		d.add("error", "every try fails; events wait, and one at a time is tried", app.Name, app.Pending, *app.TrippedAt,
			"mend the bot; the next try is at "+app.ProbeAt.UTC().Format(time.RFC3339)+", and one that succeeds lets all go on")
	case app.Pending > 0 && app.Workers == 0 && app.Unacked == 0:
		var since time.Time
		if app.Oldest != nil {
			since = *app.Oldest
		}
		d.add("error", "events wait and no worker asks for them", app.Name, app.Pending, since, "start a worker for "+app.Name)
	}
}
