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
		"JSON":              []byte(`{"msgtype":"text"}`),
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

func TestContent(t *testing.T) {
	who := []gateway.Identity{{Kind: "userid", Value: "chenhao", As: "ChenHao"}}
	from := &gateway.Party{Identities: who}
	for name, want := range map[string]gateway.Content{
		"app_voice.xml": {Type: "voice", ID: "7012345678901234504", From: from, Media: &gateway.Media{ID: "1Yv-zXmade-upMediaIdVoice0001", Format: "amr"}},
		"app_video.xml": {Type: "video", ID: "7012345678901234505", From: from},
	} {
		it := decode(t, read(t, name))
		it.Content.Raw = nil
		if diff := cmp.Diff(want, it.Content); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if diff := cmp.Diff(gateway.Chat{Kind: gateway.ChatSingle, Identities: who}, it.Chat); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for name, want := range map[string]string{
		"event_ext_add.xml":                 "event.change_external_contact.add_external_contact",
		"event_location.xml":                "event.LOCATION",
		"event_chat_add_member.xml":         "event.change_external_chat.update",
		"suite_change_external_contact.xml": "event.change_external_contact.add_external_contact",
		"suite_ticket.xml":                  "event.suite_ticket",
	} {
		if it := decode(t, read(t, name)); it.Content.Type != want || it.Kind != gateway.KindNotice {
			t.Errorf("%s: %s %s", name, it.Kind, it.Content.Type)
		}
	}
	// An event of the conversation without a sender is the account's.
	it := decode(t, inner("<MsgType>event</MsgType><Event>click</Event>"))
	if it.Chat.Kind != gateway.ChatAccount || it.AccountID != corp+"/" {
		t.Errorf("%+v", it)
	}
}
