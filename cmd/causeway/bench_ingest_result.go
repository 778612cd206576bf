package main

import (
	"fmt"
	"io"
)

// ingestResult is what `causeway bench ingest` found.
type ingestResult struct {
	BodyBytes int             `json:"body_bytes"`
	Paused    []ingestPair    `json:"relay_paused"`
	Half      ingestPair      `json:"relay_on_half_load"`
	Saturated ingestSaturated `json:"relay_on_saturated"`
}

// ingestPair is floor and gateway under the same load. The ratios are medians of
// the ratios of single rounds, gateway to floor, so that a slow minute of the
// machine, which hits both, does not count.
type ingestPair struct {
	Connections int        `json:"connections"`
	Offered     float64    `json:"offered_per_second,omitempty"` // open loop; 0 for a closed one
	Floor       ingestSide `json:"floor"`
	Gateway     ingestSide `json:"gateway"`
	RateRatio   float64    `json:"rate_ratio"`
	P50Ratio    float64    `json:"p50_ratio"`
	P99Ratio    float64    `json:"p99_ratio"`

	rate, p50, p99 []float64 // ratios of rounds
}

// ingestSide is the median of each number over the samples of one server; Refused
// and Failed are sums.
type ingestSide struct {
	Samples int     `json:"samples"`
	Rate    float64 `json:"per_second"`
	Latency latency `json:"latency"`
	// CPU of the server's process per callback, in microseconds (Linux).
	CPU     float64 `json:"cpu_us"`
	Refused int64   `json:"refused"`
	Failed  int64   `json:"failed"`

	list []ingestSample
}

type ingestSample struct {
	loadResult
	cpu float64
}

// ingestSaturated is the gateway with the relay on under more than it can take.
type ingestSaturated struct {
	Connections int `json:"connections"`
	loadResult
	OfFloor          float64 `json:"of_floor"` // its rate to the floor's
	RelayedMeanwhile float64 `json:"relayed_meanwhile_per_second"`
	Backlog          int64   `json:"backlog"` // callbacks not relayed when the load ended
	DrainSeconds     float64 `json:"drain_seconds"`
	DrainRate        float64 `json:"drain_per_second"`
}

// add takes a round: floor, gateway, gateway, floor.
func (p *ingestPair) add(round [4]ingestSample) {
	p.Floor.list = append(p.Floor.list, round[0], round[3])
	p.Gateway.list = append(p.Gateway.list, round[1], round[2])
	ratio := func(of func(*ingestSample) float64) float64 {
		below := of(&round[0]) + of(&round[3])
		if below == 0 {
			return 0
		}
		return (of(&round[1]) + of(&round[2])) / below
	}
	p.rate = append(p.rate, ratio(func(s *ingestSample) float64 { return s.Rate }))
	p.p50 = append(p.p50, ratio(func(s *ingestSample) float64 { return s.Latency.P50 }))
	p.p99 = append(p.p99, ratio(func(s *ingestSample) float64 { return s.Latency.P99 }))
}

func (p *ingestPair) conclude() {
	p.Floor.conclude()
	p.Gateway.conclude()
	p.RateRatio, p.P50Ratio, p.P99Ratio = median(p.rate), median(p.p50), median(p.p99)
}

func (s *ingestSide) conclude() {
	of := func(f func(*ingestSample) float64) float64 {
		list := make([]float64, len(s.list))
		for i := range s.list {
			list[i] = f(&s.list[i])
		}
		return median(list)
	}
	s.Samples = len(s.list)
	s.Rate = of(func(x *ingestSample) float64 { return x.Rate })
	s.CPU = of(func(x *ingestSample) float64 { return x.cpu })
	s.Latency = latency{
		P50: of(func(x *ingestSample) float64 { return x.Latency.P50 }),
		P90: of(func(x *ingestSample) float64 { return x.Latency.P90 }),
		P99: of(func(x *ingestSample) float64 { return x.Latency.P99 }),
		Max: of(func(x *ingestSample) float64 { return x.Latency.Max }),
	}
	for i := range s.list {
		s.Refused += s.list[i].Refused
		s.Failed += s.list[i].Failed
	}
}

// judge compares with what was promised.
func (r *ingestResult) judge(to *benchReport) {
	lost := r.Half.Gateway.Refused + r.Half.Gateway.Failed + r.Saturated.Refused + r.Saturated.Failed
	for _, p := range r.Paused {
		to.atLeast(fmt.Sprintf("relay paused, %d connections: rate / floor", p.Connections), p.RateRatio, targetIngestRate)
		to.atMost(fmt.Sprintf("relay paused, %d connections: p99 / floor", p.Connections), p.P99Ratio, targetIngestP99)
		lost += p.Gateway.Refused + p.Gateway.Failed
	}
	to.atMost("relay on, half of the floor's rate: p99 / floor", r.Half.P99Ratio, targetIngestLiveP99)
	to.atMost("callbacks refused or not answered", float64(lost), 0)
}

func (r *ingestResult) human(w io.Writer) {
	_, _ = fmt.Fprintf(w, "signed WhatsApp text callbacks, body %d bytes; medians; ratios are gateway / floor, median of rounds\n\n", r.BodyBytes)
	t := newBenchTable(w, "load", "server", "callbacks/s", "p50 ms", "p90 ms", "p99 ms", "max ms", "CPU us", "rate", "p50", "p99")
	for _, p := range r.Paused {
		p.rows(t, fmt.Sprintf("relay paused, %d connections", p.Connections))
	}
	r.Half.rows(t, fmt.Sprintf("relay on, %.0f/s offered", r.Half.Offered))
	s := &r.Saturated
	t.row(fmt.Sprintf("relay on, %d connections", s.Connections), "gateway", fmt.Sprintf("%.0f", s.Rate),
		ms(s.Latency.P50), ms(s.Latency.P90), ms(s.Latency.P99), ms(s.Latency.Max), "", ratio(s.OfFloor))
	t.end()
	_, _ = fmt.Fprintf(w, "\nsaturated: %d taken, %d refused, %d failed; relayed %.0f/s meanwhile; backlog of %d drained in %.1f s (%.0f/s)\n",
		s.OK, s.Refused, s.Failed, s.RelayedMeanwhile, s.Backlog, s.DrainSeconds, s.DrainRate)
}

func (p *ingestPair) rows(t benchTable, name string) {
	for i, s := range []ingestSide{p.Floor, p.Gateway} {
		cells := []string{name, "floor", fmt.Sprintf("%.0f", s.Rate), ms(s.Latency.P50), ms(s.Latency.P90), ms(s.Latency.P99),
			ms(s.Latency.Max), fmt.Sprintf("%.0f", s.CPU)}
		if i == 1 {
			cells[0], cells[1] = "", "gateway"
			cells = append(cells, ratio(p.RateRatio), ratio(p.P50Ratio), ratio(p.P99Ratio))
		}
		t.row(cells...)
	}
}

func ms(v float64) string    { return fmt.Sprintf("%.2f", v) }
func ratio(v float64) string { return fmt.Sprintf("%.2f", v) }
