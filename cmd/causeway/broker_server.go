package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
	"github.com/causewayhq/causeway/gateway/stream/embedded"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/admin"
)

// connect starts the embedded server and connects, or connects to the servers
// outside. It keeps what is there already.
func (b *broker) connect() error {
	cfg := &b.a.o.Config.NATS
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil && cfg.Embedded != nil {
		users, err := b.users()
		if err != nil {
			return err
		}
		tls, err := b.tls()
		if err != nil {
			return err
		}
		b.server, err = embedded.Start(embedded.Options{
			Dir: cfg.Embedded.Dir, Listen: cfg.Embedded.Listen, Users: users, TLS: tls,
			MaxStorage: b.a.o.MaxStorage, Log: b.a.o.Log, Now: b.a.o.Now,
		})
		if errors.Is(err, syscall.EADDRINUSE) { // in the words of doctor
			what, name, do := portTrouble("nats.embedded.listen", cfg.Embedded.Listen, err)
			return fmt.Errorf("%s: %s; %s: %w", what, name, do, err)
		}
		if err != nil {
			return err
		}
	}
	if b.conn != nil {
		return nil
	}
	var err error
	if b.server != nil {
		b.conn, err = stream.Dial("", b.server.ConnectOptions()...)
		return err
	}
	b.conn, err = stream.Outside{
		URL: cfg.URL, CredsFile: cfg.CredsFile, NkeyFile: cfg.NkeyFile, User: cfg.User, Password: cfg.Password.Reveal(),
		CA: cfg.CA, Cert: cfg.Cert, Key: cfg.Key,
	}.Dial()
	return err
}

// users are who may connect to the embedded server. Without any in the configuration
// they are made: one for each application, which may work for no other, and one that may
// work for all of them, look on, and send from every account. An application of the
// latter's name keeps its own.
func (b *broker) users() ([]embedded.User, error) {
	cfg := b.a.o.Config
	if len(cfg.NATS.Embedded.Users) > 0 {
		users := make([]embedded.User, 0, len(cfg.NATS.Embedded.Users))
		for _, u := range cfg.NATS.Embedded.Users {
			users = append(users, embedded.User{Name: u.Name, Password: u.Password.Reveal(), Apps: u.Apps, Observe: u.Observe, Send: u.Send})
		}
		return users, nil
	}
	all := embedded.User{Name: defaultWorker, Observe: true, Send: senders(cfg)}
	var users []embedded.User
	for _, app := range b.a.dir.apps {
		users = append(users, embedded.User{Name: app.Name, Apps: []string{app.Name}})
		all.Apps = append(all.Apps, app.Name)
	}
	if !slices.Contains(all.Apps, all.Name) {
		users = append(users, all)
	}
	for i := range users {
		var err error
		if users[i].Password, err = natsPassword(cfg.Store.Dir(), users[i].Name); err != nil {
			return nil, err
		}
	}
	return users, nil
}

// tls is what workers meet at the embedded server.
func (b *broker) tls() (*tls.Config, error) {
	cfg := b.a.o.Config.NATS.Embedded.TLS
	if cfg == nil {
		return nil, nil //nolint:nilnil // none is wanted
	}
	cert, err := newCertificate(cfg.Cert, cfg.Key, b.a.o.Now, b.a.o.Log)
	if err != nil {
		return nil, fmt.Errorf("nats.embedded.tls: %w", err)
	}
	return &tls.Config{GetCertificate: cert.get, MinVersion: tls.VersionTLS12}, nil
}

// senders are the names from which messages can be asked for.
func senders(cfg *config.Config) (names []string) {
	for i := range cfg.Accounts {
		names = append(names, cfg.Accounts[i].Name)
	}
	for i := range cfg.Pools {
		names = append(names, admin.PoolPrefix+cfg.Pools[i].Name)
	}
	return names
}

// watch keeps the embedded server alive and says how NATS is.
func (b *broker) watch(ctx context.Context) error {
	ended := make(chan error, 1)
	if b.server != nil {
		go func() { ended <- b.server.Watch(ctx) }()
	} else {
		ended <- nil
	}
	for wait(ctx, time.Second) {
		h := b.streams.Health()
		switch {
		case h.OtherLife != nil:
			b.setState("other life", h.OtherLife.Error())
		case !h.Connected:
			b.setState("away", "not connected")
		case !h.OK():
			b.setState("away", h.Last)
		default:
			b.setState("ok", "")
		}
	}
	return errors.Join(ctx.Err(), <-ended)
}

// stop ends connection and server after the stages have ended.
func (b *broker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.streams != nil {
		b.streams.Close()
	}
	if b.conn != nil {
		b.conn.Close()
	}
	if b.server != nil {
		if err := b.server.Close(); err != nil {
			b.a.o.Log.Error("nats.close_failed", zap.Error(err))
		}
	}
}

// runEcho is the built-in bot: it repeats what it is told. It is an ordinary
// worker, so that trying the gateway tries all of it.
func (b *broker) runEcho(ctx context.Context, app gateway.Application) error {
	w, err := worker.New(worker.Options{Conn: b.connection(), App: app.Name, Log: workerLog(b.a.o.Log), Build: "builtin", Boundary: b.a.o.Boundary})
	if err != nil {
		return err
	}
	return w.Run(ctx, func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		text := ev.AllText()
		if text == "" {
			text = "[" + ev.Type + "]"
		}
		return worker.Text(text), nil
	})
}

// room says whether the store's file system has more than the reserve left.
// Below it nothing is published, so that what room there is goes to callbacks.
type room struct{ low atomic.Bool }

func (r *room) check(dir string, reserve int64) {
	free, err := freeBytes(dir)
	r.low.Store(err == nil && free < reserve)
}

func (r *room) err() error {
	if r.low.Load() {
		return fmt.Errorf("free disk space is below store.reserve: %w", gateway.ErrUnavailable)
	}
	return nil
}

// maxContent is how long the content of an event may be: what the broker takes,
// less the event's envelope and headers; 0 while no broker was reached. Small
// brokers give half.
func (b *broker) maxContent() int {
	const envelope = 8 << 10 // names of 40 characters, ids, times, 14 headers: below 2 KiB
	nc := b.connection()
	if nc == nil {
		return 0
	}
	most := int(nc.MaxPayload())
	return max(most-envelope, most/2)
}
