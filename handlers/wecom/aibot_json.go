package wecom

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Errors of a robot's document. They hold no part of it.
var (
	errNoJSON     = errors.New("not a JSON object")
	errTwice      = errors.New("a field comes twice")
	errWrongShape = errors.New("a field has another shape than documented")
)

// checkJSON refuses what two readers may understand differently, or what costs
// more than its size: anything behind the value, more than maxDepth levels, more
// than maxInnerNodes values, and an object that has a name twice, whatever its
// case: encoding/json takes the last of "from" and "From", others the first.
func checkJSON(doc []byte) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	type level struct {
		names map[string]bool // nil in a list
		value bool            // the next text is a value, not a name
	}
	var open []level
	for nodes := 0; ; nodes++ {
		t, err := d.Token()
		switch {
		case err != nil:
			return errNoJSON
		case nodes > maxInnerNodes || len(open) > maxDepth:
			return errTooBig
		case nodes == 0 && t != json.Delim('{'):
			return errNoJSON
		}
		top := len(open) - 1
		switch t := t.(type) {
		case json.Delim:
			if t == '}' || t == ']' {
				open = open[:top]
				top--
				if top < 0 {
					return atEnd(doc[d.InputOffset():])
				}
				open[top].value = false
				continue
			}
			l := level{}
			if t == '{' {
				l.names = map[string]bool{}
			}
			open = append(open, l)
			continue
		case string:
			if open[top].names != nil && !open[top].value {
				name := strings.ToLower(t)
				if open[top].names[name] {
					return errTwice
				}
				open[top].names[name], open[top].value = true, true
				continue
			}
		}
		open[top].value = false
	}
}

func atEnd(rest []byte) error {
	if len(bytes.TrimSpace(rest)) > 0 {
		return errNoJSON
	}
	return nil
}

// plainDocument returns the document as JSON that every reader takes: the bytes
// as they are, or, when they are none, with the control characters inside texts
// escaped. Such characters do reach callbacks inside people's words, and a strict
// reader would lose the message. The archive keeps the bytes as they came.
func plainDocument(doc []byte) []byte {
	doc = bytes.TrimSpace(bytes.TrimPrefix(doc, []byte("\ufeff")))
	if !json.Valid(doc) {
		doc = escapeControls(doc)
	}
	return bytes.ToValidUTF8(doc, []byte("\ufffd"))
}

func escapeControls(doc []byte) []byte {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(doc)+16)
	text, escaped := false, false
	for _, c := range doc {
		switch {
		case text && c < 0x20:
			if escaped { // a backslash before a raw character says nothing
				out = out[:len(out)-1]
			}
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			escaped = false
			continue
		case text && escaped:
			escaped = false
		case text && c == '\\':
			escaped = true
		case c == '"':
			text = !text
		}
		out = append(out, c)
	}
	return out
}
