package main

import (
	"context"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// sums joins the ledger's numbers with the archive's. The two are databases of
// their own: the relay's position is read before and after, and when it moved in
// between the numbers are of two moments and are read again. Positions have no
// gaps, so what is behind the relay is a difference; a gap would break the
// equation, which is what it is for.
func (a *app) sums(ctx context.Context, read func(context.Context) (gateway.Sums, error)) (gateway.Sums, error) {
	for {
		before, err := a.ledger.Position(ctx)
		if err != nil {
			return gateway.Sums{}, err
		}
		s, err := read(ctx)
		if err != nil {
			return s, err
		}
		stats, err := a.archive.Stats(ctx)
		if err != nil {
			return s, err
		}
		after, err := a.ledger.Position(ctx)
		if err != nil {
			return s, err
		}
		if before == after {
			s.Payloads.Archived = stats.Payloads
			s.Payloads.Pending = stats.LastPos - before.Pos - before.Ahead
			return s, nil
		}
	}
}

// rawQuery takes the query out of an archived request line.
func rawQuery(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	target, _, _ := strings.Cut(rest, " ")
	_, query, _ := strings.Cut(target, "?")
	return query
}
