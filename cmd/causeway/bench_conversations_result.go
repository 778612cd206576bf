package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// conversationsResult is what `causeway bench conversations` found. Times are in
// seconds, sizes in bytes.
type conversationsResult struct {
	Count   int `json:"conversations"`
	Waiting int `json:"waiting"`

	MakeSeconds  float64 `json:"make_seconds"`
	FirstEmpty   float64 `json:"start_to_first_200_empty"`
	First        float64 `json:"start_to_first_200"`
	StopSeconds  float64 `json:"stop_seconds"`
	DrainSeconds float64 `json:"drain_seconds"`

	// Empty is before the first conversation, Known when each had an event and its
	// answer, Held when some have another one waiting, Again in the process after that,
	// Drained when that has handled what waited.
	Empty   conversationsMemory `json:"empty"`
	Known   conversationsMemory `json:"known"`
	Held    conversationsMemory `json:"held"`
	Again   conversationsMemory `json:"again"`
	Drained conversationsMemory `json:"drained"`

	Archive int64               `json:"archive"`
	Ledger  int64               `json:"ledger"`
	Looks   []conversationsLook `json:"looks"`
}

type conversationsMemory struct {
	childMemory
	RSS int64 `json:"rss"`
}

// conversationsLook is something an operator asks for; the slower of two times.
type conversationsLook struct {
	Path    string  `json:"path"`
	Seconds float64 `json:"seconds"`
}

// looks are the questions of which none may grow with what is known.
func looks() []string {
	return []string{
		"/metrics", "/api/v1/apps", "/api/v1/sums", "/api/v1/doctor", "/api/v1/accounts", "/api/v1/payloads", "/api/v1/dead", "/api/v1/dead/stats",
		"/api/v1/messages", "/api/v1/unanswered", "/api/v1/conversations?list=hot", "/api/v1/conversations?list=unanswered",
		"/api/v1/conversations?list=waiting", "/api/v1/conversations:find?platform=whatsapp&account=" + benchAccount + "&kind=phone&identity=" + benchCustomer(0),
	}
}

// look asks what operators ask.
func (c *conversationsRun) look(ctx context.Context) error {
	token, err := c.token()
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: time.Minute}
	for _, path := range looks() {
		l := conversationsLook{Path: path}
		for range 2 {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.gateway.admin+path, nil)
			if err != nil {
				return err
			}
			req.Header.Set("Authorization", "Bearer "+token)
			began := time.Now()
			res, err := client.Do(req)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close() // it was read
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if res.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: HTTP %d", path, res.StatusCode)
			}
			l.Seconds = max(l.Seconds, time.Since(began).Seconds())
		}
		c.res.Looks = append(c.res.Looks, l)
	}
	return nil
}

// per is what one of n costs.
func per(after, before int64, n int) float64 { return float64(after-before) / float64(n) }

func (r *conversationsResult) judge(to *benchReport) {
	to.atMost("memory of the gateway per known conversation, bytes", per(r.Known.Gateway, r.Empty.Gateway, r.Count), targetKnownGateway)
	to.atMost("memory of the broker per known conversation, bytes", per(r.Known.Broker, r.Empty.Broker, r.Count), targetKnownBroker)
	to.atMost("the same of the gateway, started again and with nothing left to do", per(r.Drained.Gateway, r.Empty.Gateway, r.Count), targetKnownGateway)
	to.atMost("the same of the broker", per(r.Drained.Broker, r.Empty.Broker, r.Count), targetKnownBroker)
	to.atMost("consumers more than without conversations", float64(r.Known.Consumers-r.Empty.Consumers), 0)
	to.atMost("start to the first 200, seconds", r.First, targetFirst200)
	for _, l := range r.Looks {
		to.atMost("GET "+l.Path+", seconds", l.Seconds, targetLook)
	}
}

func (r *conversationsResult) human(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%d conversations, made in %.0f s; start to the first 200: %.2f s without any, %.2f s with them and %d waiting; stop %.2f s, handling those %.1f s\n\n",
		r.Count, r.MakeSeconds, r.FirstEmpty, r.First, r.Waiting, r.StopSeconds, r.DrainSeconds)
	mib := func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
	t := newBenchTable(w, "MiB", "gateway", "broker", "resident", "in streams", "consumers", "per", "gateway B", "broker B")
	for _, m := range []struct {
		name     string
		at, from conversationsMemory
		n        int
	}{
		{"empty", r.Empty, r.Empty, 0}, {"known", r.Known, r.Empty, r.Count}, {"some wait", r.Held, r.Known, r.Waiting},
		{"started again", r.Again, r.Empty, r.Count}, {"nothing waits", r.Drained, r.Empty, r.Count},
	} {
		cells := []string{m.name, mib(m.at.Gateway), mib(m.at.Broker), mib(m.at.RSS), mib(m.at.Stored), fmt.Sprint(m.at.Consumers)}
		if m.n > 0 {
			cells = append(cells, fmt.Sprintf("%d", m.n), fmt.Sprintf("%.0f", per(m.at.Gateway, m.from.Gateway, m.n)), fmt.Sprintf("%.0f", per(m.at.Broker, m.from.Broker, m.n)))
		}
		t.row(cells...)
	}
	t.end()
	_, _ = fmt.Fprintf(w, "\non disk: archive %s MiB, ledger %s MiB, %.0f bytes of ledger per conversation\n", mib(r.Archive), mib(r.Ledger), float64(r.Ledger)/float64(r.Count))
}
