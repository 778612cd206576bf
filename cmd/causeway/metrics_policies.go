package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// policyCollector tells what waits by a rule or by a person's word.
type policyCollector struct {
	a                        *app
	tripped, blocked, brakes *prometheus.Desc
}

func newPolicyCollector(a *app) *policyCollector {
	return &policyCollector{
		a:       a,
		tripped: prometheus.NewDesc("causeway_app_tripped", "1 while every try of the application fails and only probes are offered.", []string{"app"}, nil),
		blocked: prometheus.NewDesc("causeway_app_blocked", "Events that hold their conversation although their tries are spent.", []string{"app"}, nil),
		brakes:  prometheus.NewDesc("causeway_paused", "Applications, accounts, conversations and replies that are paused.", []string{"scope"}, nil),
	}
}

// Describe is for prometheus.Collector.
func (p *policyCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- p.tripped
	ch <- p.blocked
	ch <- p.brakes
}

// Collect is for prometheus.Collector.
func (p *policyCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, label string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, label)
	}
	for name, g := range p.a.broker.gates {
		v := 0.0
		if g.Tripped() {
			v = 1
		}
		gauge(p.tripped, v, name)
	}
	paused := map[gateway.BrakeScope]float64{}
	for _, b := range p.a.brakes.list() {
		paused[b.Scope]++
	}
	for _, scope := range gateway.BrakeScopes() {
		gauge(p.brakes, paused[scope], string(scope))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	blocked, err := p.a.ledger.Blocked(ctx)
	if err != nil {
		p.a.o.Log.Warn("metrics.failed", zap.Error(err))
		return
	}
	for name := range p.a.broker.gates {
		gauge(p.blocked, float64(blocked[name]), name)
	}
}
