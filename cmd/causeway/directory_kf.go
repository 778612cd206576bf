package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// maxPage bounds a page of customer service in bytes; of a longer one fewer
// messages are asked for.
const maxPage = 8 << 20

// addWeComKf makes an account of WeChat customer service.
func (d *directory) addWeComKf(acc *config.Account, out, slow *egress.Client, now func() time.Time) {
	client := wecom.NewKfClient(wecom.KfConfig{
		Account: acc.Name, OpenKfID: acc.OpenKfID, Pages: d.ways[acc.Proxy].pages, ClientConfig: d.wecomClient(acc),
	}, out, now)
	d.shareWeCom(acc, client.Client)
	d.wecom.kf = append(d.wecom.kf, client)
	d.clients["wecom/"+acc.Name], d.targets[acc.Name] = client, wecom.NewUploads(client.Client, slow)
	d.askers["wecom/"+acc.Name] = wecom.NewAsker(client.Client, acc.OpenKfID)
}

// ring wakes the puller of the account that a callback rings for. It is done when
// the relay reads the callback out of the archive: whichever process took it, the
// one that relays is the one that pulls. An old bell read again does no harm.
func (d *directory) ring(p *gateway.Payload, items []gateway.Item) {
	if p.Platform != "wecom" || d.wecom.ring == nil {
		return
	}
	for i := range items {
		if bell, ok := wecom.BellOf(&items[i], p.ReceivedAt); ok {
			d.wecom.ring(bell)
		}
	}
}

// wirePuller connects the stage that fetches pages.
func (a *app) wirePuller() {
	a.puller = wecom.NewPuller(wecom.PullOptions{
		Clients: a.dir.wecom.kf, Archive: a.archive, Archived: a.relay.Kick, Every: a.o.PullEvery,
		Boundary: a.o.Boundary, Now: a.o.Now, Log: a.o.Log,
	})
	a.dir.wecom.ring = a.puller.Ring
}

// checkPuller is doctor's look at accounts that are fetched.
func (a *app) checkPuller(d *diagnosis) {
	for _, s := range a.puller.State() {
		switch {
		case s.Code == "":
		case s.Refused:
			d.add("error", "customers' messages are not fetched: "+s.Detail+" ("+s.Code+")", s.Account, 0, s.Since,
				"causeway doctor account "+s.Account+"; WeCom keeps messages for three days; next try at "+s.Until.UTC().Format(time.RFC3339))
		case d.now.Sub(s.Since) > time.Minute:
			d.add("warning", "customers' messages are fetched late: "+s.Detail+" ("+s.Code+")", s.Account, 0, s.Since,
				"it goes on by itself; next try at "+s.Until.UTC().Format(time.RFC3339))
		}
	}
}

// pullCollector exports how accounts that are fetched fare.
type pullCollector struct {
	state                    func() []wecom.PullState
	up, worked, pages, bells *prometheus.Desc
}

func newPullCollector(state func() []wecom.PullState) *pullCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("causeway_pull_"+name, help, []string{"account"}, nil)
	}
	return &pullCollector{
		state:  state,
		up:     desc("up", "1 when the last call for messages of the account was answered with some or none."),
		worked: desc("last_success_timestamp_seconds", "When it last was; 0 for never."),
		pages:  desc("pages_total", "Pages archived since the start."),
		bells:  desc("bells_total", "Bells that rang since the start."),
	}
}

// Describe is for prometheus.Collector.
func (c *pullCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.up, c.worked, c.pages, c.bells} {
		ch <- d
	}
}

// Collect is for prometheus.Collector.
func (c *pullCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.state() {
		up, worked := 0.0, 0.0
		if s.Code == "" && !s.Worked.IsZero() {
			up = 1
		}
		if !s.Worked.IsZero() {
			worked = float64(s.Worked.UnixMilli()) / 1000
		}
		ch <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, up, s.Account)
		ch <- prometheus.MustNewConstMetric(c.worked, prometheus.GaugeValue, worked, s.Account)
		ch <- prometheus.MustNewConstMetric(c.pages, prometheus.CounterValue, float64(s.Pages), s.Account)
		ch <- prometheus.MustNewConstMetric(c.bells, prometheus.CounterValue, float64(s.Bells), s.Account)
	}
}
