package whatsapptest

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// obj is a JSON object that keeps the order in which its fields were put in:
// Meta's bodies have one, and a reader that leans on it must find it here.
// Values are string, bool, int, int64, raw (a number as written), obj, []obj and
// nil.
type obj []field

type field struct {
	name  string
	value any
}

// raw is JSON that is written as it stands, such as a number with a fraction.
type raw string

// with returns the object with one more field.
func (o obj) with(name string, value any) obj { return append(o, field{name, value}) }

// opt adds a text unless it is empty: Meta leaves the key out, it never writes
// an empty text.
func (o obj) opt(name, text string) obj {
	if text == "" {
		return o
	}
	return o.with(name, text)
}

// object adds a part unless it has no fields.
func (o obj) object(name string, part obj) obj {
	if len(part) == 0 {
		return o
	}
	return o.with(name, part)
}

// list adds a list unless it is empty.
func (o obj) list(name string, parts []obj) obj {
	if len(parts) == 0 {
		return o
	}
	return o.with(name, parts)
}

// writer appends JSON. plain leaves text as UTF-8 and slashes alone; otherwise
// it is the form on Meta's wire: everything beyond ASCII as \u escapes in lower
// case, and slashes escaped. The signature goes over these bytes, so a gateway
// that writes the JSON anew before it verifies is found out.
type writer struct{ plain bool }

func (w writer) value(b []byte, v any) []byte {
	switch v := v.(type) {
	case obj:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(w.text(b, f.name), ':')
			b = w.value(b, f.value)
		}
		return append(b, '}')
	case []obj:
		b = append(b, '[')
		for i, o := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = w.value(b, o)
		}
		return append(b, ']')
	case string:
		return w.text(b, v)
	case raw:
		return append(b, v...)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	}
	return append(b, "null"...)
}

func (w writer) text(b []byte, s string) []byte {
	b = append(b, '"')
	for i, r := range s {
		switch {
		case r == '"', r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r < 0x20:
			b = fmt.Appendf(b, `\u%04x`, r)
		case r == '/' && !w.plain:
			b = append(b, '\\', '/')
		case r < 0x80:
			b = append(b, byte(r))
		case w.plain && r != utf8.RuneError:
			b = append(b, s[i:i+utf8.RuneLen(r)]...)
		case r > 0xffff:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800|r>>10, 0xdc00|r&0x3ff)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}
