package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// Settings of the demo that differ from the defaults, so that it is short. The
// demo says so where it matters.
const (
	demoTries       = 3
	demoDelay       = 200 * time.Millisecond // before the second try; then twice that
	demoCallTimeout = 5 * time.Second
	demoUnknownWait = 20 * time.Second
	demoReserve     = 64 << 20  // bytes of free disk below which nothing is published
	demoStreams     = 256 << 20 // bytes for all streams
)

// Names in the demo's configuration. The bot of the demo is application demo; the
// second number and application are for a worker of the reader's own (--keep).
const (
	demoApp      = "demo"
	demoYours    = "yours"
	demoYoursTel = "300000000000001" // phone number id of the second number
	demoBy       = "demo"            // in the audit
)

// demoRig is a whole gateway with its surroundings in this process: store,
// embedded NATS, fake platforms, in the demo a bot. close ends all of it.
type demoRig struct {
	dir  string
	kept bool // the folder outlives it
	// listen, admin and broker are where it is reached; a free port each unless set.
	listen, admin, broker string
	// rest is what the configuration ends with: more accounts, the applications.
	rest func() string
	// botURL is where a bot of the reader's is, botSecret what signs for it.
	botURL, botSecret string

	cred  sandboxCredentials
	wa    *whatsapptest.Sandbox
	yours *whatsapptest.Sandbox // the second number
	wc    *wecomtest.Sandbox
	app   *app
	api   adminAPI
	bot   *demoBot
	nats  string // URL for workers

	log     *zap.Logger
	logFile *os.File
	opened  []io.Closer
	stopBot context.CancelFunc
	stopApp context.CancelFunc
	bots    errgroup.Group
	apps    errgroup.Group
	// gone is closed when the gateway or the bot ended by itself; why says it.
	gone chan struct{}
	once sync.Once
	why  error
}

// startDemo starts everything in a new folder below parent ("" for the system's)
// and returns when the bot is attached. On an error nothing is left running.
func startDemo(ctx context.Context, parent string) (_ *demoRig, err error) {
	r := newRig()
	r.bot, r.rest = newDemoBot(), r.demoYAML
	if r.dir, err = os.MkdirTemp(parent, "causeway-demo-"); err != nil {
		return nil, err
	}
	defer r.undo(&err)
	if err := r.openLog(); err != nil {
		return nil, err
	}
	if err := r.startPlatforms(); err != nil { //nolint:contextcheck // they listen until Close
		return nil, err
	}
	if err := r.startYours(); err != nil { //nolint:contextcheck // likewise
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sceneLimit, errSceneLimit)
	defer cancel()
	if err := r.startGateway(ctx); err != nil {
		return nil, err
	}
	r.yours.SetCallbackURL(r.webhook("whatsapp", r.cred.WhatsApp.Endpoint))
	return r, r.startBot(ctx)
}

func newRig() *demoRig {
	const free = "127.0.0.1:0"
	return &demoRig{cred: newSandboxCredentials(), listen: free, admin: free, broker: free, gone: make(chan struct{})}
}

// undo ends what was started when the start failed.
func (r *demoRig) undo(err *error) {
	if *err != nil {
		*err = errors.Join(*err, r.close(), r.remove())
	}
}

// openLog opens the file that the gateway logs to.
func (r *demoRig) openLog() (err error) {
	r.logFile, err = os.OpenFile(r.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		r.log = newLogger(config.Log{Level: "warn", Format: "json"}, zapcore.AddSync(r.logFile))
	}
	return err
}

func (r *demoRig) logPath() string    { return filepath.Join(r.dir, "demo.log") }
func (r *demoRig) configPath() string { return filepath.Join(r.dir, "causeway.yaml") }

// startPlatforms starts the fake platforms on free ports.
func (r *demoRig) startPlatforms() (err error) {
	w, c := &r.cred.WhatsApp, &r.cred.WeCom
	if r.wa, err = r.fakeWhatsApp(w.PhoneNumberID); err != nil {
		return err
	}
	if r.wc, err = wecomtest.New(wecomtest.Options{CorpID: c.CorpID, AgentID: c.AgentID, Secret: c.Secret, Token: c.Token,
		EncodingAESKey: c.EncodingAESKey, Kf: c.Kf, GroupKey: c.GroupKey, Log: r.log}); err != nil {
		return err
	}
	r.opened = append(r.opened, r.wc)
	if err := r.wc.Listen(""); err != nil {
		return err
	}
	w.APIBase, c.APIBase = r.wa.URL(), r.wc.URL()
	return nil
}

// startYours starts a second number.
func (r *demoRig) startYours() (err error) {
	r.yours, err = r.fakeWhatsApp(demoYoursTel)
	return err
}

func (r *demoRig) fakeWhatsApp(number string) (*whatsapptest.Sandbox, error) {
	w := &r.cred.WhatsApp
	s, err := whatsapptest.New(whatsapptest.Options{AppSecret: w.AppSecret, AccessToken: w.AccessToken, PhoneNumberID: number, WABAID: w.WABAID,
		DisplayNumber: simulatedNumber, Log: r.log})
	if err != nil {
		return nil, err
	}
	r.opened = append(r.opened, s)
	return s, s.Listen("")
}

// yaml is the configuration, as a reader would write it.
func (r *demoRig) yaml(listen, admin, nats string) string {
	return fmt.Sprintf(`listen: %q
admin: {listen: %q}
store: {url: %q, reserve: %d}
nats: {embedded: {listen: %q}}
`, listen, admin, "sqlite:"+filepath.Join(r.dir, "data"), demoReserve, nats) + r.cred.yaml() + r.rest()
}

func (r *demoRig) demoYAML() string {
	yours := r.cred.WhatsApp
	return fmt.Sprintf(`  - {name: %s, platform: whatsapp, phone_number_id: %q, waba_id: %q,
     access_token: %q, api_base: %q}
applications:
  - {name: %s, accounts: [%s, %s], tries: %d, delays: [%s, %s]}
  - {name: %s, accounts: [%s]}
`, demoYours, demoYoursTel, yours.WABAID, yours.AccessToken, r.yours.URL(),
		demoApp, r.cred.WhatsApp.Account, r.cred.WeCom.Account, demoTries, demoDelay, 2*demoDelay,
		demoYours, demoYours)
}

// startGateway starts store, stages, listeners and NATS, and writes the
// configuration with the ports taken.
func (r *demoRig) startGateway(ctx context.Context) error {
	cfg, err := config.Parse("demo", []byte(r.yaml(r.listen, r.admin, r.broker)), func(string) (string, bool) { return "", false })
	if err != nil {
		return err
	}
	r.app, err = newApp(ctx, appOptions{
		Config: cfg, Log: r.log, Now: time.Now, MaxStorage: demoStreams,
		CallTimeout: demoCallTimeout, UnknownWait: func(string, string) time.Duration { return demoUnknownWait },
	})
	if err != nil {
		return err
	}
	r.api = adminAPI{r.app}
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stopApp = stop
	r.apps.Go(func() error { return r.ended(runCtx, "the gateway", r.app.Run(runCtx)) })
	err = r.until(ctx, "NATS to start", func() (bool, string) {
		s := r.app.broker.State()
		return s.Word == "ok", s.Word
	})
	if err != nil {
		return err
	}
	r.app.broker.mu.Lock()
	r.nats = r.app.broker.server.ClientURL()
	r.app.broker.mu.Unlock()
	r.wa.SetCallbackURL(r.webhook("whatsapp", r.cred.WhatsApp.Endpoint))
	r.wc.SetCallbackURL(r.webhook("wecom", r.cred.WeCom.Endpoint))
	text := r.yaml(r.app.public.Addr().String(), r.app.admin.Addr().String(), r.nats[len("nats://"):])
	return os.WriteFile(r.configPath(), []byte(text), 0o600)
}

// webhook is where the callbacks of an endpoint go.
func (r *demoRig) webhook(platform, endpoint string) string {
	return "http://" + r.app.public.Addr().String() + webhookPath(platform, endpoint)
}

// startBot attaches the bot as any worker is attached: over TCP, with a user and
// a password.
func (r *demoRig) startBot(ctx context.Context) error {
	password, err := natsPassword(r.app.o.Config.Store.Dir(), defaultWorker)
	if err != nil {
		return err
	}
	w, err := worker.New(worker.Options{URL: r.nats, User: defaultWorker, Password: password, App: demoApp,
		Grace: 5 * time.Second, Build: "demo", Log: workerLog(r.log)})
	if err != nil {
		return err
	}
	botCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stopBot = stop
	r.bots.Go(func() error { return r.ended(botCtx, "the bot", w.Run(botCtx, r.bot.handle)) })
	return r.until(ctx, "the bot to attach", func() (bool, string) {
		s, err := r.app.broker.GateState(ctx, demoApp)
		return err == nil && s.Pulls > 0, "no worker waits for events"
	})
}

// ended notes that a part ended by itself, so that nobody waits for it in vain.
func (r *demoRig) ended(ctx context.Context, what string, err error) error {
	if ctx.Err() == nil {
		if err == nil {
			err = errors.New("without an error")
		}
		r.once.Do(func() {
			r.why = fmt.Errorf("%s ended by itself: %w", what, err)
			close(r.gone)
		})
	}
	return err
}

// close ends the bot, then the gateway, then the platforms, and waits for each.
func (r *demoRig) close() error {
	var errs []error
	if r.stopBot != nil {
		r.stopBot()
		errs = append(errs, r.bots.Wait())
	}
	if r.stopApp != nil {
		r.stopApp()
		errs = append(errs, r.apps.Wait())
	}
	for i := len(r.opened) - 1; i >= 0; i-- {
		errs = append(errs, r.opened[i].Close())
	}
	if r.logFile != nil {
		errs = append(errs, r.logFile.Close())
	}
	return errors.Join(errs...)
}

// remove deletes the folder, if it was made for this run.
func (r *demoRig) remove() error {
	if r.kept {
		return nil
	}
	return os.RemoveAll(r.dir)
}

// until waits until something can be observed: it looks every few milliseconds
// and gives up with the scene's context. look says whether it is so, and what it
// saw instead.
func (r *demoRig) until(ctx context.Context, what string, look func() (ok bool, saw string)) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, saw := look()
		if ok {
			return nil
		}
		select {
		case <-r.gone:
			return r.why
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errSceneLimit) {
				return fmt.Errorf("waited %s for %s; at the end: %s", sceneLimit, what, saw)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}
