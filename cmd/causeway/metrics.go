package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// registerMetrics exports the process, and the ledger's counts at each scrape:
// the numbers of promise 2 are read, not kept beside.
func (a *app) registerMetrics() {
	a.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newLedgerCollector(a),
		newMediaCollector(a),
		newPullCollector(a.puller.State),
		newBridgeCollector(a.bridges),
		newAccountCollector(a),
		newPolicyCollector(a),
		newAppCollector(a),
	)
}

// ledgerCollector reads sums and counters when Prometheus asks.
type ledgerCollector struct {
	a        *app
	payloads *prometheus.Desc
	items    *prometheus.Desc
	events   *prometheus.Desc
	messages *prometheus.Desc
	media    *prometheus.Desc
	counters *prometheus.Desc
	queue    *prometheus.Desc
	nats     *prometheus.Desc
	free     *prometheus.Desc
}

func newLedgerCollector(a *app) *ledgerCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("causeway_"+name, help, labels, nil)
	}
	return &ledgerCollector{
		a:        a,
		payloads: desc("payloads", "Archived payloads by state; archived is their sum.", "state"),
		items:    desc("items", "Decoded items by state; decoded is their sum.", "state"),
		events:   desc("events", "Events an application wants, by state; wanted is their sum.", "app", "state"),
		messages: desc("messages", "Outgoing messages by state; taken is their sum.", "state"),
		media:    desc("media", "Files of events by state; wanted is their sum.", "state"),
		counters: desc("ledger_count", "Other counts of the ledger.", "name"),
		queue:    desc("archive_waiting", "Callbacks that wait for their commit."),
		nats:     desc("nats_up", "1 when the streams can be used."),
		free:     desc("store_free_bytes", "Free space on the file system of the store; below store.reserve nothing is published."),
	}
}

// Describe is for prometheus.Collector.
func (l *ledgerCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.payloads, l.items, l.events, l.messages, l.media, l.counters, l.queue, l.nats, l.free} {
		ch <- d
	}
}

// Collect is for prometheus.Collector.
func (l *ledgerCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	gauge(l.queue, int64(l.a.archive.Waiting()))
	up := int64(0)
	if l.a.broker.State().Word == "ok" {
		up = 1
	}
	gauge(l.nats, up)
	if free, err := freeBytes(l.a.o.Config.Store.Dir()); err == nil {
		gauge(l.free, free)
	}
	s, err := l.a.sums(ctx, l.a.ledger.Sums)
	if err != nil {
		l.a.o.Log.Warn("metrics.failed", zap.Error(err))
		return
	}
	p, i, m := s.Payloads, s.Items, s.Messages
	each(gauge, l.payloads, map[string]int64{"archived": p.Archived, "relayed": p.Relayed, "duplicate": p.Duplicate,
		"ignored": p.Ignored, "sealed": p.Sealed, "dead": p.Dead, "pending": p.Pending})
	each(gauge, l.items, map[string]int64{"decoded": i.Decoded, "events": i.Events, "duplicate": i.Duplicate,
		"ignored": i.Ignored, "dead": i.Dead})
	for name, app := range s.Apps {
		l.application(gauge, name, app)
	}
	each(gauge, l.messages, map[string]int64{"taken": m.Taken, "accepted": m.Accepted, "rejected": m.Rejected, "unknown": m.Unknown,
		"expired": m.Expired, "cancelled": m.Cancelled, "waiting": m.Waiting, "held": m.Held})
	f := s.Media
	each(gauge, l.media, map[string]int64{"wanted": f.Wanted, "ready": f.Ready, "unavailable": f.Unavailable, "pending": f.Pending})
	counters, err := l.a.ledger.Counters(ctx)
	if err != nil {
		l.a.o.Log.Warn("metrics.failed", zap.Error(err))
		return
	}
	each(gauge, l.counters, counters)
}

func (l *ledgerCollector) application(gauge func(*prometheus.Desc, int64, ...string), name string, s gateway.AppSums) {
	for state, n := range map[string]int64{"wanted": s.Wanted, "settled": s.Settled, "dead": s.Dead,
		"dropped": s.Dropped, "erased": s.Erased, "pending": s.Pending} {
		gauge(l.events, n, name, state)
	}
}

func each(gauge func(*prometheus.Desc, int64, ...string), d *prometheus.Desc, values map[string]int64) {
	for label, n := range values {
		gauge(d, n, label)
	}
}
