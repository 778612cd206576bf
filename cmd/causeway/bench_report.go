package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// benchTarget is a number that was promised and what it is on this machine.
type benchTarget struct {
	Name string  `json:"name"`
	Got  float64 `json:"got"`
	// Least and Most bound it; nil for no bound on that side.
	Least *float64 `json:"least,omitempty"`
	Most  *float64 `json:"most,omitempty"`
	OK    bool     `json:"ok"`
}

// benchReport is what every bench prints.
type benchReport struct {
	Bench   string        `json:"bench"`
	Started time.Time     `json:"started"`
	Seconds float64       `json:"seconds"`
	Machine benchMachine  `json:"machine"`
	Targets []benchTarget `json:"targets"`

	Ingest    *ingestResult    `json:"ingest,omitempty"`
	Dispatch  []dispatchResult `json:"dispatch,omitempty"`
	Footprint *footprintResult `json:"footprint,omitempty"`
	Schedule  *scheduleResult  `json:"schedule,omitempty"`

	Latency       *latencyResult       `json:"latency,omitempty"`
	Neighbour     *neighbourResult     `json:"neighbour,omitempty"`
	Conversations *conversationsResult `json:"conversations,omitempty"`
	Send          []sendResult         `json:"send,omitempty"`
}

func (r *benchReport) atLeast(name string, got, least float64) {
	r.Targets = append(r.Targets, benchTarget{Name: name, Got: got, Least: &least, OK: got >= least})
}

func (r *benchReport) atMost(name string, got, most float64) {
	r.Targets = append(r.Targets, benchTarget{Name: name, Got: got, Most: &most, OK: got <= most})
}

// missed names the targets that were missed.
func (r *benchReport) missed() []string {
	var out []string
	for _, t := range r.Targets {
		if !t.OK {
			out = append(out, t.Name)
		}
	}
	return out
}

// finish prints the report; with check a missed target is an error (exit 1).
func (b *bench) finish(r *benchReport) error {
	r.Seconds = time.Since(r.Started).Seconds()
	c := b.c
	if err := c.print(r, r.human); err != nil {
		return err
	}
	if missed := r.missed(); b.check && len(missed) > 0 {
		return failed(fmt.Errorf("%d of %d targets missed: %s", len(missed), len(r.Targets), strings.Join(missed, "; ")))
	}
	return nil
}

// human writes the report as tables.
func (r *benchReport) human(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("causeway bench %s: %s", r.Bench, r.Machine.String())
	line("")
	switch {
	case r.Ingest != nil:
		r.Ingest.human(w)
	case r.Footprint != nil:
		r.Footprint.human(w)
	case r.Schedule != nil:
		r.Schedule.human(w)
	case r.Latency != nil:
		r.Latency.human(w)
	case r.Neighbour != nil:
		r.Neighbour.human(w)
	case r.Conversations != nil:
		r.Conversations.human(w)
	case r.Send != nil:
		humanSend(w, r.Send)
	default:
		humanDispatch(w, r.Dispatch)
	}
	line("")
	t := newBenchTable(w, "target", "wanted", "measured", "")
	for _, g := range r.Targets {
		wanted, word := "", "ok"
		if g.Least != nil {
			wanted = fmt.Sprintf(">= %.4g", *g.Least)
		}
		if g.Most != nil {
			wanted = fmt.Sprintf("<= %.4g", *g.Most)
		}
		if !g.OK {
			word = "MISSED"
		}
		t.row(g.Name, wanted, fmt.Sprintf("%.4g", g.Got), word)
	}
	t.end()
	line("(%.0f s)", r.Seconds)
}

// table writes aligned columns; what the writer says is the terminal's matter.
type benchTable struct{ w *tabwriter.Writer }

func newBenchTable(w io.Writer, head ...string) benchTable {
	t := benchTable{tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)}
	t.row(head...)
	return t
}

func (t benchTable) row(cells ...string) { _, _ = fmt.Fprintln(t.w, strings.Join(cells, "\t")) }
func (t benchTable) end()                { _ = t.w.Flush() }

// median of the list, the mean of the middle two when it is even; 0 for none.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
