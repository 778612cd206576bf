package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/admin"
)

// localDoctor looks at this machine while no gateway answers: can one start
// here, and if not, what is in the way. It changes nothing but a file that it
// makes and removes in the store's folder. It is never OK: no gateway answers.
func localDoctor(ctx context.Context, c *cli) admin.Report {
	var l localReport
	what, do := "no gateway answers", "causeway serve"
	if t, err := c.adminTarget(); err == nil {
		l.add("error", what, t.base.Redacted(), do)
	} else {
		l.add("error", what, "", do)
	}
	cfg, err := c.readConfig()
	if err != nil {
		l.configuration(err)
		l.add("info", "the accounts' credentials were not tried", "", "")
		if cfg, err = c.readClientConfig(); err == nil {
			cfg.NATS.Embedded = nil // not read
		}
	}
	if err == nil {
		l.store(cfg)
		l.ports(cfg)
		if t, err := loadTLS(cfg.TLS, time.Now, zap.NewNop()); err != nil {
			l.add("error", err.Error(), "", "let the gateway's user read the files of tls; are they PEM, and do they belong together?")
		} else {
			t.check(time.Now(), l.add)
		}
		l.accounts(ctx, cfg)
		l.bridges(ctx, cfg)
	}
	return admin.Report{OK: false, Findings: l.findings}
}

// accounts tries the credentials with clients of its own: there is no gateway to
// ask, and a token that WeCom gave to one within its life is given again.
func (l *localReport) accounts(ctx context.Context, cfg *config.Config) {
	dir, err := newDirectory(cfg, time.Now)
	if err == nil {
		var found []admin.Finding
		found, err = newCredentials(cfg.Accounts, dir, time.Now).findings(ctx)
		l.findings = append(l.findings, found...)
	}
	if err != nil {
		l.add("warning", "the accounts' credentials were not tried: "+err.Error(), "", "")
	}
}

// bridges says of every application behind a URL whether it is reached from here.
func (l *localReport) bridges(ctx context.Context, cfg *config.Config) {
	reached := reachBridges(ctx, cfg)
	for i := range cfg.Applications {
		switch c := &cfg.Applications[i]; {
		case c.URL == "":
		case reached[c.Name] != nil:
			l.add("error", "the application's URL is not reached: "+reached[c.Name].Error(), c.Name, "is "+bridgeHost(c.URL)+" right, and running?")
		default:
			l.add("info", "the application's URL is reached", c.Name, "")
		}
	}
}

type localReport struct{ findings []admin.Finding }

func (l *localReport) add(level, what, name, do string) {
	l.findings = append(l.findings, admin.Finding{Level: level, What: what, Name: name, Do: do})
}

// configuration makes one finding of each mistake.
func (l *localReport) configuration(err error) {
	const what, mend = "the configuration is not right", "mend the file, or set the variables as the gateway has them; `causeway config check` reads it again"
	var list *config.Errors
	if !errors.As(err, &list) {
		l.add("error", "the configuration cannot be read", err.Error(), "name another file with --config, or mend this one")
		return
	}
	for _, e := range list.List {
		one := config.Errors{File: list.File, List: []config.FieldError{e}}
		l.add("error", what, one.Error(), mend)
	}
}

// ports tries each address that serve would listen on.
func (l *localReport) ports(cfg *config.Config) {
	l.port("listen", cfg.Listen)
	l.port("admin.listen", cfg.Admin.Listen)
	if e := cfg.NATS.Embedded; e != nil && e.Listen != "" {
		l.port("nats.embedded.listen", e.Listen)
	}
}

func (l *localReport) port(field, address string) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		what, name, do := portTrouble(field, address, err)
		l.add("error", what, name, do)
		return
	}
	_ = listener.Close()
	l.add("info", "free", field+" "+address, "")
}

// store looks at the folder: is it there, writable, roomy, and held by whom.
func (l *localReport) store(cfg *config.Config) {
	dir := cfg.Store.Dir()
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.missingStore(dir)
		return
	case err != nil:
		l.add("error", "the store's folder cannot be read", dir, "let the gateway's user read and write it")
		return
	case !info.IsDir():
		l.add("error", "the store must be a folder", dir, "name another folder in store, or move that file away")
		return
	}
	if f, err := os.CreateTemp(dir, ".doctor-*"); err != nil {
		l.add("error", "the store's folder cannot be written", dir, "let the gateway's user write it; is the disk full or read-only?")
	} else {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	l.room(dir, int64(cfg.Store.Reserve))
	l.lock(dir)
}

// missingStore: the first start makes the folder, if it may.
func (l *localReport) missingStore(dir string) {
	parent := filepath.Dir(dir)
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		l.add("warning", "the store's folder is not there, nor the one above it", dir, "is this the right working directory and configuration?")
		return
	}
	l.add("info", "the store's folder is not there yet", dir, "the first `causeway serve` makes it; else check the working directory")
}

// tightRoom is the free space below which archiving itself is about to end.
const tightRoom = 64 << 20

func (l *localReport) room(dir string, reserve int64) {
	free, err := freeBytes(dir)
	if err != nil {
		return // said already: the folder cannot be read
	}
	name := fmt.Sprintf("%s has %s", dir, humanize.IBytes(uint64(max(free, 0))))
	switch {
	case free < tightRoom:
		l.add("error", "hardly any space is left", name, "make room; callbacks are answered 503 when it is gone")
	case free < reserve:
		l.add("warning", "less space is free than store.reserve", fmt.Sprintf("%s of %s", name, humanize.IBytes(uint64(reserve))),
			"make room; until then callbacks are archived and nothing is published")
	default:
		l.add("info", "free space", name, "")
	}
}

// lock says whether a process holds the folder, from the lock that store/sqlite
// takes: causeway.lock, which names its holder.
func (l *localReport) lock(dir string) {
	path := filepath.Join(dir, "causeway.lock")
	held, err := lockHeld(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || (err == nil && !held):
		l.add("info", "nothing holds the store", dir, "")
		return
	case err != nil:
		l.add("warning", "it cannot be seen whether the store is held", path, "run this as the gateway's user")
		return
	}
	f := admin.Finding{
		Level: "error", What: "the store is held, but its holder does not answer here", Name: "by a process that its lock file does not name",
		Do: "if that is the gateway: name its address with --admin; else stop it",
	}
	var holder struct {
		PID   int       `json:"pid"`
		Host  string    `json:"host"`
		Since time.Time `json:"since"`
	}
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &holder) == nil && holder.PID > 0 { //nolint:gosec // the store's own folder
		f.Name = fmt.Sprintf("by process %d on %s", holder.PID, printable(holder.Host, 60))
		if comm := processName(holder.PID); comm != "" {
			f.Name += " (" + comm + ")"
		}
		if !holder.Since.IsZero() {
			f.Since = &holder.Since
		}
	}
	l.findings = append(l.findings, f)
}

// lockHeld tries a shared flock(2), which fails beside an exclusive one, and
// lets go at once: a gateway that starts in this moment tries again.
func lockHeld(path string) (bool, error) {
	f, err := os.Open(path) //nolint:gosec // the store's own folder
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) //nolint:gosec // a descriptor fits an int
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
