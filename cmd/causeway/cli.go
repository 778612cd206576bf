package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// Exit codes, the same for every command.
const (
	exitOK          = 0
	exitFailed      = 1 // the thing asked for did not work, or a promise did not hold
	exitUsage       = 2 // configuration or arguments are wrong; nothing was done
	exitNotFound    = 3
	exitUnreachable = 4 // no gateway answers
)

// exitError carries an exit code with a sentence for people.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// stdio is where a command reads and writes; tests hand in buffers.
type stdio struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// cli is what every command gets: the streams and the global flags.
type cli struct {
	stdio
	configPath string
	adminURL   string
	token      string
	asJSON     bool
	// tune lets a test change how serve runs; nil in production.
	tune func(*appOptions)
}

// run executes one command line and returns the exit code. It prints an error
// once, as a sentence.
func run(ctx context.Context, io stdio, args []string) int {
	return (&cli{stdio: io}).run(ctx, args)
}

func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintln(c.err, "causeway: "+err.Error())
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	// Cobra's own errors are about arguments, and do not say what would be right.
	form := cmd.UseLine()
	if !cmd.HasParent() {
		form = cmd.CommandPath() + " COMMAND"
	}
	_, _ = fmt.Fprintf(c.err, "write %s; %s --help says more\n", form, cmd.CommandPath())
	return exitUsage
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "causeway",
		Short:         "WeCom and WhatsApp webhook gateway that keeps every conversation in order",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	f := root.PersistentFlags()
	f.StringVarP(&c.configPath, "config", "c", envOr("CAUSEWAY_CONFIG", "causeway.yaml"), "configuration file")
	f.StringVar(&c.adminURL, "admin", os.Getenv("CAUSEWAY_ADMIN_URL"), "admin URL of the running gateway (default: admin.listen of the configuration)")
	f.StringVar(&c.token, "token", os.Getenv("CAUSEWAY_ADMIN_TOKEN"), "admin token (default: from the configuration or the data folder)")
	f.Lookup("token").DefValue = "" // help must not print it
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	root.AddCommand(c.commands()...)
	for _, cmd := range root.Commands() {
		hold(cmd)
	}
	fitHelp(root)
	return root
}

// hold makes a command that only holds others say so, and refuse a word that names none
// of them.
func hold(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		hold(sub)
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args, cmd.RunE = subcommandNeeded, showUsage
	}
}

func envOr(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}

// print writes v as JSON with --json, else what human writes.
func (c *cli) print(v any, human func(w io.Writer)) error {
	if c.asJSON {
		enc := json.NewEncoder(c.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	s, _ := screenOf(c.out)
	human(s)
	return nil
}

// failed wraps what went wrong while doing the thing asked for.
func failed(err error) error {
	if err == nil {
		return nil
	}
	var e *exitError
	if errors.As(err, &e) {
		return err
	}
	return &exitError{exitFailed, err}
}
