package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/media"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/unified"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// memberSends lets a member send a file that WeCom has.
func (w *world) memberSends(wc *wecomtest.Sandbox, kind, member, mediaID string, fields ...wecomtest.Field) {
	w.t.Helper()
	fields = append([]wecomtest.Field{{Name: "MediaId", Value: mediaID}}, fields...)
	_, inner := wc.Message(member, kind, fields...)
	wecomTaken(w.t, wc, inner)
}

// Members send one file of each kind: each event says pending and a notice with the
// next seq says ready, with the name where only the bytes told it; the admin API
// hands the bytes out, and a replay says ready and fetches nothing.
func TestMediaOfWeComComes(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{apps: "  - {name: echo, ack_wait: 5s, kinds: [message, notice]}\n"})
	replayed := make(chan *gateway.Media, 1)
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if ev.Origin == gateway.OriginReplay && ev.Type == "document" {
			replayed <- ev.Media
		}
		return nil, nil
	}, 4)
	picture := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte("pixel"), 50_000)...)
	w.memberSends(wc, "image", "member1", wc.AddFile("image", "", "image/png", picture),
		wecomtest.Field{Name: "PicUrl", Value: "https://wework.qpic.example.invalid/nobody-asks-this"})
	w.memberSends(wc, "voice", "member2", wc.AddFile("voice", "", "application/octet-stream", []byte("#!AMR voice")), wecomtest.Field{Name: "Format", Value: "amr"})
	w.memberSends(wc, "video", "member3", wc.AddFile("video", "", "video/mp4", []byte("....ftyp video")), wecomtest.Field{Name: "ThumbMediaId", Value: "thumb"})
	w.memberSends(wc, "file", "member4", wc.AddFile("file", "报价.pdf", "application/pdf", []byte("%PDF plan")))
	list := w.mediaDone(30*time.Second, 4)
	w.settled(30 * time.Second)
	if n := wc.MediaCalls(); n != 4 {
		t.Errorf("%d calls for 4 files", n)
	}
	types := ""
	for _, m := range list {
		if m.State != "ready" || m.Tries != 0 {
			t.Errorf("%+v", m)
		}
		types += m.MIME + " "
	}
	if types != "application/pdf video/mp4 audio/amr image/png " {
		t.Errorf("types %s", types)
	}
	first := list[3]
	if status, got := w.raw(http.MethodGet, "/api/v1/media/"+first.File, testToken, nil); status != http.StatusOK || got != string(picture) {
		t.Errorf("the bytes: %d, %d of them", status, len(got))
	}
	c := w.conversation("wecom", "corp-a", "userid", "member4")
	if len(c.Events) != 2 || c.Events[1].Kind != gateway.KindNotice || c.Events[1].Seq != 2 {
		t.Fatalf("the conversation: %+v", c.Events)
	}
	if err := w.call(http.MethodPost, "/api/v1/replays", map[string]any{"conv": c.Conv}, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case m := <-replayed:
		if m == nil || m.State != gateway.MediaReady || m.Filename != "报价.pdf" || m.File == "" {
			t.Errorf("replayed: %+v", m)
		}
	case <-time.After(leastLimit):
		t.Error("the replay came to no worker")
	}
	if n := wc.MediaCalls(); n != 4 {
		t.Errorf("the replay fetched: %d calls", n)
	}
}

// Whatever WeCom or somebody who speaks in its name answers, the file is fetched in
// the end or ends with a reason out of the set, and the event never waits. A used-up
// token and a throttle are none of the file's tries.
func TestMediaOfWeComFaults(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{apps: appFiles, extra: "media: {max_size: 64KiB, idle_timeout: 500ms}\n"})
	want := map[string]string{}
	add := func(member, reason string, f wecomtest.MediaFault) {
		t.Helper()
		id := wc.AddFile("image", "", "image/png", bytes.Repeat([]byte(member), 2000))
		if f.Media = id; f != (wecomtest.MediaFault{Media: id}) {
			if err := wc.FailMedia(f); err != nil {
				t.Fatal(err)
			}
		}
		w.memberSends(wc, "image", member, id)
		want[member] = reason
	}
	add("well", "", wecomtest.MediaFault{})
	add("busy", "", wecomtest.MediaFault{Code: -1, Next: 2})
	add("used-up", "", wecomtest.MediaFault{Code: 42001, Next: 1})
	add("just-sent", "", wecomtest.MediaFault{Code: 40007, Next: 1})
	add("page", "", wecomtest.MediaFault{Page: true, Next: 1})
	add("slow", "", wecomtest.MediaFault{Slow: true, Next: 1})
	add("cut", "", wecomtest.MediaFault{Cut: true, Next: 1})
	add("gone", "gone", wecomtest.MediaFault{Code: 40007})
	add("refused", "refused", wecomtest.MediaFault{Code: 40058})
	add("longer", "too_large", wecomtest.MediaFault{Longer: 1 << 20})
	add("endless", "too_large", wecomtest.MediaFault{Longer: -1})
	add("elsewhere", "forbidden_address", wecomtest.MediaFault{Redirect: "https://evil.test/"})
	add("inside", "forbidden_address", wecomtest.MediaFault{Redirect: "http://169.254.169.254/latest/meta-data/"})
	add("admin", "forbidden_address", wecomtest.MediaFault{Redirect: w.api + "/api/v1/media"})
	w.memberSends(wc, "image", "no-id", "")
	w.mediaDone(90*time.Second, len(want))
	w.settled(30 * time.Second)
	for member, reason := range want {
		c := w.conversation("wecom", "corp-a", "userid", member)
		states := w.media("&event=" + c.Events[0].Event)
		if len(states) != 1 || states[0].Reason != reason || (reason == "") != (states[0].State == "ready") {
			t.Errorf("%s: %+v, want %q", member, states, reason)
		}
		if len(c.Events) != 2 || c.Events[0].Seq != 1 || c.Events[1].Seq != 2 {
			t.Errorf("%s: %+v", member, c.Events)
		}
	}
	for _, secret := range []string{testWCSecret, "sandbox-", "media-", "evil.test", "just-sent"} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// A throttle holds the account's files, spends no try of them, is told by doctor,
// and holds no other account.
func TestMediaOfWeComThrottled(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{apps: appFiles})
	if _, err := wc.Faults().Add(sandbox.Fault{Name: "throttle", Op: sandbox.OpMedia, Code: 45009}); err != nil {
		t.Fatal(err)
	}
	w.memberSends(wc, "image", "member1", wc.AddFile("image", "", "image/png", []byte("picture")))
	w.picture(customer(1), []byte("a customer's"), false)
	w.until(30*time.Second, "the account is held and the other one's file is there", func() bool {
		s := w.sums()
		return s.Media.Ready == 1 && strings.Contains(w.said(), `"why":"account","code":"45009"`)
	})
	if list := w.media("&state=pending"); len(list) != 1 || list[0].Tries != 0 {
		t.Errorf("%+v", list)
	}
	out, _ := w.cli("doctor", "--token", testToken, "--admin", w.api)
	if !strings.Contains(out, "the platform hands out no files of this account") || !strings.Contains(out, "corp-a") {
		t.Errorf("doctor says nothing of it:\n%s", out)
	}
}

// Only the platforms whose files have a client are fetched from.
func TestMediaLife(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, fetch := range []bool{true, false} {
		a := &app{o: appOptions{Config: &config.Config{Media: config.Media{Fetch: fetch}}}, dir: &directory{media: map[string]media.Source{"unified/hosts": &unified.Media{}}}}
		for account, want := range map[string]time.Duration{"whatsapp/a": 7 * day, "wecom/a": 3 * day, "unified/none": 0, "unified/hosts": day} {
			if !fetch {
				want = 0
			}
			platform, name, _ := strings.Cut(account, "/")
			if got := a.mediaLife(platform, name); got != want {
				t.Errorf("%s, fetch %v: %v, want %v", account, fetch, got, want)
			}
		}
	}
}
