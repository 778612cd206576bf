package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/config"
)

// simulateCommand plays a platform towards a running gateway.
func (c *cli) simulateCommand() *cobra.Command {
	parent := &cobra.Command{
		Use:   "simulate",
		Short: "Send signed callbacks to a running gateway",
	}
	parent.AddCommand(c.simulateWhatsAppCommand(), c.simulateWeComCommand(), c.simulateUnifiedCommand())
	return parent
}

// simulation are the flags that both platforms share.
type simulation struct {
	bot bool // an intelligent robot of WeCom is told

	endpoint, account, url string
	customer, text, id     string
	file                   string
	ago                    time.Duration
	count, copies          int
	customers, parallel    int
}

const simulateHelp = `

The credentials are those of the configuration's endpoint, so the gateway must run
with the same configuration. Each callback has its own id, unless --duplicates asks
for the same one several times at once, as a platform does that heard no answer.

Exit code 0 when every callback was answered 200, 1 when one was not, 4 when nothing
answers at the URL.`

func (s *simulation) flags(cmd *cobra.Command, customer string) {
	f := cmd.Flags()
	f.StringVar(&s.endpoint, "endpoint", "", "endpoint of the configuration (default: the first of the platform)")
	f.StringVar(&s.account, "account", "", "account of the configuration (default: the first of the platform)")
	f.StringVar(&s.url, "url", "", "where the gateway is, for example https://hooks.example (default: listen of the configuration)")
	f.StringVar(&s.customer, "from", customer, "the customer who writes, or to whom the message went (status, echo)")
	f.StringVar(&s.text, "text", "hello", "the text, caption or title")
	f.StringVar(&s.id, "id", "", "the platform's message id (default: a new one each)")
	f.StringVar(&s.file, "file", "", "send the bytes of this file instead (- for standard input)")
	f.DurationVar(&s.ago, "ago", 0, "how long ago the platform says that it happened")
	f.IntVar(&s.count, "count", 1, "how many different callbacks")
	f.IntVar(&s.copies, "duplicates", 0, "how many more times each callback is delivered, all at once")
	f.IntVar(&s.customers, "customers", 1, "spread --count over this many customers")
	f.IntVar(&s.parallel, "parallel", 1, "how many different callbacks are on their way at once")
}

func (s *simulation) check() error {
	switch {
	case s.count < 1 || s.count > 1_000_000:
		return usageError("--count must be 1 to 1000000")
	case s.copies < 0 || s.copies > 1000:
		return usageError("--duplicates must be 0 to 1000")
	case s.customers < 1 || s.customers > 1_000_000:
		return usageError("--customers must be 1 to 1000000")
	case s.parallel < 1 || s.parallel > 1000:
		return usageError("--parallel must be 1 to 1000")
	case s.ago < 0:
		return usageError("--ago must not be negative")
	case s.id != "" && s.count > 1:
		return usageError("--id names one message; for the same one several times use --duplicates")
	case s.file != "" && s.count > 1:
		return usageError("--file is one callback; for the same one several times use --duplicates")
	}
	return nil
}

// read returns the bytes of --file.
func (s *simulation) read(in io.Reader) ([]byte, error) {
	const most = 64 << 20
	if s.file != "-" {
		f, err := os.Open(s.file)
		if err != nil {
			return nil, usageError("--file: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, usageError("--file: %w", err)
	case len(b) > most:
		return nil, usageError("--file: larger than 64 MiB")
	}
	return b, nil
}

// of says whether endpoints and accounts of that kind are meant.
func (s *simulation) of(kind string) bool {
	return (kind == "aibot") == s.bot && kind != "robot" && kind != "kf"
}

// target finds endpoint, account and URL in the configuration.
func (s *simulation) target(cfg *config.Config, platform string) (config.Endpoint, config.Account, string, error) {
	i := slices.IndexFunc(cfg.Endpoints, func(e config.Endpoint) bool {
		return e.Platform == platform && s.of(e.Kind) && (s.endpoint == "" || e.Name == s.endpoint)
	})
	kind := ""
	if s.bot {
		kind = " of kind aibot"
	}
	if i < 0 {
		return config.Endpoint{}, config.Account{}, "", usageError("the configuration has no %s", named(platform+" endpoint", s.endpoint)+kind)
	}
	endpoint := cfg.Endpoints[i]
	j := slices.IndexFunc(cfg.Accounts, func(a config.Account) bool {
		return a.Platform == platform && s.of(a.Kind) && (s.account == "" || a.Name == s.account)
	})
	if j < 0 {
		return config.Endpoint{}, config.Account{}, "", usageError("the configuration has no %s", named(platform+" account", s.account)+kind)
	}
	base := s.url
	if base == "" {
		base = "http://" + reachableHost(cfg.Listen)
		if cfg.TLS != nil {
			base = "https://" + reachableHost(cfg.Listen)
		}
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return config.Endpoint{}, config.Account{}, "", usageError("--url must be like https://hooks.example")
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = webhookPath(platform, endpoint.Name)
	}
	return endpoint, cfg.Accounts[j], u.String(), nil
}

func named(what, name string) string {
	if name == "" {
		return what
	}
	return what + " named " + printable(name, 60)
}

// simulated is one delivery of a callback.
type simulated struct {
	N      int     `json:"n"`    // which callback, from 1
	Copy   int     `json:"copy"` // which delivery of it, from 1
	Kind   string  `json:"kind"`
	ID     string  `json:"id,omitempty"`
	Status int     `json:"status"` // 0: no answer
	MS     float64 `json:"ms"`
	Error  string  `json:"error,omitempty"`
}

// simulationResult is what --json prints.
type simulationResult struct {
	URL       string      `json:"url"`
	Sent      int         `json:"sent"`
	OK        int         `json:"ok"`
	Callbacks []simulated `json:"callbacks"`
}

// simulatedCallback is a callback before it is sent: post signs and sends it, as
// often as it is called.
type simulatedCallback struct {
	id   string
	post func(ctx context.Context) (status int, err error)
}

// send posts what make makes, prints each answer as it comes, and says how it
// went by its error.
func (s *simulation) send(ctx context.Context, c *cli, target, kind string, build func(n int) (simulatedCallback, error)) error {
	answers := make(chan simulated)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := &errgroup.Group{}
	g.SetLimit(s.parallel)
	failure := make(chan error, 1)
	go func() {
		defer close(answers)
		for n := 1; n <= s.count && ctx.Err() == nil; n++ {
			cb, err := build(n)
			if err != nil {
				failure <- err
				break
			}
			g.Go(func() error {
				s.deliver(ctx, cb, simulated{N: n, Kind: kind, ID: cb.id}, answers)
				return nil
			})
		}
		_ = g.Wait() // deliver returns no error
	}()
	r := simulationResult{URL: target, Callbacks: []simulated{}}
	reached := 0
	for a := range answers {
		r.Sent++
		if a.Status == 200 {
			r.OK++
		}
		if a.Status != 0 {
			reached++
		}
		r.Callbacks = append(r.Callbacks, a)
		if !c.asJSON {
			writeSimulated(c.out, a)
		}
	}
	select {
	case err := <-failure:
		return failed(err)
	default:
	}
	if err := c.print(r, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%d of %d answered 200 by %s\n", r.OK, r.Sent, r.URL)
	}); err != nil {
		return failed(err)
	}
	switch {
	case ctx.Err() != nil:
		return failed(fmt.Errorf("stopped after %s", amount(r.Sent, "delivery", "deliveries")))
	case reached == 0:
		return &exitError{exitUnreachable, fmt.Errorf("nothing answers at %s; start the gateway with `causeway serve`, or name it with --url", target)}
	case r.OK < r.Sent:
		return failed(fmt.Errorf("%d of %d deliveries were not answered 200", r.Sent-r.OK, r.Sent))
	}
	return nil
}

// deliver posts one callback and its copies, all at once.
func (s *simulation) deliver(ctx context.Context, cb simulatedCallback, a simulated, answers chan<- simulated) {
	var g errgroup.Group
	for copy := 1; copy <= 1+s.copies; copy++ {
		a := a
		a.Copy = copy
		g.Go(func() error {
			started := time.Now()
			status, err := cb.post(ctx)
			a.Status, a.MS = status, float64(time.Since(started).Microseconds())/1000
			if err != nil {
				a.Status, a.Error = 0, "no answer"
			}
			answers <- a
			return nil
		})
	}
	_ = g.Wait()
}

func writeSimulated(w io.Writer, a simulated) {
	status := "---"
	if a.Status != 0 {
		status = fmt.Sprint(a.Status)
	}
	note := ""
	if a.Copy > 1 {
		note = fmt.Sprintf("  copy %d", a.Copy)
	}
	_, _ = fmt.Fprintf(w, "%4d  %s  %8.1f ms  %-6s  %s%s\n", a.N, status, a.MS, a.Kind, a.ID, note)
}
