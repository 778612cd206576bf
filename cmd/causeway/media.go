package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/media"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/unified"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/store/files"
)

// mediaFolder is where files are, in the store's folder.
const mediaFolder = "media"

// addMedia makes the client for the files of an account. The addresses it may
// call are the platform's and the one in the configuration.
func (d *directory) addMedia(acc *config.Account, m config.Media, out *egress.Client, now func() time.Time) error {
	base, err := url.Parse(acc.APIBase)
	if err != nil {
		return errors.New("api_base is not a URL") // its own words hold the URL
	}
	o := egress.FetchOptions{Timeout: m.Timeout, Idle: m.IdleTimeout, Proxy: acc.ProxyURL()}
	if acc.Platform == "unified" {
		if len(acc.MediaHosts) > 0 { // else nobody says where a file may lie
			o.Route = unified.MediaRoute(acc.APIBase, acc.MediaHosts)
			if h := acc.MediaHeader; h != nil {
				o.Token, o.TokenHeader, o.TokenHosts = h.Value.Reveal(), h.Name, unified.MediaTokenHosts(o.Route)
			}
			d.media["unified/"+acc.Name] = unified.NewMedia(egress.NewFetcher(o), o.Token != "", now)
		}
		return nil
	}
	if acc.Platform == "wecom" && acc.Kind == "aibot" {
		o.Route = egress.Route{Hosts: wecom.BotMediaHosts(), Base: base}
		d.media["wecom/"+acc.Name], err = wecom.NewBotMedia(d.botRing, egress.NewFetcher(o))
		return err
	}
	if acc.Platform == "wecom" {
		// Every kind of account whose client has an access token.
		if c, ok := d.clients["wecom/"+acc.Name].(interface {
			Media(*egress.Fetcher) *wecom.MediaClient
		}); ok {
			o.Route, o.IsFile = egress.Route{Hosts: wecom.MediaHosts(), Base: base}, wecom.IsMedia
			d.media["wecom/"+acc.Name] = c.Media(egress.NewFetcher(o))
		}
		return nil
	}
	o.Route, o.Token, o.TokenHosts = egress.Route{Hosts: whatsapp.MediaHosts(), Base: base}, acc.AccessToken.Reveal(), whatsapp.MediaTokenHosts()
	fetch := egress.NewFetcher(o)
	client := whatsapp.NewMediaClient(whatsapp.ClientConfig{
		APIBase: acc.APIBase, PhoneNumberID: acc.PhoneNumberID, AccessToken: acc.AccessToken.Reveal(),
	}, fetch, out, now)
	d.media[acc.Platform+"/"+acc.Name], d.targets[acc.Name] = client, client
	return nil
}

// lateUploads gives the clients, which are made first, the uploader, which needs
// the store. Before that, as in commands that send nothing, it is unavailable.
type lateUploads struct {
	to atomic.Pointer[media.Uploader]
}

// Upload is for the platforms' Uploader.
func (l *lateUploads) Upload(ctx context.Context, account, file, mime string) (string, error) {
	u := l.to.Load()
	if u == nil {
		return "", gateway.ErrUnavailable
	}
	return u.Upload(ctx, account, file, mime)
}

// Forget is for the platforms' Uploader.
func (l *lateUploads) Forget(ctx context.Context, account, file, mime string) {
	if u := l.to.Load(); u != nil {
		u.Forget(ctx, account, file, mime)
	}
}

// wireMedia connects the stage that fetches and uploads.
func (a *app) wireMedia() {
	o, m := a.o, a.o.Config.Media
	a.fetcher = media.New(media.Options{
		Ledger: a.ledger, Files: drafts{a.files}, Source: a.dir.source, Applications: a.dir.Applications, Room: a.mediaRoom,
		Ended: a.relayed, MaxSize: int64(m.MaxSize), Parallel: m.Parallel, PerAccount: m.PerAccount,
		Boundary: o.Boundary, Now: o.Now, Log: o.Log,
	})
	a.uploader = media.NewUploader(media.UploadOptions{
		Uploads: uploads{a.ledger}, Open: openFile(a.files), Target: a.dir.target, Timeout: m.Timeout, Now: o.Now, Log: o.Log,
	})
	a.dir.uploads.to.Store(a.uploader)
	open := openFile(a.files)
	a.dir.files.open.Store(&open)
}

// mediaLife is how long an account's media ids live; 0 where nothing is fetched.
func (a *app) mediaLife(platform, account string) time.Duration {
	switch {
	case !a.o.Config.Media.Fetch:
	case platform == "unified" && a.dir.source(platform, account) != nil:
		return unified.MediaLife
	case platform == "whatsapp":
		return whatsapp.MediaLife
	case platform == "wecom":
		return wecom.MediaLife
	}
	return 0
}

// mediaOf tells a replay what became of an event's file.
func (a *app) mediaOf(ctx context.Context, event string) (*gateway.Media, error) {
	rows, err := a.ledger.Media(ctx, store.MediaQuery{Event: event})
	if err != nil || len(rows) == 0 || rows[0].Media.State == gateway.MediaPending {
		return nil, err
	}
	m := rows[0].Media
	m.URL = "" // dead long since
	return &m, nil
}

// mediaRoom says whether bytes may be written as files. They stop before
// publishing does (at the reserve) and long before archiving does.
func (a *app) mediaRoom(bytes int64) bool {
	free, err := freeBytes(a.o.Config.Store.Dir())
	reserve := int64(a.o.Config.Store.Reserve)
	return err != nil || free-bytes >= reserve+reserve/4
}

// source is for the fetcher; nil where an account has none.
func (d *directory) source(platform, account string) media.Source {
	return d.media[platform+"/"+account]
}

// target is for the uploader; accounts have one name space over all platforms.
func (d *directory) target(account string) media.Target { return d.targets[account] }

// drafts are the store's files in the stage's words.
type drafts struct{ *files.Store }

// Create is for media.Files.
func (d drafts) Create() (media.Draft, error) { return d.Store.Create() }

// openFile is for the uploader.
func openFile(s *files.Store) func(string) (io.ReadCloser, int64, error) {
	return func(file string) (io.ReadCloser, int64, error) { return s.Open(file) }
}

// uploads is the ledger in the stage's words.
type uploads struct{ ledger store.MediaLedger }

// Uploaded is for media.Uploads.
func (u uploads) Uploaded(ctx context.Context, account, file, mime string, now time.Time) (string, error) {
	return u.ledger.Uploaded(ctx, store.Upload{Account: account, File: file, MIME: mime}, now)
}

// SetUploaded is for media.Uploads.
func (u uploads) SetUploaded(ctx context.Context, account, file, mime, id string, until time.Time) error {
	return u.ledger.SetUploaded(ctx, store.Upload{Account: account, File: file, MIME: mime}, id, until)
}

// ForgetUploaded is for media.Uploads.
func (u uploads) ForgetUploaded(ctx context.Context, account, file, mime string) error {
	return u.ledger.ForgetUploaded(ctx, store.Upload{Account: account, File: file, MIME: mime})
}

// checkMedia is doctor's look at files.
func (a *app) checkMedia(ctx context.Context, d *diagnosis) error {
	for account, until := range a.fetcher.Held() {
		d.add("warning", "the platform hands out no files of this account: its token, a permission, or a throttle", account, 0, time.Time{},
			"next try at "+until.UTC().Format(time.RFC3339)+"; causeway doctor account "+account+"; files are lost some days after they came (WhatsApp 7, WeCom 3)")
	}
	if a.fetcher.WaitsForRoom() {
		d.add("error", "files of customers are not fetched: too little disk space is free", a.o.Config.Store.Dir(), 0, time.Time{},
			"free disk space; files are lost some days after they came (WhatsApp 7, WeCom 3)")
	}
	waiting, err := a.ledger.Media(ctx, store.MediaQuery{State: gateway.MediaPending, Limit: 1000})
	if err != nil {
		return err
	}
	var old int64
	var since time.Time
	for i := range waiting {
		if t := waiting[i].ReceivedAt; d.now.Sub(t) > 10*time.Minute && !waiting[i].Low {
			if old++; since.IsZero() || t.Before(since) {
				since = t
			}
		}
	}
	if old > 0 {
		d.add("warning", "files of customers wait to be fetched", "media", old, since, "causeway media ls --state pending; see the log for media.retried")
	}
	return nil
}
