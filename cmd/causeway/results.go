package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/results"
	"github.com/causewayhq/causeway/handlers/egress"
)

const (
	// resultTimeout bounds one post of a result.
	resultTimeout = 15 * time.Second
	// longestRetryAfter bounds the pause that a receiver may ask for.
	longestRetryAfter = 15 * time.Minute
	// resultsPatience is how long a receiver may fail before doctor tells.
	resultsPatience = time.Minute
)

// wireResults makes the deliverer of results.
func (a *app) wireResults() error {
	client := egress.New(egress.Options{Timeout: resultTimeout, MaxBody: 64 << 10})
	a.closers = append(a.closers, func() error { client.Close(); return nil })
	o := results.Options{Ledger: a.ledger, IDPrefix: fmt.Sprintf("rs_%d_", a.ledger.Identity().Epoch), Boundary: a.o.Boundary, Now: a.o.Now, Log: a.o.Log,
		Post: func(ctx context.Context, url string, header http.Header, body []byte) results.Answer {
			return postResult(ctx, client, url, header, body, a.o.Now())
		}}
	for _, r := range a.o.Config.Results {
		keys, err := gateway.ParseWebhookKeys(r.Secret.Reveal(), r.SecretPrevious.Reveal())
		if err != nil {
			return fmt.Errorf("results %s: secret %w", r.Name, err)
		}
		o.Receivers = append(o.Receivers, results.Receiver{Name: r.Name, URL: r.URL, Keys: keys, Accounts: r.Accounts, Results: r.States, OnRequest: r.OnRequest})
	}
	a.results = results.New(o)
	return nil
}

// postResult makes one call. What the receiver says beyond its status is not looked at.
func postResult(ctx context.Context, client *egress.Client, url string, header http.Header, body []byte, now time.Time) results.Answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return results.Answer{Word: "bad url"}
	}
	req.Header = header
	res, err := client.Do(req, time.Time{})
	if err != nil {
		word := "failed"
		var e *egress.Error
		if errors.As(err, &e) {
			word = e.Word
		}
		return results.Answer{Word: word}
	}
	a := results.Answer{Status: res.Status}
	a.RetryAfter = min(egress.RetryAfter(res.Header, now), longestRetryAfter)
	return a
}
