package wecomtest_test

import (
	"testing"

	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// A chat is made by the app and then taken messages of; what is wrong is said by
// errcode, and no id comes back.
func TestChats(t *testing.T) {
	t.Parallel()
	s := start(t, wecomtest.Options{Unknown: []string{"ghost"}})
	access := getToken(t, s, corpID, secret).Token
	for _, tt := range []struct {
		path, body string
		code       int
	}{
		{"appchat/create", `{"name":"N","owner":"a","userlist":["a","b"],"chatid":"C1"}`, 0},
		{"appchat/create", `{"userlist":["a","b"],"chatid":"C1"}`, 40058},
		{"appchat/create", `{"userlist":["a"]}`, 40058},
		{"appchat/create", `{"userlist":["a","ghost"]}`, 40058},
		{"appchat/create", `{"userlist":["a","b"],"chatid":"no-hyphens"}`, 40058},
		{"appchat/create", `not JSON`, 47001},
		{"appchat/send", `{"chatid":"C1","msgtype":"text","text":{"content":"hi"},"safe":0}`, 0},
		{"appchat/send", `{"chatid":"C1","msgtype":"text","text":{"content":""}}`, 44004},
		{"appchat/send", `{"chatid":"C1","msgtype":"text","text":{"content":"hi"},"safe":3}`, 40058},
		{"appchat/send", `{"chatid":"C1","msgtype":"template_card"}`, 40008},
		{"appchat/send", `{"chatid":"","msgtype":"text","text":{"content":"hi"}}`, 86001},
		{"appchat/send", `{"chatid":"C2","msgtype":"text","text":{"content":"hi"}}`, 86003},
		{"appchat/send", `not JSON`, 47001},
	} {
		a := call(t, s, tt.path, access, tt.body)
		if code(a) != tt.code {
			t.Errorf("%s %s: %v, want %d", tt.path, tt.body, a, tt.code)
		}
		if _, ok := a["msgid"]; ok {
			t.Errorf("%s gives an id: %v", tt.path, a)
		}
	}
	made, ok := call(t, s, "appchat/create", access, `{"userlist":["a","b"]}`)["chatid"].(string)
	if !ok || code(call(t, s, "appchat/send", access, `{"chatid":"`+made+`","msgtype":"text","text":{"content":"hi"}}`)) != 0 {
		t.Errorf("a chat without an id of its own: %q", made)
	}
	s.LeaveChat("C1")
	if a := call(t, s, "appchat/send", access, `{"chatid":"C1","msgtype":"text","text":{"content":"hi"}}`); code(a) != 86008 {
		t.Errorf("after the app left: %v", a)
	}
	if a := call(t, s, "appchat/send", "no-token", `{"chatid":"C1"}`); code(a) == 0 {
		t.Errorf("without a token: %v", a)
	}
}
