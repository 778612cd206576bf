package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// picture is a message with a file to be fetched.
func (w *world) picture(id, who string, low bool) gateway.ItemRow {
	it := w.message(id, who)
	it.Event.Content = []byte(`{"type":"image","id":"wamid.` + id + `","media":{"id":"m` + id + `","mime":"image/jpeg","url":"https://old","state":"pending"},"raw":{}}`)
	it.Fetch = &gateway.Fetch{Low: low, Until: w.now.Add(7 * 24 * time.Hour)}
	return it
}

func (w *world) due(account string, limit int) (events []string) {
	w.Helper()
	rows, err := w.l.DueMedia(w.ctx, account, w.now, limit)
	w.must(err)
	for i := range rows {
		events = append(events, rows[i].Event)
	}
	return events
}

func (w *world) mediaOf(event string) gateway.MediaRow {
	w.Helper()
	rows, err := w.l.Media(w.ctx, store.MediaQuery{Event: event})
	w.must(err)
	if len(rows) != 1 {
		w.Fatalf("%d files of %s", len(rows), event)
	}
	return rows[0]
}

// Files are queued with their event, once, low ones behind the others.
func mediaQueue(w *world) {
	if accounts, next, err := w.l.MediaAccounts(w.ctx, w.now); err != nil || len(accounts) != 0 || !next.IsZero() {
		w.Errorf("an empty queue: %v %v %v", accounts, next, err)
	}
	r := w.relay(w.picture("old", "1", true), w.picture("a", "1", false), w.message("plain", "1"), w.picture("b", "2", false))
	w.same("queued", r.Media, 3)
	w.same("a duplicate queues nothing", w.relay(w.picture("a", "1", false)).Media, 0)
	run := gateway.ReplayRun{ID: "run_1", At: w.now}
	_, err := w.l.StartRun(w.ctx, run)
	w.must(err)
	w.same("a replay queues nothing", w.batch(&gateway.RelayBatch{Run: run.ID,
		Payloads: []gateway.RelayedPayload{w.payload(w.picture("a", "1", false))}}).Media, 0)
	w.pos-- // the replay was none of the archive
	w.same("due", w.due("shop", 10), []string{"ev_a", "ev_b", "ev_old"})
	w.same("due, a few", w.due("shop", 1), []string{"ev_a"})
	w.same("due of another", w.due("other", 10), []string(nil))
	m := w.mediaOf("ev_a")
	w.same("message", m.Message, "wamid.a")
	w.same("media", m.Media, gateway.Media{ID: "ma", MIME: "image/jpeg", URL: "https://old", State: gateway.MediaPending})
	accounts, _, err := w.l.MediaAccounts(w.ctx, w.now)
	w.must(err)
	w.same("accounts", accounts, []string{"shop"})

	for _, id := range []string{"ev_a", "ev_b", "ev_old"} {
		w.must(w.l.RetryMedia(w.ctx, w.mediaOf(id).N, 2, w.now.Add(time.Minute)))
	}
	accounts, next, err := w.l.MediaAccounts(w.ctx, w.now)
	w.must(err)
	w.same("accounts while all wait", accounts, []string(nil))
	w.same("next", next, w.now.Add(time.Minute).UTC())
	w.later(time.Minute)
	w.same("due again", w.due("shop", 10), []string{"ev_a", "ev_b", "ev_old"})
	w.same("tries", w.mediaOf("ev_a").Tries, 2)
	sums := w.balanced()
	w.same("pending", sums.Media.Pending, int64(3))
}

// A file ends once: its notice is an event of the conversation with the next
// seq, wanted by whom it may concern.
func mediaEnds(w *world) {
	r := w.relay(w.picture("a", "1", false), w.message("b", "1"))
	conv := r.Pending[0].Conv
	file := strings.Repeat("ab", 32)
	end := gateway.MediaEnd{N: r.Pending[0].N, At: w.later(time.Second), State: gateway.MediaReady, File: file, Size: 9, MIME: "image/png", Filename: "plan.png", Wanted: []string{"bot"}}
	res, err := w.l.EndMedia(w.ctx, &end)
	w.must(err)
	if len(res.Pending) != 1 || res.Events != 1 {
		w.Fatalf("ended: %+v", res)
	}
	p := res.Pending[0]
	w.withRow(&p)
	w.same("seq", []int64{p.Seq, p.Row.Seq}, []int64{3, 3})
	w.same("kind and conversation", []string{string(p.Row.Kind), p.Conv, p.Row.Payload}, []string{"notice", conv, r.Pending[0].Row.Payload})
	var c gateway.Content
	w.must(json.Unmarshal(p.Row.Content, &c))
	w.same("content", c, gateway.Content{Type: "media", ID: "wamid.a", Media: &gateway.Media{ID: "ma", MIME: "image/png", Filename: "plan.png",
		State: gateway.MediaReady, File: file, Size: 9, Event: "ev_a"}})
	again, err := w.l.EndMedia(w.ctx, &end)
	w.must(err)
	w.same("ended twice", again, gateway.RelayResult{})
	w.same("nothing is due", w.due("shop", 10), []string(nil))
	w.same("state and name", []string{string(w.mediaOf("ev_a").Media.State), w.mediaOf("ev_a").Media.Filename}, []string{"ready", "plan.png"})
	f, err := w.l.File(w.ctx, file)
	w.must(err)
	w.same("file", f, gateway.File{File: file, Size: 9, MIME: "image/png", At: end.At.UTC()})
	if _, err := w.l.File(w.ctx, strings.Repeat("00", 32)); !errors.Is(err, gateway.ErrNotFound) {
		w.Errorf("an unknown file: %v", err)
	}
	list, err := w.l.Unpublished(w.ctx, 10)
	w.must(err)
	w.same("the notice is published", list[len(list)-1].ID, p.Event)
	next := w.relay(w.message("c", "1"))
	w.same("the next event goes on behind it", next.Pending[0].Seq, int64(4))
	sums := w.balanced()
	w.same("media", []int64{sums.Media.Wanted, sums.Media.Ready, sums.Media.Unavailable, sums.Media.Pending}, []int64{1, 1, 0, 0})
	w.same("the notice is no item", sums.Items.Events, int64(3))
	w.same("wanted", sums.Apps["bot"].Wanted, int64(4))
}

// The notice of an observed event has no seq and waits for nobody; a file that
// cannot be had says why.
func mediaObserved(w *world) {
	it := w.picture("h", "1", true)
	it.Event.Content = []byte(`{"type":"image","observed":"history","media":{"id":"m"}}`)
	n := w.relay(it).Pending[0].N
	res, err := w.l.EndMedia(w.ctx, &gateway.MediaEnd{N: n, At: w.now, State: gateway.MediaUnavailable, Reason: gateway.MediaGone, Wanted: []string{"bot"}})
	w.must(err)
	w.same("pending", len(res.Pending), 0)
	m := w.mediaOf("ev_h")
	w.same("state", []string{string(m.Media.State), m.Media.Reason}, []string{"unavailable", "gone"})
	w.same("seq goes on without it", w.relay(w.message("x", "1")).Pending[0].Seq, int64(2))
	sums := w.balanced()
	w.same("unavailable", sums.Media.Unavailable, int64(1))
}

// Files of many events and of none are known once; ids of uploads end.
func mediaFiles(w *world) {
	file := strings.Repeat("cd", 32)
	w.must(w.l.AddFile(w.ctx, gateway.File{File: file, Size: 3, MIME: "text/plain", At: w.now}))
	w.must(w.l.AddFile(w.ctx, gateway.File{File: file, Size: 3, MIME: "text/html", At: w.later(time.Hour)}))
	f, err := w.l.File(w.ctx, file)
	w.must(err)
	w.same("the first type stays", f.MIME, "text/plain")

	u := store.Upload{Account: "shop", File: file, MIME: "text/plain"}
	id := func() string {
		w.Helper()
		id, err := w.l.Uploaded(w.ctx, u, w.now)
		w.must(err)
		return id
	}
	w.same("never uploaded", id(), "")
	w.must(w.l.SetUploaded(w.ctx, u, "1", w.now.Add(time.Hour)))
	w.same("uploaded", id(), "1")
	w.must(w.l.SetUploaded(w.ctx, u, "2", w.now.Add(time.Hour)))
	w.same("uploaded again", id(), "2")
	w.later(time.Hour)
	w.same("its time is over", id(), "")
	w.must(w.l.SetUploaded(w.ctx, u, "3", w.now.Add(time.Hour)))
	w.must(w.l.ForgetUploaded(w.ctx, u))
	w.same("forgotten", id(), "")
}
