package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker/bridge"
	"github.com/causewayhq/causeway/handlers/admin"
)

// bridges are the workers of applications behind a URL, by application. They are
// made before the broker is open, since a bot may answer at any moment.
type bridges map[string]*bridge.Bridge

func newBridges(a *app) (bridges, error) {
	out := bridges{}
	for i := range a.o.Config.Applications {
		c := &a.o.Config.Applications[i]
		if c.URL == "" {
			continue
		}
		o, err := bridgeOptions(c, a.dir.apps[i])
		if err != nil {
			return nil, err
		}
		o.AnswersURL = a.o.Config.AnswersURL(a.admin.Addr())
		o.Boundary, o.Now, o.Log = a.o.Boundary, a.o.Now, workerLog(a.o.Log)
		if out[c.Name], err = bridge.New(o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bridgeOptions are those of the configuration.
func bridgeOptions(c *config.Application, app gateway.Application) (bridge.Options, error) {
	keys, err := gateway.ParseWebhookKeys(c.Secret.Reveal(), c.SecretPrevious.Reveal())
	if err != nil { // checked before, unless the configuration was built by hand
		return bridge.Options{}, fmt.Errorf("application %s: secret %w", c.Name, err)
	}
	o := bridge.Options{App: app, URL: c.URL, Keys: keys, Concurrency: c.Concurrency, Timeout: c.Timeout, AnswerBy: c.AnswerBy,
		ContentType: c.ContentType}
	for _, h := range c.Headers {
		o.Headers = append(o.Headers, bridge.Header{Name: h.Name, Value: h.Value.Reveal()})
	}
	return o, nil
}

// AnswerTo is for admin.Answers.
func (x adminAPI) AnswerTo(token string) (func(context.Context, []byte) error, bool) {
	b := x.a.bridges[bridge.TokenApp(token)]
	if b == nil {
		return nil, false
	}
	return b.AnswerTo(token)
}

// bridgeState is what the application's view says of its endpoint; nil without one.
func (a *app) bridgeState(app string) *admin.BridgeState {
	b := a.bridges[app]
	if b == nil {
		return nil
	}
	s := b.State()
	out := &admin.BridgeState{Circuit: s.Circuit, Since: s.Since, Why: s.Why}
	if !s.NextProbe.IsZero() {
		out.NextProbe = &s.NextProbe
	}
	i := slices.IndexFunc(a.o.Config.Applications, func(c config.Application) bool { return c.Name == app })
	out.Host = bridgeHost(a.o.Config.Applications[i].URL)
	return out
}

// bridgeHost is the part of an endpoint's URL that is shown: the path of many is a
// secret.
func bridgeHost(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// checkBridge says what stands between an application and its endpoint.
func checkBridge(d *diagnosis, app *admin.ApplicationState, reached error) {
	switch b := app.Bridge; {
	case b.Circuit != bridge.CircuitClosed:
		d.add("error", "nothing is sent to the application's URL: "+b.Why, app.Name, app.Pending, b.Since,
			"mend "+b.Host+"; events wait and spend no tries, and one at a time is tried")
	case reached != nil:
		d.add("error", "the application's URL is not reached: "+reached.Error(), app.Name, app.Pending, time.Time{}, "is "+b.Host+" right, and running?")
	}
}

// reachBridges connects to every endpoint, without sending; the errors by
// application.
func reachBridges(ctx context.Context, cfg *config.Config) map[string]error {
	var (
		mu  sync.Mutex
		wg  sync.WaitGroup
		out = map[string]error{}
	)
	for i := range cfg.Applications {
		c := &cfg.Applications[i]
		if c.URL == "" {
			continue
		}
		wg.Go(func() {
			err := bridge.Reach(ctx, bridge.Options{URL: c.URL})
			mu.Lock()
			defer mu.Unlock()
			out[c.Name] = err
		})
	}
	wg.Wait()
	return out
}

// bridgeCollector exports the calls to endpoints.
type bridgeCollector struct {
	bridges     bridges
	calls, open *prometheus.Desc
}

func newBridgeCollector(b bridges) *bridgeCollector {
	return &bridgeCollector{
		bridges: b,
		calls:   prometheus.NewDesc("causeway_bridge_calls_total", "Calls to applications behind a URL, by outcome.", []string{"app", "outcome"}, nil),
		open:    prometheus.NewDesc("causeway_bridge_circuit_open", "1 while nothing is sent to the application's URL but probes.", []string{"app"}, nil),
	}
}

// Describe is for prometheus.Collector.
func (c *bridgeCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.calls; ch <- c.open }

// Collect is for prometheus.Collector.
func (c *bridgeCollector) Collect(ch chan<- prometheus.Metric) {
	for name, b := range c.bridges {
		s := b.State()
		for outcome, n := range s.Calls {
			ch <- prometheus.MustNewConstMetric(c.calls, prometheus.CounterValue, float64(n), name, outcome)
		}
		open := 0.0
		if s.Circuit != bridge.CircuitClosed {
			open = 1
		}
		ch <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, open, name)
	}
}
