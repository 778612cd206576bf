package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// appFiles takes messages and what becomes of their files.
const appFiles = "  - {name: echo, builtin: echo, kinds: [message, notice]}\n"

// picture lets a customer send a file that Meta has, and returns how it is
// referred to.
func (w *world) picture(from string, body []byte, url bool) whatsapptest.Media {
	w.t.Helper()
	m := w.wa.AddMedia("image/jpeg", body)
	if url {
		m.URL = w.wa.MediaURL(m.ID)
	}
	w.sends(from, m)
	return m
}

func (w *world) sends(from string, m whatsapptest.Media) {
	w.t.Helper()
	_, callback, err := w.wa.Body(whatsapptest.Event{Kind: "image", Customer: whatsapptest.Customer{Phone: from}, Text: "caption", Media: m})
	if err != nil {
		w.t.Fatal(err)
	}
	w.taken(callback)
}

type mediaState struct {
	Event, Conv, State, File, Reason, MIME string
	Size                                   int64
	Tries                                  int
}

func (w *world) media(query string) []mediaState {
	w.t.Helper()
	var out struct{ Media []mediaState }
	if err := w.get("/api/v1/media?limit=1000"+query, &out); err != nil {
		w.t.Fatal(err)
	}
	return out.Media
}

// mediaDone waits until n files have ended.
func (w *world) mediaDone(limit time.Duration, n int) []mediaState {
	w.t.Helper()
	w.until(limit, fmt.Sprintf("%d files have ended", n), func() bool {
		s := w.sums()
		return s.Media.Pending == 0 && s.Media.Wanted == int64(n)
	})
	return w.media("")
}

// A picture comes: the event says pending, a notice with the next seq says ready,
// the bytes can be had; nothing is fetched twice, and a replay says ready.
func TestMediaComes(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appFiles})
	o := w.observe()
	body := bytes.Repeat([]byte("a picture\x00\xff"), 30_000)
	byURL := w.picture(customer(1), body, true)
	w.picture(customer(2), []byte("another"), false)
	list := w.mediaDone(20*time.Second, 2)
	for range 3 { // Meta delivers again
		_, again, err := w.wa.Body(whatsapptest.Event{Kind: "image", Customer: whatsapptest.Customer{Phone: customer(3)}, ID: "wamid.SAME", Media: byURL})
		if err != nil {
			t.Fatal(err)
		}
		w.taken(again)
	}
	w.mediaDone(20*time.Second, 3)
	if calls := w.wa.MediaCalls(); calls["download"] != 3 || calls["resolve"] != 1 {
		t.Errorf("calls %v", calls)
	}
	first := list[1]
	if first.State != "ready" || first.Size != int64(len(body)) || first.MIME != "image/jpeg" {
		t.Fatalf("%+v", first)
	}
	status, got := w.raw(http.MethodGet, "/api/v1/media/"+first.File, testToken, nil)
	if status != http.StatusOK || got != string(body) {
		t.Errorf("the bytes: %d, %d of them", status, len(got))
	}
	w.settled(20 * time.Second)
	c := w.customerConv(customer(1))
	if len(c.Events) != 2 || c.Events[1].Kind != gateway.KindNotice || c.Events[1].Type != "media" || c.Events[1].Seq != 2 {
		t.Errorf("the conversation: %+v", c.Events)
	}
	w.until(20*time.Second, "the observer has the notices", func() bool { return len(o.list()) == 6 })
	for _, e := range o.list() {
		m := e.Media
		switch {
		case m == nil:
			t.Errorf("%s without media", e.Event.Event)
		case e.Kind == gateway.KindMessage && m.State != gateway.MediaPending:
			t.Errorf("the message says %s", m.State)
		case e.Kind == gateway.KindNotice && (m.State != gateway.MediaReady || m.File == "" || m.Event == "" || m.URL != ""):
			t.Errorf("the notice says %+v", m)
		}
	}
	// Both were answered in order; the echo bot names what it has no text for.
	if got := texts(w.calls(customer(1))); len(got) != 2 || got[0] != "caption" || got[1] != "[media]" {
		t.Errorf("answers %q", got)
	}
	w.replayed(t, c.Conv, first.Event)
}

// replayed replays a conversation with a file: it is not fetched again, and the
// replayed event says what became of it.
func (w *world) replayed(t *testing.T, conv, event string) {
	t.Helper()
	before := w.wa.MediaCalls()["download"]
	var run struct{ Run string }
	if err := w.call(http.MethodPost, "/api/v1/replays", map[string]any{"conv": conv}, &run); err != nil {
		t.Fatal(err)
	}
	w.until(20*time.Second, "the replay is answered", func() bool {
		c := w.customerConv(customer(1))
		for _, e := range c.Events {
			if e.Run == run.Run && e.Event == event && e.States["echo"] == gateway.EventSettled {
				return true
			}
		}
		return false
	})
	if n := w.wa.MediaCalls()["download"]; n != before {
		t.Errorf("the replay fetched %d files", n-before)
	}
	if s := w.sums(); s.Media.Wanted != 3 {
		t.Errorf("media %+v", s.Media)
	}
}

// Whatever the platform or somebody who speaks in its name answers: the file ends
// with a reason out of the set or is fetched in the end; the event never waits.
func TestMediaFaults(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appFiles, extra: "media: {max_size: 64KiB, idle_timeout: 500ms}\n"})
	body := bytes.Repeat([]byte("x"), 20<<10)
	want := map[string]string{}
	n := 0
	add := func(reason string, faults ...whatsapptest.MediaFault) {
		n++
		from := customer(n)
		m := w.wa.AddMedia("image/jpeg", body)
		for _, f := range faults {
			f.Media = m.ID
			if err := w.wa.FailMedia(f); err != nil {
				t.Fatal(err)
			}
		}
		if reason == "too_large" && len(faults) == 0 {
			m = w.wa.AddMedia("image/jpeg", make([]byte, 65<<10))
		}
		w.sends(from, m)
		want[from] = reason
	}
	const download, resolve = "download", "resolve"
	add("", whatsapptest.MediaFault{On: download, Status: 503, Next: 2})
	add("", whatsapptest.MediaFault{On: download, Status: 404, Next: 1})
	add("", whatsapptest.MediaFault{On: download, Damage: true, Next: 2})
	add("", whatsapptest.MediaFault{On: download, Slow: true, Next: 1})
	add("", whatsapptest.MediaFault{On: download, Cut: true, Next: 1})
	add("", whatsapptest.MediaFault{On: resolve, Code: 131000, Next: 1})
	add("gone", whatsapptest.MediaFault{On: download, Status: 404})
	add("gone", whatsapptest.MediaFault{On: resolve, Code: 100})
	add("damaged", whatsapptest.MediaFault{On: download, Damage: true})
	add("too_large")
	add("too_large", whatsapptest.MediaFault{On: download, Longer: 1 << 20})
	for _, to := range []string{"https://evil.test/x", "http://127.0.0.1:1/", "http://169.254.169.254/latest/meta-data/", "https://metadata.google.internal/",
		"http://[::ffff:127.0.0.1]/", "https://lookaside.fbsbx.com@evil.test/", strings.Replace(w.api, "http://", "http://x@", 1)} {
		add("forbidden_address", whatsapptest.MediaFault{On: download, Redirect: to})
		add("forbidden_address", whatsapptest.MediaFault{On: resolve, Address: to})
	}
	w.mediaDone(90*time.Second, n)
	w.settled(30 * time.Second)
	for from, reason := range want {
		c := w.customerConv(from)
		states := w.media("&event=" + c.Events[0].Event)
		if len(states) != 1 || states[0].Reason != reason || (reason == "") != (states[0].State == "ready") {
			t.Errorf("%s: %+v, want %q", from, states, reason)
		}
		if got := texts(w.calls(from)); len(got) != 2 {
			t.Errorf("%s: answered %q", from, got)
		}
	}
	for _, secret := range []string{"access-token-1", "88000000000", "lookaside", "evil.test"} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// A worker sends a file that was put in: it is uploaded once, and once more when
// the platform has forgotten it.
func TestMediaSent(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: "  - {name: echo, ack_wait: 5s}\n"})
	body := bytes.Repeat([]byte("price list "), 10_000)
	status, text := w.put("application/pdf", body)
	if status != http.StatusCreated || !strings.Contains(text, `"size":110000`) {
		t.Fatalf("put: %d %s", status, text)
	}
	file := text[strings.Index(text, `"file":"`)+8:][:64]
	if status, again := w.put("text/plain", body); status != http.StatusCreated || !strings.Contains(again, file) {
		t.Errorf("put again: %d %s", status, again)
	}
	for what, c := range map[string]struct {
		kind string
		body []byte
		want int
	}{"no type": {"", []byte("x"), 400}, "an empty file": {"image/png", nil, 400}, "a strange type": {"image", []byte("x"), 400}} {
		if status, _ := w.put(c.kind, c.body); status != c.want {
			t.Errorf("%s: %d", what, status)
		}
	}
	w.answering(t, func(*gateway.Event) []gateway.Reply {
		return []gateway.Reply{{Type: gateway.ReplyDocument, Text: "as asked", File: &gateway.FileReply{File: file, MIME: "application/pdf", Name: "prices.pdf"}}}
	})
	w.says(customer(1), "prices?")
	w.says(customer(2), "prices?")
	w.says(customer(3), "prices?")
	w.settled(30 * time.Second)
	if n := w.wa.MediaCalls()["upload"]; n != 1 {
		t.Errorf("%d uploads for three messages", n)
	}
	calls := accepted(w.calls(""))
	if len(calls) != 3 {
		t.Fatalf("%d messages left: %+v", len(calls), w.wa.Calls())
	}
	w.wa.ForgetMedia("880000000000001")
	w.says(customer(4), "prices?")
	w.settled(30 * time.Second)
	if n := w.wa.MediaCalls()["upload"]; n != 2 || len(accepted(w.calls(customer(4)))) != 1 {
		t.Errorf("%d uploads after the platform forgot it; %d left", n, len(accepted(w.calls(customer(4)))))
	}
	if mime, got, ok := w.wa.Uploaded("880000000000002"); !ok || mime != "application/pdf" || !bytes.Equal(got, body) {
		t.Errorf("uploaded: %q, %d bytes, %v", mime, len(got), ok)
	}
	w.oncePerMessage()
}

// put puts a file in by the admin API.
func (w *world) put(kind string, body []byte) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.api+"/api/v1/media", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return w.answerTo(req)
}

// The process dies after a file has its name and before the commit, and after the
// commit before anything is published: each file ends once, its notice is made
// once, nothing half stays.
func TestKillAroundMedia(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"media.stored", "media.committed"} {
		for _, n := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/%d", step, n), func(t *testing.T) {
				begin(t)
				w := newWorld(t, worldOptions{apps: appFiles})
				w.fault(sandbox.Fault{Name: "no statuses", Stage: sandbox.After, NoStatuses: true})
				p := w.start(fmt.Sprintf("%s:%d", step, n))
				const files = 6
				var callbacks [][]byte
				for i := range files {
					m := w.wa.AddMedia("image/jpeg", bytes.Repeat([]byte{byte(i % 3)}, 9<<10)) // half of them are alike
					_, callback, err := w.wa.Body(whatsapptest.Event{Kind: "image", Customer: whatsapptest.Customer{Phone: customer(i)}, Media: m})
					if err != nil {
						t.Fatal(err)
					}
					callbacks = append(callbacks, callback)
				}
				posted := make(chan struct{})
				go func() { // until a gateway answers each of them
					defer close(posted)
					for _, c := range callbacks[:files-1] {
						w.post(t.Context(), c)
					}
				}()
				w.until(time.Minute, "it died", p.ended)
				w.start("")
				<-posted
				w.post(t.Context(), callbacks[files-1])
				w.up()
				list := w.mediaDone(30*time.Second, files)
				w.settled(30 * time.Second)
				names := map[string]bool{}
				for _, m := range list {
					if m.State != "ready" {
						t.Errorf("%+v", m)
					}
					names[m.File] = true
				}
				if len(names) != 3 {
					t.Errorf("%d files, want 3", len(names))
				}
				for i := range files {
					c := w.customerConv(customer(i))
					if len(c.Events) != 2 || c.Events[0].Seq != 1 || c.Events[1].Seq != 2 || c.Events[1].Type != "media" {
						t.Errorf("%s: %+v", customer(i), c.Events)
					}
				}
				w.stop()
				if left := filesBelow(t, w.dir+"/data/media"); len(left) != 3 {
					t.Errorf("in the folder: %v", left)
				}
				(&load{w: w}).verify()
			})
		}
	}
}
