package wecom

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// PullArchive is what the puller writes.
type PullArchive interface {
	Pulled(ctx context.Context, source string, now time.Time) (gateway.Pulled, error)
	AppendPulled(ctx context.Context, at gateway.Pulled, cursor string, page *gateway.Payload) error
}

// PullOptions of a Puller; Clients, Archive, Now and Log are required.
type PullOptions struct {
	Clients []*KfClient
	Archive PullArchive
	// Archived is called after each page; it must be quick. Nil for nobody.
	Archived func()
	// Every is about how often an account is asked without a bell, since bells
	// are lost. 0 means 3 minutes; the wait is that, more or less a quarter.
	Every time.Duration
	// Spacing is the time between calls without a bell's token, for all accounts
	// of a corp together. 0 means 10 s: about ten a minute are answered
	// (a member of WeCom's staff, developers.weixin.qq.com, Oct 2021), and
	// whether that is by corp or by account is not told.
	Spacing time.Duration
	// Boundary is told each step; tests die there. Nil in production.
	Boundary func(step string)
	Now      func() time.Time
	Log      *zap.Logger
}

const (
	pullEvery   = 3 * time.Minute
	pullSpacing = 10 * time.Second
	pullBurst   = 3
	// maxPage is how many messages are asked for, which is WeCom's limit too.
	maxPage = 1000
	// bellLife is how long a bell's token is used: WeCom takes it for ten
	// minutes.
	bellLife = 10*time.Minute - 15*time.Second
	// historyGrace: what was sent within this before we first asked is not
	// history. Clocks differ, and whoever wrote just now waits for an answer.
	historyGrace = time.Minute
)

// Puller fetches what customers write to kf accounts. It runs on the leader only.
//
// Promise: every page is in the archive, byte for byte and in one transaction with
// the cursor behind it, before the next one is asked for. If the process dies
// before that, the same page comes again and its messages are known by their
// msgid; after it, the next page comes. A page that another leader archived
// meanwhile is not archived again (gateway.ErrConflict).
//
// The cursor of an account that is new here begins empty: WeCom gives the messages
// of three days, and those that were sent before we first asked are history,
// recorded and never offered to anybody. A cursor that WeCom refuses begins empty
// again; history stays what it was, and what is known already is dropped.
//
// Owner: each account has one goroutine, started by Run. Failure: an account that
// is refused, throttled or out of reach waits by itself, no other one does; State
// tells. A bell never shortens such a wait.
type Puller struct {
	o     PullOptions
	lanes map[string]*lane // by the account's id
}

// NewPuller makes a puller; it does nothing before Run.
func NewPuller(o PullOptions) *Puller {
	if o.Every <= 0 {
		o.Every = pullEvery
	}
	if o.Spacing <= 0 {
		o.Spacing = pullSpacing
	}
	if o.Archived == nil {
		o.Archived = func() {}
	}
	if o.Boundary == nil {
		o.Boundary = func(string) {}
	}
	p := &Puller{o: o, lanes: map[string]*lane{}}
	corps := map[string]*rate.Limiter{}
	for _, c := range o.Clients {
		corp := c.config.APIBase + " " + c.config.CorpID
		if corps[corp] == nil {
			corps[corp] = rate.NewLimiter(rate.Every(o.Spacing), pullBurst)
		}
		p.lanes[c.AccountID()] = &lane{
			o: &p.o, client: c, slow: corps[corp], limit: maxPage, rung: make(chan struct{}, 1),
			throttled: egress.Pause{First: time.Minute, Max: 15 * time.Minute},
			crowded:   egress.Pause{First: 2 * time.Second, Max: time.Minute},
			refused:   egress.Pause{First: 30 * time.Second, Max: 15 * time.Minute},
			unreached: egress.Pause{First: time.Second, Max: time.Minute},
		}
	}
	return p
}

// Ring says that an account has something. Bells that come together are one; it
// never blocks.
func (p *Puller) Ring(b Bell) {
	if l := p.lanes[b.AccountID]; l != nil {
		l.ring(b)
	}
}

// State tells how each account fares, in the order of the configuration.
func (p *Puller) State() []PullState {
	out := make([]PullState, 0, len(p.o.Clients))
	for _, c := range p.o.Clients {
		out = append(out, p.lanes[c.AccountID()].status())
	}
	return out
}

// Run pulls until ctx ends.
func (p *Puller) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, l := range p.lanes {
		wg.Go(func() { l.run(ctx) })
	}
	wg.Wait()
	<-ctx.Done() // also without any account
	return ctx.Err()
}

// lane is one account.
type lane struct {
	o      *PullOptions
	client *KfClient
	slow   *rate.Limiter // of calls without a token
	limit  int           // messages of a page; of the goroutine of run
	rung   chan struct{} // a bell came

	throttled, crowded, refused, unreached egress.Pause

	mu    sync.Mutex
	bell  Bell // the newest
	state PullState
}

func (l *lane) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := l.round(ctx)
		if pause > 0 { // something is wrong; bells wait too
			l.rest(ctx, pause, nil)
			continue
		}
		every := l.o.Every
		l.rest(ctx, every*3/4+rand.N(every/2+1), l.rung) //nolint:gosec // jitter is no secret
	}
}

// rest waits; a bell ends it early where one is waited for.
func (l *lane) rest(ctx context.Context, d time.Duration, bell <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-bell:
	case <-t.C:
	}
}

// round fetches until nothing is left and returns 0, or how long to leave the
// account alone.
func (l *lane) round(ctx context.Context) time.Duration {
	restarted := false
	for {
		at, err := l.o.Archive.Pulled(ctx, "wecom/"+l.client.AccountID(), l.o.Now())
		if err != nil {
			return l.failed(ctx, fault{Code: "archive", Detail: "the archive cannot be read", kind: unreachedFault})
		}
		token, ok := l.permit(ctx)
		if !ok {
			return time.Millisecond // ctx ended
		}
		body, page, wrong := l.client.sync(ctx, at.Cursor, token, l.limit)
		switch {
		case wrong == nil:
		case wrong.kind == tokenFault && token != "":
			l.forget(token)
			continue
		case wrong.kind == sizeFault && l.limit > 1:
			l.limit /= 2
			continue
		case wrong.kind == cursorFault && !restarted:
			restarted = true
			if err := l.o.Archive.AppendPulled(ctx, at, "", nil); err != nil {
				return l.failed(ctx, fault{Code: "archive", Detail: "the cursor cannot be stored", kind: unreachedFault})
			}
			l.o.Log.Warn("pull.restarted", zap.String("account", l.client.kf.Account), zap.String("code", wrong.Code))
			continue
		default:
			return l.failed(ctx, *wrong)
		}
		l.o.Boundary("pull.fetched")
		more, wrong := l.keep(ctx, at, body, page)
		if wrong != nil {
			return l.failed(ctx, *wrong)
		}
		l.worked()
		if !more {
			return 0
		}
	}
}

// keep archives a page with its cursor and says whether to go on. A page without
// messages is only its cursor; where not even that moved there is nothing to keep,
// and nothing more to ask for either, whatever has_more says.
func (l *lane) keep(ctx context.Context, at gateway.Pulled, body []byte, page *syncPage) (more bool, wrong *fault) {
	next := page.Next
	if next == "" {
		next = at.Cursor
	}
	var p *gateway.Payload
	switch {
	case len(page.List) > 0:
		p = &gateway.Payload{
			Platform: "wecom", Endpoint: PageEndpoint(l.client.kf.Account), ReceivedAt: l.o.Now(),
			RequestLine: "POST /cgi-bin/kf/sync_msg", Body: body,
			Header: http.Header{
				pageAccount: {l.client.AccountID()},
				pageSince:   {at.Since.Add(-historyGrace).UTC().Format(time.RFC3339Nano)},
			},
		}
	case next == at.Cursor:
		return false, nil
	}
	switch err := l.o.Archive.AppendPulled(ctx, at, next, p); {
	case err != nil && ctx.Err() != nil:
		return false, nil
	case err != nil:
		return false, &fault{Code: "archive", Detail: "the page cannot be stored", kind: unreachedFault}
	}
	l.o.Boundary("pull.archived")
	if p != nil {
		l.o.Log.Debug("payload.archived", zap.String("payload", p.ID), zap.Int64("pos", p.Pos), zap.String("platform", p.Platform),
			zap.String("endpoint", p.Endpoint), zap.Int("bytes", len(body)), zap.Int("items", len(page.List)))
		l.count()
		l.o.Archived()
	}
	return page.More != 0 && next != at.Cursor, nil
}

// permit waits until a call may be made and returns the token to make it with: a
// bell's, or "" when it is the turn of a call without one.
func (l *lane) permit(ctx context.Context) (token string, ok bool) {
	for ctx.Err() == nil {
		now := l.o.Now()
		if token := l.token(now); token != "" {
			return token, true
		}
		r := l.slow.ReserveN(now, 1)
		wait := r.DelayFrom(now)
		if wait <= 0 {
			return "", true
		}
		r.CancelAt(now)
		l.rest(ctx, wait, l.rung)
	}
	return "", false
}
