package wecom_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// text is the inner document of a text message.
func text(from, id, content string) []byte {
	return []byte("<xml><ToUserName><![CDATA[" + corp + "]]></ToUserName><FromUserName><![CDATA[" + from +
		"]]></FromUserName><CreateTime>1760000000</CreateTime><MsgType><![CDATA[text]]></MsgType><Content><![CDATA[" +
		content + "]]></Content><MsgId>" + id + "</MsgId><AgentID>1000002</AgentID></xml>")
}

// TestCase05Padding: texts of 32 lengths in a row take every padding from 1 to
// 32, and each is read.
func TestCase05Padding(t *testing.T) {
	for n := range 32 {
		content := strings.Repeat("x", n+1)
		it := decode(t, text("user.five", fmt.Sprintf("72000000000000000%02d", n), content))
		if it.Content.Text != content {
			t.Errorf("length +%d: %q", n, it.Content.Text)
		}
	}
}

// TestCase07Entities: declarations are refused inside and outside, nothing is
// fetched or grown, and nothing of this machine comes out.
func TestCase07Entities(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	e := corpEndpoint(t)
	c := crypt(t, token, aesKey)
	for _, name := range []string{"case-07-xxe-outer.xml", "case-07-entity-growth.xml"} {
		r := signed(c, "7", "AAAA") // the signature is right
		r.Body = read(t, name)
		_, err := e.Verify(r)
		wantErr(t, err, gateway.ErrHostile)
		if err != nil && strings.Contains(err.Error(), host) {
			t.Errorf("%s: the error tells of the machine", name)
		}
	}
	for name, doc := range map[string][]byte{
		"external":                           read(t, "case-07-xxe-inner.xml"),
		"growth":                             read(t, "case-07-entity-growth.xml"),
		"unused DOCTYPE":                     append([]byte("<!DOCTYPE xml>"), text("u", "1", "x")...),
		"DOCTYPE behind a control character": append([]byte("<!-- \x01 --><!DOCTYPE xml>"), text("u", "1", "x")...),
		"unknown entity":                     []byte("<xml><MsgType>text</MsgType><FromUserName>&a;</FromUserName></xml>"),
		"200,000 levels":                     []byte("<xml>" + strings.Repeat("<a>", 200_000) + strings.Repeat("</a>", 200_000) + "</xml>"),
		"many elements":                      []byte("<xml>" + strings.Repeat("<a/>", 20_000) + "</xml>"),
	} {
		items, err := deliver(t, corp, doc, "7")
		wantErr(t, err, gateway.ErrUndecodable)
		if len(items) != 0 {
			t.Errorf("%s: values beside an error", name)
		}
	}
}

// TestCase09SameSecond: four events of one second, and the retry of the first
// under another nonce and random, are four events.
func TestCase09SameSecond(t *testing.T) {
	ids := map[string]bool{}
	for i, name := range []string{"event-a", "event-b", "approval-a", "approval-b", "event-a"} {
		items, err := deliver(t, "wwtestcorp00000001", read(t, "case-09-"+name+".xml"), fmt.Sprintf("9%d", i))
		if err != nil {
			t.Fatal(err)
		}
		ids[gateway.EventID("wecom", &items[0])] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d events, want 4", len(ids))
	}
}

// TestCase28OddIDs: userids hold dots and worse; they are compared without case,
// kept in the spelling received, and never an error of ours.
func TestCase28OddIDs(t *testing.T) {
	for _, from := range []string{
		"li.si", "a@b.c-d_e", "li", "*", ">", "li.>", ".", "..", "a..b", "a b", "a\tb", "a\nPUB evil 2\nhi",
		"你好", "$SYS.REQ.x", "%2e", "li%2Esi", strings.Repeat("x", 64),
	} {
		it := decode(t, text(from, "7600000000000000001", "id test"))
		id := it.Chat.Identities[0]
		if id.Kind != "userid" || id.Value != strings.ToLower(from) || id.Spelling() != from {
			t.Errorf("%q became %+v", from, id)
		}
	}
	big, small := decode(t, text("ZhangSan", "76", "x")), decode(t, text("zhangsan", "76", "x"))
	if big.Chat.Identities[0].Value != small.Chat.Identities[0].Value || big.Key != small.Key {
		t.Error("two spellings are two members")
	}
	if big.Chat.Identities[0].Spelling() != "ZhangSan" {
		t.Error("the spelling is lost")
	}
	// A page of text is no id: a dead letter, not a conversation.
	_, err := deliver(t, corp, text(strings.Repeat("x", 4200), "76", "x"), "n")
	wantErr(t, err, gateway.ErrUndecodable)
}

// TestCase02UnsignedNeverCounts: right ciphertext under a wrong signature.
func TestCase02UnsignedNeverCounts(t *testing.T) {
	c := crypt(t, token, aesKey)
	stranger := crypt(t, "NotTheToken", aesKey)
	encrypted := c.Seal(text("u", "1", "x"), corp, [16]byte{})
	r := signed(stranger, "n", encrypted)
	_, err := corpEndpoint(t).Verify(r)
	wantErr(t, err, gateway.ErrUnverified)
	_, err = corpEndpoint(t).Verify(&handlers.Request{Body: r.Body})
	wantErr(t, err, gateway.ErrUnverified)
}
