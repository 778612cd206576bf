package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/causewayhq/causeway/config"
)

// devApp is the application of the reader's bot.
const devApp = "bot"

// startDev starts a gateway and fake platforms without a bot, in a folder or in a new
// temporary one. A folder that was used before brings its credentials and addresses
// back.
func startDev(ctx context.Context, o devOptions) (_ *demoRig, err error) {
	r := newRig()
	r.rest, r.botURL, r.botSecret = r.devYAML, o.bot, newHookSecret()
	if o.dir == "" {
		if r.dir, err = os.MkdirTemp("", "causeway-dev-"); err != nil {
			return nil, err
		}
	} else if err := r.takeFolder(o.dir); err != nil {
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

// devYAML is the application: workers attach to it, or it is a URL. Other machines
// may be named by http, since everybody here is made up.
func (r *demoRig) devYAML() string {
	more := ""
	if r.botURL != "" {
		more = fmt.Sprintf(", url: %q, secret: %q, insecure: true", r.botURL, r.botSecret)
	}
	return fmt.Sprintf("applications:\n  - {name: %s, accounts: [%s, %s]%s}\n", devApp, r.cred.WhatsApp.Account, r.cred.WeCom.Account, more)
}

// newHookSecret makes a secret as Standard Webhooks writes it.
func newHookSecret() string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(rand.Text() + rand.Text())[:32])
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
	for _, a := range cfg.Applications {
		if a.Secret != "" {
			r.botSecret = a.Secret.Reveal()
		}
	}
	r.listen, r.admin = cfg.Listen, cfg.Admin.Listen
	if cfg.NATS.Embedded != nil {
		r.broker = cfg.NATS.Embedded.Listen
	}
	return nil
}
