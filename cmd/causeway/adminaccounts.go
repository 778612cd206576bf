package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/outbox"
	"github.com/causewayhq/causeway/handlers/admin"
)

// resumer is a platform's client that remembers refusals.
type resumer interface{ Resume() }

// Accounts lists how the configured accounts fare.
func (x adminAPI) Accounts(context.Context) ([]admin.AccountView, error) {
	accounts := x.a.o.Config.Accounts
	out := make([]admin.AccountView, len(accounts))
	for i := range accounts {
		out[i] = viewAccount(x.a.sender.Account(accounts[i].Name))
		out[i].Platform, out[i].Kind = accounts[i].Platform, accounts[i].Kind
	}
	return out, nil
}

func viewAccount(a outbox.Account) admin.AccountView {
	v := admin.AccountView{Name: a.Account, State: a.State, Waiting: a.Waiting, InFlight: a.Flying, Pace: a.Part,
		TemplatesAt: timeOrNil(a.TemplatesAt), TemplatesCode: a.TemplatesCode}
	if a.State == gateway.AccountHealthy {
		return v
	}
	v.Reason, v.Code, v.Detail, v.Probes = a.Reason, a.Code, a.Detail, a.Probes
	v.Since, v.ProbeAt = timeOrNil(a.Since), timeOrNil(a.ProbeAt)
	return v
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// ResumeAccount lets an account try again now.
func (x adminAPI) ResumeAccount(ctx context.Context, name, by string) error {
	acc := x.a.account(name)
	if acc == nil {
		return fmt.Errorf("account: %w", gateway.ErrNotFound)
	}
	if c, ok := x.a.dir.client(acc.Platform, name).(resumer); ok {
		c.Resume()
	}
	return x.a.sender.Resume(ctx, name, by)
}

// accountCollector exports how accounts fare as senders.
type accountCollector struct {
	a                              *app
	state, waiting, inFlight, pace *prometheus.Desc
}

func newAccountCollector(a *app) *accountCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("causeway_account_"+name, help, append([]string{"account"}, labels...), nil)
	}
	return &accountCollector{
		a:        a,
		state:    desc("state", "1 for the state that the account is in as a sender, and why.", "state", "reason"),
		waiting:  desc("waiting", "Conversations that wait for the account's pace or state."),
		inFlight: desc("in_flight", "Calls of the account that run."),
		pace:     desc("pace_ratio", "Part of the account's pace that is let through; less than 1 after the platform slowed it down."),
	}
}

// Describe is for prometheus.Collector.
func (c *accountCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.state, c.waiting, c.inFlight, c.pace} {
		ch <- d
	}
}

// Collect is for prometheus.Collector.
func (c *accountCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for i := range c.a.o.Config.Accounts {
		name := c.a.o.Config.Accounts[i].Name
		v := viewAccount(c.a.sender.Account(name))
		gauge(c.state, 1, name, string(v.State), string(v.Reason))
		gauge(c.waiting, float64(v.Waiting), name)
		gauge(c.inFlight, float64(v.InFlight), name)
		gauge(c.pace, v.Pace, name)
	}
}
