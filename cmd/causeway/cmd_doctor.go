package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/handlers/admin"
)

// doctorCommand asks the gateway what an operator should know, or looks for
// itself when no gateway answers.
func (c *cli) doctorCommand() *cobra.Command {
	var onlyReady bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong and say what would mend it",
		Long: `Look for what is wrong and say what would mend it, worst first.

A running gateway is asked. When none answers, this machine is looked at instead:
the configuration, the ports, the store's folder, its free space and who holds it.

Either way the credentials of every account are tried at its platform, without
sending anything. A platform that does not answer is a warning, not an error.

Exit code 1 when something is wrong. --ready asks a running gateway only whether it takes
callbacks, as health checks want it: an account that is stopped is wrong, and no reason
to start the gateway anew.`,
		Example: "  causeway doctor\n  causeway doctor --ready\n  causeway doctor --json | jq '.findings[] | select(.level == \"error\")'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if onlyReady {
				return c.ready(cmd)
			}
			return c.doctor(cmd)
		},
	}
	cmd.Flags().BoolVar(&onlyReady, "ready", false, "ask only whether callbacks are taken")
	cmd.AddCommand(c.doctorAccountCommand())
	return cmd
}

func (c *cli) doctor(cmd *cobra.Command) error {
	raw, err := c.askDoctor(cmd)
	if err != nil && !errors.Is(err, errUnreachable) && !errors.Is(err, errNoTarget) {
		return err
	}
	var report admin.Report
	if err != nil {
		report = localDoctor(cmd.Context(), c)
		if raw, err = json.Marshal(report); err != nil {
			return failed(err)
		}
	} else if err := json.Unmarshal(raw, &report); err != nil {
		return errShape()
	}
	if err := c.print(raw, func(w io.Writer) { printReport(w, report) }); err != nil {
		return failed(err)
	}
	if !report.OK {
		return failed(errors.New(verdictOf(report)))
	}
	return nil
}

func (c *cli) askDoctor(cmd *cobra.Command) (json.RawMessage, error) {
	a, err := c.adminClient()
	if err != nil {
		return nil, err
	}
	return a.get(cmd.Context(), nil, "doctor")
}

// verdictOf counts what was found, for the last line.
func verdictOf(r admin.Report) string {
	var errs, warnings int
	for _, f := range r.Findings {
		switch f.Level {
		case "error":
			errs++
		case "warning":
			warnings++
		}
	}
	return fmt.Sprintf("%s, %s", amount(errs, "error", "errors"), amount(warnings, "warning", "warnings"))
}

func printReport(w io.Writer, r admin.Report) {
	worst := func(f admin.Finding) int { return slices.Index([]string{"error", "warning", "info"}, f.Level) }
	slices.SortStableFunc(r.Findings, func(a, b admin.Finding) int { return worst(a) - worst(b) })
	for _, f := range r.Findings {
		head := printable(f.What, 0)
		if f.Name != "" {
			head += ": " + printable(f.Name, 0)
		}
		var more []string
		if f.Count > 0 {
			more = append(more, count(f.Count))
		}
		if f.Since != nil {
			more = append(more, "since "+instant(*f.Since))
		}
		if len(more) > 0 {
			head += " (" + strings.Join(more, ", ") + ")"
		}
		wrap(w, fmt.Sprintf("%-9s", printable(f.Level, 9)), head)
		if f.Detail != "" {
			wrap(w, "         ", printable(f.Detail, 0))
		}
		if f.Do != "" {
			wrap(w, "         -> ", printable(f.Do, 0))
		}
	}
	if r.OK {
		_, _ = fmt.Fprintln(w, "ok: "+verdictOf(r))
	}
}
