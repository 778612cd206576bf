package unified

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// template is a text with placeholders, taken apart.
type template struct {
	parts []templatePart
}

// templatePart is text as it stands, or what a placeholder names.
type templatePart struct {
	text string
	name string
}

// bodyPlaceholders and pathPlaceholders are what may stand in a body and a path.
func bodyPlaceholders() []string {
	return []string{"guid", "to", "marker", "text", "url", "media_id", "name", "mime"}
}

func pathPlaceholders() []string { return []string{"guid", "to"} }

// parseBody reads the template of a body: a JSON value. Placeholders can stand in
// texts only, since nowhere else two braces make valid JSON.
func parseBody(s string) (*template, error) {
	if !json.Valid([]byte(s)) {
		return nil, errors.New(`must be JSON with placeholders inside of texts, such as '{"toId":"{{to}}","content":"{{text}}"}'`)
	}
	return parseTemplate(s, bodyPlaceholders())
}

func parseTemplate(s string, names []string) (*template, error) {
	t := &template{}
	for {
		before, rest, found := strings.Cut(s, "{{")
		t.parts = append(t.parts, templatePart{text: before})
		if !found {
			return t, nil
		}
		name, rest, ended := strings.Cut(rest, "}}")
		if !ended || !slices.Contains(names, name) {
			return nil, errors.New("has a placeholder that does not exist; there are {{" + strings.Join(names, "}}, {{") + "}}")
		}
		t.parts = append(t.parts, templatePart{name: name})
		s = rest
	}
}

// has says whether a placeholder stands in it.
func (t *template) has(name string) bool {
	return slices.ContainsFunc(t.parts, func(p templatePart) bool { return p.name == name })
}

// fill puts values in, each through escape.
func (t *template) fill(values map[string]string, escape func(string) string) []byte {
	var b bytes.Buffer
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.name != "" {
			b.WriteString(escape(values[p.name]))
		}
	}
	return b.Bytes()
}

// insideText writes s as it stands inside of a JSON text.
func insideText(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return "" // a string can always be written
	}
	return b.String()[1 : b.Len()-2] // without quotes and line break
}
