package gateway

import (
	"strings"
	"unicode/utf8"
)

// readPlain reads the content of what nearly every event is: a text with its sender,
// as EncodeContent writes it, b being the fields behind the envelope, each with the
// comma before it. False for anything else, which the JSON library then reads: any
// other field, an escaped character, or what is no UTF-8. A worker decodes every event
// it gets, and the library took a twelfth of all that dispatching one costs.
func (c *Content) readPlain(b string) bool {
	r := envelope{rest: b}
	c.Type = r.words(`,"type":"`)
	c.ID = r.may(`,"id":"`)
	if r.has(`,"from":{`) {
		c.From = r.party()
	}
	c.Text = r.may(`,"text":"`)
	return !r.bad && len(r.rest) == 0
}

// party reads a Party behind its opening brace.
func (r *envelope) party() *Party {
	p := new(Party)
	p.Name = r.may(`"name":"`)
	if p.Name != "" {
		r.comma()
	}
	p.Username = r.may(`"username":"`)
	if p.Username != "" {
		r.comma()
	}
	if r.has(`"identities":[`) {
		for {
			i := Identity{Kind: r.words(`{"kind":"`), Value: r.words(`,"value":"`)}
			i.As = r.may(`,"as":"`)
			p.Identities = append(p.Identities, i)
			if !r.has(`}`) {
				r.bad = true
			}
			if r.bad || !r.has(`,`) {
				break
			}
		}
		if !r.has(`]`) {
			r.bad = true
		}
	}
	if !r.has(`}`) {
		r.bad = true
	}
	return p
}

// comma takes the comma between two fields; none stands behind the last one.
func (r *envelope) comma() {
	more := r.has(`,`)
	if more == strings.HasPrefix(r.rest, `}`) {
		r.bad = true
	}
}

// may is words of a field that need not be there; an empty one is not written, and
// left to the JSON library.
func (r *envelope) may(field string) string {
	if !strings.HasPrefix(r.rest, field) {
		return ""
	}
	s := r.words(field)
	r.bad = r.bad || s == ""
	return s
}

// words takes the start of a field and its string, which may be in any language and
// has nothing escaped.
func (r *envelope) words(field string) string {
	if !r.has(field) {
		r.bad = true
		return ""
	}
	s, rest, found := strings.Cut(r.rest, `"`)
	wide := false
	for i := range len(s) {
		if c := s[i]; c == '\\' || c < ' ' {
			r.bad = true
		} else if c >= utf8.RuneSelf {
			wide = true
		}
	}
	if r.bad || !found || wide && !utf8.ValidString(s) {
		r.bad = true
		return ""
	}
	r.rest = rest
	return s
}
