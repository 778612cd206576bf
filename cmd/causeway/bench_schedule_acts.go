package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// scheduleAPI asks the admin API of the gateway that is measured.
type scheduleAPI struct {
	base, token string
	http        http.Client
}

func newScheduleAPI(addr, token string) *scheduleAPI {
	return &scheduleAPI{base: "http://" + addr + "/api/v1", token: token, http: http.Client{
		Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: scheduleCallers},
	}}
}

// errTooLate is for what was refused because the message had begun to leave.
var errTooLate = errors.New("the message had left") //nolint:gochecknoglobals // a sentinel error is a constant

func (a *scheduleAPI) call(ctx context.Context, method, path string, body, out any) error {
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, send)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode == http.StatusConflict:
		return errTooLate
	case res.StatusCode/100 != 2:
		return fmt.Errorf("%s %s was answered %d: %s", method, path, res.StatusCode, printable(string(answer), 300))
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}

// act is one thing that people do to a queue.
type act struct {
	name string
	do   func(ctx context.Context, i int) error
	hist *histogram
}

func (a *act) sample(ctx context.Context, i int) error {
	at := time.Now()
	if err := a.do(ctx, i); err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	a.hist.add(time.Since(at))
	return nil
}

// acts are what is measured. Those that change take messages that are due last, so that
// none has left, unless the gateway is far behind.
func (s *scheduleRun) acts() []*act {
	list := func(q string, least int) func(context.Context, int) error {
		return func(ctx context.Context, _ int) error {
			var out struct {
				Messages []json.RawMessage `json:"messages"`
			}
			if err := s.api.call(ctx, http.MethodGet, "/messages?"+q, nil, &out); err != nil {
				return err
			}
			if len(out.Messages) < least {
				return fmt.Errorf("the list has %d messages", len(out.Messages))
			}
			return nil
		}
	}
	middle := url.QueryEscape(s.start.Add(s.o.lead + s.o.over/2).UTC().Format(time.RFC3339))
	acts := []*act{
		{name: "list the next 100", do: list("state=waiting&limit=100", 0)},
		{name: "list 100 from the middle", do: list("state=waiting&limit=100&due_from="+middle, 0)},
		{name: "list by account", do: list("state=waiting&limit=100&account="+benchAccount, 0)},
		{name: "list by account, none there", do: list("state=waiting&limit=100&account=another", 0)},
		{name: "list by key", do: list("limit=100&key=bench-0000000000", 1)},
		{name: "show one", do: func(ctx context.Context, i int) error {
			return s.api.call(ctx, http.MethodGet, "/messages/"+s.ids[i%s.o.count], nil, nil)
		}},
		{name: "cancel one", do: func(ctx context.Context, _ int) error {
			i := s.pick()
			err := s.api.call(ctx, http.MethodPost, "/messages/"+s.ids[i]+"/cancel", nil, nil)
			if errors.Is(err, errTooLate) {
				s.late++
				return nil
			}
			s.gone[i] = err == nil
			return err
		}},
		{name: "move one", do: func(ctx context.Context, _ int) error { return s.move(ctx, 1) }},
		{name: "move 100", do: func(ctx context.Context, _ int) error { return s.move(ctx, 100) }},
	}
	for _, a := range acts {
		a.hist = newHistogram()
	}
	return acts
}

// pick is a message that waits still: those of the last tenth do while acts go on.
func (s *scheduleRun) pick() int {
	last := s.start.Add(s.o.lead + s.o.over - s.o.over/10)
	for {
		if i := s.random.IntN(s.o.count); !s.gone[i] && s.due[i].After(last) {
			return i
		}
	}
}

// move lets some messages be due at another time, one that is still to come.
func (s *scheduleRun) move(ctx context.Context, n int) error {
	at := s.start.Add(s.o.lead + s.o.over - time.Duration(s.random.Int64N(int64(s.o.over/10)))).UTC().Truncate(time.Millisecond)
	var ids []string
	var which []int
	for range min(n, s.o.count/100) {
		i := s.pick()
		ids, which = append(ids, s.ids[i]), append(which, i)
	}
	var out struct {
		Skipped int `json:"skipped"`
	}
	err := s.api.call(ctx, http.MethodPost, "/messages:change", map[string]any{"do": "reschedule", "messages": ids, "at": at.Format(time.RFC3339Nano)}, &out)
	for _, i := range which {
		s.due[i], s.vague[i] = at, s.vague[i] || out.Skipped > 0
	}
	s.late += out.Skipped
	return err
}
