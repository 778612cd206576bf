package main

import (
	"fmt"
	"io"
	"time"
)

// scheduleResult is what `causeway bench schedule` found.
type scheduleResult struct {
	Count          int     `json:"count"`
	OverSeconds    float64 `json:"over_seconds"`
	AskSeconds     float64 `json:"ask_seconds"`     // until all were on disk
	RestartSeconds float64 `json:"restart_seconds"` // from the kill until it was ready again
	// Late is how far behind its time each message reached the platform.
	Late      latency `json:"lateness"`
	Arrived   int     `json:"arrived"`
	Cancelled int     `json:"cancelled"`
	Unknown   int     `json:"unknown"` // were being sent when it was killed
	// What must not be: messages that did not come, came before their time, twice, or
	// although they were cancelled.
	Missing int `json:"missing"`
	Early   int `json:"early"`
	Twice   int `json:"twice"`
	Undead  int `json:"came_though_cancelled"`
	// Hasty were due before all waited and the acts were over, TooLate are acts on
	// messages that had left: the lead was too short for this machine.
	Hasty   int `json:"due_too_soon"`
	TooLate int `json:"acts_too_late"`
	// Acts on the queue while all messages wait, and while they leave.
	Waiting []actResult `json:"acts_while_all_wait"`
	Leaving []actResult `json:"acts_while_they_leave"`
}

type actResult struct {
	Act     string  `json:"act"`
	Samples int64   `json:"samples"`
	Took    latency `json:"took"`
}

func actResults(acts []*act) (out []actResult) {
	for _, a := range acts {
		if a.hist.n > 0 {
			out = append(out, actResult{a.name, a.hist.n, a.hist.latency()})
		}
	}
	return out
}

// conclude compares what came with what was asked for.
func (s *scheduleRun) conclude(res *scheduleResult) {
	late := newHistogram()
	for i, at := range s.sink.arrivals() {
		due := s.due[i]
		switch {
		case s.gone[i]:
			res.Cancelled++
			if !at.IsZero() {
				res.Undead++
			}
		case at.IsZero():
			res.Missing++
		case s.vague[i]:
			res.Arrived++
		default:
			if at.Before(due) {
				res.Early++
			}
			res.Arrived++
			late.add(at.Sub(due))
		}
	}
	res.TooLate, res.Unknown = s.late, s.unknown
	res.Missing -= s.unknown
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	res.Twice = s.sink.doubles + s.sink.strange
	res.Late = late.latency()
}

func (r *scheduleResult) judge(to *benchReport) {
	to.atMost("behind their time: 99th percentile, ms", r.Late.P99, inMillis(targetLateness))
	to.atMost("missing, early, twice or come though cancelled", float64(r.Missing+r.Early+r.Twice+r.Undead), 0)
	to.atMost("due before all waited, acts too late: a longer --lead is needed", float64(r.Hasty+r.TooLate), 0)
	to.atMost("acts while all wait: worst 99th percentile, ms", worstAct(r.Waiting), inMillis(targetQueueAct))
	to.atMost("acts while they leave: worst 99th percentile, ms", worstAct(r.Leaving), inMillis(targetQueueAct))
}

func worstAct(list []actResult) (worst float64) {
	for _, a := range list {
		worst = max(worst, a.Took.P99)
	}
	return worst
}

func (r *scheduleResult) human(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%d messages asked for in %.1f s (%.0f/s), ready %.1f s after a kill, due over %s\n\n", r.Count, r.AskSeconds,
		float64(r.Count)/r.AskSeconds, r.RestartSeconds, time.Duration(r.OverSeconds*float64(time.Second)))
	t := newBenchTable(w, "", "samples", "p50 ms", "p90 ms", "p99 ms", "max ms")
	row := func(name string, n int64, l latency) {
		t.row(name, fmt.Sprint(n), ms(l.P50), ms(l.P90), ms(l.P99), ms(l.Max))
	}
	row("behind their time", int64(r.Arrived), r.Late)
	for _, a := range r.Waiting {
		row("all wait: "+a.Act, a.Samples, a.Took)
	}
	for _, a := range r.Leaving {
		row("they leave: "+a.Act, a.Samples, a.Took)
	}
	t.end()
	_, _ = fmt.Fprintf(w, "\ncancelled %d, unknown by the kill %d; missing %d, early %d, twice %d, come though cancelled %d\n", r.Cancelled, r.Unknown, r.Missing, r.Early, r.Twice, r.Undead)
}
