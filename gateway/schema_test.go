package gateway_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// schema is what the test reads of a JSON Schema.
type schema struct {
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"`
	Description string            `json:"description"`
	Required    []string          `json:"required"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Defs        map[string]schema `json:"$defs"`
}

// The published schemas name every field that we publish or take, nested ones
// too, and no other; each says what it is. strict is for what we write: what is
// always there is required.
func TestSchemasNameTheFields(t *testing.T) {
	for _, c := range []struct {
		file   string
		v      any
		strict bool
	}{{"event.json", gateway.Event{}, true}, {"answer.json", gateway.Answer{}, false}, {"state.json", gateway.State{}, true}, {"send.json", admin.SubmitForm{}, false}} {
		raw, err := os.ReadFile(filepath.Join("..", "testdata", "schema", c.file))
		if err != nil {
			t.Fatal(err)
		}
		var root schema
		if err := json.Unmarshal(raw, &root); err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		h := holder{t: t, defs: root.Defs, strict: c.strict, used: map[string]bool{}}
		h.hold(c.file, root, reflect.TypeOf(c.v))
		for name := range root.Defs {
			if !h.used[name] {
				t.Errorf("%s: $defs/%s is used nowhere", c.file, name)
			}
		}
	}
}

// holder holds schemas against types.
type holder struct {
	t      *testing.T
	defs   map[string]schema
	strict bool
	used   map[string]bool
}

func (h holder) hold(at string, s schema, typ reflect.Type) {
	h.t.Helper()
	if s.Ref == "#" { // an event in an event, held already
		if typ != reflect.TypeFor[*gateway.Event]() {
			h.t.Errorf("%s is the whole again in the schema, a %s in Go", at, typ)
		}
		return
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		def, found := h.defs[name]
		if !found {
			h.t.Errorf("%s: no $defs/%s", at, name)
			return
		}
		h.used[name] = true
		if s.Description == "" {
			s.Description = def.Description
		}
		def.Description = s.Description
		s = def
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := jsonType(typ)
	types, _ := s.Type.([]any)
	if want != "" && s.Type != want && !slices.Contains(types, any(want)) {
		h.t.Errorf("%s is a %v in the schema, a %s in Go", at, s.Type, want)
	}
	if want == "" && s.Type != nil {
		h.t.Errorf("%s is any JSON, the schema says %v", at, s.Type)
	}
	switch want {
	case "array":
		if s.Items == nil {
			h.t.Errorf("%s: no items", at)
			return
		}
		h.hold(at+"[]", *s.Items, typ.Elem())
	case "object":
		h.fields(at, s, typ)
	}
}

func (h holder) fields(at string, s schema, typ reflect.Type) {
	fields := jsonFields(typ)
	for name, f := range fields {
		p, ok := s.Properties[name]
		if !ok {
			h.t.Errorf("%s does not name %q", at, name)
			continue
		}
		if p.Description == "" {
			h.t.Errorf("%s.%s has no description", at, name)
		}
		h.hold(at+"."+name, p, f.typ)
		if h.strict && f.always != slices.Contains(s.Required, name) {
			h.t.Errorf("%s.%s: always there is %v, required is %v", at, name, f.always, !f.always)
		}
	}
	for name := range s.Properties {
		if _, ok := fields[name]; !ok {
			h.t.Errorf("%s names %q, which does not exist", at, name)
		}
	}
	for _, name := range s.Required {
		if _, ok := fields[name]; !ok {
			h.t.Errorf("%s requires %q, which does not exist", at, name)
		}
	}
}

// jsonType is the schema's word for a Go type; empty for any JSON.
func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "string"
	case t == reflect.TypeFor[json.RawMessage]():
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array"
	case reflect.Struct:
		return "object"
	default:
		return "?" + t.String()
	}
}

type jsonField struct {
	typ    reflect.Type
	always bool // written even when empty
}

func jsonFields(t reflect.Type) map[string]jsonField {
	out := map[string]jsonField{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for name, inner := range jsonFields(f.Type) {
				out[name] = inner
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = jsonField{f.Type, !strings.Contains(options, "omitempty")}
	}
	return out
}
