package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// simulationClient follows no redirect and keeps as many connections as are used
// at once.
func simulationClient(timeout time.Duration, connections int) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{MaxIdleConnsPerHost: min(connections, 1000), IdleConnTimeout: time.Minute, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func postCallback(ctx context.Context, client *http.Client, target, contentType string, body []byte, headers ...string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", contentType)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection is used again
	return res.StatusCode, nil
}

// nthNumber is the n-th customer behind a phone number, from 0.
func nthNumber(first string, n int) string {
	digits := strings.TrimPrefix(first, "+")
	v, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n == 0 {
		return first
	}
	return strings.TrimSuffix(first, digits) + fmt.Sprintf("%0*d", len(digits), v+uint64(n)) //nolint:gosec // n is not negative
}

// nthName is the n-th customer behind a name, from 0.
func nthName(first string, n int) string {
	if n == 0 {
		return first
	}
	return first + "-" + strconv.Itoa(n+1)
}

// nthText tells the texts of several callbacks apart.
func nthText(text string, n, of int) string {
	if of == 1 {
		return text
	}
	return text + " " + strconv.Itoa(n)
}
