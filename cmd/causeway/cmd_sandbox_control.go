package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// sandboxControl calls the control endpoint of a running fake platform.
type sandboxControl struct{ platform, at string }

func (s *sandboxControl) flags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&s.platform, "platform", "whatsapp", "which fake platform: whatsapp, wecom or unified")
	cmd.PersistentFlags().StringVar(&s.at, "at", "", "its address (default http://"+sandboxWhatsApp+", http://"+sandboxWeCom+" or http://"+sandboxUnified+")")
}

func (s *sandboxControl) base() (*url.URL, error) {
	at := s.at
	if at == "" {
		switch s.platform {
		case "whatsapp":
			at = sandboxWhatsApp
		case "wecom":
			at = sandboxWeCom
		case "unified":
			at = sandboxUnified
		default:
			return nil, usageError("--platform must be whatsapp, wecom or unified")
		}
	}
	if !strings.Contains(at, "://") {
		at = "http://" + at
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, usageError("--at must be like http://%s", sandboxWhatsApp)
	}
	return u, nil
}

// call returns the JSON of the answer.
func (s *sandboxControl) call(ctx context.Context, method, name string, query url.Values, body any) (json.RawMessage, error) {
	u, err := s.base()
	if err != nil {
		return nil, err
	}
	u.Path = sandbox.ControlPrefix + name
	u.RawQuery = query.Encode()
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, failed(err)
		}
		send = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), send)
	if err != nil {
		return nil, usageError("--at must be like http://%s", sandboxWhatsApp)
	}
	client := simulationClient(30*time.Second, 1)
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return nil, &exitError{exitUnreachable, fmt.Errorf("no fake platform answers at %s; start it with `causeway sandbox`, for an existing configuration with `causeway sandbox -c FILE`", u.Host)}
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 256<<20))
	if err != nil || !json.Valid(answer) {
		return nil, failed(fmt.Errorf("what answers at %s is no fake platform", u.Host))
	}
	if res.StatusCode != http.StatusOK {
		var e struct{ Error string }
		_ = json.Unmarshal(answer, &e) // without one the status must do
		if e.Error == "" {
			e.Error = "HTTP " + strconv.Itoa(res.StatusCode)
		}
		return nil, usageError("the fake platform refused: %s", printable(e.Error, 200))
	}
	return answer, nil
}

func (c *cli) sandboxFaultCommand() *cobra.Command {
	var s sandboxControl
	parent := &cobra.Command{
		Use:   "fault",
		Short: "Switch faults of a running fake platform",
	}
	s.flags(parent)
	list := &cobra.Command{
		Use: "ls", Short: "List the faults in force", Example: "  causeway sandbox fault ls", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			raw, err := s.call(cmd.Context(), http.MethodGet, "faults", nil, nil)
			if err != nil {
				return err
			}
			return show(c, raw, printFaults)
		},
	}
	remove := &cobra.Command{
		Use: "rm [NAME]", Short: "End a fault, or all of them",
		Example: "  causeway sandbox fault rm fault-1\n  causeway sandbox fault rm", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{}
			if len(args) > 0 {
				q.Set("name", args[0])
			}
			raw, err := s.call(cmd.Context(), http.MethodDelete, "faults", q, nil)
			if err != nil {
				return err
			}
			return show(c, raw, printFaults)
		},
	}
	parent.AddCommand(c.sandboxFaultAddCommand(&s), list, remove)
	return parent
}

func (c *cli) sandboxFaultAddCommand(s *sandboxControl) *cobra.Command {
	var f sandbox.Fault
	var stage, drop string
	var delay, retryAfter time.Duration
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Let calls of the platform's API go wrong from now on",
		Long: `Let calls of the platform's API go wrong from now on. --stage says on which side of
taking the message: before (it is not taken) or after (it is, and the caller may not
learn it). --next N ends the fault by itself after N calls.`,
		Example: `  causeway sandbox fault add --stage after --drop reset --next 1   # an answer lost
  causeway sandbox fault add --code 130429 --next 5                # rate limit hit
  causeway sandbox fault add --delay 3s --to 15550100001           # slow for one customer`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Stage, f.Drop = sandbox.Stage(stage), sandbox.Drop(drop)
			f.DelayMS, f.RetryAfterS = delay.Milliseconds(), int(retryAfter.Seconds())
			raw, err := s.call(cmd.Context(), http.MethodPost, "faults", nil, f)
			if err != nil {
				return err
			}
			return show(c, raw, func(w io.Writer, v struct{ Name string }) {
				_, _ = fmt.Fprintf(w, "%s is in force\n", printable(v.Name, 60))
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.Name, "name", "", "how to end it (default: chosen)")
	fl.StringVar(&stage, "stage", "before", "before or after the message is taken")
	fl.DurationVar(&delay, "delay", 0, "wait so long")
	fl.IntVar(&f.Status, "status", 0, "answer with this HTTP status")
	fl.IntVar(&f.Code, "code", 0, "answer with the platform's error of this number")
	fl.DurationVar(&retryAfter, "retry-after", 0, "add a Retry-After header")
	fl.StringVar(&drop, "drop", "", "lose the answer: reset or hang")
	fl.IntVar(&f.FailCode, "fail-code", 0, "the taken message fails later, with this code (stage after)")
	fl.BoolVar(&f.FailAfterSent, "fail-after-sent", false, "with --fail-code: a sent comes first")
	fl.BoolVar(&f.NoStatuses, "no-statuses", false, "no status of the taken message comes (stage after)")
	fl.StringVar(&f.Op, "op", "send", "which calls: send, token or read")
	fl.StringVar(&f.Type, "type", "", "only messages of this type, as the platform names it (read: marking read)")
	fl.StringVar(&f.To, "to", "", "only messages to this recipient")
	fl.StringVar(&f.Text, "text", "", "only messages with this in their text")
	fl.IntVar(&f.Skip, "skip", 0, "let so many matching calls pass first")
	fl.IntVar(&f.Next, "next", 0, "so many calls, then it ends (0: until removed)")
	return cmd
}

func printFaults(w io.Writer, list []sandbox.Fault) {
	rows := make([][]string, 0, len(list))
	for _, f := range list {
		left := "until removed"
		if f.Next > 0 {
			left = amount(f.Next, "call", "calls")
		}
		rows = append(rows, []string{printable(f.Name, 40), string(f.Stage), f.Op, faultWords(f), orDash(printable(f.To, 40)), left})
	}
	table(w, "no faults", []string{"NAME", "STAGE", "CALLS", "WHAT", "TO", "LEFT"}, rows)
}

func faultWords(f sandbox.Fault) string {
	var parts []string
	add := func(on bool, format string, args ...any) {
		if on {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(f.DelayMS > 0, "delay %s", time.Duration(f.DelayMS)*time.Millisecond)
	add(f.Status != 0, "HTTP %d", f.Status)
	add(f.Code != 0, "code %d", f.Code)
	add(f.Drop != "", "answer lost (%s)", f.Drop)
	add(f.FailCode != 0 && !f.FailAfterSent, "fails later with %d", f.FailCode)
	add(f.FailCode != 0 && f.FailAfterSent, "fails after sent with %d", f.FailCode)
	add(f.NoStatuses, "no statuses")
	return strings.Join(parts, ", ")
}

func (c *cli) sandboxCallsCommand() *cobra.Command {
	var s sandboxControl
	var to string
	var limit int
	var summary bool
	cmd := &cobra.Command{
		Use:   "calls",
		Short: "Show the messages that a running fake platform was asked to send",
		Long: `Show the messages that a running fake platform was asked to send, oldest first.
--summary counts them, and names messages that were taken twice and calls for one
customer that overlapped; a gateway in order has none of either.`,
		Example: "  causeway sandbox calls\n  causeway sandbox calls --platform wecom --summary",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if summary {
				raw, err := s.call(cmd.Context(), http.MethodGet, "summary", nil, nil)
				if err != nil {
					return err
				}
				return show(c, raw, printSummary)
			}
			if limit < 1 {
				return usageError("--limit must be above 0")
			}
			raw, err := s.call(cmd.Context(), http.MethodGet, "calls", query("to", to, "limit", number(limit)), nil)
			if err != nil {
				return err
			}
			return show(c, raw, printCalls)
		},
	}
	s.flags(cmd)
	cmd.Flags().StringVar(&to, "to", "", "only to this recipient")
	cmd.Flags().IntVar(&limit, "limit", 50, "the last so many")
	cmd.Flags().BoolVar(&summary, "summary", false, "only figures")
	return cmd
}

func printCalls(w io.Writer, list []sandbox.Call) {
	rows := make([][]string, 0, len(list))
	for _, call := range list {
		status := "no answer"
		if call.Status != 0 {
			status = strconv.Itoa(call.Status)
		}
		took := ""
		if !call.End.IsZero() {
			took = msWords(call.End.Sub(call.Start))
		}
		taken := "no"
		if call.Accepted {
			taken = "yes"
		}
		rows = append(rows, []string{call.Start.Format("15:04:05.000"), printable(call.To, 40), taken, status, orDash(call.Code), orDash(took), printable(call.Text, 60)})
	}
	table(w, "no calls", []string{"AT", "TO", "TAKEN", "ANSWER", "CODE", "TOOK", "TEXT"}, rows)
}

func printSummary(w io.Writer, s sandbox.Summary) {
	fields(w, "calls", count(int64(s.Calls)), "taken", count(int64(s.Accepted)), "running", count(int64(s.Running)),
		"taken twice", count(int64(len(s.Twice))), "overlaps", count(int64(s.Overlaps)))
	for code, n := range s.Codes {
		fields(w, "code "+printable(code, 20), count(int64(n)))
	}
}
