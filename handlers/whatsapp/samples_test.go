package whatsapp_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

type sample struct {
	File   string         `json:"file"`
	Fields []string       `json:"fields"`
	Counts map[string]int `json:"counts"`
	Keys   []string       `json:"message_conversation_keys"`
}

func samples(t testing.TB) []sample {
	t.Helper()
	var list []sample
	if err := json.Unmarshal(read(t, "index.json"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) < 100 {
		t.Fatalf("only %d samples", len(list))
	}
	return list
}

// class is what the index of the samples calls an item.
func class(it *gateway.Item) string {
	switch {
	case it.Observed == gateway.ObservedStandby:
		return "standby"
	case it.Observed == gateway.ObservedHistory:
		return "history"
	case it.Kind == gateway.KindStatus:
		return "statuses"
	case it.Kind == gateway.KindEcho:
		return "echoes"
	case strings.HasPrefix(it.Key, "m:"):
		return "messages"
	case it.Content.Type == "error":
		return "value_errors"
	}
	return "others"
}

// TestSamples holds every sample against the index: how many items of which
// class, and the conversations of those that came from customers.
func TestSamples(t *testing.T) {
	for _, s := range samples(t) {
		t.Run(s.File, func(t *testing.T) {
			got := map[string]int{}
			keys := map[string]bool{}
			items := decode(t, read(t, s.File))
			for i := range items {
				it := &items[i]
				if it.Err != "" {
					t.Errorf("item %d: %s", i, it.Err)
				}
				c := class(it)
				got[c]++
				if c == "messages" {
					keys[key(it)] = true
				} else if it.Kind == gateway.KindMessage && it.Observed == "" {
					t.Error("a message from outside value.messages")
				}
				if it.AccountID == "" || it.OccurredAt.IsZero() && c != "value_errors" && c != "others" {
					t.Errorf("item %d: account %q at %s", i, it.AccountID, it.OccurredAt)
				}
			}
			want := map[string]int{}
			for k, n := range s.Counts {
				want[k] = n
			}
			switch { // the index counts neither
			case s.File == "history_media_followup.json":
				want["history"] = 1
			case len(want) == 0 && len(s.Fields) > 0:
				want["others"] = 1
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			var wantKeys, gotKeys []string
			wantKeys = append(wantKeys, s.Keys...)
			for k := range keys {
				gotKeys = append(gotKeys, k)
			}
			slices.Sort(wantKeys)
			slices.Sort(gotKeys)
			if diff := cmp.Diff(wantKeys, gotKeys); diff != "" {
				t.Errorf("conversations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKinds says of every type of the samples which kind of event it is.
func TestKinds(t *testing.T) {
	for file, want := range map[string]string{
		"text_legacy_no_bsuid.json": "message text", "text_bsuid_only.json": "message text", "group_text.json": "message text",
		"image_with_url.json": "message image", "audio_file.json": "message audio", "audio_voice.json": "message voice",
		"voice_legacy_type.json": "message voice", "video_forwarded.json": "message video", "document.json": "message document",
		"sticker_animated.json": "message sticker", "location_pin.json": "message location",
		"contacts_request_contact_info.json": "message contacts", "order.json": "message order",
		"interactive_button_reply.json": "message button_reply", "interactive_list_reply.json": "message list_reply",
		"interactive_list_reply_no_description.json": "message list_reply", "button_did_not_request_code.json": "message button",
		"interactive_nfm_reply_flow.json": "message form", "interactive_nfm_reply_not_object.json": "message form",
		"interactive_call_permission_reply.json": "message call_permission_reply",
		"reaction_add.json":                      "change reaction", "reaction_remove_no_emoji.json": "change reaction",
		"edit.json": "change edit", "revoke.json": "change revoke",
		"system_user_changed_number.json": "state system", "system_user_changed_number_legacy.json": "state system",
		"system_user_changed_user_id.json": "state system", "system_identity_changed_legacy.json": "notice system",
		"request_welcome.json": "notice request_welcome", "unsupported_no_detail.json": "notice unsupported",
		"media_missing_from_download_error.json": "notice unsupported", "interactive_missing_object_with_errors.json": "notice interactive",
		"smb_message_echo_edit.json": "echo edit", "smb_message_echo_revoke.json": "echo revoke",
		"history_media_followup.json": "message image", "history_declined_2593109.json": "notice history",
		"standby_inbound.json": "message text", "standby_echo.json": "echo text", "standby_status.json": "status status",
		"messaging_handovers_control_taken_no_phone.json": "state messaging_handovers",
		"account_update_disabled.json":                    "state account_update", "account_alert.json": "notice account_alerts",
		"account_review_rejected.json": "state account_review_update", "template_quality_update.json": "notice message_template_quality_update",
		"template_category_update.json": "notice template_category_update", "phone_quality_throughput_upgrade.json": "state phone_number_quality_update",
		"business_capability_update.json": "state business_capability_update", "security_pin_reset_request.json": "notice security",
		"user_preferences_stop.json": "state user_preferences", "business_username_update.json": "state business_username_updates",
		"flows_status_change.json": "notice flows", "calls_connect_user_initiated.json": "notice call",
		"calls_status_ringing.json": "notice call", "user_actions_link_click.json": "notice marketing_messages_link_click",
		"payload_encrypted_guess.json": "notice messages", "unknown_future_webhook_field.json": "notice orders_v2",
		"automatic_events.json": "notice automatic_events", "value_level_error_130429.json": "notice error",
	} {
		it := decode(t, read(t, file))[0]
		if got := string(it.Kind) + " " + it.Content.Type; got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
		if strings.HasPrefix(it.Key, "m:") && it.Chat.Kind == gateway.ChatAccount {
			t.Errorf("%s: not in the customer's conversation", file)
		}
	}
}

// golden is an item as the golden files have it: what the relay is given beside
// the event, and the event as published.
type golden struct {
	Account string          `json:"account"`
	Number  string          `json:"number,omitempty"`
	Key     string          `json:"key"`
	Chat    gateway.Chat    `json:"chat"`
	Err     string          `json:"err,omitempty"`
	Event   json.RawMessage `json:"event"`
}

// TestGolden compares the events of every sample byte by byte. Run with
// UPDATE_GOLDEN=1 to write the files anew, and read the diff.
func TestGolden(t *testing.T) {
	names := []string{"case-01-escaped-body.json", "case-13-batch.json", "case-20-status-order.json", "case-40-path-traversal.json"}
	for _, s := range samples(t) {
		names = append(names, s.File)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			items := decode(t, read(t, name))
			all := sha256.New()
			var b bytes.Buffer
			for i := range items {
				it := &items[i]
				line, err := json.MarshalIndent(golden{it.AccountID, it.AccountNumber, it.Key, it.Chat, it.Err, published(t, it)}, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				all.Write(line)
				if i < 20 { // of a large batch the beginning is read by people
					b.Write(append(line, '\n'))
				}
			}
			_, _ = fmt.Fprintf(&b, "%d items, SHA-256 %x\n", len(items), all.Sum(nil))
			path := filepath.Join("testdata", "golden", strings.TrimSuffix(name, ".json")+".txt")
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
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.txt"))
	if err != nil || len(files) != len(names) {
		t.Errorf("%d golden files for %d samples, %v", len(files), len(names), err)
	}
}
