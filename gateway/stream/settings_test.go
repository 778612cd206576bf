package stream_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// TestSettingsGolden compares what the server has with the contract.
// Run with -update after a deliberate change.
func TestSettingsGolden(t *testing.T) {
	r := newRig(t, gateway.Application{Name: "faq", Tries: 20, AckWait: time.Minute, HandlerMax: 10 * time.Minute}, gateway.Application{Name: "bot", Tries: 3})
	js := jet(t, r)
	got := map[string]any{}
	for info := range js.ListStreams(r.ctx()).Info() {
		cfg := info.Config
		cfg.Metadata = ownKeys(cfg.Metadata)
		got[cfg.Name] = cfg
		str, err := js.Stream(r.ctx(), cfg.Name)
		if err != nil {
			t.Fatal(err)
		}
		for c := range str.ListConsumers(r.ctx()).Info() {
			ccfg := c.Config
			ccfg.Metadata = ownKeys(ccfg.Metadata)
			got[cfg.Name+" > "+c.Name] = ccfg
		}
	}
	b, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "settings.golden.json", b)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if flag.Lookup("update") != nil && flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) //nolint:gosec // a constant name
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.TrimSpace(string(want)), strings.TrimSpace(string(got))); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files")
	flag.Parse()
	m.Run()
}

// ownKeys leaves out what the server adds.
func ownKeys(meta map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range meta {
		if !strings.HasPrefix(k, "_nats") {
			out[k] = v
		}
	}
	return out
}

func jet(t *testing.T, r *rig) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(r.nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestOpenAgainChangesSettings(t *testing.T) {
	r := newRig(t)
	r.wantOffer(offer("bot", 1, 1, 0), gateway.OfferTaken)
	opts := r.opts
	changed := bot()
	changed.AckWait, changed.Tries, changed.HandlerMax = 7*time.Second, 9, 0
	opts.Apps = []gateway.Application{changed, {Name: "new"}}
	s := r.open(opts)
	c, err := jet(t, r).Consumer(r.ctx(), "CW_READY_bot", "bot")
	if err != nil {
		t.Fatal(err)
	}
	if cfg := c.CachedInfo().Config; cfg.AckWait != 7*time.Second || cfg.MaxDeliver != 27 || cfg.Metadata[stream.MetaHandlerMax] != "" {
		t.Errorf("consumer %+v", cfg)
	}
	state, err := s.GateState(r.ctx(), "bot")
	if err != nil || state.Messages != 1 {
		t.Errorf("the offer is lost: %+v, %v", state, err)
	}
	if _, err := s.GateState(r.ctx(), "new"); err != nil {
		t.Errorf("gate of the new application: %v", err)
	}
	if h := s.Health(); !h.OK() {
		t.Errorf("health %+v", h)
	}
}

// A stream that a newer binary has set is not set back.
func TestNewerSettingsStay(t *testing.T) {
	r := newRig(t)
	js := jet(t, r)
	str, err := js.Stream(r.ctx(), stream.ReplyStream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := str.CachedInfo().Config
	cfg.MaxAge = 96 * time.Hour
	cfg.Metadata["causeway.settings"] = "1000"
	if _, err := js.UpdateStream(r.ctx(), cfg); err != nil {
		t.Fatal(err)
	}
	r.open(r.opts)
	if str, err = js.Stream(r.ctx(), stream.ReplyStream); err != nil {
		t.Fatal(err)
	}
	if got := str.CachedInfo().Config.MaxAge; got != 96*time.Hour {
		t.Errorf("max age %s, want the newer binary's 96h", got)
	}
}

func TestApplyAddsAndRemovesGates(t *testing.T) {
	r := newRig(t)
	if err := r.s.Apply(r.ctx(), []gateway.Application{{Name: "faq"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.s.GateState(r.ctx(), "faq"); err != nil {
		t.Errorf("new gate: %v", err)
	}
	if _, err := r.s.GateState(r.ctx(), "bot"); !errors.Is(err, gateway.ErrNotFound) {
		t.Errorf("removed gate: %v, want ErrNotFound", err)
	}
	if _, err := jet(t, r).Stream(r.ctx(), "CW_READY_bot"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("stream of the removed gate: %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	r := newRig(t)
	for name, opts := range map[string]stream.Options{
		"no store": {Apps: r.opts.Apps},
		"bad app":  {StoreID: "x", Apps: []gateway.Application{{Name: "a.b"}}},
	} {
		if s, err := stream.Open(r.ctx(), r.nc, opts); err == nil || s != nil {
			t.Errorf("%s: no error", name)
		}
	}
}
