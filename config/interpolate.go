package config

import (
	"strings"
)

// interpolate replaces ${env:NAME} and ${file:/path}, once: what is put in is
// not looked at again. false when a mistake was noted.
func (d *decoder) interpolate(text, path string) (string, bool) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			b.WriteString(text)
			return b.String(), true
		}
		if plain, escaped := strings.CutSuffix(before, "$"); escaped {
			b.WriteString(plain + "${")
			text = rest
			continue
		}
		b.WriteString(before)
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			d.wrong(path, "${ without }; write ${env:NAME}, ${file:/path}, or $${ for a plain ${")
			return "", false
		}
		value, ok := d.lookup(name, path)
		if !ok {
			return "", false
		}
		b.WriteString(value)
		text = after
	}
}

func (d *decoder) lookup(name, path string) (string, bool) {
	if v, ok := strings.CutPrefix(name, "env:"); ok {
		value, set := d.env(v)
		if !set {
			d.wrong(path, "the environment variable %s is not set", v)
		}
		return value, set
	}
	if v, ok := strings.CutPrefix(name, "file:"); ok {
		value, err := readBounded(v, maxSecret)
		if err != nil {
			// The path is the operator's own; the error holds it and nothing else.
			d.wrong(path, "cannot be read: %v", err)
			return "", false
		}
		text := strings.TrimSuffix(string(value), "\n")
		return strings.TrimSuffix(text, "\r"), true
	}
	d.wrong(path, "${…} must be ${env:NAME} or ${file:/path}; write $${ for a plain ${")
	return "", false
}
