package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/store/files"
	"github.com/causewayhq/causeway/store/sqlite"
)

// lockWait is how long a second process waits for the folder before it gives up.
const lockWait = 30 * time.Second

func (c *cli) serveCommand() *cobra.Command {
	var patience time.Duration
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run the gateway",
		Example: "  causeway serve -c causeway.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			log := newLogger(cfg.Log, zapcore.AddSync(c.err))
			defer func() { _ = log.Sync() }() // a terminal cannot be synced
			o := appOptions{Config: cfg, Log: log, LockWait: patience}
			if c.tune != nil {
				c.tune(&o)
			}
			return c.serve(cmd.Context(), o)
		},
	}
	cmd.Flags().DurationVar(&patience, "lock-wait", lockWait, "how long to wait for another process that holds the store")
	return cmd
}

// serve runs the gateway until ctx ends. What is wrong before it runs is the
// operator's to mend: exit 2.
func (c *cli) serve(ctx context.Context, o appOptions) error {
	a, err := newApp(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was asked to stop while it waited for the folder
		}
		return &exitError{exitUsage, err}
	}
	_, _ = fmt.Fprintf(c.err, "causeway %s: webhooks on %s, admin on %s\n", version(), a.public.Addr(), a.admin.Addr())
	return failed(a.Run(ctx))
}

func (c *cli) loadConfig() (*config.Config, error) {
	cfg, err := config.Load(c.configPath, os.LookupEnv)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, usageError("no configuration at %s; write one with: causeway config init > %s", c.configPath, c.configPath)
		}
		return nil, &exitError{exitUsage, err}
	}
	return cfg, nil
}

func newLogger(l config.Log, w zapcore.WriteSyncer) *zap.Logger {
	level, err := zapcore.ParseLevel(l.Level)
	if err != nil {
		level = zapcore.InfoLevel // validated before
	}
	ec := zap.NewProductionEncoderConfig()
	ec.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	ec.EncodeDuration = zapcore.StringDurationEncoder
	enc := zapcore.NewJSONEncoder(ec)
	if l.Format == "console" {
		enc = zapcore.NewConsoleEncoder(ec)
	}
	return zap.New(zapcore.NewCore(enc, zapcore.Lock(w), level))
}

// workerLog is the log for a worker in this process: the SDK speaks slog, so that a
// bot need not know zap.
func workerLog(log *zap.Logger) *slog.Logger {
	const never = slog.Level(100) // the worker gives the stack where one tells something
	return slog.New(zapslog.NewHandler(log.Core(), zapslog.AddStacktraceAt(never)))
}

// openStore takes the folder's lock and opens both databases.
func (a *app) openStore(ctx context.Context) error {
	scheme, dir, err := store.SplitURL(a.o.Config.Store.URL)
	if err != nil {
		return err
	}
	if scheme != "sqlite" {
		return fmt.Errorf("store %s: this release keeps its store in a folder: sqlite:FOLDER", scheme)
	}
	limits := a.o.Config.Limits.RejectStore
	s, err := sqlite.Open(ctx, dir, sqlite.Options{
		Now: a.o.Now, Log: a.o.Log, LockWait: a.o.LockWait,
		RejectMax: int64(limits.Count), RejectBytes: int64(limits.Size), RejectAge: limits.Age,
	})
	if err != nil {
		return err
	}
	a.archive, a.ledger = s.Archive, s.Ledger
	a.closers = append(a.closers, s.Close)
	if a.files, err = files.Open(filepath.Join(dir, mediaFolder)); err != nil {
		return err
	}
	names := map[string]string{}
	for _, acc := range a.o.Config.Accounts {
		names[acc.Platform+"/"+acc.Name] = acc.Platform + "/" + acc.PlatformID()
	}
	return a.ledger.KeepNames(ctx, names)
}

func newAttemptID() string { return "at_" + ulid.Make().String() }

// unknownWait is how long a conversation waits for evidence about a message
// whose outcome is unknown. WhatsApp sends statuses within seconds, vendors of
// platform unified send back what left in our name, customer service of WeCom tells
// of what failed; other accounts of WeCom never tell.
func (a *app) unknownWait(platform, account string) time.Duration {
	if a.o.UnknownWait != nil {
		return a.o.UnknownWait(platform, account)
	}
	if _, kf := a.dir.client(platform, account).(*wecom.KfClient); kf || platform == "whatsapp" || platform == "unified" {
		return 60 * time.Second
	}
	return 5 * time.Second
}
