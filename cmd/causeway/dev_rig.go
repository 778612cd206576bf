package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/causewayhq/causeway/config"
)

// devApp is the application of the reader's bot.
const devApp = "bot"

// startDev starts a gateway and fake platforms without a bot, in dir or in a new
// temporary folder. A folder that was used before brings its credentials and
// addresses back.
func startDev(ctx context.Context, dir string) (_ *demoRig, err error) {
	r := newRig()
	r.rest = func() string {
		return fmt.Sprintf("applications:\n  - {name: %s, accounts: [%s, %s]}\n", devApp, r.cred.WhatsApp.Account, r.cred.WeCom.Account)
	}
	if dir == "" {
		if r.dir, err = os.MkdirTemp("", "causeway-dev-"); err != nil {
			return nil, err
		}
	} else if err := r.takeFolder(dir); err != nil {
		return nil, err
	}
	defer r.undo(&err)
	if err := r.openLog(); err != nil {
		return nil, err
	}
	if err := r.startPlatforms(); err != nil { //nolint:contextcheck // they listen until Close
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sceneLimit, errSceneLimit)
	defer cancel()
	return r, r.startGateway(ctx)
}

// takeFolder uses a folder that stays.
func (r *demoRig) takeFolder(dir string) (err error) {
	r.kept = true
	if r.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	cfg, err := config.Load(r.configPath(), func(string) (string, bool) { return "", false })
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return &exitError{exitUsage, err}
	}
	r.cred.of(cfg)
	r.listen, r.admin = cfg.Listen, cfg.Admin.Listen
	if cfg.NATS.Embedded != nil {
		r.broker = cfg.NATS.Embedded.Listen
	}
	return nil
}
