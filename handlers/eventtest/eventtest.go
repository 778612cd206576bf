// Package eventtest holds what a platform decodes against what is published of it: the
// JSON Schema of events, and the reading of a worker. It is for the tests of platforms
// only; no binary links it.
package eventtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/testdata/schema"
)

// ErrNoJSON is returned for what is no JSON at all.
var ErrNoJSON = errors.New("no JSON") //nolint:gochecknoglobals // a sentinel error is a constant

// Published is the event that an item of an account becomes, as observers and workers
// read it; what only the ledger knows is made up and always the same.
func Published(t testing.TB, platform, account string, it *gateway.Item) []byte {
	t.Helper()
	says := it.Content
	says.Observed = it.Observed // as the relay does
	content, err := gateway.EncodeContent(&says)
	if err != nil {
		t.Fatalf("content cannot be encoded: %v", err)
	}
	row := gateway.EventRow{
		ID: gateway.EventID(platform, it), Platform: platform, Account: account,
		Conv: gateway.ConvID([]byte("test"), platform, account, it.Chat.Kind, it.Chat.Identities[0]),
		Chat: it.Chat.Kind, Kind: it.Kind, Origin: gateway.OriginLive,
		Payload:    "pl_01JDX7Q4T5V8N2KZ0C9RB3MEHA",
		ReceivedAt: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC), OccurredAt: it.OccurredAt, Content: content,
	}
	if it.Kind.Ordered() && it.Observed == "" {
		row.Seq = 1
	}
	return row.Body(row.ID)
}

// Fits holds the event of an item against the schema, and reads it as a worker. While
// a fuzzer runs it only reads it: the validator goes through maps, whose order would
// look like new coverage for ever.
func Fits(t testing.TB, platform, account string, it *gateway.Item) {
	t.Helper()
	body := Published(t, platform, account, it)
	if f := flag.Lookup("test.fuzz"); f == nil || f.Value.String() == "" {
		if err := errors.Join(Validate(body)); err != nil {
			t.Errorf("the event does not fit the schema: %v\n%s", err, body)
		}
	}
	ev, err := gateway.DecodeEvent(body)
	if err != nil {
		t.Fatalf("a worker cannot read the event: %v", err)
	}
	if ev.Kind != it.Kind || ev.Type != it.Content.Type || ev.Observed != it.Observed || ev.Text != it.Content.Text ||
		len(ev.Raw) > 0 && !json.Valid(ev.Raw) {
		t.Errorf("a worker reads another event: %s", body)
	}
}

// Validate holds a body against the published schema, and against the same one with
// every field forbidden that it does not name: readers ignore those, we do not write
// them.
func Validate(body []byte) (published, closed error) {
	list, err := compiled()
	if err != nil {
		return err, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return ErrNoJSON, ErrNoJSON
	}
	return list[0].Validate(doc), list[1].Validate(doc)
}

// compiled are the two schemas; compiling them takes a while.
//
//nolint:gochecknoglobals // made once, never changed
var compiled = sync.OnceValues(func() ([2]*jsonschema.Schema, error) {
	var list [2]*jsonschema.Schema
	for i := range list {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Files()["event.json"]))
		if err != nil {
			return list, err
		}
		if i == 1 {
			closeObjects(doc)
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource("https://example.test/event.json", doc); err != nil {
			return list, err
		}
		if list[i], err = c.Compile("https://example.test/event.json"); err != nil {
			return list, err
		}
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

// Refuses shows that the validator validates: the body fits, and does not once any of
// the changes (old text, new text) is made; a field of another name, put in place of
// one that is optional, is refused by the closed schema alone.
func Refuses(t *testing.T, body []byte, changes map[string][2]string, renamed [2]string) {
	t.Helper()
	replaced := func(name string, change [2]string) []byte {
		bad := bytes.Replace(body, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(bad, body) {
			t.Fatalf("%s: nothing was changed in %s", name, body)
		}
		return bad
	}
	if err := errors.Join(Validate(body)); err != nil {
		t.Fatalf("the body does not fit: %v", err)
	}
	for name, change := range changes {
		if published, _ := Validate(replaced(name, change)); published == nil || errors.Is(published, ErrNoJSON) {
			t.Errorf("%s: %v", name, published)
		}
	}
	if published, closed := Validate(replaced("another name", renamed)); published != nil || closed == nil {
		t.Errorf("a field of another name: %v by the schema, %v by the closed one", published, closed)
	}
}
