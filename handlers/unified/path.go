package unified

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A path says where something stands in a JSON document:
//
//	sender.id          the member id of the member sender of the item
//	$.guid             of the whole body, and not of the item
//	$                  the whole body itself
//	ids[0]             the first element of a list
//	["a.b"].c          a name with characters that are not plain, as a JSON text
//	payload.list[*]    every element of a list; in items only
//	=text              no path: the text itself
//
// A plain name is any text without dots, brackets, quotes, blanks and control
// characters that does not begin with "$" or "=". A number is the place in a
// list, below 100,000. There is nothing else: no filters, no slices, no search.
type path struct {
	constant string
	is       bool // constant
	root     bool // begins at the body
	steps    []step
}

// step goes down by a name, by a place (name empty), or to every element.
type step struct {
	name  string
	at    int
	named bool
	every bool
}

const (
	maxPath = 256 // bytes of a path
	maxAt   = 100_000
)

// parsePath reads one path. Errors say what would be right.
func parsePath(s string) (*path, error) {
	if rest, ok := strings.CutPrefix(s, "="); ok {
		if rest == "" {
			return nil, errors.New("needs a text behind the =, such as =false")
		}
		return &path{constant: rest, is: true}, nil
	}
	switch {
	case s == "":
		return nil, errors.New("is empty; write a path such as sender.id")
	case len(s) > maxPath:
		return nil, fmt.Errorf("is longer than %d bytes", maxPath)
	}
	return readPath(s)
}

// readPath reads a path of any length.
func readPath(s string) (*path, error) {
	p := &path{}
	rest, root := strings.CutPrefix(s, "$")
	if p.root = root; root && rest == "" {
		return p, nil
	}
	for first := !p.root; rest != ""; first = false {
		var st step
		var err error
		switch {
		case rest[0] == '[':
			st, rest, err = bracket(rest)
		case rest[0] == '.' && !first:
			st, rest, err = plain(rest[1:])
		case first:
			st, rest, err = plain(rest)
		default:
			err = errors.New("needs a dot or a bracket between two steps")
		}
		if err != nil {
			return nil, err
		}
		p.steps = append(p.steps, st)
	}
	return p, nil
}

// plain reads a name that stands without quotes.
func plain(s string) (st step, rest string, err error) {
	end := strings.IndexFunc(s, func(r rune) bool { return strings.ContainsRune(".[]\"'", r) || r <= ' ' || r == 0x7f })
	if end < 0 {
		end = len(s)
	}
	switch {
	case end == 0:
		return st, s, errors.New(`lacks a name where one must stand; write such as sender.id, list[0] or ["a name"]`)
	case end < len(s) && s[end] != '.' && s[end] != '[':
		return st, s, errors.New(`has a character that no plain name has; write the name in brackets and quotes: ["a name"]`)
	case s[0] == '$' || s[0] == '=':
		return st, s, errors.New(`has a name that begins with $ or =; write it in brackets and quotes: ["$name"]`)
	}
	return step{name: s[:end], named: true}, s[end:], nil
}

// bracket reads [*], [0] or ["name"].
func bracket(s string) (st step, rest string, err error) {
	if rest, ok := strings.CutPrefix(s, "[*]"); ok {
		return step{every: true}, rest, nil
	}
	if strings.HasPrefix(s, `["`) {
		end := 2
		for end < len(s) && s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		if end+1 >= len(s) || s[end+1] != ']' || json.Unmarshal([]byte(s[1:end+1]), &st.name) != nil {
			return st, s, errors.New(`has a name in brackets that does not end well; write ["a name"]`)
		}
		st.named = true
		return st, s[end+2:], nil
	}
	inner, rest, ok := strings.Cut(s[1:], "]")
	n, err := strconv.ParseUint(inner, 10, 32)
	if !ok || err != nil || n >= maxAt || strconv.FormatUint(n, 10) != inner {
		return st, s, errors.New(`has brackets around what is neither a number below 100000, nor *, nor a name in quotes`)
	}
	return step{at: int(n)}, rest, nil
}

// String writes the path in its plainest form; it reads back the same. What a JSON
// text escapes may make it longer than maxPath.
func (p *path) String() string {
	if p.is {
		return "=" + p.constant
	}
	var b strings.Builder
	if p.root {
		b.WriteByte('$')
	}
	for _, st := range p.steps {
		switch {
		case st.every:
			b.WriteString("[*]")
		case !st.named:
			fmt.Fprintf(&b, "[%d]", st.at)
		default:
			if _, rest, err := plain(st.name); err != nil || rest != "" {
				quoted, _ := json.Marshal(st.name) // a string can always be written
				fmt.Fprintf(&b, "[%s]", quoted)
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(st.name)
		}
	}
	return b.String()
}

// every says whether the path names more than one value.
func (p *path) every() bool {
	for _, st := range p.steps {
		if st.every {
			return true
		}
	}
	return false
}

// find is the value at the path below v; nil for none.
func (p *path) find(v value) value {
	for _, st := range p.steps {
		if v == nil {
			return nil
		}
		if st.named {
			v = v.member(st.name)
		} else {
			v = v.element(st.at)
		}
	}
	return v
}

// all are the values at the path below v, at most limit+1 of them. there says
// that everything up to the first [*] is there, so that none means an empty list.
func (p *path) all(v value, limit int) (found []value, there bool) {
	var walk func(v value, steps []step)
	walk = func(v value, steps []step) {
		for i, st := range steps {
			switch {
			case v == nil || len(found) > limit:
				return
			case st.every:
				there = there || v.isList()
				for e := range v.elements() {
					if walk(e, steps[i+1:]); len(found) > limit {
						return
					}
				}
				return
			case st.named:
				v = v.member(st.name)
			default:
				v = v.element(st.at)
			}
		}
		if v != nil && string(v) != "null" {
			found, there = append(found, v), true
		}
	}
	walk(v, p.steps)
	return found, there
}
