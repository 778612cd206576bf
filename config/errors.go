package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FieldError is one mistake. Its text holds no secret.
type FieldError struct {
	// Line of the file; 0 where the field does not stand in it.
	Line int
	// Env is the variable that gave the value, instead of the file.
	Env string
	// Field is the path, such as endpoints[0].app_secret; "" for the file.
	Field string
	// Problem says what is wrong and what would be right.
	Problem string
}

// Errors are all mistakes of one configuration, by line.
type Errors struct {
	File string
	List []FieldError
}

// Error has one line per mistake: file:line: field: problem.
func (e *Errors) Error() string {
	var b strings.Builder
	for i, f := range e.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch {
		case f.Env != "":
			b.WriteString(f.Env)
		case f.Line > 0:
			fmt.Fprintf(&b, "%s:%d", e.File, f.Line)
		default:
			b.WriteString(e.File)
		}
		if f.Field != "" {
			b.WriteString(": " + f.Field)
		}
		b.WriteString(": " + f.Problem)
	}
	return b.String()
}

// list collects mistakes; the first one of a field stands, since what follows
// for it, or for something in it, is its consequence.
type list struct {
	errs []FieldError
	seen map[string]bool
}

func (l *list) add(e FieldError) {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	for path := e.Field; path != ""; path = parent(path) {
		if l.seen[path] {
			return
		}
	}
	l.seen[e.Field] = true
	l.errs = append(l.errs, e)
}

func (l *list) result(file string) error {
	if len(l.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(l.errs, func(a, b FieldError) int { return cmp.Compare(a.Line, b.Line) })
	return &Errors{File: file, List: l.errs}
}
