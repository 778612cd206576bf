package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/causewayhq/causeway/gateway"
)

// goodReplies is one of each type and each way, as a worker writes them.
func goodReplies() []string {
	const file = `"file":{"file":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","mime":"image/jpeg"}`
	return []string{
		`{"text":"hi"}`,
		`{"type":"text","text":" \u0000 <b> https://x.test","preview":true,"quote":"wamid.1"}`,
		`{"type":"image","file":{"url":"https://x.test/a.jpg"},"text":"caption"}`,
		`{"type":"image",` + file + `}`,
		`{"type":"video","file":{"id":"1234567"}}`,
		`{"type":"audio","file":{"id":"1234567"},"quote":"wamid.1"}`,
		`{"type":"voice","file":{"id":"1234567","mime":"audio/ogg; codecs=opus"}}`,
		`{"type":"sticker","file":{"id":"1234567"}}`,
		`{"type":"document","file":{"id":"1234567","name":"Rechnung Größe 3.pdf"},"text":"c"}`,
		`{"type":"location","location":{"latitude":0,"longitude":-180,"name":"n","address":"a"}}`,
		`{"type":"contacts","contacts":[{"name":"A B","phones":["+1 555 010 0001"],"emails":["a@x.test"],"org":"O"}]}`,
		`{"type":"reaction","quote":"wamid.1","emoji":"👨🏽‍👩🏽‍👧🏽‍👦🏽"}`,
		`{"type":"reaction","quote":"wamid.1","emoji":"1️⃣"}`,
		`{"type":"reaction","quote":"wamid.1"}`,
		`{"type":"template","template":{"name":"hello_world","language":"en_US"}}`,
		`{"type":"template","template":{"name":"t","language":"fil","components":[{"type":"body","parameters":[{"type":"text","text":"x"}]}]}}`,
		`{"type":"template","template":{"name":"t","language":"de","components":null}}`,
		`{"type":"buttons","text":"b","header":"h","footer":"f","buttons":[{"id":"1","title":"Yes"},{"id":"2","title":"No"},{"id":"3","title":"Maybe"}]}`,
		`{"type":"list","text":"b","list":{"button":"Open","sections":[{"rows":[{"id":"1","title":"R","description":"d"}]}]}}`,
		`{"type":"list","text":"b","list":{"button":"Open","sections":[{"title":"A","rows":[{"id":"1","title":"R"}]},{"title":"B","rows":[{"id":"2","title":"R"}]}]}}`,
		`{"type":"link","text":"b","link":{"title":"Look","url":"https://x.test/p?q=1#f"}}`,
		`{"type":"flow","text":"b","flow":{"id":"123","title":"Book now","token":"t","action":"navigate","screen":"FIRST","data":{"a":[1]}}}`,
		`{"type":"flow","text":"b","flow":{"id":"123","title":"Book now","action":"data_exchange","data":null}}`,
		`{"type":"read","quote":"wamid.1"}`,
		`{"type":"read","quote":"wamid.1","typing":true}`,
		`{"type":"markdown","text":"**b** <font color=\"info\">g</font>"}`,
		`{"type":"news","news":[{"title":"t","description":"d","url":"http://intra.test/a?b=1&c=2","picture":"https://x.test/p.png"},{"title":"u","url":"https://x.test"}]}`,
		`{"type":"card","card":{"content":{"card_type":"text_notice","n":9007199254740993}}}`,
		`{"type":"card","card":{"content":{"card_type":"text_notice"},"code":"k-1"}}`,
		`{"type":"card","card":{"content":null,"code":"k-1","button":"Done"}}`,
		`{"type":"recall","quote":"msgid-1"}`,
		`{"type":"transfer","transfer":{"to":"human","servicer":"ChenHao"}}`,
		`{"type":"transfer","transfer":{"to":"assistant"}}`,
		`{"type":"transfer","transfer":{"to":"pool"}}`,
		`{"type":"transfer","transfer":{"to":"ended","servicer":""}}`,
		`{"type":"text","text":"hi","handle":{"kind":"welcome","code":"k-1","until":null}}`,
		`{"type":"welcome","text":"hi","handle":{"kind":"welcome","code":"k-1","until":"2026-03-01T12:00:20Z"}}`,
		`{"type":"welcome","handle":{"kind":"welcome","code":"k-1"},"attachments":[{"type":"image",` + file + `},{"type":"file","file":{"id":"m-1","name":"a.pdf"}},` +
			`{"type":"page","page":{"title":"t","url":"https://x.test"}},{"type":"video","file":{"id":"m-2"}},` +
			`{"type":"mini","mini":{"title":"t","app_id":"wx1","page":"index"},"file":{"id":"m-3"}}]}`,
	}
}

func parse(reply string) (gateway.Answer, error) {
	return gateway.ParseAnswer([]byte(`{"event":"ev_a","verdict":"done","replies":[{"text":"first"},` + reply + `]}`))
}

// checkAccepted: what ParseAnswer let through keeps its promises, and survives
// being written and read again.
func checkAccepted(t *testing.T, replies []gateway.Reply) {
	t.Helper()
	for i := range replies {
		r := &replies[i]
		if r.Type == "" {
			t.Error("a reply without a type")
		}
		if err := gateway.CheckReply(r); err != nil {
			t.Errorf("accepted and refused: %v", err)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(string(b))
		if err != nil {
			t.Errorf("written and refused: %v", err)
			continue
		}
		var want, got any
		wb, _ := json.Marshal(r)
		gb, _ := json.Marshal(again.Replies[1])
		if json.Unmarshal(wb, &want) != nil || json.Unmarshal(gb, &got) != nil {
			t.Fatal("not JSON")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
}

func TestGoodReplies(t *testing.T) {
	t.Parallel()
	seen := map[gateway.ReplyType]bool{}
	for _, r := range goodReplies() {
		a, err := parse(r)
		if err != nil {
			t.Errorf("%s: %v", r, err)
			continue
		}
		seen[a.Replies[1].Type] = true
		checkAccepted(t, a.Replies)
	}
	for _, typ := range []gateway.ReplyType{
		gateway.ReplyText, gateway.ReplyImage, gateway.ReplyAudio, gateway.ReplyVoice, gateway.ReplyVideo, gateway.ReplyDocument, gateway.ReplySticker,
		gateway.ReplyLocation, gateway.ReplyContacts, gateway.ReplyReaction, gateway.ReplyTemplate, gateway.ReplyButtons, gateway.ReplyList,
		gateway.ReplyLink, gateway.ReplyFlow, gateway.ReplyRead, gateway.ReplyMarkdown, gateway.ReplyNews, gateway.ReplyCard, gateway.ReplyRecall,
		gateway.ReplyWelcome, gateway.ReplyTransfer,
	} {
		if !seen[typ] {
			t.Errorf("no good reply of type %s", typ)
		}
		if typ.Harmless() != (typ == gateway.ReplyRead) {
			t.Errorf("%s: harmless %v", typ, typ.Harmless())
		}
	}
}

func TestBadReplies(t *testing.T) {
	t.Parallel()
	const secret = "SECRETWORDS"
	long := func(n int) string { return secret + strings.Repeat("é", n-len(secret)) }
	many := func(n int, s string) string {
		var parts []string
		for i := range n {
			parts = append(parts, strings.ReplaceAll(s, "#", fmt.Sprint(i)))
		}
		return strings.Join(parts, ",")
	}
	image := func(file string) string { return `{"type":"image","file":{` + file + `}}` }
	buttons := func(list string) string { return `{"type":"buttons","text":"b","buttons":[` + list + `]}` }
	rows := func(list string) string {
		return `{"type":"list","text":"b","list":{"button":"Open","sections":[{"rows":[` + list + `]}]}}`
	}
	flow := func(rest string) string {
		return `{"type":"flow","text":"b","flow":{"id":"1","title":"t"` + rest + `}}`
	}
	welcome := func(list string) string {
		return `{"type":"welcome","handle":{"kind":"welcome","code":"k"},"attachments":[` + list + `]}`
	}
	for _, c := range []struct{ reply, want string }{
		{welcome(``), "text must be set where there are no attachments"},
		{`{"type":"welcome","text":"SECRETWORDS"}`, "handle must be the handle of the event"},
		{`{"type":"welcome","text":"x","handle":{"kind":"welcome","code":"SECRET WORDS"}}`, "handle.code must be 1 to 1024"},
		{`{"type":"image","file":{"id":"1"},"handle":{"kind":"welcome","code":"SECRETWORDS"}}`, "handle must be empty in a reply of type image"},
		{`{"text":"x","attachments":[{"type":"image","file":{"id":"1"}}]}`, "attachments must be empty in a reply of type text"},
		{welcome(`{"type":"poll"}`), "attachments[0].type must be image, video, file, page or mini"},
		{welcome(`{"type":"image"}`), "attachments[0].file must be set in an attachment of type image"},
		{welcome(`{"type":"page","page":{"title":"t","url":"https://x.test"},"file":{"id":"SECRETWORDS"}}`), "attachments[0].file must be empty in an attachment of type page"},
		{welcome(`{"type":"page","page":{"title":"t","url":"SECRETWORDS"}}`), "attachments[0].page.url must be an http or https URL"},
		{welcome(`{"type":"video","file":{"id":"1","name":"SECRETWORDS"}}`), "attachments[0].file.name must be empty but for a document"},
		{welcome(`{"type":"mini","file":{"id":"1"},"mini":{"title":"t","app_id":"SECRET WORDS","page":"p"}}`), "attachments[0].mini.app_id must be 1 to 512"},
		{welcome(many(10, `{"type":"image","file":{"id":"1"}}`)), "attachments must be at most 9"},
		{`{"type":"poll","text":"x"}`, "type must be one of text, image,"},
		{`{"type":"text"}`, "text must be 1 to 65536 bytes"},
		{`{"text":"` + strings.Repeat("x", gateway.MaxReplyBytes+1) + `"}`, "text must be 1 to 65536 bytes"},
		{`{"text":"x","header":"SECRETWORDS"}`, "header must be empty in a reply of type text"},
		{`{"text":"x","quote":"a b"}`, "quote must be 1 to 512 characters without spaces"},
		{`{"text":"x","typing":true}`, "typing must be empty in a reply of type text"},
		{`{"type":"image","text":"SECRETWORDS"}`, "file must say which file"},
		{image(``), "file must have exactly one of id, url and file"},
		{image(`"id":"1","url":"https://SECRETWORDS.test"`), "file must have exactly one"},
		{image(`"url":"http://SECRETWORDS.test/a"`), "file.url must be an https URL"},
		{image(`"url":"https://u:SECRETWORDS@x.test/a"`), "file.url must be an https URL"},
		{image(`"url":"https:///SECRETWORDS"`), "file.url must be an https URL"},
		{image(`"url":"https://x.test/SECRET WORDS"`), "file.url must be an https URL"},
		{image(`"url":"//SECRETWORDS"`), "file.url must be an https URL"},
		{image(`"file":"SECRETWORDS","mime":"image/png"`), "file.file must be the 64 lower-case hex digits"},
		{image(`"file":"` + strings.Repeat("A", 64) + `","mime":"image/png"`), "file.file must be the 64"},
		{image(`"file":"` + strings.Repeat("a", 64) + `"`), "file.mime must be set together"},
		{image(`"id":"1","mime":"SECRETWORDS"`), "file.mime must be a type and subtype"},
		{image(`"id":"1","name":"SECRETWORDS"`), "file.name must be empty but for a document"},
		{`{"type":"image","file":{"id":"1"},"text":"` + long(1025) + `"}`, "text must be 0 to 1024 characters"},
		{`{"type":"audio","file":{"id":"1"},"text":"SECRETWORDS"}`, "text must be empty in a reply of type audio"},
		{`{"type":"voice","file":{"id":"1"},"text":"SECRETWORDS"}`, "text must be empty in a reply of type voice"},
		{`{"type":"sticker","file":{"id":"1"},"text":"SECRETWORDS"}`, "text must be empty in a reply of type sticker"},
		{`{"type":"document","file":{"id":"1","name":"../SECRETWORDS"}}`, "file.name must be a name without directories"},
		{`{"type":"document","file":{"id":"1","name":"` + long(241) + `"}}`, "file.name must be 1 to 240 characters"},
		{`{"type":"location"}`, "location must say which place"},
		{`{"type":"location","location":{"latitude":1}}`, "location must have latitude and longitude"},
		{`{"type":"location","location":{"latitude":90.1,"longitude":0}}`, "location.latitude must be -90 to 90"},
		{`{"type":"location","location":{"latitude":1,"longitude":-181}}`, "location.longitude must be -180 to 180"},
		{`{"type":"location","location":{"latitude":1,"longitude":1,"url":"SECRETWORDS"}}`, "location.url must be empty"},
		{`{"type":"contacts"}`, "contacts must be 1 to 257 cards"},
		{`{"type":"contacts","contacts":[` + many(258, `{"name":"n"}`) + `]}`, "contacts must be 1 to 257 cards"},
		{`{"type":"contacts","contacts":[{"name":"n"},{"phones":["SECRETWORDS"]}]}`, "contacts[1].name must be 1 to 240"},
		{`{"type":"contacts","contacts":[{"name":"n","phones":[""]}]}`, "contacts[0].phones[0] must be 1 to 40"},
		{`{"type":"contacts","contacts":[{"name":"n","emails":["SECRET WORDS"]}]}`, "contacts[0].emails[0] must be 1 to 254"},
		{`{"type":"contacts","contacts":[{"name":"n","requested":true}]}`, "contacts[0].requested must be empty"},
		{`{"type":"reaction","emoji":"👍"}`, "quote must be 1 to 512"},
		{`{"type":"reaction","quote":"w","emoji":"ok"}`, "emoji must be one emoji"},
		{`{"type":"reaction","quote":"w","emoji":"👍 "}`, "emoji must be one emoji"},
		{`{"type":"reaction","quote":"w","emoji":"` + strings.Repeat("👍", 17) + `"}`, "emoji must be 0 to 16"},
		{`{"type":"template"}`, "template must say which template"},
		{`{"type":"template","template":{"name":"SECRET WORDS","language":"en"}}`, "template.name must be 1 to 512 characters without spaces"},
		{`{"type":"template","template":{"name":"t","language":"e"}}`, "template.language must be a language code"},
		{`{"type":"template","template":{"name":"t","language":"SECRET-WORDS"}}`, "template.language must be a language code"},
		{`{"type":"template","template":{"name":"t","language":"en","components":{"SECRETWORDS":1}}}`, "template.components must be a JSON array"},
		{`{"type":"template","template":{"name":"t","language":"en","components":["SECRETWORDS"]}}`, "template.components must be an array of objects"},
		{`{"type":"template","template":{"name":"t","language":"en"},"text":"SECRETWORDS"}`, "text must be empty in a reply of type template"},
		{`{"type":"buttons","text":"SECRETWORDS"}`, "buttons must be 1 to 3 buttons"},
		{`{"type":"buttons","buttons":[{"id":"1","title":"a"}]}`, "text must be 1 to 1024 characters"},
		{`{"type":"buttons","text":"` + long(1025) + `","buttons":[{"id":"1","title":"a"}]}`, "text must be 1 to 1024"},
		{`{"type":"buttons","text":"b","header":"` + long(61) + `","buttons":[{"id":"1","title":"a"}]}`, "header must be 0 to 60"},
		{`{"type":"buttons","text":"b","footer":"` + long(61) + `","buttons":[{"id":"1","title":"a"}]}`, "footer must be 0 to 60"},
		{buttons(many(4, `{"id":"#","title":"t#"}`)), "buttons must be 1 to 3 buttons"},
		{buttons(`{"id":"1","title":"` + long(21) + `"}`), "buttons[0].title must be 1 to 20 characters"},
		{buttons(`{"id":"1"}`), "buttons[0].title must be 1 to 20"},
		{buttons(`{"title":"SECRETWORDS"}`), "buttons[0].id must be 1 to 256"},
		{buttons(`{"id":"` + long(257) + `","title":"t"}`), "buttons[0].id must be 1 to 256"},
		{buttons(`{"id":"1","title":"a"},{"id":"1","title":"b"}`), "buttons[1].id must differ"},
		{buttons(`{"id":"1","title":"a"},{"id":"2","title":"a"}`), "buttons[1].title must differ"},
		{buttons(`{"id":"1","title":"a","description":"SECRETWORDS"}`), "buttons[0].description must be empty"},
		{`{"type":"list","text":"SECRETWORDS"}`, "list must say which rows"},
		{`{"type":"list","text":"` + long(4097) + `","list":{"button":"b","sections":[{"rows":[{"id":"1","title":"t"}]}]}}`, "text must be 1 to 4096"},
		{`{"type":"list","text":"b","list":{"button":"` + long(21) + `","sections":[{"rows":[{"id":"1","title":"t"}]}]}}`, "list.button must be 1 to 20"},
		{`{"type":"list","text":"b","list":{"button":"b","sections":[]}}`, "list.sections must have 1 to 10 rows in all"},
		{`{"type":"list","text":"b","list":{"button":"b","sections":[{"rows":[]}]}}`, "list.sections[0].rows must have a row"},
		{`{"type":"list","text":"b","list":{"button":"b","sections":[{"title":"A","rows":[{"id":"1","title":"t"}]},{"rows":[{"id":"2","title":"t"}]}]}}`, "list.sections[1].title must be 1 to 24"},
		{`{"type":"list","text":"b","list":{"button":"b","sections":[{"title":"A","rows":[` + many(6, `{"id":"a#","title":"t"}`) + `]},{"title":"B","rows":[` + many(5, `{"id":"b#","title":"t"}`) + `]}]}}`, "list.sections must have 1 to 10 rows"},
		{rows(`{"id":"1","title":"` + long(25) + `"}`), "list.sections[0].rows[0].title must be 1 to 24"},
		{rows(`{"id":"1","title":"t","description":"` + long(73) + `"}`), "list.sections[0].rows[0].description must be 0 to 72"},
		{rows(`{"id":"` + long(201) + `","title":"t"}`), "list.sections[0].rows[0].id must be 1 to 200"},
		{rows(`{"id":"1","title":"t"},{"id":"1","title":"u"}`), "list.sections[0].rows[1].id must differ"},
		{`{"type":"link","text":"b","link":{"title":"t","url":"http://SECRETWORDS.test"}}`, "link.url must be an https URL"},
		{`{"type":"link","text":"b","link":{"title":"` + long(21) + `","url":"https://x.test"}}`, "link.title must be 1 to 20"},
		{`{"type":"link","text":"b"}`, "link must say where it leads"},
		{`{"type":"flow","text":"b"}`, "flow must say which form"},
		{`{"type":"flow","text":"b","flow":{"title":"SECRETWORDS"}}`, "flow.id must be 1 to 512"},
		{`{"type":"flow","text":"b","flow":{"id":"1","title":"` + long(31) + `"}}`, "flow.title must be 1 to 30"},
		{flow(`,"action":"SECRETWORDS"`), "flow.action must be navigate or data_exchange"},
		{flow(`,"action":"data_exchange","screen":"SECRETWORDS"`), "flow.screen must be empty with the action data_exchange"},
		{flow(`,"action":"data_exchange","data":{"SECRETWORDS":1}`), "flow.data must be empty with the action data_exchange"},
		{flow(`,"data":{"SECRETWORDS":1}`), "flow.screen must be set together with flow.data"},
		{flow(`,"screen":"S","data":["SECRETWORDS"]`), "flow.data must be a JSON object"},
		{flow(`,"screen":"S","data":{}`), "flow.data must be a JSON object with at least one field"},
		{`{"type":"read"}`, "quote must be 1 to 512"},
		{`{"type":"transfer"}`, "transfer must say to whom"},
		{`{"type":"transfer","transfer":{}}`, "transfer.to must be assistant, pool, human or ended"},
		{`{"type":"transfer","transfer":{"to":"SECRETWORDS"}}`, "transfer.to must be assistant, pool, human or ended"},
		{`{"type":"transfer","transfer":{"to":"new"}}`, "transfer.to must be assistant, pool, human or ended"},
		{`{"type":"transfer","transfer":{"to":"human"}}`, "transfer.servicer must be 1 to 512"},
		{`{"type":"transfer","transfer":{"to":"human","servicer":"SECRET WORDS"}}`, "transfer.servicer must be 1 to 512"},
		{`{"type":"transfer","transfer":{"to":"pool","servicer":"SECRETWORDS"}}`, "transfer.servicer must be empty but with human"},
		{`{"type":"transfer","transfer":{"to":"pool"},"text":"SECRETWORDS"}`, "text must be empty in a reply of type transfer"},
		{`{"type":"transfer","transfer":{"to":"pool"},"quote":"SECRETWORDS"}`, "quote must be empty in a reply of type transfer"},
		{`{"text":"a","transfer":{"to":"pool"}}`, "transfer must be empty in a reply of type text"},
		{`{"type":"recall"}`, "quote must be 1 to 512"},
		{`{"type":"recall","quote":"m","text":"SECRETWORDS"}`, "text must be empty in a reply of type recall"},
		{`{"type":"markdown"}`, "text must be 1 to 65536 bytes"},
		{`{"type":"markdown","text":"x","preview":true}`, "preview must be empty in a reply of type markdown"},
		{`{"type":"news"}`, "news must be 1 to 8 articles"},
		{`{"type":"news","news":[` + many(9, `{"title":"t","url":"https://x.test"}`) + `]}`, "news must be 1 to 8 articles"},
		{`{"type":"news","news":[{"url":"https://SECRETWORDS.test"}]}`, "news[0].title must be 1 to 128"},
		{`{"type":"news","news":[{"title":"` + long(129) + `","url":"https://x.test"}]}`, "news[0].title must be 1 to 128"},
		{`{"type":"news","news":[{"title":"t","url":"https://x.test","description":"` + long(513) + `"}]}`, "news[0].description must be 0 to 512"},
		{`{"type":"news","news":[{"title":"t"}]}`, "news[0].url must be an http or https URL"},
		{`{"type":"news","news":[{"title":"t","url":"javascript:SECRETWORDS"}]}`, "news[0].url must be an http or https URL"},
		{`{"type":"news","news":[{"title":"t","url":"https://x.test","picture":"ftp://SECRETWORDS"}]}`, "news[0].picture must be an http or https URL"},
		{`{"type":"news","news":[{"title":"t","url":"https://x.test"}],"text":"SECRETWORDS"}`, "text must be empty in a reply of type news"},
		{`{"type":"card"}`, "card must say which card"},
		{`{"type":"card","card":{"code":"SECRETWORDS"}}`, "card must have exactly one of content and button"},
		{`{"type":"card","card":{"content":{"a":"SECRETWORDS"},"button":"b","code":"c"}}`, "card must have exactly one of content and button"},
		{`{"type":"card","card":{"content":["SECRETWORDS"]}}`, "card.content must be a JSON object"},
		{`{"type":"card","card":{"content":{"a":"` + strings.Repeat("SECRETWORDS", gateway.MaxReplyBytes/11+1) + `"}}}`, "card.content must be a JSON object"},
		{`{"type":"card","card":{"button":"SECRETWORDS"}}`, "card.code must be set together with card.button"},
		{`{"type":"card","card":{"button":"b","code":"SECRET WORDS"}}`, "card.code must be 1 to 1024"},
		{`{"type":"card","card":{"button":"` + long(129) + `","code":"c"}}`, "card.button must be 0 to 128"},
		{`{"type":"read","quote":"w","text":"SECRETWORDS"}`, "text must be empty in a reply of type read"},
	} {
		_, err := parse(c.reply)
		if err == nil || !errors.Is(err, gateway.ErrBadAnswer) || !strings.HasPrefix(err.Error(), "bad answer: replies[1]."+c.want) {
			t.Errorf("%.120s: %v, want %q", c.reply, err, c.want)
			continue
		}
		for _, content := range []string{"SECRET", "WORDS", "é"} {
			if strings.Contains(err.Error(), content) {
				t.Errorf("the error holds what was in it: %v", err)
			}
		}
	}
}

// The exact limits pass.
func TestLongestReplies(t *testing.T) {
	t.Parallel()
	s := func(n int) string { return strings.Repeat("é", n) }
	for _, r := range []gateway.Reply{
		{Text: strings.Repeat("x", gateway.MaxReplyBytes)},
		{Type: gateway.ReplyVideo, File: &gateway.FileReply{ID: "1"}, Text: s(1024)},
		{Type: gateway.ReplyButtons, Text: s(1024), Header: s(60), Footer: s(60), Buttons: []gateway.Choice{{ID: s(256), Title: s(20)}}},
		{Type: gateway.ReplyList, Text: s(4096), List: &gateway.MenuReply{Button: s(20), Sections: []gateway.MenuSection{
			{Title: s(24), Rows: []gateway.Choice{{ID: s(200), Title: s(24), Description: s(72)}}},
		}}},
		{Type: gateway.ReplyLink, Text: s(1024), Link: &gateway.LinkReply{Title: s(20), URL: "https://x.test/" + strings.Repeat("x", 2048-15)}},
		{Type: gateway.ReplyFlow, Text: s(1024), Flow: &gateway.FormReply{ID: "1", Title: s(30)}},
	} {
		if err := gateway.CheckReply(&r); err != nil {
			t.Errorf("%s: %v", r.Type, err)
		}
	}
}

// The published schema takes what ParseAnswer takes, and refuses what lacks a part
// or is too long.
func TestAnswerSchema(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "testdata", "schema", "answer.json"))
	if err != nil {
		t.Fatal(err)
	}
	valid := func(reply string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"event":"ev_a","verdict":"done","replies":[` + reply + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	for _, r := range goodReplies() {
		if err := valid(r); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
	for _, r := range []string{
		`{}`, `{"type":"text"}`, `{"type":"poll","text":"x"}`, `{"type":"image"}`, `{"type":"image","file":{}}`, `{"type":"image","file":{"id":"1","url":"https://x.test"}}`,
		`{"type":"image","file":{"url":"http://x.test"}}`, `{"type":"image","file":{"file":"00"}}`, `{"type":"location"}`, `{"type":"location","location":{"latitude":1}}`,
		`{"type":"contacts"}`, `{"type":"reaction","emoji":"👍"}`, `{"type":"template"}`, `{"type":"template","template":{"name":"t"}}`, `{"type":"buttons","text":"b"}`,
		`{"type":"buttons","text":"b","buttons":[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"}]}`, `{"type":"list","text":"b"}`,
		`{"type":"list","text":"b","list":{"button":"b","sections":[]}}`, `{"type":"link","text":"b"}`, `{"type":"flow","text":"b"}`, `{"type":"read"}`,
		`{"type":"transfer"}`, `{"type":"transfer","transfer":{}}`, `{"type":"transfer","transfer":{"to":"new"}}`, `{"type":"transfer","transfer":{"to":"human"}}`,
		`{"type":"transfer","transfer":{"to":"pool","servicer":"a"}}`,
		`{"type":"recall"}`, `{"type":"markdown"}`, `{"type":"news"}`, `{"type":"news","news":[]}`, `{"type":"news","news":[{"title":"t"}]}`, `{"type":"news","news":[{"title":"t","url":"ftp://x.test"}]}`,
		`{"type":"card"}`, `{"type":"card","card":{}}`, `{"type":"card","card":{"button":"b"}}`, `{"type":"card","card":{"content":{},"button":"b","code":"c"}}`,
		`{"type":"link","text":"b","header":"` + strings.Repeat("x", 61) + `","link":{"title":"t","url":"https://x.test"}}`,
	} {
		if valid(r) == nil {
			t.Errorf("the schema takes %s", r)
		}
		if _, err := parse(r); err == nil {
			t.Errorf("ParseAnswer takes %s", r)
		}
	}
}

// The examples of the README are one of each type and what ParseAnswer takes.
func TestReadmeReplies(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "```jsonl\n")
	block, _, ok := strings.Cut(rest, "\n```")
	if !ok {
		t.Fatal("the README has no examples of replies")
	}
	seen := map[gateway.ReplyType]bool{}
	for line := range strings.Lines(block) {
		a, err := parse(strings.TrimSpace(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		seen[a.Replies[1].Type] = true
	}
	if len(seen) < 20 {
		t.Errorf("examples of %d types", len(seen))
	}
}

func BenchmarkParseAnswer(b *testing.B) {
	for name, replies := range map[string]string{"text": goodReplies()[0], "buttons": goodReplies()[17]} {
		body := []byte(`{"event":"ev_abcdefghijklmnopqrstuvwxyz","verdict":"done","replies":[` + replies + `]}`)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := gateway.ParseAnswer(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Checking a text costs nothing beside reading it.
func TestCheckingATextAllocatesNothing(t *testing.T) {
	r := gateway.Reply{Type: gateway.ReplyText, Text: "hello", Quote: "wamid.1"}
	if n := testing.AllocsPerRun(100, func() {
		if err := gateway.CheckReply(&r); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
