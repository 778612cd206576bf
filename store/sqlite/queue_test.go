package sqlite

import (
	"context"
	"fmt"
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
		"message_due":         {State: gateway.MessageWaiting, DueFrom: time.Now(), After: "7.7"},
		"message_conv":        {Conv: "c"},
		"INTEGER PRIMARY KEY": {State: gateway.MessageAccepted},
		"message_listed":      {State: gateway.MessageHeld, After: "7"},
	} {
		f := finder{q: &q}
		where, order, _, args, err := f.way()
		if err != nil {
			t.Fatal(err)
		}
		got := plan("SELECT "+messageColumns+", row FROM message WHERE "+where+" ORDER BY "+order+" LIMIT ?", append(args, 10)...)
		if !strings.Contains(got, want) || strings.Contains(got, "TEMP B-TREE") || strings.Contains(got, "SCAN") {
			t.Errorf("%+v: want %s, is\n%s", q, want, got)
		}
	}
	for _, text := range []string{
		"SELECT account, priority FROM message WHERE conv = ? AND open = 1 AND due_at <= ? ORDER BY priority LIMIT 1",
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
	} {
		q.Limit = 50
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if page, err := l.FindMessages(ctx, q); err != nil || len(page.Messages) == 0 {
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
				if out, err := l.ChangeMessages(ctx, ch, "ops", from); err != nil || out.Changed != c.n {
					b.Fatal(out, err)
				}
				if c.do == store.DeedCancel || c.n > 1 {
					next += c.n
				}
			}
		})
	}
}
