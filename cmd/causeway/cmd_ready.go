package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/handlers/admin"
)

// ready asks the gateway whether it takes callbacks, and nothing else: the question of
// health checks. What doctor calls an error (an account that is stopped, a sealed
// payload) is no reason to start a gateway anew that goes on receiving.
func (c *cli) ready(cmd *cobra.Command) error {
	a, err := c.adminClient()
	if err != nil {
		return err
	}
	u := *a.base
	u.Path = strings.TrimRight(u.Path, "/") + "/readyz"
	req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, u.String(), nil)
	if err != nil {
		return usageError("the admin URL cannot be called: %s is not a URL", a.base.Redacted())
	}
	a.http.Timeout = adminDialTimeout
	res, err := a.http.Do(req)
	if err != nil {
		return a.unreachable(cmd.Context(), err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return a.unreachable(cmd.Context(), err)
	}
	var said admin.Readiness
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable || json.Unmarshal(raw, &said) != nil || said.Components == nil {
		return a.stranger(res.StatusCode)
	}
	var bad []string
	for _, p := range said.Components {
		if p.State != "ok" {
			bad = append(bad, fmt.Sprintf("%s: %s %s", printable(p.Name, 40), printable(p.State, 20), printable(p.Detail, 200)))
		}
	}
	err = c.print(bytes.TrimSpace(raw), func(w io.Writer) {
		for _, b := range bad {
			_, _ = fmt.Fprintln(w, strings.TrimSpace(b))
		}
		if said.OK {
			_, _ = fmt.Fprintln(w, "ready")
		}
	})
	if err == nil && !said.OK {
		err = errors.New("not ready")
	}
	return failed(err)
}
