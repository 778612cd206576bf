package main

import (
	"github.com/prometheus/client_golang/prometheus"
)

// mediaCollector reads what the fetcher did since the process started. How many
// files wait, and how they ended, is in the ledger's counts.
type mediaCollector struct {
	a                                             *app
	fetched, bytes, unavailable, retries, flights *prometheus.Desc
}

func newMediaCollector(a *app) *mediaCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("causeway_media_"+name, help, labels, nil)
	}
	return &mediaCollector{
		a:           a,
		fetched:     desc("fetched_total", "Files fetched."),
		bytes:       desc("bytes_total", "Bytes of the files fetched."),
		unavailable: desc("unavailable_total", "Files that cannot be had, by reason.", "reason"),
		retries:     desc("retries_total", "Fetches to be tried again: passing faults, an account that is refused, no room.", "why"),
		flights:     desc("in_flight", "Fetches under way."),
	}
}

// Describe is for prometheus.Collector.
func (m *mediaCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.fetched, m.bytes, m.unavailable, m.retries, m.flights} {
		ch <- d
	}
}

// Collect is for prometheus.Collector.
func (m *mediaCollector) Collect(ch chan<- prometheus.Metric) {
	c := m.a.fetcher.Counts()
	count := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	count(m.fetched, c.Fetched)
	count(m.bytes, c.Bytes)
	for reason, n := range c.Unavailable {
		count(m.unavailable, n, reason)
	}
	for why, n := range c.Retries {
		count(m.retries, n, why)
	}
	ch <- prometheus.MustNewConstMetric(m.flights, prometheus.GaugeValue, float64(c.InFlight))
}
