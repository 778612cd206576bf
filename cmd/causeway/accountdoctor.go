package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// examineTimeout bounds all questions about one account.
const examineTimeout = 30 * time.Second

// examiner is a client that can ask its platform more than whether it takes the
// credentials.
type examiner interface {
	Examine(ctx context.Context, cb whatsapp.Callbacks) []handlers.Fact
}

// examineAccount asks the platform about one account of the configuration. The
// error is gateway.ErrNotFound for an unknown name.
func examineAccount(ctx context.Context, cfg *config.Config, dir *directory, name string) (admin.Report, error) {
	at := slices.IndexFunc(cfg.Accounts, func(a config.Account) bool { return a.Name == name })
	if at < 0 {
		return admin.Report{}, fmt.Errorf("account: %w", gateway.ErrNotFound)
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	var facts []handlers.Fact
	switch client := dir.client(cfg.Accounts[at].Platform, name).(type) {
	case examiner:
		facts = client.Examine(ctx, callbacksOf(cfg))
	case wecom.Examined:
		facts = wecom.Examine(ctx, client, wecomCallbacksOf(cfg))
	case trier:
		facts = []handlers.Fact{client.TryCredentials(ctx).Fact()}
	default:
		facts = []handlers.Fact{{Level: "info", What: "nothing can be asked about this account without sending"}}
	}
	r := admin.Report{OK: true, Findings: make([]admin.Finding, 0, len(facts))}
	for _, f := range facts {
		r.Findings = append(r.Findings, findingOf(name, f))
		r.OK = r.OK && f.Level != "error"
	}
	return r, nil
}

// callbacksOf are the endpoints that Meta may call.
func callbacksOf(cfg *config.Config) whatsapp.Callbacks {
	var cb whatsapp.Callbacks
	for i := range cfg.Endpoints {
		if e := &cfg.Endpoints[i]; e.Platform == "whatsapp" {
			cb.Names = append(cb.Names, e.Name)
			if s := e.AppSecret.Reveal(); !slices.Contains(cb.Secrets, s) {
				cb.Secrets = append(cb.Secrets, s)
			}
		}
	}
	return cb
}

// wecomCallbacksOf are the endpoints that WeCom may call for a corp's apps.
func wecomCallbacksOf(cfg *config.Config) wecom.Callbacks {
	cb := wecom.Callbacks{Names: map[string][]string{}}
	for i := range cfg.Endpoints {
		if e := &cfg.Endpoints[i]; e.Platform == "wecom" && e.Kind == "app" {
			for _, corp := range e.ReceiveIDs {
				cb.Names[corp] = append(cb.Names[corp], e.Name)
			}
		}
	}
	return cb
}

// DoctorAccount asks the platform about one account, with the gateway's client.
func (x adminAPI) DoctorAccount(ctx context.Context, name string) (admin.Report, error) {
	return examineAccount(ctx, x.a.o.Config, x.a.dir, name)
}

func (c *cli) doctorAccountCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "account NAME",
		Short: "Ask the platform about one account: token, webhook, number",
		Long: `Ask the platform about one account and say what would mend it, worst first.

WhatsApp: the access token, its permissions and when it ends; whether an endpoint
has the app's secret; where Meta delivers callbacks, overrides included; whether
the app is subscribed; the number's state, health, quality and throughput.
WeCom: whether corp id, secret, agent id and this machine's address are taken (an
address that is not trusted is named); who can see the app; whether an endpoint
takes the corp's callbacks, and the addresses that they come from.

A running gateway asks; when none answers, this command does. Nothing is sent and
nothing is changed.

Exit code 1 when something is wrong, 3 when there is no such account.`,
		Example: "  causeway doctor account shop-a\n  causeway doctor account shop-a --json | jq '.findings[] | select(.do)'",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.doctorAccount(cmd, args[0]) },
	}
}

func (c *cli) doctorAccount(cmd *cobra.Command, name string) error {
	raw, err := c.askAbout(cmd, name)
	var report admin.Report
	switch {
	case errors.Is(err, errUnreachable), errors.Is(err, errNoTarget):
		if report, err = c.examineHere(cmd.Context(), name); err != nil {
			return err
		}
		if raw, err = json.Marshal(report); err != nil {
			return failed(err)
		}
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(raw, &report); err != nil {
			return errShape()
		}
	}
	for i := range report.Findings {
		report.Findings[i].Name = "" // everybody knows which account was asked about
	}
	if err := c.print(raw, func(w io.Writer) { printReport(w, report) }); err != nil {
		return failed(err)
	}
	if !report.OK {
		return failed(errors.New(verdictOf(report)))
	}
	return nil
}

func (c *cli) askAbout(cmd *cobra.Command, name string) (json.RawMessage, error) {
	a, err := c.adminClient()
	if err != nil {
		return nil, err
	}
	return a.get(cmd.Context(), nil, "accounts", name, "doctor")
}

// examineHere asks with the configuration alone.
func (c *cli) examineHere(ctx context.Context, name string) (admin.Report, error) {
	cfg, err := c.loadConfig()
	if err != nil {
		return admin.Report{}, err
	}
	dir, err := newDirectory(cfg, time.Now)
	if err != nil {
		return admin.Report{}, &exitError{exitUsage, err}
	}
	report, err := examineAccount(ctx, cfg, dir, name)
	if errors.Is(err, gateway.ErrNotFound) {
		names := make([]string, 0, len(cfg.Accounts))
		for i := range cfg.Accounts {
			names = append(names, cfg.Accounts[i].Name)
		}
		return report, &exitError{exitNotFound, fmt.Errorf("%s: there is no account of this name in %s, which has %s", printable(name, 60), c.configPath,
			cmp.Or(strings.Join(names, ", "), "none"))}
	}
	report.Findings = append(report.Findings, admin.Finding{Level: "info", What: "no gateway answers; the platform was asked from here"})
	return report, err
}
