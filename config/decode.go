package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// place is where a value came from.
type place struct {
	line int
	env  string
}

// decoder moves a tree of YAML into a Config, remembers where every field
// stood, and goes on after a mistake.
type decoder struct {
	env    func(string) (string, bool)
	places map[string]place
	list   list
}

func (d *decoder) wrong(field, format string, args ...any) {
	e := FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
	d.locate(&e)
	d.list.add(e)
}

// locate gives an error the place of its field, or of the nearest thing around
// it that stands in the file.
func (d *decoder) locate(e *FieldError) {
	for path := e.Field; path != ""; path = parent(path) {
		if p, ok := d.places[path]; ok {
			e.Line, e.Env = p.line, p.env
			return
		}
	}
}

func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// value decodes n into v. Null leaves v as it is.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	if path != "" {
		d.places[path] = place{line: n.Line}
	}
	if n.Kind == yaml.AliasNode {
		d.wrong(path, "aliases (*name) are not read; write the value out")
		return
	}
	if isNull(n) {
		return
	}
	switch {
	case v.Kind() == reflect.Pointer:
		fresh := newValue(v.Type().Elem())
		d.value(n, fresh.Elem(), path)
		v.Set(fresh)
	case v.Kind() == reflect.Struct:
		d.mapping(n, v, path)
	case v.Kind() == reflect.Slice:
		d.sequence(n, v, path)
	case n.Kind != yaml.ScalarNode:
		d.wrong(path, "must be one value, not a %s", kindName(n))
	default:
		text, ok := d.interpolate(n.Value, path)
		if ok {
			d.scalar(text, n.ShortTag(), v, path)
		}
	}
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	fields := fieldsOf(v.Type())
	if short := slices.IndexFunc(fields, func(f field) bool { return f.short }); short >= 0 && n.Kind == yaml.ScalarNode {
		d.value(n, v.Field(fields[short].index), join(path, fields[short].name))
		return
	}
	if n.Kind != yaml.MappingNode {
		d.wrong(path, "must be a mapping of fields, not a %s", kindName(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, content := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value && key.Kind == yaml.ScalarNode })
		if at < 0 {
			e := FieldError{Line: key.Line, Field: join(path, keyName(key)), Problem: unknownField(path, key.Value, fields)}
			d.list.add(e)
			continue
		}
		name := join(path, key.Value)
		if first, twice := seen[key.Value]; twice {
			d.list.add(FieldError{Line: key.Line, Field: name, Problem: fmt.Sprintf("stands here a second time; the first is in line %d", first)})
			continue
		}
		seen[key.Value] = key.Line
		d.value(content, v.Field(fields[at].index), name)
		if p := d.places[name]; p.line == 0 || key.Line < p.line {
			d.places[name] = place{line: key.Line}
		}
	}
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.wrong(path, "must be a list, such as [a, b]")
		return
	}
	out := reflect.Zero(v.Type()) // an empty list is no list
	for i, entry := range n.Content {
		e := newValue(v.Type().Elem()).Elem()
		at := path + "[" + strconv.Itoa(i) + "]"
		if isNull(entry) {
			d.places[at] = place{line: entry.Line}
			d.wrong(at, "is empty")
		} else {
			d.value(entry, e, at)
		}
		out = reflect.Append(out, e)
	}
	v.Set(out)
}

// scalar reads the text of one value. tag is YAML's opinion of it; "" for a
// value from the environment.
func (d *decoder) scalar(text, tag string, v reflect.Value, path string) {
	var problem string
	switch v.Interface().(type) {
	case time.Duration:
		if x, err := time.ParseDuration(text); err == nil {
			v.SetInt(int64(x))
		} else {
			problem = "must be a duration with its unit, such as 500ms, 5s or 10m"
		}
	case Bytes:
		if x, err := ParseBytes(text); err == nil {
			v.SetInt(int64(x))
		} else {
			problem = err.Error()
		}
	default:
		switch v.Kind() {
		case reflect.String:
			// Numbers and words such as yes are taken as they are written: ids
			// are often written without quotes.
			v.SetString(text)
		case reflect.Int, reflect.Int64:
			if x, err := strconv.ParseInt(text, 10, v.Type().Bits()); err == nil {
				v.SetInt(x)
			} else {
				problem = "must be a whole number"
			}
		case reflect.Float64:
			if x, err := strconv.ParseFloat(text, 64); err == nil && x == x {
				v.SetFloat(x)
			} else {
				problem = "must be a number, such as 2 or 0.2"
			}
		case reflect.Bool:
			if text == "true" || text == "false" {
				v.SetBool(text == "true")
			} else {
				problem = "must be true or false"
			}
		default:
			problem = "cannot be set"
		}
	}
	if tag == "!!binary" {
		problem = "must be text, not !!binary"
	}
	if problem != "" {
		d.wrong(path, "%s", problem)
	}
}

// field is one field of a struct as the file names it.
type field struct {
	name  string
	index int
	short bool // may stand for its whole struct
}

func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			out = append(out, field{name: name, index: i, short: t.Field(i).Tag.Get("config") == "short"})
		}
	}
	return out
}

// newValue makes a pointer to a new t with its defaults.
func newValue(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	if e, ok := p.Interface().(interface{ setDefaults() }); ok {
		e.setDefaults()
	}
	return p
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	case yaml.ScalarNode, yaml.AliasNode, yaml.DocumentNode:
	}
	return "single value"
}

// keyName is a key as it may be shown: a key that is no plain word could be a
// misplaced secret.
func keyName(key *yaml.Node) string {
	if key.Kind != yaml.ScalarNode || !plainKey(key.Value) {
		return "?"
	}
	return key.Value
}

func plainKey(s string) bool {
	if s == "" || len(s) > 40 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '-' && c != '<' {
			return false
		}
	}
	return true
}
