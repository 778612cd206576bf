package wecom_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

type sample struct {
	File   string `json:"file"`
	Class  string `json:"class"`
	Key    string `json:"key"`
	Dedup  string `json:"dedup"`
	Expect string `json:"expect"`
}

func samples(t testing.TB) []sample {
	t.Helper()
	var f struct {
		Files []sample `json:"files"`
	}
	if err := json.Unmarshal(read(t, "index.json"), &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Files) < 45 {
		t.Fatalf("only %d samples", len(f.Files))
	}
	return f.Files
}

// TestSamples holds every sample against the index, sent as a whole callback:
// what it is, whose conversation it belongs to, and which fact it is.
func TestSamples(t *testing.T) {
	answerable := map[string]bool{"text": true, "image": true, "voice": true}
	for _, s := range samples(t) {
		t.Run(s.File, func(t *testing.T) {
			plain := read(t, s.File)
			items, err := deliver(t, corp, plain, "n")
			if s.Class == "hostile" {
				wantErr(t, err, gateway.ErrUndecodable)
				return
			}
			if err != nil || len(items) != 1 {
				t.Fatalf("%d items, %v", len(items), err)
			}
			it := items[0]
			if it.OccurredAt.IsZero() {
				t.Error("no time")
			}
			wantKind, wantKey := gateway.KindNotice, "account|"+it.AccountID
			switch s.Class {
			case "message":
				if answerable[it.Content.Type] {
					wantKind = gateway.KindMessage
				}
				wantKey = appKey(s.Key)
			case "conversation_event":
				wantKey = appKey(s.Key)
			}
			if it.Kind != wantKind || key(&it) != wantKey {
				t.Errorf("%s in %s, want %s in %s", it.Kind, key(&it), wantKind, wantKey)
			}
			if id, ok := strings.CutPrefix(s.Dedup, "msgid:"); ok {
				want := "m:" + id + ":" + it.Chat.Identities[0].Value + ":1000017"
				if it.Key != want || it.Content.ID != id {
					t.Errorf("key %s, want %s", it.Key, want)
				}
			} else if !strings.HasPrefix(it.Key, "h:") {
				t.Errorf("key %s", it.Key)
			}
			var raw string
			if err := json.Unmarshal(it.Content.Raw, &raw); err != nil || raw != string(plain) {
				t.Errorf("raw is not the document: %v", err)
			}
		})
	}
}

// appKey turns app|corp|agent|user of the index into the form of key.
func appKey(s string) string {
	p := strings.Split(s, "|")
	return "app|" + p[1] + "/" + p[2] + "|" + p[3]
}

// TestRedelivered: the platform's retry is the same event in another envelope.
func TestRedelivered(t *testing.T) {
	a, b := decode(t, read(t, "hard_redelivered_1.xml")), decode(t, read(t, "hard_redelivered_2.xml"))
	if gateway.EventID("wecom", &a) != gateway.EventID("wecom", &b) {
		t.Error("two events")
	}
}

// TestGolden compares the items of a selection, field by field. Run with
// UPDATE_GOLDEN=1 to write the files anew, and read the diff.
func TestGolden(t *testing.T) {
	for _, name := range []string{
		"app_text", "app_text_dotted_userid", "app_image", "app_voice", "app_video",
		"event_click", "event_location", "event_template_card", "event_taskcard_trailing_space",
		"event_subscribe", "event_ext_add", "event_change_contact_update_user_rename", "event_kf_msg_or_event",
		"event_kf_account_auth_change", "event_unknown", "suite_ticket", "suite_change_external_contact",
		"hard_cdata_split_emoji", "hard_control_char", "hard_empty_content", "hard_msgid_uint64",
		"hard_trailing_bytes", "hard_unknown_msgtype",
	} {
		t.Run(name, func(t *testing.T) {
			it := decode(t, read(t, name+".xml"))
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", " ")
			if err := enc.Encode(&it); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "golden", name+".json")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
