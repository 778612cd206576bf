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
// what it is, whose it is, and which fact it is.
func TestSamples(t *testing.T) {
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
			it := &items[0]
			if it.OccurredAt.IsZero() {
				t.Error("no time")
			}
			want := strings.Replace(s.Key, "suite|", "account|", 1)
			if s.Class == "message" || s.Class == "conversation_event" {
				want = appKey(s.Key)
			}
			if s.File == "event_change_contact_update_user_rename.xml" { // the new id first, the old one behind it
				if old := it.Chat.Identities[1]; "member|"+corp+"|"+old.Spelling() != want || !old.Retired {
					t.Errorf("the old id is %+v", old)
				}
				want = "member|" + corp + "|WangFang2"
			}
			if key(it) != want {
				t.Errorf("in %s, want %s", key(it), want)
			}
			if isState := strings.HasSuffix(s.Class, "_state"); isState && it.Kind != gateway.KindState ||
				s.Class == "message" && it.Content.Type != "hologram" && it.Kind != gateway.KindMessage {
				t.Errorf("a %s is %s", s.Class, it.Kind)
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

// TestKinds says of every sample of an event which kind and type it is.
func TestKinds(t *testing.T) {
	want := map[string]string{
		"click": "message button", "view": "notice event.view", "location": "notice event.LOCATION",
		"scancode_waitmsg": "message scan", "template_card": "message form", "taskcard_trailing_space": "message button_reply",
		"subscribe": "state event.subscribe", "unsubscribe": "state event.unsubscribe",
		"batch_job_result": "notice event.batch_job_result", "open_approval_change": "notice event.open_approval_change",
		"sys_approval_change": "notice event.sys_approval_change", "unknown": "notice event.quantum_sync_done",
		"kf_msg_or_event": "notice event.kf_msg_or_event", "kf_msg_or_event_same_second": "notice event.kf_msg_or_event",
		"kf_account_auth_change": "notice event.kf_account_auth_change",
	}
	for name, change := range map[string]string{
		"change_contact_create_user": "contact.create_user", "change_contact_update_user_rename": "contact.update_user",
		"change_contact_delete_user": "contact.delete_user", "change_contact_create_party": "contact.create_party",
		"change_contact_update_tag": "contact.update_tag",
		"ext_add":                   "external_contact.add_external_contact", "ext_add_half": "external_contact.add_half_external_contact",
		"ext_edit": "external_contact.edit_external_contact", "ext_del_by_transfer": "external_contact.del_external_contact",
		"ext_del_follow_user": "external_contact.del_follow_user", "ext_transfer_fail": "external_contact.transfer_fail",
		"chat_create": "external_chat.create", "chat_add_member": "external_chat.update", "chat_change_owner": "external_chat.update",
		"tag_shuffle": "external_tag.shuffle",
	} {
		want[name] = "state event.change_" + change
	}
	seen := 0
	for _, s := range samples(t) {
		name, isEvent := strings.CutPrefix(strings.TrimSuffix(s.File, ".xml"), "event_")
		if !isEvent {
			continue
		}
		seen++
		it := decode(t, read(t, s.File))
		if got := string(it.Kind) + " " + it.Content.Type; got != want[name] {
			t.Errorf("%s: %s, want %s", name, got, want[name])
		}
	}
	if seen != len(want) {
		t.Errorf("%d samples of events, %d are named here", seen, len(want))
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

// golden is an item as the golden files have it: what the relay is given beside
// the event, and the event as published.
type golden struct {
	Account string          `json:"account"`
	Key     string          `json:"key"`
	Chat    gateway.Chat    `json:"chat"`
	Event   json.RawMessage `json:"event"`
}

// TestGolden compares the events of every sample that has one byte by byte, however
// it comes: by a callback of an app or of a robot, or fetched. Run with
// UPDATE_GOLDEN=1 to write the files anew, and read the diff.
func TestGolden(t *testing.T) {
	decoded := map[string][]gateway.Item{}
	for _, s := range samples(t) {
		if s.Class != "hostile" {
			decoded[s.File] = []gateway.Item{decode(t, read(t, s.File))}
		}
	}
	for _, s := range botSamples(t) {
		if s.Class != "poll" && s.Expect == "ok" {
			items, err := decodeBots(t, read(t, s.File))
			if err != nil {
				t.Fatal(err)
			}
			decoded[s.File] = items
		}
	}
	for _, s := range fetchedSamples(t) {
		if items := fetched(t, fetchedSample(t, s.File)); len(items) > 0 {
			decoded[s.File] = items
		}
	}
	for name, items := range decoded {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", " ")
			for i := range items {
				it := &items[i]
				if err := enc.Encode(golden{it.AccountID, it.Key, it.Chat, published(t, it)}); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join("testdata", "golden", strings.TrimSuffix(strings.TrimSuffix(name, ".xml"), ".json")+".json")
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
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.json"))
	if err != nil || len(files) != len(decoded) {
		t.Errorf("%d golden files for %d samples, %v", len(files), len(decoded), err)
	}
}
