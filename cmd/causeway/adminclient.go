package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Bounds of one call of the admin API. A recount and a requeue of many count
// rows and may take minutes; reaching the gateway may not.
const (
	adminDialTimeout = 5 * time.Second
	adminCallTimeout = 10 * time.Minute
	adminMaxAnswer   = 256 << 20 // bytes; a list of 1,000 raw bodies does not exist
)

// adminClient calls the admin API of a running gateway for one command. It
// follows no redirect, so that the token goes to the address it was meant for,
// and it never prints the token.
type adminClient struct {
	base *url.URL
	// token is empty when none was found; noToken says where it was looked for.
	token   string
	noToken string
	http    *http.Client
}

// adminClient finds the gateway and the token (see adminTarget). The caller owns
// it for one command; Close is not needed, since the process ends.
func (c *cli) adminClient() (*adminClient, error) {
	t, err := c.adminTarget()
	if err != nil {
		return nil, err
	}
	return &adminClient{
		base: t.base, token: t.token, noToken: t.noToken,
		http: &http.Client{
			Timeout: adminCallTimeout,
			Transport: &http.Transport{
				Proxy:                 http.ProxyFromEnvironment,
				DialContext:           (&net.Dialer{Timeout: adminDialTimeout}).DialContext,
				TLSHandshakeTimeout:   adminDialTimeout,
				ResponseHeaderTimeout: adminCallTimeout,
				DisableKeepAlives:     true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// get reads a route; path elements are escaped, whatever they hold.
func (a *adminClient) get(ctx context.Context, query url.Values, path ...string) (json.RawMessage, error) {
	return a.call(ctx, http.MethodGet, query, nil, path...)
}

// post calls a route that changes something. body nil sends none.
func (a *adminClient) post(ctx context.Context, query url.Values, body any, path ...string) (json.RawMessage, error) {
	return a.call(ctx, http.MethodPost, query, body, path...)
}

// call returns the JSON of a 2xx answer. Its errors are an *exitError: usage for
// a refused request, not found, unreachable, or failed.
func (a *adminClient) call(ctx context.Context, method string, query url.Values, body any, path ...string) (json.RawMessage, error) {
	target, err := a.route(query, path)
	if err != nil {
		return nil, err
	}
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, failed(err)
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), send)
	if err != nil {
		return nil, usageError("the admin URL cannot be called: %s is not a URL", a.base.Redacted())
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	req.Header.Set("User-Agent", "causeway-cli")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return nil, a.unreachable(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, adminMaxAnswer+1))
	switch {
	case err != nil:
		return nil, a.unreachable(ctx, err)
	case len(answer) > adminMaxAnswer:
		return nil, failed(fmt.Errorf("the answer is larger than %d MiB; ask for less with --limit", adminMaxAnswer>>20))
	case res.StatusCode/100 != 2:
		return nil, a.refused(res, answer, path)
	case len(bytes.TrimSpace(answer)) == 0:
		return json.RawMessage("{}"), nil
	case !json.Valid(answer):
		return nil, a.stranger(res.StatusCode)
	}
	return answer, nil
}

// route joins the base, /api/v1 and the escaped elements.
func (a *adminClient) route(query url.Values, path []string) (*url.URL, error) {
	raw := strings.TrimRight(a.base.EscapedPath(), "/") + "/api/v1"
	for _, p := range path {
		if p == "" || p == "." || p == ".." {
			return nil, usageError("%q is not an id or a name", p)
		}
		raw += "/" + url.PathEscape(p)
	}
	u := *a.base
	var err error
	if u.Path, err = url.PathUnescape(raw); err != nil {
		return nil, usageError("the admin URL is not right: its path cannot be read")
	}
	u.RawPath = raw
	u.RawQuery = query.Encode()
	return &u, nil
}

// errUnreachable is wrapped when no gateway answered at all.
var errUnreachable = errors.New("no gateway answers") //nolint:gochecknoglobals // a sentinel error is a constant

// unreachable tells what to do about a gateway that did not answer. The error of
// net/http repeats the whole URL, query included; only its cause is kept.
func (a *adminClient) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failed(errors.New("stopped before the gateway answered; what was asked for may still be done"))
	}
	cause := err
	var u *url.Error
	if errors.As(err, &u) {
		cause = u.Err
	}
	var op *net.OpError
	if errors.As(cause, &op) && op.Op == "dial" {
		cause = op.Err
	}
	return &exitError{exitUnreachable, fmt.Errorf(
		"%w at %s (%s); start it with `causeway serve`, name another with --admin URL, or look with `causeway doctor`",
		errUnreachable, a.base.Redacted(), printable(cause.Error(), 120))}
}

// stranger is the error for an answer that no gateway gives.
func (a *adminClient) stranger(status int) error {
	return failed(fmt.Errorf("what answers at %s (HTTP %d) is not the admin API of a gateway; check --admin or admin.listen",
		a.base.Redacted(), status))
}

// conflictError says that the thing is in a state that does not allow it.
type conflictError struct{ error }

func (e conflictError) Unwrap() error { return e.error }

// serverError says that the gateway broke off: a part may be done.
type serverError struct{ error }

func (e serverError) Unwrap() error { return e.error }

// refused turns an answer that is not 2xx into one sentence and an exit code. The
// thing asked for is the second element of the path, where there is one.
func (a *adminClient) refused(res *http.Response, body []byte, path []string) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	p, ok := readProblem(kind, body)
	if !ok && res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
		return a.stranger(res.StatusCode)
	}
	switch res.StatusCode {
	case http.StatusUnauthorized:
		if a.token == "" {
			return usageError("the gateway wants an admin token, and %s; give one with --token or CAUSEWAY_ADMIN_TOKEN", a.noToken)
		}
		return failed(fmt.Errorf("the gateway at %s does not know this admin token; check --token, CAUSEWAY_ADMIN_TOKEN or admin.tokens", a.base.Redacted()))
	case http.StatusForbidden:
		return failed(fmt.Errorf("this admin token may not do that: %s", problemSentence(p, "it needs a higher role")))
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return usageError("the gateway refused the request: %s", problemSentence(p, "bad request"))
	case http.StatusNotFound:
		return &exitError{exitNotFound, about(path, problemSentence(p, "not found"))}
	case http.StatusConflict:
		return failed(conflictError{about(path, problemSentence(p, "not possible in its present state"))})
	case http.StatusServiceUnavailable:
		return failed(serverError{fmt.Errorf("the gateway cannot do that now: %s; `causeway doctor` says why", problemSentence(p, "try again"))})
	}
	err := fmt.Errorf("the gateway answered HTTP %d: %s", res.StatusCode, problemSentence(p, "no reason given"))
	if res.StatusCode >= http.StatusInternalServerError {
		err = serverError{err}
	}
	return failed(err)
}

// about puts the id or name of the thing before a sentence.
func about(path []string, sentence string) error {
	if len(path) < 2 {
		return errors.New(sentence)
	}
	name := path[1]
	if len(path) > 2 && path[0] == "brakes" { // brakes/<scope>/<name>
		name = path[1] + " " + path[2]
	}
	return fmt.Errorf("%s: %s", printable(name, 60), sentence)
}

// codeOf is the exit code an error carries; exitOK for nil.
func codeOf(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	}
	return exitUsage
}

// fetched is what a reading command does: ask, then print.
func fetched[T any](cmd *cobra.Command, c *cli, query url.Values, human func(w io.Writer, v T), path ...string) error {
	a, err := c.adminClient()
	if err != nil {
		return err
	}
	raw, err := a.get(cmd.Context(), query, path...)
	if err != nil {
		return err
	}
	return show(c, raw, human)
}

// posted is what a changing command does: ask, then print.
func posted[T any](cmd *cobra.Command, c *cli, query url.Values, body any, human func(w io.Writer, v T), path ...string) error {
	a, err := c.adminClient()
	if err != nil {
		return err
	}
	raw, err := a.post(cmd.Context(), query, body, path...)
	if err != nil {
		return err
	}
	return show(c, raw, human)
}

// show prints an answer: its JSON as it came, or what human makes of it.
func show[T any](c *cli, raw json.RawMessage, human func(w io.Writer, v T)) error {
	var v T
	if !c.asJSON {
		if err := json.Unmarshal(raw, &v); err != nil {
			return errShape()
		}
	}
	return failed(c.print(raw, func(w io.Writer) { human(w, v) }))
}

// errShape is for an answer that is JSON, but of another release.
func errShape() error {
	return failed(errors.New("the answer has another shape than this release expects; --json prints it as it came"))
}
