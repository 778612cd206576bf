package gateway_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
)

// The published schemas name every field that we publish, and no other.
func TestSchemasNameTheFields(t *testing.T) {
	for file, v := range map[string]any{"event.json": gateway.Event{}, "answer.json": gateway.Answer{}} {
		raw, err := os.ReadFile(filepath.Join("..", "testdata", "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Required   []string
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		fields := jsonFields(reflect.TypeOf(v))
		for _, f := range fields {
			if _, ok := schema.Properties[f]; !ok {
				t.Errorf("%s does not name %q", file, f)
			}
		}
		for p := range schema.Properties {
			if !slices.Contains(fields, p) {
				t.Errorf("%s names %q, which is never published", file, p)
			}
		}
		for _, r := range schema.Required {
			if !slices.Contains(fields, r) {
				t.Errorf("%s requires %q, which does not exist", file, r)
			}
		}
	}
}

func jsonFields(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			out = append(out, jsonFields(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}
