package admin

import (
	"encoding/json"
	"path"
	"reflect"
	"strings"
	"time"
)

// schemas are JSON Schemas of Go types as encoding/json writes them, in the form of
// OpenAPI 3.0. Types with a name stand among the components once.
type schemas struct {
	components map[string]map[string]any
	names      map[reflect.Type]string
}

func newSchemas() *schemas {
	return &schemas{components: map[string]map[string]any{}, names: map[reflect.Type]string{}}
}

// of is the schema of a type, or a reference to it.
func (s *schemas) of(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case reflect.TypeFor[[]byte]():
		return map[string]any{"type": "string", "format": "byte"}
	}
	switch t.Kind() { //nolint:exhaustive // nothing else is in what the API says
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.named(t)
	}
	return map[string]any{}
}

// named puts a struct among the components, but for one without a name.
func (s *schemas) named(t reflect.Type) map[string]any {
	if t.Name() == "" {
		return s.object(t)
	}
	name, known := s.names[t]
	if !known {
		name = strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if _, taken := s.components[name]; taken {
			pkg := path.Base(t.PkgPath())
			name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
		}
		s.names[t] = name
		s.components[name] = nil // of a type that holds itself
		s.components[name] = s.object(t)
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

func (s *schemas) object(t reflect.Type) map[string]any {
	fields, required := map[string]any{}, []string{}
	s.fields(t, fields, &required)
	out := map[string]any{"type": "object", "properties": fields}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// fields adds those of a struct, embedded ones included.
func (s *schemas) fields(t reflect.Type, to map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			s.fields(f.Type, to, required)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		schema := s.of(f.Type)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if !optional {
			*required = append(*required, name)
		}
		if kind := f.Type.Kind(); !optional && (kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice) {
			if _, ref := schema["$ref"]; ref { // nothing may stand beside a reference
				schema = map[string]any{"allOf": []any{schema}}
			}
			schema["nullable"] = true
		}
		to[name] = schema
	}
}
