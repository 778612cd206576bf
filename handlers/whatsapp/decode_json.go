package whatsapp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// value is one JSON value inside a document that json.Valid accepted. Reading
// goes over the bytes of the document, so that an item's raw part is exactly
// what came, numbers of any size keep their digits, and an odd value is met
// where it stands and nowhere else. Names are compared as written: "MESSAGES"
// is not "messages", which encoding/json would let override it.
type value []byte

// member is one name and value of an object.
type member struct {
	name string
	val  value
}

// object is the members of a JSON object in order. Names may repeat.
type object []member

// get returns the value of a name, nil when there is none. Of repeated names
// the last one counts, as in most readers.
func (o object) get(name string) value {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].val
		}
	}
	return nil
}

func (o object) text(name string) string   { return o.get(name).text() }
func (o object) object(name string) object { return o.get(name).object() }

// isObject and isArray say what kind of value it is; a value that is not there
// is neither.
func (v value) isObject() bool { return len(v) > 0 && v[0] == '{' }
func (v value) isArray() bool  { return len(v) > 0 && v[0] == '[' }
func (v value) isString() bool { return len(v) > 0 && v[0] == '"' }

// isTrue is the word true; everything else is not.
func (v value) isTrue() bool { return string(v) == "true" }

// isNull says whether there is nothing: absent, or the word null.
func (v value) isNull() bool { return len(v) == 0 || v[0] == 'n' }

// object returns the members of an object; nil for every other value.
func (v value) object() object {
	if !v.isObject() {
		return nil
	}
	o := make(object, 0, 8)
	for i := skipSpace(v, 1); v[i] != '}'; {
		end := skipValue(v, i)
		name := v[i:end].text()
		i = skipSpace(v, skipSpace(v, end)+1) // over the colon
		end = skipValue(v, i)
		o = append(o, member{name, v[i:end:end]})
		i = skipComma(v, end)
	}
	return o
}

// elements returns the elements of an array; nil for every other value.
func (v value) elements() []value {
	if !v.isArray() {
		return nil
	}
	var list []value
	for i := skipSpace(v, 1); v[i] != ']'; {
		end := skipValue(v, i)
		list = append(list, v[i:end:end])
		i = skipComma(v, end)
	}
	return list
}

// text returns a string's text, or a number's digits as written; "" for every
// other value. Lone surrogates and what is not UTF-8 become U+FFFD.
func (v value) text() string {
	switch {
	case len(v) == 0:
		return ""
	case v[0] == '-' || v[0] >= '0' && v[0] <= '9':
		return string(v)
	case v[0] != '"':
		return ""
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	return unquote(inner)
}

// unquote resolves the escapes of a string that json.Valid accepted, as
// json.Unmarshal would; that one checks the string a second time, which costs
// half as much as all the rest of a large batch.
func unquote(s []byte) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && s[i+1] == 'u':
			r := hexRune(s[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				pair := unicode.ReplacementChar
				if i+6 <= len(s) && s[i] == '\\' && s[i+1] == 'u' {
					pair = utf16.DecodeRune(r, hexRune(s[i+2:]))
				}
				if r = pair; r != unicode.ReplacementChar {
					i += 6
				}
			}
			b = utf8.AppendRune(b, r)
		case c == '\\':
			b = append(b, escaped(s[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			b = append(b, c)
			i++
		default:
			r, n := utf8.DecodeRune(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
		}
	}
	return string(b)
}

// hexRune reads the four digits of \uXXXX.
func hexRune(s []byte) rune {
	var r rune
	for _, c := range s[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

func escaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // quote, backslash, slash
}

// number returns a whole number, given as number or as text; 0 for all else.
func (v value) number() int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(v.text()), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// degrees returns a coordinate, given as number or as text, within the bounds of
// the earth.
func (v value) degrees(most float64) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v.text()), 64)
	return f, err == nil && f >= -most && f <= most
}

// time returns the instant of a timestamp, which comes as text or number, in
// seconds or, from 1e12 on, milliseconds. What is no such number is no time.
func (v value) time() time.Time {
	switch n := v.number(); {
	case n <= 0 || n > 9e9 && n < 1e12 || n > 9e12: // after the year 2255
		return time.Time{}
	case n >= 1e12:
		return time.UnixMilli(n).UTC()
	default:
		return time.Unix(n, 0).UTC()
	}
}

// depth is how many objects and arrays lie inside each other.
func (v value) depth() int {
	deepest, open := 0, 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = skipString(v, i) - 1
		case '{', '[':
			open++
			deepest = max(deepest, open)
		case '}', ']':
			open--
		}
	}
	return deepest
}

// raw copies the value for publishing. Bytes that are no UTF-8 become U+FFFD,
// since a worker's JSON reader may refuse them; the archive has them as they
// came.
func (v value) raw() json.RawMessage {
	if len(v) == 0 {
		return nil
	}
	if utf8.Valid(v) {
		return bytes.Clone(v)
	}
	valid := make([]byte, 0, len(v)+16)
	for i := 0; i < len(v); {
		r, n := utf8.DecodeRune(v[i:])
		valid = utf8.AppendRune(valid, r) // one U+FFFD per byte, as in text
		i += n
	}
	return valid
}

func skipSpace(v value, i int) int {
	for v[i] == ' ' || v[i] == '\n' || v[i] == '\t' || v[i] == '\r' {
		i++
	}
	return i
}

// skipComma goes from the end of a value to the next one or to the bracket.
func skipComma(v value, i int) int {
	i = skipSpace(v, i)
	if v[i] == ',' {
		i = skipSpace(v, i+1)
	}
	return i
}

// skipString returns the index behind the string that begins at i. A quote ends
// it unless an odd number of backslashes is before it.
func skipString(v value, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(v[i:], '"')
		slash := i
		for v[slash-1] == '\\' {
			slash--
		}
		if (i-slash)%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the index behind the value that begins at i.
func skipValue(v value, i int) int {
	switch v[i] {
	case '"':
		return skipString(v, i)
	case '{', '[':
		for open := 0; ; {
			switch v[i] {
			case '"':
				i = skipString(v, i)
				continue
			case '{', '[':
				open++
			case '}', ']':
				open--
			}
			i++
			if open == 0 {
				return i
			}
		}
	}
	for ; i < len(v); i++ {
		switch v[i] {
		case ',', ']', '}', ' ', '\n', '\t', '\r':
			return i
		}
	}
	return i
}
