package unified

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Facts are what a callback is made of by those who play the vendor. What a
// description has no path for is left out.
type Facts struct {
	// Kind is a word of KindRule, Value picks one of several values that mean it.
	Kind, Value                         string
	Account, EventID, MessageID, SentID string
	Conversation, Room                  string
	Group                               bool
	Sender, SenderName, Recipient       string
	// Self is "true" or "false"; empty leaves the flag out.
	Self                                    string
	Marker, Source, ErrorCode               string
	At                                      time.Time
	Type, Text                              string
	MediaID, MediaURL, MediaMIME, MediaName string
}

// Compose makes the body of a callback with several items that says these facts in
// the vendor's words: each stands at the first path of its field that begins nowhere
// else. It is the inverse of decoding, for sandboxes and simulate. Errors: a
// description that has no value for a kind, or more than one item where it has no
// place for them.
func (d *Decoding) Compose(items ...Facts) ([]byte, error) {
	c, problems := d.compile()
	if len(problems) > 0 {
		return nil, fmt.Errorf("decode.%s: %s", problems[0].Field, problems[0].Text)
	}
	if len(items) > 1 && len(c.items) == 0 {
		return nil, fmt.Errorf("a callback of this endpoint has one item, not %d", len(items))
	}
	var body any
	for n, f := range items {
		kind, err := d.valueOf(&f)
		if err != nil {
			return nil, err
		}
		put := func(field paths, v any) {
			if v == "" {
				return
			}
			for _, p := range field {
				switch {
				case p.is:
					continue
				case p.root || len(c.items) == 0 || f.Kind == "account":
					body = put(body, p.steps, n, v)
				default:
					body = put(body, append(c.items[0].steps[:len(c.items[0].steps):len(c.items[0].steps)], p.steps...), n, v)
				}
				return
			}
		}
		c.compose(&f, kind, put)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func (c *decoder) compose(f *Facts, kind string, put func(paths, any)) {
	put(c.kind, kind)
	put(c.account, f.Account)
	put(c.eventID, f.EventID)
	put(c.messageID, f.MessageID)
	put(c.sentID, f.SentID)
	put(c.conversation, f.Conversation)
	put(c.room, f.Room)
	if len(c.chatType) > 0 {
		chat := any(f.Group)
		if c.groups[0] != "true" {
			chat = "single"
			if f.Group {
				chat = c.groups[0]
			}
		}
		put(c.chatType, chat)
	}
	put(c.sender, f.Sender)
	put(c.senderName, f.SenderName)
	put(c.recipient, f.Recipient)
	if f.Self != "" {
		put(c.fromSelf, f.Self == "true")
	}
	put(c.marker, f.Marker)
	put(c.source, f.Source)
	put(c.errorCode, f.ErrorCode)
	if !f.At.IsZero() {
		put(c.time, c.written(f.At))
	}
	typ := f.Type
	for value, house := range c.types {
		if house == f.Type {
			typ = value
		}
	}
	put(c.typ, typ)
	put(c.text, f.Text)
	put(c.mediaID, f.MediaID)
	put(c.mediaURL, f.MediaURL)
	put(c.mediaMIME, f.MediaMIME)
	put(c.mediaName, f.MediaName)
}

// valueOf is the vendor's value for a kind; empty where every item is a message.
func (d *Decoding) valueOf(f *Facts) (string, error) {
	if f.Kind == "notice" && f.Value != "" {
		return f.Value, nil
	}
	for _, r := range d.Kinds {
		if r.Kind == f.Kind && (f.Value == "" || f.Value == r.Value || f.Value == r.Type) {
			return r.Value, nil
		}
	}
	if len(d.Kind) == 0 && f.Kind == "message" {
		return "", nil
	}
	return "", fmt.Errorf("the endpoint's kinds have no value that means %s", f.Kind)
}

// written is a time as the vendor writes it.
func (c *decoder) written(at time.Time) any {
	switch c.unit {
	case "ms":
		return at.UnixMilli()
	case "rfc3339":
		return at.In(c.zone).Format(time.RFC3339Nano)
	case "datetime":
		return at.In(c.zone).Format(time.DateTime)
	}
	return at.Unix()
}

// put sets the value at a path, making what is not there; every [*] is element n.
func put(into any, steps []step, n int, v any) any {
	if len(steps) == 0 {
		return v
	}
	st := steps[0]
	if st.named {
		m, ok := into.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m[st.name] = put(m[st.name], steps[1:], n, v)
		return m
	}
	list, _ := into.([]any)
	at := st.at
	if st.every {
		at = n
	}
	for len(list) <= at {
		list = append(list, nil)
	}
	list[at] = put(list[at], steps[1:], n, v)
	return list
}

// Sent is what a send call said, read by its template.
type Sent struct {
	Type                                             string // of the first kind of reply that the call is for
	GUID, To, Marker, Text, URL, MediaID, Name, MIME string
}

// Read recognises a call of the vendor's API: which one it is, and what stands where
// the placeholders of its body are. False when no call has this path, or the body is
// another than the template makes.
func (s *Sending) Read(method, urlPath string, body []byte) (Sent, bool) {
	for _, m := range s.Messages {
		want := m.Method
		if want == "" {
			want = "POST"
		}
		values := map[string]string{}
		if method != want || !match(m.Path, urlPath, values) {
			continue
		}
		var template, got any
		if json.Unmarshal([]byte(m.Body), &template) != nil || json.Unmarshal(body, &got) != nil || !matchTree(template, got, values) {
			continue
		}
		return Sent{Type: m.Types[0], GUID: values["guid"], To: values["to"], Marker: values["marker"], Text: values["text"],
			URL: values["url"], MediaID: values["media_id"], Name: values["name"], MIME: values["mime"]}, true
	}
	return Sent{}, false
}

// matchTree walks template and body together.
func matchTree(template, got any, values map[string]string) bool {
	switch t := template.(type) {
	case string:
		g, ok := got.(string)
		return ok && match(t, g, values)
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(t) {
			return false
		}
		for name, v := range t {
			if !matchTree(v, g[name], values) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(t) {
			return false
		}
		for i, v := range t {
			if !matchTree(v, g[i], values) {
				return false
			}
		}
		return true
	}
	return template == got
}

// match reads one text by its template, from left to right; a placeholder goes up to
// the text behind it.
func match(template, got string, values map[string]string) bool {
	t, err := parseTemplate(template, bodyPlaceholders())
	if err != nil {
		return false
	}
	for i := 0; i < len(t.parts); i++ {
		p := t.parts[i]
		if p.name == "" {
			if len(got) < len(p.text) || got[:len(p.text)] != p.text {
				return false
			}
			got = got[len(p.text):]
			continue
		}
		end := len(got)
		if next := t.parts[i+1].text; next != "" { // a text follows every placeholder
			if end = bytes.Index([]byte(got), []byte(next)); end < 0 {
				return false
			}
		}
		values[p.name], got = got[:end], got[end:]
	}
	return got == ""
}

// Compose makes the answer to a send call: taken with an id when code is empty, else
// a refusal.
func (a *Answer) Compose(id, code, message string) []byte {
	var body any = map[string]any{}
	set := func(texts []string, v string) {
		for _, text := range texts {
			if p, err := parsePath(text); err == nil && !p.is && v != "" {
				body = put(body, p.steps, 0, v)
				return
			}
		}
	}
	if code == "" {
		if len(a.OKValues) > 0 {
			set(a.OK, a.OKValues[0])
		}
		set(a.ID, id)
	} else {
		set(a.OK, code)
		set(a.Code, code)
	}
	set(a.Message, message)
	b, err := json.Marshal(body)
	if err != nil {
		return []byte(`{}`)
	}
	return b
}
