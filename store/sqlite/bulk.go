package sqlite

import "strings"

// Rows in one statement of a bulk.
const (
	bulkMany = 32
	bulkSome = 8
)

// bulkText are the statements of a bulk.
type bulkText struct{ one, some, many string }

// newBulkText makes the texts of "INSERT INTO ..." with a row of values.
func newBulkText(insert, values string) *bulkText {
	text := func(n int) string { return insert + " VALUES " + values + strings.Repeat(", "+values, n-1) }
	return &bulkText{one: text(1), some: text(bulkSome), many: text(bulkMany)}
}

// bulk gathers rows of one table, so that a statement writes several: each
// statement costs about as much as a row. Who reads the table flushes first.
type bulk struct {
	text *bulkText
	args []any
	rows int
}

func (b *bulk) add(c *conn, args ...any) error {
	b.args = append(b.args, args...)
	b.rows++
	if b.rows < bulkMany {
		return nil
	}
	return b.flush(c)
}

func (b *bulk) flush(c *conn) error {
	args := b.args
	for b.rows > 0 {
		n, text := 1, b.text.one
		switch {
		case b.rows >= bulkMany:
			n, text = bulkMany, b.text.many
		case b.rows >= bulkSome:
			n, text = bulkSome, b.text.some
		}
		width := len(args) / b.rows
		if _, err := c.exec(text, args[:n*width]...); err != nil {
			return err
		}
		args = args[n*width:]
		b.rows -= n
	}
	clear(b.args)
	b.args = b.args[:0]
	return nil
}

// bulkTexts are those of the ledger. OR FAIL keeps SQLite from copying each page
// that a statement of several rows may touch, to take back half a statement: here
// an error takes back the whole write.
type bulkTexts struct{ pending, settled, item, payload *bulkText }

func newBulkTexts() bulkTexts {
	return bulkTexts{
		pending: newBulkText("INSERT OR FAIL INTO pending (app, c, lane, seq, n, tries, next_at, round, requeue)", "(?, ?, ?, ?, ?, ?, ?, ?, ?)"),
		settled: newBulkText("INSERT OR FAIL INTO settled (n, app, state, reason, tries, round, requeue, at)", "(?, ?, ?, ?, ?, ?, ?, ?)"),
		item:    newBulkText("INSERT OR FAIL INTO item (pos, idx, state, reason, detail, n)", "(?, ?, ?, ?, ?, ?)"),
		payload: newBulkText("INSERT OR FAIL INTO payload (pos, state, reason, detail, key_fp, platform, endpoint, received_at)", "(?, ?, ?, ?, ?, ?, ?, ?)"),
	}
}
