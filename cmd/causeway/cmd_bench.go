package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// bench is one run of a bench command: where it works and how it starts the
// servers that it measures.
type bench struct {
	c *cli
	// command makes the process of a server; tests hand in their own binary.
	command func(ctx context.Context, args ...string) (*exec.Cmd, error)

	dir        string // under it a folder is made and removed
	check      bool
	cpuProfile string
}

func (c *cli) benchCommand() *cobra.Command {
	b := &bench{c: c, command: selfCommand}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this gateway on this machine",
		Long: "Measure this gateway on this machine. Each bench works in a folder of its own, removed at the end, on the\n" +
			"file system of --dir: put it where the store will be, since most numbers are those of its fsync.",
		Example: "  causeway bench ingest\n  causeway bench dispatch --json --check\n  causeway bench footprint --dir /var/lib/causeway",
	}
	f := cmd.PersistentFlags()
	f.StringVar(&b.dir, "dir", ".", "folder on the file system that is measured")
	f.BoolVar(&b.check, "check", false, "exit 1 when a target is missed")
	f.StringVar(&b.cpuProfile, "cpuprofile", "", "write CPU profiles of what is measured to files that begin with this")
	cmd.AddCommand(b.ingestCommand(), b.dispatchCommand(), b.sendCommand(), b.footprintCommand(), b.scheduleCommand(), b.latencyCommand(), b.neighbourCommand(), b.conversationsCommand(),
		b.floorChildCommand(), b.gatewayChildCommand(), b.workerChildCommand(), b.sandboxChildCommand())
	return cmd
}

// begin makes the folder and measures the machine; end removes the folder.
func (b *bench) begin(name string) (r *benchReport, dir string, end func(), err error) {
	dir, err = os.MkdirTemp(b.dir, "causeway-bench-")
	if err != nil {
		return nil, "", nil, usageError("the folder of --dir cannot be used: %v", err)
	}
	end = func() { _ = os.RemoveAll(dir) } // what stays is in a folder that says whose it is
	if dir, err = filepath.Abs(dir); err != nil {
		end()
		return nil, "", nil, failed(err)
	}
	r = &benchReport{Bench: name, Started: time.Now()}
	if r.Machine, err = newBenchMachine(dir); err != nil {
		end()
		return nil, "", nil, failed(err)
	}
	return r, dir, end, nil
}

// progress tells what is going on, on the error stream, so that output stays
// readable by programs.
func (b *bench) progress(format string, args ...any) {
	_, _ = fmt.Fprintf(b.c.err, format+"\n", args...)
}

// profilePath names the profile of a part; "" when none is wanted.
func (b *bench) profilePath(part string) string {
	if b.cpuProfile == "" {
		return ""
	}
	return b.cpuProfile + "." + part
}

func (b *bench) floorChildCommand() *cobra.Command {
	var cpu string
	cmd := &cobra.Command{
		Use: "child-floor FILE", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return failed(b.c.floorChild(cmd.Context(), args[0], cpu))
		},
	}
	cmd.Flags().StringVar(&cpu, "profile", "", "")
	return cmd
}
