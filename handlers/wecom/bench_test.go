package wecom_test

import (
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// BenchmarkDecode measures one callback of every kind: ns, bytes and allocations
// per POST, as the relay pays for it, opening the frame included.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct{ name, file string }{
		{"text", "app_text"}, {"image", "app_image"}, {"voice", "app_voice"}, {"video", "app_video"},
		{"text to be scrubbed", "hard_control_char"},
		{"click", "event_click"}, {"view", "event_view"}, {"where a member is", "event_location"},
		{"scan", "event_scancode_waitmsg"}, {"card", "event_template_card"}, {"task card", "event_taskcard_trailing_space"},
		{"subscribe", "event_subscribe"}, {"member", "event_change_contact_create_user"},
		{"member renamed", "event_change_contact_update_user_rename"}, {"department", "event_change_contact_create_party"},
		{"corp's tag", "event_change_contact_update_tag"}, {"batch", "event_batch_job_result"},
		{"approval", "event_open_approval_change"}, {"system approval", "event_sys_approval_change"},
		{"customer", "event_ext_add"}, {"customer transferred", "event_ext_del_by_transfer"},
		{"group", "event_chat_add_member"}, {"tag", "event_tag_shuffle"},
		{"kf bell", "event_kf_msg_or_event"}, {"suite ticket", "suite_ticket"}, {"suite's customer", "suite_change_external_contact"},
		{"unknown event", "event_unknown"}, {"unknown type", "hard_unknown_msgtype"},
	} {
		b.Run(c.name, func(b *testing.B) { measure(b, read(b, c.file+".xml")) })
	}
	b.Run("100 KB of text", func(b *testing.B) { measure(b, text("u", "1", strings.Repeat("你好 ", 15_000))) })
	b.Run("10,000 people of a group", func(b *testing.B) { measure(b, crowded()) })
}

// crowded is a change of as many people as a document may name.
func crowded() []byte {
	return inner("<MsgType>event</MsgType><Event>change_external_chat</Event><ChatId>wr1</ChatId><MemChangeList>" +
		strings.Repeat("<Item>wmMadeUpCustomer0000000000000001</Item>", 9_990) + "</MemChangeList>")
}

func measure(b *testing.B, plain []byte) {
	b.Helper()
	e := endpoint(b, []string{corp}, wecom.Credential{Token: token, EncodingAESKey: aesKey})
	body := signed(crypt(b, token, aesKey), "n", crypt(b, token, aesKey).Seal(plain, corp, [16]byte{})).Body
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := e.Decode(&gateway.Payload{Body: body}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCrowdedGroup: all who are named are kept, in their order.
func TestCrowdedGroup(t *testing.T) {
	if it := decode(t, crowded()); len(it.Content.Change.People) != 9_990 || it.Kind != gateway.KindState {
		t.Errorf("%d people", len(it.Content.Change.People))
	}
}
