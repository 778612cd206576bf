package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"time"

	msqlite "modernc.org/sqlite"

	"github.com/causewayhq/causeway/gateway"
)

// SQLite's primary result codes that are told apart here:
// https://www.sqlite.org/rescode.html
const (
	codeBusy       = 5
	codeNoMem      = 7
	codeReadOnly   = 8
	codeIOErr      = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCantOpen   = 14
	codeConstraint = 19
	codeNotADB     = 26
)

// errStop ends a query early; it never leaves the package.
var errStop = errors.New("stop") //nolint:gochecknoglobals // a sentinel error is a constant

// conn is one connection with its prepared statements. It is used by one
// goroutine at a time. Statements are few and fixed, so they are never evicted.
type conn struct {
	c     driver.Conn
	ctx   context.Context // unending
	stmts map[string]*stmt
}

type stmt struct {
	exec  driver.StmtExecContext
	query driver.StmtQueryContext
	stmt  driver.Stmt
	args  []driver.NamedValue
}

// unending is the context of every statement. The driver starts a goroutine per
// statement for a context that can end; the statements here are short, so the
// caller's context is looked at between them instead.
type unending struct{}

func (unending) Deadline() (time.Time, bool) { return time.Time{}, false }
func (unending) Done() <-chan struct{}       { return nil }
func (unending) Err() error                  { return nil }
func (unending) Value(any) any               { return nil }

// openConn opens path and runs the pragmas ("name(value)") in order.
func openConn(path string, pragmas ...string) (*conn, error) {
	dc, err := (&msqlite.Driver{}).Open(dsn(path, pragmas...))
	if err != nil {
		return nil, err
	}
	return &conn{c: dc, ctx: unending{}, stmts: make(map[string]*stmt)}, nil
}

func dsn(path string, pragmas ...string) string {
	q := url.Values{}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		_ = s.stmt.Close()
	}
	return c.c.Close()
}

func (c *conn) prepare(q string) (*stmt, error) {
	if s := c.stmts[q]; s != nil {
		return s, nil
	}
	ds, err := c.c.Prepare(q)
	if err != nil {
		return nil, err
	}
	e, okE := ds.(driver.StmtExecContext)
	r, okQ := ds.(driver.StmtQueryContext)
	if !okE || !okQ {
		_ = ds.Close()
		return nil, errors.New("sqlite: the driver's statements take no context")
	}
	s := &stmt{exec: e, query: r, stmt: ds}
	c.stmts[q] = s
	return s, nil
}

func (s *stmt) bind(args []any) []driver.NamedValue {
	s.args = s.args[:0]
	for i, a := range args {
		switch v := a.(type) {
		case int:
			a = int64(v)
		case bool:
			a = int64(0)
			if v {
				a = int64(1)
			}
		case time.Time:
			a = nanos(v)
		case []byte:
			if v == nil {
				a = []byte{}
			}
		}
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return s.args
}

// exec runs one statement and returns the rows changed. Arguments are int,
// int64, bool, string, []byte or time.Time.
func (c *conn) exec(q string, args ...any) (int64, error) {
	s, err := c.prepare(q)
	if err != nil {
		return 0, err
	}
	r, err := s.exec.ExecContext(c.ctx, s.bind(args))
	clear(s.args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// row is one row of a result; its accessors return the zero value for NULL. It
// is valid until the callback that got it returns; strings and blobs stay.
type row []driver.Value

func (r row) int(i int) int64 { v, _ := r[i].(int64); return v }

func (r row) str(i int) string { v, _ := r[i].(string); return v }

func (r row) time(i int) time.Time { return fromNanos(r.int(i)) }

func (r row) blob(i int) []byte {
	switch v := r[i].(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

// query calls each for every row; an error of each ends it and is returned,
// errStop ends it without one. No statement of the same text may run inside.
func (c *conn) query(q string, each func(row) error, args ...any) (err error) {
	s, err := c.prepare(q)
	if err != nil {
		return err
	}
	rows, err := s.query.QueryContext(c.ctx, s.bind(args))
	clear(s.args)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	values := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch err := each(values); {
		case errors.Is(err, errStop):
			return nil
		case err != nil:
			return err
		}
	}
}

// one calls each for the first row and says whether there was one.
func (c *conn) one(q string, each func(row), args ...any) (found bool, err error) {
	err = c.query(q, func(r row) error {
		found = true
		each(r)
		return errStop
	}, args...)
	return found, err
}

// number reads one integer; 0 when there is no row or it is NULL.
func (c *conn) number(q string, args ...any) (n int64, err error) {
	_, err = c.one(q, func(r row) { n = r.int(0) }, args...)
	return n, err
}

// code is SQLite's primary result code of err; 0 for other errors.
func code(err error) int {
	var e *msqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// outward marks what may pass by itself as gateway.ErrUnavailable and leaves
// the rest as it is. SQLite's messages name tables and columns, no values.
func outward(err error) error {
	switch code(err) {
	case codeBusy, codeNoMem, codeReadOnly, codeIOErr, codeFull, codeCantOpen:
		return fmt.Errorf("%w: %w", gateway.ErrUnavailable, err)
	}
	return err
}

// nanos is how times are stored: Unix nanoseconds, 0 for none.
// nanos is t as it is stored. What no number of nanoseconds can say (before 1678,
// after 2262) is the first or last that it can, so that a bound such as the year
// 9999 still lies behind everything.
func nanos(t time.Time) int64 {
	switch s := t.Unix(); {
	case t.IsZero():
		return 0
	case s >= math.MaxInt64/int64(time.Second):
		return math.MaxInt64
	case s <= math.MinInt64/int64(time.Second):
		return math.MinInt64
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
