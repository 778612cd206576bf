package unified

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// value is one JSON value as it stands in a document; nil for none. Nothing is decoded before it is asked for, so numbers keep their
// digits and what is not asked for costs a look at each byte.
type value []byte

// readJSON is the value of a whole document, without a byte order mark and with
// U+FFFD for what is not UTF-8, as the JSON library has it; nil for what is no JSON.
func readJSON(doc []byte) value {
	doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(doc) {
		doc = bytes.ToValidUTF8(doc, []byte("\ufffd"))
	}
	if !json.Valid(doc) {
		return nil
	}
	return bytes.TrimSpace(doc)
}

// text is a text's content, a number as it is written, true or false. What is
// null, empty, an object or a list has none.
func (v value) text() string {
	if len(v) == 0 {
		return ""
	}
	switch v[0] {
	case '{', '[', 'n':
		return ""
	case '"':
		if bytes.IndexByte(v, '\\') < 0 {
			return string(v[1 : len(v)-1])
		}
		var s string
		if json.Unmarshal(v, &s) != nil {
			return ""
		}
		return s
	}
	return string(v)
}

func (v value) isObject() bool { return len(v) > 0 && v[0] == '{' }
func (v value) isList() bool   { return len(v) > 0 && v[0] == '[' }

// member is the value of that name in an object, the last one of several, as
// JavaScript has it; nil for none.
func (v value) member(name string) (found value) {
	if !v.isObject() {
		return nil
	}
	for i := space(v, 1); v[i] == '"'; {
		end := skip(v, i)
		key := v[i:end]
		i = space(v, space(v, end)+1) // behind the colon
		end = skip(v, i)
		if key.names(name) {
			found = v[i:end]
		}
		if i = space(v, end); v[i] == ',' {
			i = space(v, i+1)
		}
	}
	return found
}

// names says whether a key is this name.
func (v value) names(name string) bool {
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1:len(v)-1]) == name
	}
	return v.text() == name
}

// elements are those of a list, in order.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		if !v.isList() {
			return
		}
		for i := space(v, 1); v[i] != ']'; {
			end := skip(v, i)
			if !yield(v[i:end]) {
				return
			}
			if i = space(v, end); v[i] == ',' {
				i = space(v, i+1)
			}
		}
	}
}

// element is the n-th of a list, from 0; nil for none.
func (v value) element(n int) value {
	for e := range v.elements() {
		if n == 0 {
			return e
		}
		n--
	}
	return nil
}

// space is the first place from i on that is no white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skip is the place behind the value that begins at i.
func skip(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipText(b, i)
	case '{', '[':
		for depth := 0; ; i++ {
			switch b[i] {
			case '"':
				i = skipText(b, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for ; i < len(b); i++ {
		switch b[i] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return i
}

// skipText is the place behind the text that begins at i.
func skipText(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}
