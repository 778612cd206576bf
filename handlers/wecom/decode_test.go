package wecom_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

func inner(fields string) []byte {
	return []byte("<xml><ToUserName>" + corp + "</ToUserName>" + fields + "</xml>")
}

func TestUndecodable(t *testing.T) {
	message := "<FromUserName>u</FromUserName><MsgType>text</MsgType><Content>x</Content>"
	for name, doc := range map[string][]byte{
		"empty":             {},
		"text":              []byte("hello"),
		"JSON of nobody":    []byte(`{"msgtype":"text"}`),
		"only a root":       []byte("<xml/>"),
		"cut":               read(t, "hard_truncated.xml"),
		"cut after a tag":   []byte("<xml>" + message),
		"no type":           inner("<FromUserName>u</FromUserName>"),
		"no sender":         inner("<MsgType>text</MsgType><Content>x</Content>"),
		"blank sender":      inner("<FromUserName> </FromUserName><MsgType>text</MsgType>"),
		"event of no name":  inner("<FromUserName>u</FromUserName><MsgType>event</MsgType>"),
		"two senders":       inner(message + "<FromUserName>v</FromUserName>"),
		"two equal senders": inner(message + "<FromUserName>u</FromUserName>"),
		"two contents":      inner(message + "<Content>y</Content>"),
		"two agents":        inner(message + "<AgentID>1</AgentID><AgentId>2</AgentId>"),
		"two corps":         inner(message + "<ToUserName>x</ToUserName>"),
		"two ids":           inner(message + "<MsgId>1</MsgId><MsgId>2</MsgId>"),
		"other encoding":    append([]byte(`<?xml version="1.0" encoding="GBK"?>`), inner(message)...),
		"long agent":        inner(message + "<AgentID>" + strings.Repeat("1", 300) + "</AgentID>"),
	} {
		t.Run(name, func(t *testing.T) {
			items, err := deliver(t, corp, doc, "n")
			wantErr(t, err, gateway.ErrUndecodable)
			if len(items) != 0 {
				t.Error("values beside an error")
			}
			if err != nil && strings.Contains(err.Error(), corp) {
				t.Error("the error tells an id")
			}
		})
	}
}

// TestScrub: what XML forbids is left out and the message is read; the raw part
// says what came.
func TestScrub(t *testing.T) {
	for in, want := range map[string]string{
		"a\x08b\x0bc":                "abc",
		"a\x00b":                     "ab",
		"cut \xe4\xbd":               "cut \ufffd\ufffd",
		"\xff":                       "\ufffd",
		"a\uffffb\ufffec":            "abc",
		"tab\tline\nreturn":          "tab\tline\nreturn",
		"\U0001F468\u200d\U0001F469": "\U0001F468\u200d\U0001F469",
	} {
		it := decode(t, text("u", "1", in))
		if it.Content.Text != want {
			t.Errorf("%q became %q, want %q", in, it.Content.Text, want)
		}
	}
	dirty, clean := decode(t, text("u", "0", "a\x08b")), decode(t, text("u", "0", "ab"))
	if dirty.Key == clean.Key {
		t.Error("the key is over the scrubbed text")
	}
}

func TestTextIsKeptAsWritten(t *testing.T) {
	it := decode(t, []byte("<xml><FromUserName>\n u \n</FromUserName><MsgType> text </MsgType><Content>  a &lt;b&gt; &#x4f60; <![CDATA[ &amp; ]]> </Content><Extra>1</Extra><Extra>2</Extra></xml>"))
	if it.Content.Text != "  a <b> 你  &amp;  " || it.Content.Type != "text" || it.Chat.Identities[0].Value != "u" {
		t.Errorf("%q %+v", it.Content.Text, it)
	}
	// No ToUserName inside: the receive id of the frame says whose it is.
	if it.AccountID != corp+"/" {
		t.Errorf("account %s", it.AccountID)
	}
}

func TestMessageKeys(t *testing.T) {
	key := func(from, id, agent string) string {
		it := decode(t, inner("<FromUserName>"+from+"</FromUserName><MsgType>text</MsgType><Content>x</Content><MsgId>"+id+"</MsgId><AgentID>"+agent+"</AgentID>"))
		return it.Key
	}
	base := key("u", "18446744073709551615", "1")
	if base != "m:18446744073709551615:u:1" {
		t.Errorf("key %s", base)
	}
	for _, other := range []string{key("v", "18446744073709551615", "1"), key("u", "18446744073709551614", "1"), key("u", "18446744073709551615", "2")} {
		if other == base {
			t.Error("two facts, one key")
		}
	}
	for _, none := range []string{"", "0", "000"} {
		if k := key("u", none, "1"); !strings.HasPrefix(k, "h:") {
			t.Errorf("MsgId %q: key %s", none, k)
		}
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2025, 10, 9, 8, 53, 20, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"1760000000": at, " 1760000000 ": at, "1760000000123": at.Add(123 * time.Millisecond),
		"": {}, "0": {}, "-1": {}, "soon": {}, "99999999999999999999": {},
	} {
		it := decode(t, inner("<FromUserName>u</FromUserName><MsgType>text</MsgType><CreateTime>"+in+"</CreateTime>"))
		if !it.OccurredAt.Equal(want) {
			t.Errorf("%q: %v", in, it.OccurredAt)
		}
	}
}

// TestOddEvents: an event that lacks what it is about, or names it twice, is a
// notice of the account, never a guess and never lost.
func TestOddEvents(t *testing.T) {
	event := func(name, fields string) []byte {
		return inner("<FromUserName>sys</FromUserName><CreateTime>1760000000</CreateTime><MsgType>event</MsgType><Event>" + name + "</Event>" + fields)
	}
	for name, doc := range map[string][]byte{
		"click of nobody":          inner("<MsgType>event</MsgType><Event>click</Event><EventKey>k</EventKey>"),
		"click of the system":      event("click", "<EventKey>k</EventKey>"),
		"contact without customer": event("change_external_contact", "<ChangeType>add_external_contact</ChangeType><UserID>u</UserID>"),
		"two customers":            event("change_external_contact", "<ExternalUserID>a</ExternalUserID><ExternalUserID>b</ExternalUserID>"),
		"customer of 300 bytes":    event("change_external_contact", "<ExternalUserID>"+strings.Repeat("w", 300)+"</ExternalUserID>"),
		"chat without id":          event("change_external_chat", "<ChangeType>dismiss</ChangeType>"),
		"tag without id":           event("change_external_tag", "<ChangeType>delete</ChangeType>"),
		"user without id":          event("change_contact", "<ChangeType>delete_user</ChangeType>"),
		"approval without number":  event("sys_approval_change", "<ApprovalInfo/>"),
		"number of another level":  event("sys_approval_change", "<SpNo>1</SpNo><Info><ApprovalInfo><SpNo>2</SpNo></ApprovalInfo></Info>"),
		"unsubscribe of nobody":    inner("<MsgType>event</MsgType><Event>unsubscribe</Event>"),
	} {
		it := decode(t, doc)
		if it.Kind != gateway.KindNotice || it.Chat.Kind != gateway.ChatAccount || it.Chat.Identities[0].Kind != "account" ||
			!strings.HasPrefix(it.Content.Type, "event.") || it.Content.Handle != nil {
			t.Errorf("%s: %s %s in %+v", name, it.Kind, it.Content.Type, it.Chat)
		}
	}
}

// TestHandles: a one-time code ends 20 seconds or 72 hours after the event, and
// stands nowhere else but in the raw part.
func TestHandles(t *testing.T) {
	for file, want := range map[string]gateway.Handle{
		"event_ext_add.xml":       {Kind: "welcome", Code: "made-up-welcome-code-0001"},
		"event_template_card.xml": {Kind: "card", Code: "made-up-response-code-0001"},
	} {
		it := decode(t, read(t, file))
		life := 20 * time.Second
		if want.Kind == "card" {
			life = 72 * time.Hour
		}
		until := it.OccurredAt.Add(life)
		want.Until = &until
		if diff := cmp.Diff(&want, it.Content.Handle); diff != "" {
			t.Errorf("%s:\n%s", file, diff)
		}
	}
	it := decode(t, inner("<MsgType>event</MsgType><Event>change_external_contact</Event><ExternalUserID>wm1</ExternalUserID><WelcomeCode>c</WelcomeCode>"))
	if h := it.Content.Handle; h == nil || h.Until != nil {
		t.Errorf("a code without a time is %+v", h)
	}
}

// TestStateIsNobodysConversation: what a member writes, what is said about the
// member, and a customer of the same name are three keys.
func TestStateIsNobodysConversation(t *testing.T) {
	convs := map[string]bool{}
	for _, doc := range [][]byte{
		text("same", "1", "hello"),
		inner("<FromUserName>same</FromUserName><MsgType>event</MsgType><Event>unsubscribe</Event><AgentID>1000002</AgentID>"),
		inner("<MsgType>event</MsgType><Event>change_external_contact</Event><ExternalUserID>same</ExternalUserID>"),
		inner("<MsgType>event</MsgType><Event>change_external_chat</Event><ChatId>same</ChatId>"),
		inner("<MsgType>event</MsgType><Event>change_external_tag</Event><Id>same</Id>"),
		inner("<MsgType>event</MsgType><Event>living_status_change</Event><LivingId>same</LivingId>"),
	} {
		it := decode(t, doc)
		convs[gateway.ConvID([]byte("s"), "wecom", "corp-a", it.Chat.Kind, it.Chat.Identities[0])] = true
	}
	if len(convs) != 6 {
		t.Errorf("%d conversations, want 6", len(convs))
	}
	// Ids of customers are compared as they are, userids without case.
	a := decode(t, inner("<MsgType>event</MsgType><Event>change_external_contact</Event><ExternalUserID>wmA</ExternalUserID>"))
	b := decode(t, inner("<MsgType>event</MsgType><Event>change_external_contact</Event><ExternalUserID>wma</ExternalUserID>"))
	if a.Chat.Identities[0].Value == b.Chat.Identities[0].Value {
		t.Error("two customers are one")
	}
}

// TestDeepDocument: what is deeper or longer named than anything real is walked
// and not kept.
func TestDeepDocument(t *testing.T) {
	long := strings.Repeat("n", 5000)
	it := decode(t, inner("<FromUserName>u</FromUserName><MsgType>text</MsgType><Content>x<b>y</b>z</Content>"+
		"<"+long+">"+strings.Repeat("<a>1</a>", 5000)+"</"+long+">"+strings.Repeat("<d>", 25)+"deep"+strings.Repeat("</d>", 25)))
	if it.Content.Text != "xz" || it.Kind != gateway.KindMessage {
		t.Errorf("%s %q", it.Kind, it.Content.Text)
	}
}
