package wecom_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

// A text and an event as JSON, in either spelling, to the field.
func TestInnerJSON(t *testing.T) {
	message := decode(t, []byte(`{"ToUserName":"`+corp+`","FromUserName":"LinXiaoyu","CreateTime":1760000000,"MsgType":"text","Content":" 你好 \u003cb> ","MsgId":7000000000000000001,"AgentID":1000017,"Extra":{"a":[1,null,true]}}`))
	want := gateway.Item{
		AccountID: corp + "/1000017", Kind: gateway.KindMessage, Key: "m:7000000000000000001:linxiaoyu:1000017", OccurredAt: message.OccurredAt,
		Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "userid", Value: "linxiaoyu", As: "LinXiaoyu"}}},
		Content: gateway.Content{Type: "text", ID: "7000000000000000001", Text: " 你好 <b> ", Raw: message.Content.Raw,
			From: &gateway.Party{Identities: []gateway.Identity{{Kind: "userid", Value: "linxiaoyu", As: "LinXiaoyu"}}}},
	}
	if d := cmp.Diff(want, message); d != "" || message.OccurredAt.Unix() != 1760000000 {
		t.Error(d, message.OccurredAt)
	}
	if !strings.HasPrefix(string(message.Content.Raw), `{"ToUserName":`) || !strings.Contains(string(message.Content.Raw), `7000000000000000001`) {
		t.Errorf("raw %s", message.Content.Raw)
	}
	event := decode(t, []byte("\ufeff \n"+`{"tousername":"`+corp+`","fromusername":"u","createtime":"1760000000","msgtype":"event","event":"template_card_event","eventkey":"k","taskid":"t",
		"responsecode":"c","agentid":"1000017","selecteditems":{"selecteditem":[{"questionkey":"q","optionids":{"optionid":["a","b"]}},{"questionkey":"r","optionids":{"optionid":"c"}}]}}`))
	if event.Content.Type != "form" || event.Content.Form == nil || string(event.Content.Form.Response) != `{"q":["a","b"],"r":["c"]}` ||
		event.Content.QuotedID != "t" || event.Content.Handle == nil || event.Content.Choice.ID != "k" || !strings.HasPrefix(event.Key, "h:") {
		t.Errorf("%+v", event)
	}
}

// The same facts as XML and as JSON are the same items, of every sample: in the
// spelling of the XML, in lower case, with numbers as numbers.
func TestInnerJSONSaysWhatXMLSays(t *testing.T) {
	n := 0
	for _, s := range samples(t) {
		doc := read(t, s.File)
		items, err := deliver(t, corp, doc, "n")
		if err != nil || strings.HasPrefix(s.File, "hard_") {
			continue
		}
		n++
		for _, lower := range []bool{false, true} {
			twin := asJSON(t, doc, lower)
			got, err := deliver(t, corp, twin, "n")
			if err != nil {
				t.Errorf("%s: %v\n%s", s.File, err, twin)
				continue
			}
			want := items[0]
			if strings.HasPrefix(want.Key, "h:") && strings.HasPrefix(got[0].Key, "h:") {
				want.Key = got[0].Key
			}
			want.Content.Raw = got[0].Content.Raw
			if d := cmp.Diff(want, got[0]); d != "" {
				t.Errorf("%s: %s\n%s", s.File, d, twin)
			}
		}
	}
	if n < 25 {
		t.Errorf("%d samples only", n)
	}
}

// asJSON writes the elements below an XML root as JSON.
func asJSON(t *testing.T, doc []byte, lower bool) []byte {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(doc))
	var element func() any
	element = func() any {
		members, text, order := map[string][]any{}, "", []string{}
		for {
			tok, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			switch tok := tok.(type) {
			case xml.StartElement:
				name := tok.Name.Local
				if lower {
					name = strings.ToLower(name)
				}
				if members[name] == nil {
					order = append(order, name)
				}
				members[name] = append(members[name], element())
			case xml.CharData:
				text += string(tok)
			case xml.EndElement:
				if len(order) == 0 {
					if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
						return json.Number(text)
					}
					return text
				}
				out := map[string]any{}
				for _, name := range order {
					if out[name] = members[name]; len(members[name]) == 1 {
						out[name] = members[name][0]
					}
				}
				return out
			}
		}
	}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			t.Fatal("no root")
		}
		if _, ok := tok.(xml.StartElement); ok {
			b, err := json.Marshal(element())
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
}

// What is hostile or damaged as JSON ends as it does in XML, and raw control
// characters cost no message.
func TestInnerJSONDamaged(t *testing.T) {
	const head = `{"ToUserName":"` + corp + `","FromUserName":"u","MsgType":"text","MsgId":"1","AgentID":"1"`
	for name, doc := range map[string]string{
		"cut":                        head,
		"two senders":                head + `,"FromUserName":"v"}`,
		"two spellings":              head + `,"fromusername":"v"}`,
		"a list of two":              head + `,"Content":["a","b"]}`,
		"deep":                       head + `,"x":` + strings.Repeat(`{"x":`, 100) + "1" + strings.Repeat("}", 101),
		"deep lists":                 head + `,"x":` + strings.Repeat(`[`, 20_000) + strings.Repeat("]", 20_000) + "}",
		"many":                       head + `,"x":[` + strings.Repeat("1,", 10_001) + "1]}",
		"two documents":              head + `}{}`,
		"long sender":                `{"ToUserName":"` + corp + `","MsgType":"text","FromUserName":"` + strings.Repeat("x", 300) + `"}`,
		"a sender that is an object": `{"ToUserName":"` + corp + `","MsgType":"text","FromUserName":{"x":"u"}}`,
	} {
		_, err := deliver(t, corp, []byte(doc), "n")
		wantErr(t, err, gateway.ErrUndecodable)
		if err != nil && strings.Contains(err.Error(), corp) {
			t.Errorf("%s: the error tells an id", name)
		}
	}
	it := decode(t, []byte(head+",\"Content\":\"a\x08b\xff\nc\"}"))
	if it.Content.Text != "ab\ufffdc" || !json.Valid(it.Content.Raw) {
		t.Errorf("%q, raw %s", it.Content.Text, it.Content.Raw)
	}
	if it := decode(t, []byte(head+`,"Content":null}`)); it.Kind != gateway.KindMessage || it.Content.Text != "" {
		t.Errorf("%+v", it)
	}
}

// Both lists of what is read hold the same names.
func TestElementsAreThoseRead(t *testing.T) {
	texts := func(file, function string) map[string]bool {
		f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			if d, ok := n.(*ast.FuncDecl); ok && d.Name.Name != function {
				return false
			}
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == gotoken.STRING && l.Value != `""` {
				s, _ := strconv.Unquote(l.Value)
				out[s] = true
			}
			return true
		})
		return out
	}
	spelt, read := texts("decode_json.go", "elements"), texts("decode_fields.go", "useOf")
	delete(read, "AgentId") // the other spelling of AgentID
	for name := range read {
		if !spelt[name] {
			t.Errorf("%s is read and not in elements", name)
		}
	}
	if len(read) < 50 {
		t.Errorf("%d names read", len(read))
	}
}
