package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/handlers/admin"
)

// wrongs gathers what is wrong with a request, so that all of it is told at once.
type wrongs struct{ fields []admin.InvalidField }

// note returns an error that says of no field that it is wrong.
func (w *wrongs) note(err error) error {
	var invalid *admin.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	for _, f := range invalid.Fields {
		// Every part says anew that nobody is there.
		if !slices.ContainsFunc(w.fields, func(g admin.InvalidField) bool {
			return f.Field == g.Field || f.Field == "to" && (strings.HasPrefix(g.Field, "to.") || g.Field == "conversation")
		}) {
			w.fields = append(w.fields, f)
		}
	}
	return nil
}

func (w *wrongs) err() error {
	if len(w.fields) == 0 {
		return nil
	}
	return &admin.InvalidError{Fields: w.fields}
}
