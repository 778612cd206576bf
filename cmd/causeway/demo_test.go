package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
)

// execute runs a command line and returns exit code and output.
func execute(ctx context.Context, in string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, stdio{in: strings.NewReader(in), out: &out, err: &errs}, args)
	return code, out.String(), errs.String()
}

// TestDemo plays the whole demo as a reader sees it. The golden file is a list of
// regular expressions, one a line, since figures differ from run to run.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole demo takes some seconds")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	code, out, errs := execute(t.Context(), "", "demo")
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d\n%s\n%s", code, errs, out)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "demo", "walkthrough.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := strings.Split(strings.TrimSpace(string(golden)), "\n"), strings.Split(strings.TrimSpace(out), "\n")
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			t.Fatalf("line %d is one too many: %s", i+1, got[i])
		case i >= len(got):
			t.Fatalf("line %d is missing: %s", i+1, want[i])
		case !regexp.MustCompile("^" + want[i] + "$").MatchString(got[i]):
			t.Fatalf("line %d is\n%s\nand does not match\n%s", i+1, got[i], want[i])
		}
		if len([]rune(got[i])) > 80 && !strings.Contains(got[i], temp) {
			t.Errorf("line %d is wider than a terminal: %s", i+1, got[i])
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// jsonPipe hands over the first JSON value written to it.
type jsonPipe struct {
	w *io.PipeWriter
	r *json.Decoder
}

func newJSONPipe() jsonPipe {
	r, w := io.Pipe()
	return jsonPipe{w, json.NewDecoder(r)}
}

// TestDemoKeep leaves the demo running and uses it as its last page says: with
// simulate lines, and with a worker for the second number.
func TestDemoKeep(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole demo takes some seconds")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	pipe := newJSONPipe()
	var errs bytes.Buffer
	done := make(chan int, 1)
	go func() {
		code := run(ctx, stdio{in: strings.NewReader(""), out: pipe.w, err: &errs}, []string{"demo", "--keep", "--json"})
		_ = pipe.w.Close()
		done <- code
	}()
	var report demoReport
	if err := pipe.r.Decode(&report); err != nil {
		t.Fatalf("no report: %v; %s", err, errs.String())
	}
	if !report.OK || len(report.Scenes) != len(demoScenes()) || report.Bot.Most != 1 || report.Keep == nil {
		t.Fatalf("report: %+v", report)
	}
	k := report.Keep
	for _, args := range [][]string{
		{"simulate", "whatsapp", "-c", k.Config, "--text", "hello"},
		{"simulate", "wecom", "-c", k.Config, "--text", "hello"},
		{"simulate", "whatsapp", "-c", k.Config, "--account", demoYours, "--text", "for your bot"},
		{"sandbox", "calls", "--at", k.WhatsApp, "--summary"},
	} {
		if code, out, errs := execute(ctx, "", args...); code != exitOK {
			t.Errorf("%q: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	for _, file := range []string{k.PythonFile, k.GoFile} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), k.NATSPassword) || strings.Contains(string(text), "{") && strings.Contains(string(text), "{nats}") {
			t.Errorf("%s: %v\n%s", file, err, text)
		}
	}
	// The admin API answers with the token printed.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.Admin+"/api/v1/sums", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+k.AdminToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("admin API: %d", res.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	select {
	case code := <-done:
		if code != exitOK {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
	case <-time.After(time.Minute):
		t.Fatal("did not stop")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestDemoFindsFaults breaks promises on purpose: the demo must say so, end with
// 1, and keep its log.
func TestDemoFindsFaults(t *testing.T) {
	temp := t.TempDir()
	var out bytes.Buffer
	c := &cli{stdio: stdio{in: strings.NewReader(""), out: &out, err: io.Discard}}
	err := c.demo(t.Context(), demoOptions{parent: temp, scenes: []demoScene{
		{"A message that is sent twice", func(ctx context.Context, r *demoRig, s *sceneNotes) error {
			s.did("The same message goes out twice.")
			// Without statuses, which would be parked for ten minutes.
			if _, err := r.wa.Faults().Add(sandbox.Fault{Stage: sandbox.After, NoStatuses: true}); err != nil {
				return err
			}
			for range 2 {
				body := `{"messaging_product":"whatsapp","to":"+15550200101","type":"text","text":{"body":"x"},"biz_opaque_callback_data":"ms_twice"}`
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.wa.URL()+"/v26.0/"+r.cred.WhatsApp.PhoneNumberID+"/messages", strings.NewReader(body))
				if err != nil {
					return err
				}
				req.Header.Set("Authorization", "Bearer "+r.cred.WhatsApp.AccessToken)
				req.Header.Set("Content-Type", "application/json")
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					return err
				}
				_ = res.Body.Close()
			}
			http.DefaultClient.CloseIdleConnections()
			return nil
		}},
		{"A scene that fails", func(context.Context, *demoRig, *sceneNotes) error { return errors.New("seen: nothing") }},
	}})
	var e *exitError
	if !errors.As(err, &e) || e.code != exitFailed {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{
		"! seen: nothing", "! scene 2: seen: nothing", "! 1 message was taken twice by a platform",
		"! the bot gave 0 replies, 0 messages are accepted, the platforms took 2", "Not every promise held:",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out.String())
		}
	}
	logs, err := filepath.Glob(filepath.Join(temp, "*", "demo.log"))
	if err != nil || len(logs) != 1 || !strings.Contains(e.Error(), logs[0]) {
		t.Errorf("log %v, %v; error %v", logs, err, e)
	}
}

// TestDemoStops interrupts a scene: everything ends and the folder goes.
func TestDemoStops(t *testing.T) {
	temp := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := &cli{stdio: stdio{in: strings.NewReader(""), out: io.Discard, err: io.Discard}}
	err := c.demo(ctx, demoOptions{parent: temp, scenes: []demoScene{
		{"For ever", func(ctx context.Context, r *demoRig, _ *sceneNotes) error {
			stop()
			return r.until(ctx, "what never comes", func() (bool, string) { return false, "" })
		}},
	}})
	var e *exitError
	if !errors.As(err, &e) || e.code != exitFailed || !strings.Contains(e.Error(), "stopped") {
		t.Fatalf("error %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDemoBotMeasures(t *testing.T) {
	live := func(conv, event string, seq int64) demoDelivery {
		return demoDelivery{Conv: conv, Event: event, Delivery: event, Seq: seq, Origin: gateway.OriginLive}
	}
	failing := live("a", "e2", 2)
	failing.Text = "breaks"
	requeued := live("a", "e1", 1)
	requeued.Delivery = "e1.q1"
	replayed := live("a", "e1", 0)
	replayed.Delivery, replayed.Origin = "e1.run_x", gateway.OriginReplay
	tests := map[string]struct {
		calls []demoDelivery
		wrong string
	}{
		"in order":                   {calls: []demoDelivery{live("a", "e1", 1), live("a", "e2", 2), live("b", "f1", 1)}},
		"a failed one again":         {calls: []demoDelivery{live("a", "e1", 1), failing, failing, live("a", "e3", 3)}},
		"requeued and replayed":      {calls: []demoDelivery{live("a", "e1", 1), live("a", "e2", 2), requeued, replayed, live("a", "e3", 3)}},
		"a later one first":          {calls: []demoDelivery{live("a", "e2", 2)}, wrong: "conversation a: seq 2 after 0"},
		"one left out":               {calls: []demoDelivery{live("a", "e1", 1), live("a", "e3", 3)}, wrong: "conversation a: seq 3 after 1"},
		"back again":                 {calls: []demoDelivery{live("a", "e1", 1), live("a", "e2", 2), live("a", "e1", 1)}, wrong: "conversation a: seq 1 after 2"},
		"an answered one once more":  {calls: []demoDelivery{live("a", "e1", 1), live("a", "e1", 1)}, wrong: "conversation a: seq 1 again after it was answered"},
		"a failed one is overtaken ": {calls: []demoDelivery{live("a", "e1", 1), failing, live("a", "e3", 3), failing}, wrong: "conversation a: seq 2 after 3"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newDemoBot()
			b.fails("breaks")
			for i := range tc.calls {
				if fail := b.begin(&tc.calls[i]); fail != (tc.calls[i].Text == "breaks") {
					t.Errorf("call %d: fail %v", i, fail)
				}
				b.end(tc.calls[i].Conv)
			}
			got := strings.Join(b.measure().Wrong, "; ")
			if got != tc.wrong {
				t.Errorf("wrong %q, want %q", got, tc.wrong)
			}
		})
	}
	t.Run("two at once", func(t *testing.T) {
		b := newDemoBot()
		one, two, other := live("a", "e1", 1), live("a", "e2", 2), live("b", "f1", 1)
		b.begin(&one)
		b.begin(&other)
		b.begin(&two)
		m := b.measure()
		if m.Most != 2 || m.Widest != 2 || len(m.Wrong) != 1 || m.Wrong[0] != "two events of conversation a at once" {
			t.Errorf("%+v", m)
		}
	})
}

func TestDemoWords(t *testing.T) {
	for in, want := range map[string]string{
		"payloads  archived 5 = relayed 3 + duplicate 2 + ignored 0": "payloads  archived 5 = relayed 3 + duplicate 2",
		"items     decoded 0 = events 0 + dead 0":                    "items     decoded 0 = 0",
		"messages  taken 20 = accepted 10 + held 10":                 "messages  taken 20 = accepted 10 + held 10",
		"no equation": "no equation",
	} {
		if got := withoutZeros(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	for d, want := range map[time.Duration]string{
		200 * time.Millisecond: "200 ms", 20 * time.Second: "20 s", 1500 * time.Millisecond: "1.5 s",
	} {
		if got := spell(d); got != want {
			t.Errorf("%v spelled %q", d, got)
		}
	}
	if got := msWords(1234 * time.Microsecond); got != "1.2 ms" {
		t.Errorf("measured %q", got)
	}
	plain, coloured := demoPrinter{w: io.Discard}, demoPrinter{w: io.Discard, colour: true}
	if plain.paint(red, "x") != "x" || coloured.paint(red, "x") == "x" {
		t.Error("colour is not as asked for")
	}
	if newDemoPrinter(&bytes.Buffer{}, func(string) string { return "" }).colour {
		t.Error("colour outside a terminal")
	}
}
