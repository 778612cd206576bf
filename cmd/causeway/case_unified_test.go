package main

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/unified/unifiedtest"
)

// newUnifiedCase is newCase with a vendor's gateway beside.
func newUnifiedCase(t *testing.T, o worldOptions) (*world, *unifiedtest.Sandbox, unifiedCredentials) {
	t.Helper()
	cred := newUnifiedCredentials()
	vendor, err := cred.vendor(nil, "", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := vendor.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vendor.Close() })
	cred.APIBase = vendor.URL()
	o.endpoints, o.accounts = o.endpoints+cred.endpointYAML(), o.accounts+cred.accountYAML()
	w := newCase(t, o)
	vendor.SetCallbackURL(strings.Replace(w.url, "/whatsapp/meta", "/unified/"+cred.Endpoint, 1))
	return w, vendor, cred
}

// listener is a bot that answers every message and remembers what it was handed.
type listener struct {
	mu      sync.Mutex
	handled []string
}

func (l *listener) handle(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handled = append(l.handled, string(ev.Kind)+" "+ev.Text)
	return worker.Text("re: " + ev.Text), nil
}

func (l *listener) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.handled)
}

// A customer writes by way of a vendor's gateway and is answered. What we sent comes
// back, before the answer to the send call and after it, by our marker and by the
// answer's id alone: it is ours and starts nothing. What a colleague wrote is a
// colleague's, what tells nothing is undecided, and neither is handed out, whatever
// its words.
func TestUnifiedEchoes(t *testing.T) {
	begin(t)
	w, vendor, cred := newUnifiedCase(t, worldOptions{apps: appByWorker})
	bot := &listener{}
	w.bot(bot.handle, 4)
	const conv = "S:1688850000000001_7881300000000001"
	var want []string
	ours := int64(0)
	for _, plays := range []unifiedtest.Plays{unifiedtest.PlaysMarker, unifiedtest.PlaysID} {
		vendor.SetPlays(plays)
		for _, early := range []bool{true, false} {
			words := string(plays) + " late"
			if early {
				words = string(plays) + " early"
				// The echo leaves when the message is taken; the answer waits.
				if _, err := vendor.Faults().Add(sandbox.Fault{Name: words, Stage: sandbox.After, DelayMS: 1200, Next: 1}); err != nil {
					t.Fatal(err)
				}
			}
			vendor.Customer(conv, words)
			want = append(want, "message "+words)
			ours++
			w.until(30*time.Second, "the echo is judged ours: "+words, func() bool { return w.counter("echo_ours") == ours })
			w.settled(30 * time.Second)
		}
	}
	vendor.Colleague(conv, "re: marker late")
	w.until(20*time.Second, "the colleague is seen", func() bool { return w.counter("echo_human") == 1 })
	if out, code := w.cli("conv", "release", w.conversation("unified", cred.Account, "conversation", conv).Conv); code != exitOK {
		t.Fatalf("the conversation is not taken back: %s", out)
	}
	_, body, err := vendor.Make(unifiedtest.Event{Kind: "undecided", From: conv, Text: "who is this?"})
	if err != nil {
		t.Fatal(err)
	}
	if status, _, err := vendor.Post(t.Context(), body); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	w.until(20*time.Second, "the undecided one is recorded", func() bool { return w.counter("echo_undecided") == 1 })
	vendor.Customer(conv, "the last word")
	want = append(want, "message the last word")
	w.until(20*time.Second, "the last echo is judged", func() bool { return w.counter("echo_ours") == ours+1 })
	w.settled(20 * time.Second)
	if got := bot.list(); !slices.Equal(got, want) {
		t.Errorf("the bot was handed %q, want %q", got, want)
	}
	for _, call := range vendor.Calls() {
		if !call.Accepted || call.To != conv || !gateway.OurMarker(call.Marker) || !strings.HasPrefix(call.Text, "re: ") {
			t.Errorf("%+v", call)
		}
	}
	if s := vendor.CallLog().Summary(); s.Calls != len(want) || len(s.Twice) > 0 || s.Overlaps > 0 {
		t.Errorf("%+v", s)
	}
	c := w.conversation("unified", cred.Account, "conversation", conv)
	judged := map[gateway.Judgement]int{}
	for _, ev := range c.Events {
		judged[ev.Echo]++
	}
	if c.LastHumanAt == nil || judged[gateway.JudgedOurs] != len(want) || judged[gateway.JudgedHuman] != 1 || judged[gateway.JudgedUndecided] != 1 {
		t.Errorf("last human at %v, judged %v", c.LastHumanAt, judged)
	}
	if out, code := w.cli("doctor", "account", cred.Account, "--token", testToken, "--admin", w.api); code != exitOK || !strings.Contains(out, "without sending") {
		t.Errorf("doctor account: %d %s", code, out)
	}
	out, _ := w.cli("doctor", "--token", testToken, "--admin", w.api)
	if !strings.Contains(out, "do not tell who wrote them") {
		t.Errorf("doctor does not tell of what is undecided:\n%s", out)
	}
	for _, secret := range []string{cred.CallbackToken, cred.APIToken, "7881300000000001", "the last word"} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// Files of a vendor's gateway: one comes by its address and the account's header, and
// a notice says so; one that is not there any more and one that lies where nobody
// allowed it end with a reason. The bytes are the admin's, the credential is nobody's.
func TestUnifiedMedia(t *testing.T) {
	begin(t)
	w, vendor, cred := newUnifiedCase(t, worldOptions{apps: appFiles})
	picture := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte("pixel"), 50_000)...)
	gone := vendor.AddFile("image/png", []byte("x"))
	vendor.RemoveFile(gone)
	want := map[string]string{}
	for conv, c := range map[string][2]string{"S:1_2": {vendor.AddFile("image/png", picture), ""}, "S:1_3": {gone, "gone"},
		"S:1_4": {"https://elsewhere.example/x.png", "forbidden_address"}, "S:1_5": {w.api + "/api/v1/media", "forbidden_address"}} {
		_, body, err := vendor.Make(unifiedtest.Event{Kind: "image", From: conv, Media: c[0]})
		if err != nil {
			t.Fatal(err)
		}
		if status, _, err := vendor.Post(t.Context(), body); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
		want[conv] = c[1]
	}
	list := w.mediaDone(60*time.Second, len(want))
	w.settled(30 * time.Second)
	for conv, reason := range want {
		c := w.conversation("unified", cred.Account, "conversation", conv)
		got := w.media("&event=" + c.Events[0].Event)
		if len(got) != 1 || got[0].Reason != reason || (got[0].State == "ready") != (reason == "") {
			t.Errorf("%s: %+v, want %q", conv, got, reason)
		}
		if reason == "" {
			if status, b := w.raw(http.MethodGet, "/api/v1/media/"+got[0].File, testToken, nil); status != http.StatusOK || b != string(picture) {
				t.Errorf("the bytes: %d, %d of them", status, len(b))
			}
		}
		if !slices.ContainsFunc(c.Events, func(ev gateway.ConversationEvent) bool {
			return ev.Kind == gateway.KindNotice && ev.Type == "media" && ev.Seq == 2
		}) {
			t.Errorf("%s: no notice: %+v", conv, c.Events)
		}
	}
	if n := vendor.FileCalls(); len(list) != len(want) || n != 4 { // a file that is gone is asked for three times
		t.Errorf("%d files, %d calls", len(list), n)
	}
	for _, secret := range []string{cred.APIToken, "elsewhere.example", "/files/"} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// The answer to a send call is lost: the message is unknown until it comes back with
// our marker, also over a death in the middle of the call, and is not sent again.
func TestUnifiedUnknown(t *testing.T) {
	begin(t)
	w, vendor, _ := newUnifiedCase(t, worldOptions{apps: appByWorker})
	bot := &listener{}
	w.bot(bot.handle, 4)
	if _, err := vendor.Faults().Add(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropReset, Next: 1}); err != nil {
		t.Fatal(err)
	}
	vendor.Customer("S:1_2", "answer lost")
	w.until(30*time.Second, "the echo settles it", func() bool { return w.sums().Messages.Accepted == 1 })
	w.stop()
	w.start("outbox.called:1")
	w.up()
	vendor.Customer("S:1_3", "killed")
	w.until(30*time.Second, "the platform has it and the gateway died", func() bool { return len(accepted(vendor.Calls())) == 2 && w.proc.ended() })
	w.start("")
	w.up()
	w.until(60*time.Second, "the echo settles it", func() bool { return w.sums().Messages.Accepted == 2 })
	w.settled(30 * time.Second)
	if s := vendor.CallLog().Summary(); s.Accepted != 2 || len(s.Twice) > 0 {
		t.Errorf("%+v", s)
	}
	if n := w.counter("echo_human"); n != 0 {
		t.Errorf("%d echoes of ours are a colleague's", n)
	}
}

// A wrong secret of ours loses nothing: what was refused is verified again when it
// was mended. simulate speaks the endpoint's words.
func TestUnifiedReadmit(t *testing.T) {
	begin(t)
	w, vendor, cred := newUnifiedCase(t, worldOptions{apps: appEcho})
	w.stop()
	w.edit(cred.CallbackToken, "a-secret-of-another-vendor")
	w.start("")
	w.up()
	_, body, err := vendor.Make(unifiedtest.Event{Kind: "text", From: "S:1_2", Text: "refused at first"})
	if err != nil {
		t.Fatal(err)
	}
	if status, _, err := vendor.Post(t.Context(), body); err != nil || status != http.StatusUnauthorized {
		t.Fatal(status, err)
	}
	w.stop()
	w.edit("a-secret-of-another-vendor", cred.CallbackToken)
	w.start("")
	w.up()
	if out, code := w.cli("rejects", "readmit", "--all", "--token", testToken, "--admin", w.api); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	w.settled(30 * time.Second)
	if calls := vendor.Calls(); len(calls) != 1 || !strings.Contains(calls[0].Text, "refused at first") {
		t.Errorf("%+v", calls)
	}
	for _, args := range [][]string{{"--text", "by simulate"}, {"colleague"}, {"undecided"}, {"account", "offline"}, {"contact"}, {"unknown"}, {"failed", "--id", "sent-1"}, {"group"}, {"image"}} {
		if out, code := w.cli(append([]string{"simulate", "unified"}, args...)...); code != exitOK {
			t.Errorf("%v: %d %s", args, code, out)
		}
	}
	w.settled(30 * time.Second)
	w.until(20*time.Second, "all are decoded", func() bool { return w.sums().Payloads.Pending == 0 })
	if dead := w.deadLetters(); len(dead) > 0 {
		t.Errorf("%d dead letters, first %+v", len(dead), dead[0])
	}
	if resp, err := http.Get(strings.Replace(w.url, "/whatsapp/meta", "/unified/hub", 1)); err != nil { //nolint:noctx // a test on loopback
		t.Error(err)
	} else if _ = resp.Body.Close(); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a GET is answered %d", resp.StatusCode)
	}
}
