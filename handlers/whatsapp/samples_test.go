package whatsapp_test

import (
	"bytes"
	"encoding/json"
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
				switch {
				case it.Kind == gateway.KindStatus:
					got["statuses"]++
				case it.Kind == gateway.KindEcho:
					got["echoes"]++
				case strings.HasPrefix(it.Key, "m:"):
					got["messages"]++
					keys[key(it)] = true
				case it.Content.Type == "error":
					got["value_errors"]++
				case it.Content.Type == "standby":
					got["standby"]++
				default:
					got["notices"]++
				}
				if it.Kind == gateway.KindMessage && !strings.HasPrefix(it.Key, "m:") {
					t.Error("a message from outside value.messages")
				}
			}
			want := map[string]int{}
			for k, n := range s.Counts {
				want[k] = n
			}
			if len(want) == 0 && len(s.Fields) > 0 {
				want["notices"] = 1 // one per change that holds nothing known
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

// TestMessageKinds names the samples whose type a bot can answer.
func TestMessageKinds(t *testing.T) {
	answerable := map[string]string{
		"text_legacy_no_bsuid.json": "text", "text_bsuid_only.json": "text", "group_text.json": "text",
		"image_with_url.json": "image", "audio_file.json": "audio", "audio_voice.json": "voice",
		"voice_legacy_type.json": "voice", "video_forwarded.json": "video", "document.json": "document",
		"sticker_animated.json":         "sticker",
		"interactive_button_reply.json": "button_reply", "interactive_list_reply.json": "list_reply",
		"interactive_list_reply_no_description.json": "list_reply", "button_did_not_request_code.json": "button",
	}
	notices := map[string]string{
		"location_pin.json": "location", "media_missing_from_download_error.json": "unsupported", "order.json": "order", "reaction_add.json": "reaction",
		"system_user_changed_number.json": "system", "unsupported_no_detail.json": "unsupported",
		"edit.json": "edit", "revoke.json": "revoke", "request_welcome.json": "request_welcome",
		"contacts_request_contact_info.json": "contacts", "interactive_nfm_reply_flow.json": "nfm_reply",
		"interactive_call_permission_reply.json":      "call_permission_reply",
		"interactive_missing_object_with_errors.json": "interactive",
	}
	check := func(file, wantType string, want gateway.Kind) {
		t.Helper()
		it := decode(t, read(t, file))[0]
		if it.Kind != want || wantType != "" && it.Content.Type != wantType {
			t.Errorf("%s: %s %q, want %s %q", file, it.Kind, it.Content.Type, want, wantType)
		}
		if it.Chat.Kind == gateway.ChatAccount {
			t.Errorf("%s: not in the customer's conversation", file)
		}
	}
	for file, typ := range answerable {
		check(file, typ, gateway.KindMessage)
	}
	for file, typ := range notices {
		check(file, typ, gateway.KindNotice)
	}
}

// TestGolden compares the items of a selection, field by field. Run with
// UPDATE_GOLDEN=1 to write the files anew, and read the diff.
func TestGolden(t *testing.T) {
	for _, name := range []string{
		"text_reply_context", "text_bsuid_only", "text_username_with_at_sign", "text_nul_and_lone_surrogate",
		"wire_escaped_unicode_compact", "image_with_url", "audio_voice", "document", "interactive_list_reply",
		"button_did_not_request_code", "reaction_add", "system_user_changed_number",
		"system_user_changed_number_legacy", "system_user_changed_user_id", "order",
		"media_missing_from_download_error", "interactive_missing_object_with_errors",
		"group_text", "group_status_aggregated", "group_status_alias_field",
		"status_sent_v23_conversation", "status_bsuid_recipient", "status_failed_131026", "status_unknown_future",
		"smb_message_echo_bsuid_only", "smb_message_echo_edit", "standby_inbound", "standby_echo",
		"history_media_followup", "messaging_handovers_control_taken_no_phone",
		"account_update_disabled", "account_update_partner_removed_coexistence", "user_preferences_stop",
		"user_actions_link_click", "calls_status_ringing", "calls_terminate_with_marker",
		"value_level_error_130429", "payload_encrypted_guess", "batch_messages_two_users_one_value",
		"metadata_formatted_display_number", "timestamp_milliseconds", "case-13-batch", "case-40-path-traversal",
	} {
		t.Run(name, func(t *testing.T) {
			items := decode(t, read(t, name+".json"))
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", " ")
			for i := range items {
				if err := enc.Encode(&items[i]); err != nil {
					t.Fatal(err)
				}
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
