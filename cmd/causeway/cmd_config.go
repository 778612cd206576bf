package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
)

// configCommand writes a first configuration and checks one.
func (c *cli) configCommand() *cobra.Command {
	parent := &cobra.Command{
		Use:   "config",
		Short: "Write an example configuration, or check one",
	}
	parent.AddCommand(c.configInitCommand(), c.configCheckCommand())
	return parent
}

func (c *cli) configInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Print an annotated configuration to start from",
		Long: `Print an annotated configuration to start from: every field, its default, and what
it means. Nothing is written to disk.`,
		Example: "  causeway config init > causeway.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if c.asJSON {
				return failed(c.print(map[string]string{"yaml": config.Example()}, nil))
			}
			_, err := io.WriteString(c.out, config.Example())
			return failed(err)
		},
	}
}

func (c *cli) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and say what it sets up",
		Long: `Read the configuration as serve would, with its environment variables and files, and
say what it sets up: names and addresses, no secrets. Nothing is opened or called.

Exit code 2 when something is wrong; every mistake is printed with file, line, field
and what would be right.`,
		Example: "  causeway config check -c causeway.yaml\n  causeway config check --json | jq '.mistakes[]'",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.checkedConfig()
			if err != nil && c.asJSON {
				return errors.Join(err, c.print(mistakesIn(c.configPath, err), nil))
			}
			if err != nil {
				return err
			}
			s := summarise(c.configPath, cfg)
			return failed(c.print(s, s.write))
		},
	}
}

// checkedConfig reads the configuration and makes of it what serve would, as far as
// nothing is opened or called.
func (c *cli) checkedConfig() (*config.Config, error) {
	cfg, err := c.loadConfig()
	if err != nil {
		return nil, err
	}
	if _, err := newDirectory(cfg, time.Now); err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("%s: %w", c.configPath, err)}
	}
	if _, err := loadTLS(cfg.TLS, time.Now, zap.NewNop()); err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("%s: %w", c.configPath, err)}
	}
	return cfg, nil
}

// configMistakes are for a program; people read the error.
type configMistakes struct {
	OK       bool      `json:"ok"` // false
	File     string    `json:"file"`
	Mistakes []mistake `json:"mistakes"`
}

type mistake struct {
	Line    int    `json:"line,omitempty"`
	Env     string `json:"env,omitempty"` // the variable that gave the value, instead of the file
	Field   string `json:"field,omitempty"`
	Problem string `json:"problem"`
}

func mistakesIn(file string, err error) configMistakes {
	m := configMistakes{File: file}
	var list *config.Errors
	if !errors.As(err, &list) {
		m.Mistakes = []mistake{{Problem: err.Error()}}
		return m
	}
	for _, e := range list.List {
		m.Mistakes = append(m.Mistakes, mistake{Line: e.Line, Env: e.Env, Field: e.Field, Problem: e.Problem})
	}
	return m
}

// configSummary is a configuration without its secrets.
type configSummary struct {
	OK           bool                 `json:"ok"` // true
	File         string               `json:"file"`
	Listen       string               `json:"listen"`
	Admin        string               `json:"admin"`
	Tokens       []string             `json:"tokens"`
	Store        string               `json:"store"`
	NATS         string               `json:"nats"`
	Endpoints    []endpointSummary    `json:"endpoints"`
	Accounts     []accountSummary     `json:"accounts"`
	Applications []applicationSummary `json:"applications"`
	// Notes are what is allowed and probably not meant.
	Notes []string `json:"notes"`
}

type endpointSummary struct {
	Name     string `json:"name"`
	Platform string `json:"platform"`
	Path     string `json:"path"`
	Previous bool   `json:"previous_credentials"`
}

type accountSummary struct {
	Name       string `json:"name"`
	Platform   string `json:"platform"`
	PlatformID string `json:"platform_id"`
	APIBase    string `json:"api_base"`
}

type applicationSummary struct {
	Name     string   `json:"name"`
	Builtin  string   `json:"builtin,omitempty"`
	URL      string   `json:"url,omitempty"` // without its path, which may be a secret
	Accounts []string `json:"accounts"`
	Kinds    []string `json:"kinds"`
	Tries    int      `json:"tries"`
	Replies  bool     `json:"replies"`
}

func summarise(file string, cfg *config.Config) configSummary {
	s := configSummary{
		OK: true, File: file, Listen: cfg.Listen, Admin: cfg.Admin.Listen, Store: cfg.Store.URL, Tokens: []string{},
		Endpoints: []endpointSummary{}, Accounts: []accountSummary{}, Applications: []applicationSummary{}, Notes: []string{},
	}
	for _, t := range cfg.Admin.Tokens {
		s.Tokens = append(s.Tokens, t.Name+" ("+t.Role+")")
	}
	switch {
	case cfg.NATS.Embedded == nil:
		s.NATS = cfg.NATS.URL
	case cfg.NATS.Embedded.Listen == "":
		s.NATS = "embedded, no listener"
	default:
		s.NATS = "embedded, workers at " + cfg.NATS.Embedded.Listen
	}
	for _, e := range cfg.Endpoints {
		s.Endpoints = append(s.Endpoints, endpointSummary{
			Name: e.Name, Platform: e.Platform, Path: webhookPath(e.Platform, e.Name),
			Previous: e.AppSecretPrevious != "" || e.TokenPrevious != "" || e.EncodingAESKeyPrevious != "",
		})
	}
	if cfg.TLS != nil && cfg.TLS.ClientCA != "" && !slices.ContainsFunc(cfg.Endpoints, func(e config.Endpoint) bool { return e.MTLS }) {
		s.Notes = append(s.Notes, "tls.client_ca is named and no endpoint says mtls: true: no client certificate is looked at")
	}
	apps := cfg.Apps()
	for _, a := range cfg.Accounts {
		s.Accounts = append(s.Accounts, accountSummary{Name: a.Name, Platform: a.Platform, PlatformID: a.PlatformID(), APIBase: a.APIBase})
		if a.Platform == "wecom" && a.Kind == "robot" { // a group's webhook only sends
			continue
		}
		if !slices.ContainsFunc(apps, func(app gateway.Application) bool {
			return app.Wants(a.Platform, a.Name, gateway.KindMessage, gateway.ChatSingle)
		}) {
			s.Notes = append(s.Notes, "no application takes the messages of "+a.Name+": they are archived and nobody answers")
		}
		if !slices.ContainsFunc(cfg.Endpoints, func(e config.Endpoint) bool { return e.Platform == a.Platform }) {
			s.Notes = append(s.Notes, "no endpoint takes callbacks for "+a.Name+": it can send and never hears")
		}
	}
	for i, a := range cfg.Applications {
		sum := applicationSummary{Name: a.Name, Builtin: a.Builtin, Accounts: a.Accounts, Tries: a.Tries, Replies: a.Replies}
		if a.URL != "" {
			sum.URL = bridgeHost(a.URL)
		}
		for _, k := range apps[i].Kinds {
			sum.Kinds = append(sum.Kinds, string(k))
		}
		if len(sum.Kinds) == 0 {
			sum.Kinds = []string{string(gateway.KindMessage)}
		}
		s.Applications = append(s.Applications, sum)
	}
	return s
}

func webhookPath(platform, endpoint string) string { return "/webhooks/" + platform + "/" + endpoint }

func (s configSummary) write(w io.Writer) {
	allowed := strings.Join(s.Tokens, ", ")
	if allowed == "" {
		allowed = "one is made at start, in the store's folder"
	}
	fields(w, "file", s.File, "webhooks", s.Listen, "admin", s.Admin, "tokens", allowed, "store", s.Store, "nats", s.NATS)
	rows := make([][]string, 0, len(s.Endpoints))
	for _, e := range s.Endpoints {
		keys := "current"
		if e.Previous {
			keys = "current and previous"
		}
		rows = append(rows, []string{e.Name, e.Platform, e.Path, keys})
	}
	section(w, "no endpoints", []string{"ENDPOINT", "PLATFORM", "PATH", "CREDENTIALS"}, rows)
	rows = rows[:0]
	for _, a := range s.Accounts {
		rows = append(rows, []string{a.Name, a.Platform, orDash(a.PlatformID), a.APIBase})
	}
	section(w, "no accounts", []string{"ACCOUNT", "PLATFORM", "PLATFORM ID", "API"}, rows)
	rows = rows[:0]
	for _, a := range s.Applications {
		accounts := strings.Join(a.Accounts, ",")
		if accounts == "" {
			accounts = "every"
		}
		who := "workers by NATS"
		if a.Builtin != "" {
			who = "built in: " + a.Builtin
		}
		if a.URL != "" {
			who = a.URL
		}
		if !a.Replies {
			who += ", observer"
		}
		rows = append(rows, []string{a.Name, accounts, strings.Join(a.Kinds, ","), amount(a.Tries, "try", "tries"), who})
	}
	section(w, "no applications", []string{"APPLICATION", "ACCOUNTS", "KINDS", "TRIES", "BOT"}, rows)
	if len(s.Notes) > 0 {
		_, _ = fmt.Fprintln(w)
	}
	for _, n := range s.Notes {
		_, _ = fmt.Fprintln(w, "note: "+n)
	}
	_, _ = fmt.Fprintln(w, "\nThe configuration is right.")
}

// section is a table with an empty line before it.
func section(w io.Writer, empty string, heading []string, rows [][]string) {
	_, _ = fmt.Fprintln(w)
	table(w, empty, heading, rows)
}
