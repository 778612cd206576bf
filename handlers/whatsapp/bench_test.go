package whatsapp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
)

// BenchmarkDecode measures one callback of every kind: ns, bytes and allocations
// per POST, as the relay pays for it.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct{ name, file string }{
		{"text", "text_reply_context.json"},
		{"text escaped", "wire_escaped_unicode_compact.json"},
		{"BSUID only", "text_bsuid_only.json"},
		{"referral", "text_referral_post_no_clid.json"},
		{"media", "image_with_url.json"},
		{"location", "location_place.json"},
		{"contacts", "contacts_request_contact_info.json"},
		{"list reply", "interactive_list_reply.json"},
		{"form", "interactive_nfm_reply_flow.json"},
		{"order", "order.json"},
		{"reaction", "reaction_add.json"},
		{"edit", "edit.json"},
		{"revoke", "revoke.json"},
		{"system", "system_user_changed_number.json"},
		{"unsupported", "unsupported_companion_131060.json"},
		{"group", "group_text.json"},
		{"status", "status_sent_v23_conversation.json"},
		{"status failed", "status_failed_131047.json"},
		{"group statuses", "group_status_aggregated.json"},
		{"echo", "smb_message_echo_bsuid_only.json"},
		{"history", "history_media_followup.json"},
		{"standby", "standby_inbound.json"},
		{"call", "calls_connect_user_initiated.json"},
		{"preference", "user_preferences_stop.json"},
		{"handover", "messaging_handovers_control_taken_no_phone.json"},
		{"account", "account_update_restriction.json"},
		{"template", "template_category_update.json"},
		{"error", "value_level_error_130429.json"},
		{"unknown field", "unknown_future_webhook_field.json"},
		{"1000 statuses", "batch_1000_statuses.json"},
	} {
		b.Run(c.name, func(b *testing.B) { measure(b, read(b, c.file)) })
	}
	b.Run("1000 messages 3 MB", func(b *testing.B) { measure(b, largest(b)) })
	b.Run("history of 1000", func(b *testing.B) { measure(b, oldest(b)) })
}

func measure(b *testing.B, body []byte) {
	b.Helper()
	e := endpoint()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := e.Decode(&gateway.Payload{Body: body}); err != nil {
			b.Fatal(err)
		}
	}
}

// largest is the largest POST that Meta sends: 1000 updates, 3 MB, of 100
// customers, a third of the texts with escapes.
func largest(t testing.TB) []byte {
	t.Helper()
	words := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 60)
	people, list := make([]string, 100), make([]string, 1000)
	for i := range people {
		people[i] = fmt.Sprintf(`{"profile":{"name":"Customer %d"},"wa_id":"1555010%04d","user_id":"US.%020d"}`, i, i, i)
	}
	for i := range list {
		text, err := json.Marshal(words)
		if err != nil {
			t.Fatal(err)
		}
		body := string(text)
		if i%3 == 0 {
			body = strings.ReplaceAll(body, "fox jumps", `\ud83e\udd8a\u00e9\/`)
		}
		list[i] = fmt.Sprintf(`{"from":"1555010%04d","from_user_id":"US.%020d","id":"wamid.HBgLMTIwMjU1NTAxNDMVAgASGBQzQTc4QTc3NkZDMzIyNDRFRjYy%06d","timestamp":"17959%05d","type":"text","text":{"body":%s}}`,
			i%100, i%100, i, i, body)
	}
	return inValue(`"contacts":[` + strings.Join(people, ",") + `],"messages":[` + strings.Join(list, ",") + `]`)
}

// oldest is a chunk of a history sync: 20 customers, 50 messages each.
func oldest(t testing.TB) []byte {
	t.Helper()
	threads := make([]string, 20)
	for i := range threads {
		list := make([]string, 50)
		for j := range list {
			from := "15550100099"
			if j%2 == 0 {
				from = fmt.Sprintf("1555010%04d", i)
			}
			list[j] = fmt.Sprintf(`{"from":"%s","id":"wamid.HIST%02d%04d","timestamp":"17000%05d","type":"text","text":{"body":"said long ago"},"history_context":{"status":"READ"}}`, from, i, j, j)
		}
		threads[i] = fmt.Sprintf(`{"id":"1555010%04d","context":{"wa_id":"1555010%04d","user_id":"US.%020d"},"messages":[%s]}`, i, i, i, strings.Join(list, ","))
	}
	return inField("history", `"history":[{"metadata":{"phase":1,"chunk_order":1,"progress":10},"threads":[`+strings.Join(threads, ",")+`]}]`)
}

// TestLargestBatch: the largest POST is a thousand messages in their order, and
// so is a chunk of old ones.
func TestLargestBatch(t *testing.T) {
	body := largest(t)
	if len(body) < 2_900_000 || len(body) > 3<<20 {
		t.Errorf("%d bytes", len(body))
	}
	items, _, err := endpoint().Decode(&gateway.Payload{Body: body})
	if err != nil || len(items) != 1000 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	for i := range items {
		it := &items[i]
		if it.Err != "" || it.Kind != gateway.KindMessage || !strings.HasSuffix(it.Content.ID, fmt.Sprintf("%06d", i)) ||
			it.Content.From.Name != fmt.Sprintf("Customer %d", i%100) || strings.Contains(it.Content.Text, "🦊") != (i%3 == 0) {
			t.Fatalf("item %d: %s %s", i, it.Kind, it.Err)
		}
	}
	items = decode(t, oldest(t))
	if len(items) != 1000 || items[0].Kind != gateway.KindMessage || items[1].Kind != gateway.KindEcho || items[999].Observed != gateway.ObservedHistory {
		t.Errorf("%d items of the history", len(items))
	}
}
