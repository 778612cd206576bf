package wecom

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object is one JSON object as it came; what is no object is an empty one.
type object map[string]json.RawMessage

func toObject(raw json.RawMessage) (o object, ok bool) {
	if len(raw) == 0 || json.Unmarshal(raw, &o) != nil || o == nil {
		return object{}, false
	}
	return o, true
}

func (o object) object(name string) object {
	in, _ := toObject(o[name])
	return in
}

// text is a string as it stands, or a number in its own digits; else empty.
func (o object) text(name string) string {
	raw := o[name]
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return string(raw)
	}
	return ""
}

// id is a text that names something: trimmed, and empty where it is longer than
// an id can be.
func (o object) id(name string) string {
	s := strings.TrimSpace(o.text(name))
	if len(s) > maxIDBytes {
		return ""
	}
	return s
}

// texts is a list of texts; what is none in it, or no list, is nothing.
func (o object) texts(name string) []string {
	var list []string
	if json.Unmarshal(o[name], &list) != nil {
		return nil
	}
	return list
}

// validRaw is a part of a page as an event may hold it: valid JSON may have bytes
// inside its strings that are not UTF-8.
func validRaw(raw json.RawMessage) json.RawMessage { return bytes.ToValidUTF8(raw, []byte("\ufffd")) }
