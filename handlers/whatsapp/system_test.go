package whatsapp_test

import (
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
)

// TestSystemMessages: the old ids of a customer lead and are retired, so that
// the conversation is found, and the new ones follow, so that they are learned.
// An id that goes on is not retired.
func TestSystemMessages(t *testing.T) {
	const body = `"body":"User A changed from 15550100001 to 15550100009 changed from 15550100003 to +15550100004."`
	for members, want := range map[string]string{
		`"from":"1","system":{"type":"user_changed_number","wa_id":"2","user_id":"US.2","previous_user_id":"US.1"}`:              "US.1* 1* US.2 2",
		`"from":"1","system":{"type":"user_changed_number","wa_id":"2","user_id":"US.1"}`:                                        "1* US.1 2",
		`"from":"1","from_user_id":"US.1","system":{"type":"user_changed_number","wa_id":"2","user_id":"US.1"}`:                  "1* US.1 2",
		`"from":"1","system":{"type":"user_changed_user_id","user_id":"US.2"}`:                                                   "1* US.2",
		`"from":"1","system":{"type":"user_changed_number","wa_id":"2"}`:                                                         "1* 2",
		`"from":"1","system":{"type":"user_changed_number","new_wa_id":"2"}`:                                                     "1* 2",
		`"system":{"type":"user_changed_number","customer":"1","wa_id":"2"}`:                                                     "1* 2",
		`"from":"2","system":{"type":"user_changed_number","wa_id":"2","previous_user_id":"US.1","user_id":"US.2"}`:              "US.1* US.2 2",
		`"system":{"type":"user_changed_user_id",` + body + `}`:                                                                  "15550100003* 15550100004",
		`"system":{"type":"user_changed_user_id","user_id":"US.2",` + body + `}`:                                                 "15550100003* US.2",
		`"system":{"type":"user_changed_user_id","user_id":"US.2","previous_user_id":"US.1",` + body + `}`:                       "US.1* US.2",
		`"system":{"user_id":"US.2","previous_user_id":"US.1","parent_user_id":"US.ENT.2","previous_parent_user_id":"US.ENT.1"}`: "US.1* US.ENT.1* US.2 US.ENT.2",
		`"from_user_id":"US.1","system":{"user_id":"US.2","previous_user_id":"US.1"}`:                                            "US.1* US.2",
		`"from":"1","system":{"type":"customer_identity_changed"}`:                                                               "1",
		`"from":"1","system":{"type":"customer_identity_changed","wa_id":"1"}`:                                                   "1",
		`"from":"1","system":{"type":"customer_identity_changed","user_id":"US.1"}`:                                              "US.1 1",
		`"from":"1","system":{"type":"new","body":"User x changed from 15550100001 to 15550100002"}`:                             "1",
		`"from":"1","system":{"type":"user_changed_number"}`:                                                                     "1",
		`"from":"1"`:                  "1",
		`"system":{"user_id":"US.2"}`: "US.2",
		`"system":{"type":"user_changed_user_id","user_id":"US.2","body":"User 1 changed from 1 to 2"}`: "US.2",
	} {
		it := decode(t, inValue(`"messages":[{"id":"i","type":"system","timestamp":"1",`+members+`}]`))[0]
		var got []string
		retired := 0
		for _, id := range it.Chat.Identities {
			if id.Retired {
				id.Value += "*"
				retired++
			}
			got = append(got, id.Value)
		}
		kind := gateway.KindNotice
		if retired > 0 {
			kind = gateway.KindState
		}
		if strings.Join(got, " ") != want || it.Kind != kind || it.Err != "" {
			t.Errorf("%s: %v, want %s; %s %s", members, got, want, it.Kind, it.Err)
		}
		if c := it.Content.Identity; (c == nil) != (retired == 0) || c != nil && (len(c.Before) != retired || len(c.After) != len(got)-retired) {
			t.Errorf("%s: change %+v", members, c)
		}
	}
	it := decode(t, inValue(`"messages":[{"id":"i","type":"system","system":{"type":"user_changed_number"}}]`))[0]
	if it.Err != "bad item: message without sender" {
		t.Errorf("Err %q", it.Err)
	}
}
