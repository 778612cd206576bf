package sqlite

import (
	"context"
	"strings"
)

// Statements are the texts that the store has run so far. Nothing else may use the
// store meanwhile.
func (s *Store) Statements(ctx context.Context) (archive, ledger []string, err error) {
	gather := func(w *writer, pools ...*pool) (list []string, err error) {
		err = w.submit(ctx, false, 0, func(c *conn) error {
			list = c.texts()
			return nil
		})
		for _, r := range pools {
			for range r.size {
				c := <-r.idle
				list = append(list, c.texts()...)
				defer func() { r.idle <- c }()
			}
		}
		return list, err
	}
	if archive, err = gather(s.Archive.w, s.Archive.r); err != nil {
		return nil, nil, err
	}
	ledger, err = gather(s.Ledger.w, s.Ledger.r, s.Ledger.people)
	return archive, ledger, err
}

func (c *conn) texts() (list []string) {
	for q := range c.stmts {
		if verb, _, _ := strings.Cut(strings.TrimSpace(q), " "); strings.Contains("SELECT INSERT UPDATE DELETE WITH", verb) {
			list = append(list, q)
		}
	}
	return list
}

// Plan is what SQLite would do for a statement of the archive or the ledger, a line for
// each step.
func (s *Store) Plan(ctx context.Context, ofArchive bool, text string) (steps []string, err error) {
	r := s.Ledger.r
	if ofArchive {
		r = s.Archive.r
	}
	err = r.read(ctx, func(c *conn) error {
		return c.query("EXPLAIN QUERY PLAN "+text, func(r row) error {
			steps = append(steps, r.str(3))
			return nil
		}, make([]any, strings.Count(text, "?"))...) // the plan does not look at them
	})
	return steps, err
}
