package main

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/store"
)

// newBotEndpoint makes the callback URL of a robot.
func (d *directory) newBotEndpoint(e *config.Endpoint, accounts []config.Account, now func() time.Time) (handlers.Endpoint, error) {
	welcome, feedback := map[string]string{}, map[string]bool{}
	for i := range accounts {
		if a := &accounts[i]; a.Platform == "wecom" && a.Kind == "aibot" {
			welcome[a.PlatformID()], feedback[a.PlatformID()] = a.Welcome, a.Feedback
		}
	}
	d.botRing = append(d.botRing, wecomRing(e)...)
	return wecom.NewBotEndpoint(wecom.BotConfig{
		Ring: wecomRing(e), Answers: d.answersBot, Welcome: func(accountID string) string { return welcome[accountID] },
		Feedback: func(accountID string) bool { return feedback[accountID] }, Streams: botStreams{d}, Files: d.files, Now: now,
	})
}

// answersBot says whether an application may reply to messages of a robot.
func (d *directory) answersBot(accountID string, chat gateway.ChatKind) bool {
	name, known := d.Account("wecom", accountID)
	return known && len(d.repliers(name, chat)) > 0
}

// repliers are the applications that may reply to messages of a WeCom account.
func (d *directory) repliers(account string, chat gateway.ChatKind) (names []string) {
	for i := range d.apps {
		if a := &d.apps[i]; a.Replies && a.Wants("wecom", account, gateway.KindMessage, chat) {
			names = append(names, a.Name)
		}
	}
	return names
}

// addBot makes an intelligent robot.
func (d *directory) addBot(acc *config.Account, out *egress.Client, now func() time.Time) error {
	client, err := wecom.NewBotClient(wecom.BotClientConfig{APIBase: acc.APIBase, Progress: d.progress, Files: d.files}, out, now)
	if err != nil {
		return err
	}
	d.clients["wecom/"+acc.Name] = client
	return nil
}

// addRobot makes the webhook of a group, which only sends.
func (d *directory) addRobot(acc *config.Account, out, slow *egress.Client, now func() time.Time) {
	client := wecom.NewRobotClient(wecom.RobotConfig{APIBase: acc.APIBase, Key: acc.Key.Reveal(), Uploader: d.uploads, Files: d.files}, out, now)
	d.clients["wecom/"+acc.Name], d.targets[acc.Name] = client, wecom.NewRobotUploads(client, slow)
}

// lateFiles gives clients, which are made first, the store's files. Before that, as
// in commands that send nothing, they are unavailable.
type lateFiles struct {
	open atomic.Pointer[func(string) (io.ReadCloser, int64, error)]
}

// OpenFile is for wecom.Files.
func (l *lateFiles) OpenFile(file string) (io.ReadCloser, int64, error) {
	if open := l.open.Load(); open != nil {
		return (*open)(file)
	}
	return nil, 0, gateway.ErrUnavailable
}

// lateProgress gives clients and endpoints, which are made first, the ledger.
// Before that, as in commands that send nothing, it is unavailable.
type lateProgress struct {
	ledger atomic.Pointer[store.ProgressLedger]
	// moved is told of conversations whose head may have moved, and that there are
	// changes to be published.
	moved func(convs ...string)
	now   func() time.Time
}

func (l *lateProgress) set(to store.ProgressLedger, moved func(convs ...string), now func() time.Time) {
	l.moved, l.now = moved, now
	l.ledger.Store(&to)
}

func (l *lateProgress) get() (store.ProgressLedger, error) {
	if p := l.ledger.Load(); p != nil {
		return *p, nil
	}
	return nil, gateway.ErrUnavailable
}

// Progress is for wecom.BotProgress.
func (l *lateProgress) Progress(ctx context.Context, event string, apps []string) (*gateway.Progress, error) {
	p, err := l.get()
	if err != nil {
		return nil, err
	}
	return p.Progress(ctx, event, apps)
}

// AddProgress is for wecom.BotProgress.
func (l *lateProgress) AddProgress(ctx context.Context, event string, part gateway.ProgressPart, now time.Time) (*gateway.Progress, error) {
	p, err := l.get()
	if err != nil {
		return nil, err
	}
	return p.AddProgress(ctx, event, part, now)
}

// CloseProgress is for wecom.BotProgress.
func (l *lateProgress) CloseProgress(ctx context.Context, event, message string, now time.Time) (*gateway.Progress, error) {
	p, err := l.get()
	if err != nil {
		return nil, err
	}
	return p.CloseProgress(ctx, event, message, now)
}

// FailProgress is for wecom.BotProgress.
func (l *lateProgress) FailProgress(ctx context.Context, event string, f gateway.ProgressFailure, now time.Time) error {
	p, err := l.get()
	if err == nil {
		err = p.FailProgress(ctx, event, f, now)
	}
	if err == nil {
		l.moved()
	}
	return err
}

// botStreams is the ledger as a robot's endpoint asks it.
type botStreams struct{ d *directory }

// Progress is for wecom.BotStreams. A chat that the event is not of is told nothing.
func (b botStreams) Progress(ctx context.Context, event, accountID string, chat gateway.Chat) (*gateway.Progress, error) {
	account, known := b.d.Account("wecom", accountID)
	ledger, err := b.d.progress.get()
	if err != nil || !known {
		return nil, errors.Join(err, gateway.ErrNotFound)
	}
	p, err := ledger.Progress(ctx, event, b.d.repliers(account, chat.Kind))
	if err != nil {
		return nil, err
	}
	if p.Account != account || p.Chat.Kind != chat.Kind || !p.Of(chat.Identities[0]) {
		return nil, gateway.ErrNotFound
	}
	return p, nil
}

// Polled is for wecom.BotStreams.
func (b botStreams) Polled(ctx context.Context, event string, end bool) (*gateway.Progress, error) {
	ledger, err := b.d.progress.get()
	if err != nil {
		return nil, err
	}
	p, woken, err := ledger.PollProgress(ctx, event, end, b.d.progress.now())
	if err == nil {
		b.d.progress.moved(woken...)
	}
	return p, err
}
