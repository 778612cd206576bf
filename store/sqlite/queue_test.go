package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// schedule fills a ledger with single messages for later, each in a conversation of its
// own, with a key.
func schedule(t testing.TB, l *Ledger, n int, from time.Time) (ids []string) {
	t.Helper()
	const slice = 500
	for at := 0; at < n; at += slice {
		err := l.write(context.Background(), false, slice, func(c *conn) error {
			for i := at; i < min(at+slice, n); i++ {
				due := from.Add(time.Duration(i) * time.Second)
				s := &gateway.Submission{Platform: "whatsapp", Account: fmt.Sprint("shop-", i%10), Priority: gateway.DefaultPriority,
					Chat: gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: fmt.Sprint(i)}}}}
				who, err := l.addressee(c, s, from)
				if err != nil {
					return err
				}
				k := &task{due: due, asked: s}
				made, err := l.enqueue(c, who, k, []gateway.Reply{{Type: gateway.ReplyText, Text: "hello"}}, from)
				if err != nil {
					return err
				}
				ids = append(ids, made[0])
				if _, err := c.exec("INSERT INTO submission (key, digest, task, at) VALUES (?, x'', ?, ?)", fmt.Sprintf("june-%06d", i), made[0], from); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// Every list, and the order of the sender, goes along an index and sorts nothing, so
// that what a page costs does not depend on how many messages there are.
func TestQueueGoesAlongIndexes(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	schedule(t, l, 20, time.Now().Add(time.Hour))
	plan := func(text string, args ...any) (out string) {
		t.Helper()
		err := l.r.read(t.Context(), func(c *conn) error {
			return c.query("EXPLAIN QUERY PLAN "+text, func(r row) error {
				out += r.str(3) + "\n"
				return nil
			}, args...)
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for want, q := range map[string]store.MessageQuery{
		"COVERING INDEX message_due": {State: gateway.MessageWaiting, DueFrom: time.Now(), After: "7.7"},
		"message_sending":            {State: gateway.MessageSending},
		"message_conv":               {Conv: "c"},
		"INTEGER PRIMARY KEY":        {State: gateway.MessageAccepted},
		"message_listed":             {State: gateway.MessageHeld, After: "7"},
	} {
		f := finder{q: &q}
		w, err := f.way()
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range []string{
			"SELECT due_at, row FROM " + w.along + " WHERE " + w.where + w.end + " ORDER BY " + w.order + " LIMIT 1 OFFSET 10",
			"SELECT " + messageColumns + ", row FROM " + w.along + " WHERE " + w.where + w.until + selected + " ORDER BY " + w.order,
		} {
			args := append(slices.Clone(w.args), w.bound(7, 7)...)
			for len(args) < strings.Count(text, "?") {
				args = append(args, "")
			}
			got := plan(text, args[:strings.Count(text, "?")]...)
			if i > 0 {
				want = strings.TrimPrefix(want, "COVERING INDEX ") // what is found is read
			}
			if !strings.Contains(got, want) || !w.few && (strings.Contains(got, "TEMP B-TREE") || strings.Contains(got, "SCAN")) {
				t.Errorf("%+v: want %s, is\n%s", q, want, got)
			}
		}
	}
	for _, text := range []string{
		"SELECT account, priority FROM message WHERE conv = ? AND open = 1 AND due_at <= ? ORDER BY priority LIMIT 1",
		"SELECT count(*) FROM message m JOIN attempt a ON a.message = m.id WHERE m.id = ? AND m.external_id = '' AND m.delivery = '' AND a.outcome = 'unknown'",
		"SELECT id, row FROM message WHERE moved = ? AND moved > 0 AND row > ? ORDER BY row LIMIT ?",
		"SELECT coalesce(max(moved), 0) FROM (SELECT moved FROM message WHERE id >= ? AND task = ? ORDER BY id LIMIT ?)",
		"SELECT key, task FROM submission WHERE key >= ? AND key > ? AND key < ? ORDER BY key LIMIT ?",
	} {
		args := make([]any, strings.Count(text, "?"))
		for i := range args {
			args[i] = 1
		}
		if got := plan(text, args...); !strings.Contains(got, "SEARCH") || strings.Contains(got, "SCAN") {
			t.Errorf("%s\n%s", text, got)
		}
	}
}

// Pages join to the whole list, whatever is left out and wherever a page ends: when it
// is full, when it has looked at enough rows, and at the last row.
func TestQueuePagesJoin(t *testing.T) {
	t.Parallel()
	l := openAt(t, t.TempDir()).Ledger
	from := time.Now().Add(time.Hour)
	ids := schedule(t, l, 50, from) // message i of account shop-(i mod 10)
	for _, id := range ids[:20] {
		if _, _, err := l.CancelMessage(t.Context(), id, "ops", from); err != nil {
			t.Fatal(err)
		}
	}
	sending := ids[25:28]
	err := l.write(t.Context(), false, 1, func(c *conn) (err error) {
		for _, id := range sending {
			_, err = c.exec("UPDATE message SET state = 'sending' WHERE id = ?", id)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	waiting := slices.Concat(ids[20:25], ids[28:])
	newest := slices.Clone(ids)
	slices.Reverse(newest)
	every10 := func(list []string, at int) (out []string) {
		for i := at; i < len(list); i += 10 {
			out = append(out, list[i])
		}
		return out
	}
	for name, c := range map[string]struct {
		q    store.MessageQuery
		want []string
	}{
		"waiting":             {store.MessageQuery{State: gateway.MessageWaiting}, waiting},
		"waiting, an account": {store.MessageQuery{State: gateway.MessageWaiting, Account: "shop-8"}, every10(ids[20:], 8)},
		"waiting, from":       {store.MessageQuery{State: gateway.MessageWaiting, DueFrom: from.Add(30 * time.Second), DueUntil: from.Add(40 * time.Second)}, ids[30:40]},
		"sending":             {store.MessageQuery{State: gateway.MessageSending}, sending},
		"sending, an account": {store.MessageQuery{State: gateway.MessageSending, Account: "shop-6"}, ids[26:27]},
		"sending, until":      {store.MessageQuery{State: gateway.MessageSending, DueFrom: from.Add(26 * time.Second), DueUntil: from.Add(27 * time.Second)}, ids[26:27]},
		"cancelled":           {store.MessageQuery{State: gateway.MessageCancelled}, newest[30:]},
		"all":                 {store.MessageQuery{}, newest},
		"all of an account":   {store.MessageQuery{Account: "shop-2"}, every10(newest, 7)},
		"none":                {store.MessageQuery{State: gateway.MessageWaiting, Account: "nobody"}, nil},
		"of an application":   {store.MessageQuery{App: "support"}, nil},
	} {
		for _, rows := range []int{1, 3, 7, 10, 49, 50, 51, 1000} {
			for _, limit := range []int{1, 4, 100} {
				var got []string
				q := c.q
				for pages := 0; ; pages++ {
					f := finder{q: &q, limit: limit, rows: rows}
					if err := l.r.snapshot(t.Context(), func(c *conn) error { return f.scan(c) }); err != nil {
						t.Fatal(err)
					}
					for i := range f.page.Messages {
						got = append(got, f.page.Messages[i].ID)
					}
					if n := len(f.page.Messages); n > limit || pages > 200 {
						t.Fatalf("%s: page %d has %d of %d messages", name, pages, n, limit)
					}
					if q.After = f.page.Next; q.After == "" {
						break
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s, %d rows and %d messages a page: %d messages, want %d\n%v\n%v", name, rows, limit, len(got), len(c.want), got, c.want)
				}
			}
		}
	}
}

// What a page costs is bounded by the rows it looks at, not by how many wait: of two
// upper bounds SQLite goes on to the one it has chosen, and a list that finds nothing
// walked over all 100,000 in each of its pages.
func TestQueuePageEndsAtItsRows(t *testing.T) {
	t.Parallel()
	for _, q := range []store.MessageQuery{
		{State: gateway.MessageWaiting, Account: "nobody"}, {State: gateway.MessageWaiting, DueUntil: time.Now().Add(2 * time.Hour)},
		{State: gateway.MessageHeld}, {Account: "nobody"},
	} {
		f := finder{q: &q}
		w, err := f.way()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{w.where + w.end, w.where + w.until} {
			text = strings.ReplaceAll(text, "<>", "")
			if strings.Count(text, " <") > 1 || strings.Count(text, " >") > 1 {
				t.Errorf("%+v: several bounds in %q", q, text)
			}
		}
	}
}

// BenchmarkQueue measures what people do to 100,000 scheduled messages.
func BenchmarkQueue(b *testing.B) {
	l := openBench(b).Ledger
	ctx := context.Background()
	from := time.Now().Add(time.Hour)
	ids := schedule(b, l, 100_000, from)
	for name, q := range map[string]store.MessageQuery{
		"list": {State: gateway.MessageWaiting}, "list-one-account": {State: gateway.MessageWaiting, Account: "shop-7"},
		"list-from-the-middle": {State: gateway.MessageWaiting, DueFrom: from.Add(50_000 * time.Second)},
		"list-by-key":          {Key: "june-09"}, "list-newest": {},
		"list-none": {State: gateway.MessageWaiting, Account: "nobody"}, "list-newest-none": {Account: "nobody"},
	} {
		q.Limit = 50
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if page, err := l.FindMessages(ctx, q); err != nil || len(page.Messages) == 0 && q.Account != "nobody" {
					b.Fatal(err)
				}
			}
		})
	}
	at, next := from, 0
	for _, c := range []struct {
		do store.MessageDeed
		n  int
	}{{store.DeedReschedule, 1}, {store.DeedReschedule, store.MaxChange}, {store.DeedCancel, 1}, {store.DeedCancel, store.MaxChange}} {
		b.Run(fmt.Sprintf("%s-%d", c.do, c.n), func(b *testing.B) {
			for b.Loop() {
				at = at.Add(time.Second)
				if next+c.n > len(ids) {
					b.Skip("all are done")
				}
				ch := store.MessageChange{Do: c.do, Messages: ids[next : next+c.n]}
				for range c.n {
					ch.At = append(ch.At, at)
				}
				for len(ch.Messages) > 0 {
					out, err := l.ChangeMessages(ctx, ch, "ops", from)
					if err != nil || out.Changed != out.Taken {
						b.Fatal(out, err)
					}
					ch.Messages, ch.At = ch.Messages[out.Taken:], ch.At[out.Taken:]
				}
				if c.do == store.DeedCancel || c.n > 1 {
					next += c.n
				}
			}
		})
	}
}
