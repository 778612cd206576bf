package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// appCollector shows what `causeway apps` and `causeway dead stats` show: labels are
// names of the configuration and the closed set of reasons.
type appCollector struct {
	a                                        *app
	ready, busy, waiting, retrying, workers  *prometheus.Desc
	collecting                               *prometheus.Desc
	oldest, rate, tries, late, overrun, dead *prometheus.Desc
}

func newAppCollector(a *app) *appCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("causeway_"+name, help, labels, nil)
	}
	return &appCollector{
		a:          a,
		ready:      desc("app_ready", "Events that a worker may have now.", "app"),
		busy:       desc("app_in_hand", "Events that a worker has in hand.", "app"),
		waiting:    desc("app_waiting", "Events that wait behind another one, for their next try, or for what is stopped.", "app"),
		retrying:   desc("app_retrying", "Conversations whose next event has failed before.", "app"),
		collecting: desc("app_collecting", "Conversations in which it is waited for more before their messages are handed out together.", "app"),
		workers:    desc("app_workers", "Pulls of workers that wait for work.", "app"),
		oldest:     desc("app_oldest_seconds", "Age of the oldest event that waits for its verdict; 0 for none.", "app"),
		rate:       desc("app_settled_per_second", "Settled events per second over the last minute.", "app"),
		tries:      desc("app_tries_total", "Tries spent.", "app"),
		late:       desc("app_late_total", "Answers to events that had their verdict.", "app"),
		overrun:    desc("app_overrun_total", "Answers to events that the watchdog had taken away.", "app"),
		dead:       desc("dead_letters", "Open dead letters.", "kind", "app", "account", "reason"),
	}
}

// Describe is for prometheus.Collector.
func (m *appCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.ready, m.busy, m.waiting, m.retrying, m.collecting, m.workers, m.oldest, m.rate, m.tries, m.late, m.overrun, m.dead} {
		ch <- d
	}
}

// Collect is for prometheus.Collector.
func (m *appCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	apps, err := adminAPI{m.a}.Applications(ctx)
	if err != nil {
		m.a.o.Log.Warn("metrics.failed", zap.Error(err))
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	total := func(d *prometheus.Desc, v int64, app string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), app)
	}
	now := m.a.o.Now()
	for i := range apps {
		s := &apps[i]
		gauge(m.ready, float64(s.Ready), s.Name)
		gauge(m.busy, float64(s.Unacked), s.Name)
		gauge(m.waiting, float64(s.Waiting), s.Name)
		gauge(m.retrying, float64(s.Retrying), s.Name)
		gauge(m.collecting, float64(s.Collecting), s.Name)
		gauge(m.workers, float64(s.Workers), s.Name)
		gauge(m.rate, s.Rate, s.Name)
		age := 0.0
		if s.Oldest != nil {
			age = max(now.Sub(*s.Oldest).Seconds(), 0)
		}
		gauge(m.oldest, age, s.Name)
		total(m.tries, s.Tries, s.Name)
		total(m.late, s.Late, s.Name)
		total(m.overrun, s.Overrun, s.Name)
	}
	open, err := m.a.ledger.DeadOpen(ctx)
	if err != nil {
		m.a.o.Log.Warn("metrics.failed", zap.Error(err))
		return
	}
	for _, d := range open {
		gauge(m.dead, float64(d.Count), d.Kind, d.App, d.Account, d.Reason)
	}
}
