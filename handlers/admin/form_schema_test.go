package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// takesAll takes every submission.
type takesAll struct{ admin.Submissions }

func (takesAll) Submit(context.Context, *gateway.Submission) (gateway.Submitted, error) {
	return gateway.Submitted{ID: messageID}, nil
}

// judges are the two that say whether a request can be used: the form, and the schema
// that is published for it.
type judges struct {
	forms  *admin.Forms
	schema *jsonschema.Schema
}

func newJudges(t testing.TB) judges {
	t.Helper()
	forms, err := admin.NewForms()
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const published = "https://github.com/causewayhq/causeway/testdata/schema/"
	for _, name := range []string{"answer.json", "send.json"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "schema", name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(published+name, doc); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile(published + "send.json")
	if err != nil {
		t.Fatal(err)
	}
	return judges{forms, schema}
}

// agree compares them: what the form takes the schema takes, and what it refuses the
// schema refuses, but for what no schema can say: names of time zones, and what is
// inside a reply (TestAnswerSchema) and goes with reply_to.
func (j judges) agree(t *testing.T, body []byte) (taken bool) {
	t.Helper()
	_, refused, _ := j.forms.Submit(t.Context(), takesAll{}, admin.Asked{Body: body, By: "ops"})
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		if refused == nil {
			t.Errorf("the form takes what is no JSON: %s", body)
		}
		return false
	}
	err = j.schema.Validate(v)
	switch {
	case refused == nil && err != nil:
		t.Errorf("the form takes, and the schema refuses, %s\n%v", body, err)
	case refused != nil && err == nil:
		for _, f := range refused.Errors {
			root, _, _ := strings.Cut(f.Field, "[")
			root, _, _ = strings.Cut(root, ".")
			whole := f.Field == "priority" && strings.Contains(f.Detail, "number") // as 5.0 is for a schema
			if root != "content" && root != "parts" && f.Field != "reply_to" && f.Field != "send_window.time_zone" &&
				!strings.HasSuffix(f.Detail, "twice") && !whole {
				t.Errorf("the schema takes, and the form refuses, %s\n%s %s", body, f.Field, f.Detail)
			}
		}
	}
	return refused == nil
}

// requests are fields of requests beside an account and a content, and whether that can
// be used.
func requests() map[string]bool {
	const t, f = true, false
	k := func(n int) string { return strings.Repeat("k", n) }
	return map[string]bool{
		``: t, `"to":null`: t, `"to":{"kind":"phone","value":"1"}`: t, `"to":{"kind":"group","value":"Y2Fw=="}`: t, `"to":{"kind":"fax","value":"1"}`: f,
		`"to":{"kind":"phone"}`: f, `"to":{}`: f, `"to":{"kind":"phone","value":""}`: f, `"to":{"kind":"phone","value":"1 2"}`: f, `"to":"1"`: f, `"to":[]`: f,
		`"to":{"kind":"phone","value":"1\u0000"}`: f, `"to":{"kind":"phone","value":"\ud800"}`: f, `"to":{"kind":"userid","value":"张三"}`: t, `"to":{"kind":"phone","value":"1","as":"2"}`: f,
		`"to":{"kind":"userid","value":"` + k(256) + `"}`: t, `"to":{"kind":"userid","value":"` + k(257) + `"}`: f, `"to":{"kind":"userid","value":"` + strings.Repeat("张", 256) + `"}`: t,
		`"TO":{"kind":"phone","value":"1"}`: f, `"to":{"Kind":"phone","value":"1"}`: f, `"to":{"kind":"phone","value":null}`: f,
		`"conversation":""`: t, `"conversation":null`: t, `"conversation":"abcdefghijklmnopqrstuvwx27"`: t, `"conversation":"abcdefghijklmnopqrstuvwx2"`: f, `"conversation":"Abcdefghijklmnopqrstuvwx27"`: f,
		`"conversation":"abcdefghijklmnopqrstuvwx21"`: f, `"conversation":"abcdefghijklmnopqrstuvwx27","to":{"kind":"phone","value":"1"}`: f, `"conversation":"","to":{"kind":"phone","value":"1"}`: t,
		`"conversation":"abcdefghijklmnopqrstuvwx27","to":null`: t, `"conversation":7`: f,
		`"idempotency_key":""`: t, `"idempotency_key":null`: t, `"idempotency_key":"a ~"`: t, `"idempotency_key":"é"`: f, `"idempotency_key":"a\n"`: f, `"idempotency_key":"` + k(128) + `"`: t, `"idempotency_key":"` + k(129) + `"`: f,
		`"scheduled_at":""`: t, `"scheduled_at":null`: t, `"scheduled_at":"2026-12-01T08:00:00Z"`: t, `"scheduled_at":"2026-12-01T08:00:00.123456789+05:30"`: t, `"scheduled_at":"2026-12-01T08:00:00,5Z"`: f,
		`"scheduled_at":"2026-12-01t08:00:00z"`: f, `"scheduled_at":"2026-12-01 08:00:00Z"`: f, `"scheduled_at":"2026-12-01T8:00:00Z"`: f, `"scheduled_at":"2026-12-01T08:00:00"`: f, `"scheduled_at":"2026-02-30T08:00:00Z"`: f,
		`"scheduled_at":"2026-12-01T24:00:00Z"`: f, `"scheduled_at":"2026-06-30T23:59:60Z"`: f, `"scheduled_at":"2026-12-01T08:00:00+24:00"`: f, `"scheduled_at":"2026-12-01T08:00:00+00:60"`: f, `"scheduled_at":1764576000`: f,
		`"scheduled_at":"2026-12-01T08:00:00.Z"`: f, `"scheduled_at":"2024-02-29T08:00:00-00:00"`: t, `"scheduled_at":"2025-02-29T08:00:00Z"`: f, `"scheduled_at":"2026-13-01T08:00:00Z"`: f, `"scheduled_at":"0000-01-01T00:00:00Z"`: t,
		`"expires_at":"2026-12-01T08:00:00Z"`: t, `"expires_at":"soon"`: f, `"expires_at":""`: t, `"expires_at":"12026-12-01T08:00:00Z"`: f,
		`"send_window":null`: t, `"send_window":{}`: f, `"send_window":{"from":"09:00","to":"18:00","time_zone":"UTC"}`: t, `"send_window":{"from":"09:00","to":"09:00","time_zone":"Europe/Berlin","days":[]}`: t,
		`"send_window":{"from":"9:00","to":"18:00","time_zone":"UTC"}`: f, `"send_window":{"from":"24:00","to":"18:00","time_zone":"UTC"}`: f, `"send_window":{"from":"23:59","to":"00:00","time_zone":"UTC","days":["mon","mon"]}`: t,
		`"send_window":{"from":"09:00","to":"18:00","time_zone":"UTC","days":["Mon"]}`: f, `"send_window":{"from":"09:00","to":"18:00","time_zone":"UTC","days":null}`: t, `"send_window":{"from":"09:00","to":"18:60","time_zone":"UTC"}`: f,
		`"send_window":{"from":"09:00","to":"18:00","time_zone":""}`: f, `"send_window":{"from":"09:00","to":"18:00","time_zone":"Local"}`: f, `"send_window":{"from":"09:00","to":"18:00"}`: f, `"send_window":{"from":null,"to":"18:00","time_zone":"UTC"}`: f,
		`"send_window":{"from":"09:00","to":"18:00","time_zone":"UTC","zone":"UTC"}`: f, `"send_window":{"From":"09:00","to":"18:00","time_zone":"UTC"}`: f, `"send_window":{"from":"09:00:00","to":"18:00","time_zone":"UTC"}`: f,
		`"priority":0`: t, `"priority":9`: t, `"priority":10`: f, `"priority":-1`: f, `"priority":null`: t, `"priority":5.5`: f, `"priority":"5"`: f, `"priority":1e1`: f, `"priority":-0`: t,
		`"author":"bot"`: t, `"author":"human"`: t, `"author":""`: t, `"author":null`: t, `"author":"Bot"`: f, `"author":"bot human"`: f,
		`"even_in_takeover":true`: t, `"even_in_takeover":null`: t, `"even_in_takeover":"true"`: f, `"even_in_takeover":1`: f,
		`"on_failure":"resume"`: t, `"on_failure":"restart"`: t, `"on_failure":""`: t, `"on_failure":null`: t, `"on_failure":"stop"`: f,
		`"callback":"crm"`: t, `"callback":""`: t, `"callback":null`: t, `"callback":"https://x.test"`: f, `"callback":"-crm"`: f, `"callback":"` + k(40) + `"`: t, `"callback":"` + k(41) + `"`: f, `"callback":"c"`: t, `"callback":"c-"`: f, `"callback":"c\n"`: f,
		`"reply_to":"wamid.1"`: t, `"reply_to":""`: t, `"reply_to":null`: t, `"reply_to":"` + k(256) + `"`: t, `"reply_to":"` + k(257) + `"`: f,
		`"parts":null`: t, `"parts":[]`: f, `"parts":[{"text":"x"}]`: f, `"when":1`: f, `"":1`: f, `"callback":"crm","callback":"crm"`: f, `"to":{"kind":"phone"},"to":{"value":"1"}`: f,
	}
}

// bodies are requests in whole, and whether they can be used.
func bodies() map[string]bool {
	out := map[string]bool{
		`{}`: false, `null`: false, `[]`: false, `"x"`: false, `7`: false, ``: false, `{"account":"shop-a"}`: false, `{"content":{"text":"x"}}`: false,
		`{"account":"shop-a","parts":[{"text":"x"},{"text":"y"}]}`: true, `{"account":"shop-a","parts":[{"text":"x"}],"content":null}`: true, `{"account":"shop-a","parts":null,"content":null}`: false,
		`{"account":"shop-a","parts":[]}`: false, `{"account":"shop-a","parts":{"text":"x"}}`: false, `{"account":"shop-a","parts":[null]}`: false, `{"account":"shop-a","content":[{"text":"x"}]}`: false,
		`{"account":"shop-a","parts":[` + strings.Repeat(`{"text":"x"},`, 19) + `{"text":"x"}]}`: true, `{"account":"shop-a","parts":[` + strings.Repeat(`{"text":"x"},`, 20) + `{"text":"x"}]}`: false,
		`{"account":"pool:sales","content":{"text":"x"}}`: true, `{"account":"pool:","content":{"text":"x"}}`: false, `{"account":"pool:pool:sales","content":{"text":"x"}}`: false, `{"account":"Shop","content":{"text":"x"}}`: false,
		`{"account":"","content":{"text":"x"}}`: false, `{"account":null,"content":{"text":"x"}}`: false, `{"account":"shop-a\n","content":{"text":"x"}}`: false, `{"account":"shop--a","content":{"text":"x"}}`: true,
		`{"account":"-","content":{"text":"x"}}`: false, `{"account":"a","content":{"text":"x"}} `: true, `{"account":"a","content":{"text":"x"}}{}`: false, `{"account":["a"],"content":{"text":"x"}}`: false,
	}
	for fields, good := range requests() {
		if fields != "" {
			fields = "," + fields
		}
		out[`{"account":"shop-a","content":{"text":"x"}`+fields+`}`] = good
	}
	return out
}

// The form and the published schema say the same about every request, each as we meant.
func TestSendSchemaIsTheForm(t *testing.T) {
	j := newJudges(t)
	for body, good := range bodies() {
		if taken := j.agree(t, []byte(body)); taken != good {
			t.Errorf("taken: %t, want %t: %s", taken, good, body)
		}
	}
}

// FuzzSendSchema looks for a request about which they differ. What is inside replies is
// another test's: here they are all alike.
func FuzzSendSchema(f *testing.F) {
	for body := range bodies() {
		f.Add([]byte(body))
	}
	j := newJudges(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var in map[string]json.RawMessage
		if json.Unmarshal(body, &in) != nil {
			j.agree(t, body)
			return
		}
		asItCame := true
		for name, alike := range map[string]string{"content": `{"text":"x"}`, "parts": `[{"text":"x"}]`} {
			if v := in[name]; len(v) > 2 && v[0] == alike[0] {
				asItCame = asItCame && string(v) == alike
				in[name] = json.RawMessage(alike)
			}
		}
		if asItCame { // with names that are there twice
			j.agree(t, body)
		}
		again, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		j.agree(t, again)
	})
}
