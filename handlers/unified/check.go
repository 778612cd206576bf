package unified

import (
	"fmt"
	"strings"
	"time"
)

// Problem is one mistake in a description: the field below it, such as
// "kinds[0].value", and what would be right.
type Problem struct{ Field, Text string }

// Problems are the mistakes that the tags of the fields do not find: paths that
// cannot be read, values that stand twice, fields that need others.
func (d *Decoding) Problems() []Problem {
	_, problems := d.compile()
	return problems
}

// Problems is as Decoding.Problems.
func (s *Sending) Problems() []Problem {
	_, problems := s.compile()
	return problems
}

// problems collects them.
type problems struct{ list []Problem }

func (p *problems) add(field, format string, args ...any) {
	p.list = append(p.list, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// paths reads the paths of one field.
func (p *problems) paths(field string, texts []string) (out paths) {
	for i, text := range texts {
		one, err := parsePath(text)
		switch {
		case err != nil:
			p.add(fmt.Sprintf("%s[%d]", field, i), "is no path that can be read: it %s", err)
		case field == "items" && (one.is || one.root):
			p.add(fmt.Sprintf("%s[%d]", field, i), "must be a path from the callback on, such as payload.messages[*]")
		case field != "items" && one.every():
			p.add(fmt.Sprintf("%s[%d]", field, i), "must name one value; [*] belongs to items")
		default:
			out = append(out, one)
		}
	}
	return out
}

// meanings makes a table of values and what they mean.
func meanings[R, M any](p *problems, field, key string, rules []R, read func(R) (string, M)) map[string]M {
	table := make(map[string]M, len(rules))
	for i, r := range rules {
		value, means := read(r)
		if _, twice := table[value]; twice {
			p.add(fmt.Sprintf("%s[%d].%s", field, i, key), "stands in the list already; a value has one meaning")
		}
		table[value] = means
	}
	return table
}

// zone reads an offset such as +08:00; empty is that of China.
func zone(s string) (*time.Location, bool) {
	if s == "" {
		s = "+08:00"
	}
	t, err := time.Parse("-07:00", s)
	if err != nil {
		return nil, false
	}
	_, offset := t.Zone()
	return time.FixedZone(s, offset), true
}

// compile reads the description.
func (d *Decoding) compile() (*decoder, []Problem) {
	var p problems
	c := &decoder{
		items: p.paths("items", d.Items), account: p.paths("account", d.Account), kind: p.paths("kind", d.Kind),
		eventID: p.paths("event_id", d.EventID), messageID: p.paths("message_id", d.MessageID), sentID: p.paths("sent_id", d.SentID),
		conversation: p.paths("conversation", d.Conversation), rule: d.ConversationRule, room: p.paths("room", d.Room),
		chatType: p.paths("chat_type", d.ChatType), groups: d.GroupValues,
		sender: p.paths("sender", d.Sender), senderName: p.paths("sender_name", d.SenderName), recipient: p.paths("recipient", d.Recipient),
		ownID: p.paths("own_id", d.OwnID), fromSelf: p.paths("from_self", d.FromSelf), marker: p.paths("marker", d.Marker),
		source: p.paths("source", d.Source), errorCode: p.paths("error_code", d.ErrorCode),
		time: p.paths("time", d.Time), unit: d.TimeUnit,
		typ: p.paths("type", d.Type), text: p.paths("text", d.Text), mediaID: p.paths("media_id", d.MediaID),
		mediaURL: p.paths("media_url", d.MediaURL), mediaMIME: p.paths("media_mime", d.MediaMIME), mediaName: p.paths("media_name", d.MediaName),
	}
	c.kinds = meanings(&p, "kinds", "value", d.Kinds, func(r KindRule) (string, KindRule) { return r.Value, r })
	c.sources = meanings(&p, "sources", "value", d.Sources, func(r SourceRule) (string, string) { return r.Value, r.By })
	c.types = meanings(&p, "types", "value", d.Types, func(r TypeRule) (string, string) { return r.Value, r.Type })
	if len(c.groups) == 0 {
		c.groups = []string{"true", "1", "group"}
	}
	var ok bool
	if c.zone, ok = zone(d.TimeZone); !ok {
		p.add("time_zone", `must be an offset such as "+08:00"`)
	}
	for i, r := range d.Kinds {
		if r.Type != "" && (r.Kind == "message" || r.Kind == "echo" || r.Kind == "send_failed") {
			p.add(fmt.Sprintf("kinds[%d].type", i), "does not belong to kind %s, which has a type of its own; leave it out", r.Kind)
		}
	}
	for _, f := range []struct {
		field, needs string
		set, there   bool
	}{
		{"kinds", "kind", len(d.Kinds) > 0, len(d.Kind) > 0},
		{"types", "type", len(d.Types) > 0, len(d.Type) > 0},
		{"sources", "source", len(d.Sources) > 0, len(d.Source) > 0},
		{"source", "sources", len(d.Source) > 0, len(d.Sources) > 0},
		{"group_values", "chat_type", len(d.GroupValues) > 0, len(d.ChatType) > 0},
		{"own_id", "sender", len(d.OwnID) > 0, len(d.Sender) > 0},
		{"conversation_rule", "sender", d.ConversationRule != "", len(d.Sender) > 0},
	} {
		if f.set && !f.there {
			p.add(f.field, "says nothing without %s; name both or none", f.needs)
		}
	}
	if len(d.FromSelf) == 0 && len(d.OwnID) == 0 {
		p.add("from_self", `is empty, and there is no own_id: nothing would tell who wrote, and no message would ever be handed out; `+
			`name one of them, or ["=false"] for a vendor that never sends back what our side wrote`)
	}
	if len(d.Conversation) == 0 && d.ConversationRule == "" {
		p.add("conversation", "is empty, and there is no conversation_rule: name the path of the conversation's id, or the rule peer or pair")
	}
	return c, p.list
}

// compile reads the description.
func (s *Sending) compile() (*sender, []Problem) {
	var p problems
	c := &sender{
		ok: p.paths("answer.ok", s.Answer.OK), okValues: s.Answer.OKValues, id: p.paths("answer.id", s.Answer.ID),
		code: p.paths("answer.code", s.Answer.Code), message: p.paths("answer.message", s.Answer.Message),
		calls: map[string]*call{},
	}
	if len(c.code) == 0 {
		c.code = c.ok
	}
	if (len(s.Answer.OK) > 0) != (len(s.Answer.OKValues) > 0) {
		p.add("answer.ok_values", "and answer.ok need each other: where it stands, and which values mean that the message was taken")
	}
	c.codes = meanings(&p, "codes", "code", s.Codes, func(r CodeRule) (string, string) { return r.Code, r.Means })
	for i, m := range s.Messages {
		at := fmt.Sprintf("messages[%d]", i)
		body, err := parseBody(m.Body)
		if err != nil {
			p.add(at+".body", "%s", err)
			continue
		}
		target, err := parseTemplate(m.Path, pathPlaceholders())
		switch {
		case err != nil:
			p.add(at+".path", "%s", err)
			continue
		case strings.ContainsAny(m.Path, "?# "):
			p.add(at+".path", "must be a path only; credentials belong into headers")
		case !body.has("to") && !target.has("to"):
			p.add(at+".body", "has no {{to}}, so that nobody would be written to")
		}
		method := m.Method
		if method == "" {
			method = "POST"
		}
		for j, typ := range m.Types {
			if c.calls[typ] != nil {
				p.add(fmt.Sprintf("%s.types[%d]", at, j), "is sent by another call already")
			}
			c.calls[typ] = &call{path: target, method: method, body: body}
		}
	}
	return c, p.list
}
