package wecom_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/causewayhq/causeway/gateway"
)

const schemaURL = "https://example.test/event.json"

// schemas are the published schema of events, and the same one with every field
// forbidden that it does not name: readers ignore those, we do not write them.
var schemas = sync.OnceValues(func() ([]*jsonschema.Schema, error) {
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "schema", "event.json"))
	if err != nil {
		return nil, err
	}
	var list []*jsonschema.Schema
	for _, closed := range []bool{false, true} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if closed {
			closeObjects(doc)
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource(schemaURL, doc); err != nil {
			return nil, err
		}
		s, err := c.Compile(schemaURL)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
})

func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

// published is the event that an item becomes, as observers and workers read it.
func published(t testing.TB, it *gateway.Item) []byte {
	t.Helper()
	says := it.Content
	says.Observed = it.Observed // as the relay does
	content, err := gateway.EncodeContent(&says)
	if err != nil {
		t.Fatalf("content cannot be encoded: %v", err)
	}
	row := gateway.EventRow{
		ID: gateway.EventID("wecom", it), Platform: "wecom", Account: "corp-a",
		Conv: gateway.ConvID([]byte("test"), "wecom", "corp-a", it.Chat.Kind, it.Chat.Identities[0]),
		Chat: it.Chat.Kind, Kind: it.Kind, Origin: gateway.OriginLive,
		Payload:    "pl_01JDX7Q4T5V8N2KZ0C9RB3MEHA",
		ReceivedAt: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC), OccurredAt: it.OccurredAt, Content: content,
	}
	if it.Kind.Ordered() && it.Observed == "" {
		row.Seq = 1
	}
	return row.Body(row.ID)
}

// fits holds an event against the published schema, and reads it as a worker.
// While a fuzzer runs it only reads it: the validator goes through maps, whose
// order would look like new coverage for ever.
func fits(t testing.TB, it *gateway.Item) {
	t.Helper()
	body := published(t, it)
	if f := flag.Lookup("test.fuzz"); f == nil || f.Value.String() == "" {
		fitsSchema(t, body)
	}
	ev, err := gateway.DecodeEvent(body)
	if err != nil {
		t.Fatalf("a worker cannot read the event: %v", err)
	}
	if ev.Kind != it.Kind || ev.Type != it.Content.Type || ev.Observed != it.Observed || ev.Text != it.Content.Text || !json.Valid(ev.Raw) && len(ev.Raw) > 0 {
		t.Errorf("a worker reads another event: %s", body)
	}
}

func fitsSchema(t testing.TB, body []byte) {
	t.Helper()
	list, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("the event is no JSON: %v", err)
	}
	for _, s := range list {
		if err := s.Validate(doc); err != nil {
			t.Errorf("the event does not fit the schema: %v\n%s", err, body)
		}
	}
}

// The validator validates: an event that is wrong in one place does not fit.
func TestSchemaRefuses(t *testing.T) {
	list, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	it := decode(t, read(t, "event_ext_add.xml"))
	good := published(t, &it)
	for name, change := range map[string][2]string{
		"kind":         {`"kind":"state"`, `"kind":"states"`},
		"whose state":  {`"change":{"of":{"kind":"customer"`, `"change":{"of":{"kind":"company"`},
		"handle":       {`"handle":{"kind":"welcome"`, `"handle":{"kind":"farewell"`},
		"until":        {`"until":"2026`, `"until":"soon 2026`},
		"no such word": {`"type":"event.`, `"type":5,"was":"event.`},
	} {
		bad := bytes.Replace(good, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(bad, good) {
			t.Fatalf("%s: nothing was changed in %s", name, good)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(bad))
		if err != nil {
			t.Fatal(err)
		}
		if list[0].Validate(doc) == nil {
			t.Errorf("%s: fits", name)
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.Replace(good, []byte(`"what"`), []byte(`"whats"`), 1)))
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Validate(doc) != nil || list[1].Validate(doc) == nil {
		t.Error("only the closed schema refuses a field without a name in it")
	}
}
