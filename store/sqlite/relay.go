package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Position is how far the relay is in the archive.
func (l *Ledger) Position(ctx context.Context) (p gateway.RelayPosition, err error) {
	err = l.r.snapshot(ctx, func(c *conn) error {
		a, b, err := place(c, "relay")
		if err != nil {
			return err
		}
		p = gateway.RelayPosition{Pos: a, Item: int(b)}
		p.Ahead, err = c.number("SELECT count(*) FROM payload WHERE pos > ?", a)
		return err
	})
	return p, err
}

// Relay writes a batch in one transaction; see store.RelayLedger. Idempotency:
// what lies behind the position is passed over, a payload read again without a
// row in the queue is too, and an event of a run is known by (id, run).
func (l *Ledger) Relay(ctx context.Context, b *gateway.RelayBatch, now time.Time) (gateway.RelayResult, error) {
	items := 0
	for i := range b.Payloads {
		items += len(b.Payloads[i].Items)
	}
	var res gateway.RelayResult
	err := l.write(ctx, false, items, func(c *conn) error {
		w := relayWrite{l: l, c: c, b: b, now: now,
			items: bulk{text: l.texts.item}, payloads: bulk{text: l.texts.payload}, pending: bulk{text: l.texts.pending}}
		err := w.run()
		res = w.res
		if res.Events > 0 {
			res.LastN = l.book.events
		}
		return err
	})
	if err != nil {
		return gateway.RelayResult{}, err
	}
	return res, nil
}

// relayWrite is one call of Relay on the writer's goroutine.
type relayWrite struct {
	l   *Ledger
	c   *conn
	b   *gateway.RelayBatch
	now time.Time
	res gateway.RelayResult

	position gateway.RelayPosition
	furthest int64 // the last payload that was relayed before, in turn or not
	only     *talk // of OnlyConv
	changed  []*talk

	items, payloads, pending bulk
}

// flush writes the rows gathered so far.
func (w *relayWrite) flush() error {
	for _, b := range []*bulk{&w.items, &w.payloads, &w.pending} {
		if err := b.flush(w.c); err != nil {
			return err
		}
	}
	return nil
}

func (w *relayWrite) run() (err error) {
	live := !w.b.Again && w.b.Run == ""
	if w.b.OnlyConv != "" {
		t, err := w.l.talkOf(w.c, w.b.OnlyConv)
		if err == nil {
			w.only, err = w.l.root(w.c, t)
		}
		if err != nil && !errors.Is(err, gateway.ErrNotFound) {
			return err
		}
	}
	if live {
		a, b, err := place(w.c, "relay")
		if err != nil {
			return err
		}
		w.position = gateway.RelayPosition{Pos: a, Item: int(b)}
		if w.furthest, err = w.c.number("SELECT max(pos) FROM payload"); err != nil {
			return err
		}
	}
	start := w.position
	for i := range w.b.Payloads {
		p := &w.b.Payloads[i]
		switch {
		case w.b.Run != "":
			err = w.replayed(p)
		case w.b.Again:
			err = w.again(p)
		case w.b.Held != nil:
			err = w.ahead(p)
		default:
			err = w.live(p)
		}
		if err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	for _, t := range w.changed {
		if err := storeTalk(w.c, t); err != nil {
			return err
		}
	}
	if live && w.position != start {
		if err := w.passOver(); err != nil {
			return err
		}
		return setPlace(w.c, "relay", w.position.Pos, int64(w.position.Item))
	}
	return nil
}

// live relays a payload, or a slice of one, in the order of the archive.
func (w *relayWrite) live(p *gateway.RelayedPayload) error {
	if p.Pos <= w.position.Pos {
		return nil // relayed before
	}
	if done, err := w.overtook(p.Pos); err != nil || done {
		w.position = gateway.RelayPosition{Pos: p.Pos}
		return err
	}
	from := 0
	if p.Pos == w.position.Pos+1 {
		from = w.position.Item
	}
	var tally itemTally
	if p.Last && (from > 0 || len(p.Items) > 0 && p.Items[0].Index > 0) {
		if err := w.readTally(&tally, p.Pos); err != nil {
			return err
		}
	}
	next, err := w.itemsFrom(p, from, &tally)
	if err != nil {
		return err
	}
	if !p.Last {
		w.position = gateway.RelayPosition{Pos: p.Pos - 1, Item: next}
		return nil
	}
	w.position = gateway.RelayPosition{Pos: p.Pos}
	return w.payload(p, tally)
}

// itemsFrom writes the items of a payload from an index on and returns the next one.
func (w *relayWrite) itemsFrom(p *gateway.RelayedPayload, from int, tally *itemTally) (next int, err error) {
	next = from
	for i := range p.Items {
		it := &p.Items[i]
		if it.Index < from {
			continue
		}
		state, err := w.item(p, it)
		if err != nil {
			return 0, err
		}
		tally.add(state)
		next = it.Index + 1
	}
	return next, nil
}

// replayed relays the ordered items of a payload for a run; nothing else of it
// is written.
func (w *relayWrite) replayed(p *gateway.RelayedPayload) error {
	for i := range p.Items {
		it := &p.Items[i]
		if it.State != gateway.ItemEvent || !it.Event.Kind.Ordered() || unfit(it) != "" {
			continue
		}
		it, err := w.asRelayed(p, it)
		if err != nil {
			return err
		}
		if w.b.OnlyConv != "" {
			t, _, err := w.find(p, it)
			if err != nil {
				return err
			}
			if t == nil || t != w.only {
				continue
			}
		}
		if _, _, err := w.event(p, it); err != nil {
			return err
		}
	}
	return nil
}

// itemTally counts the items of a payload by state.
type itemTally struct{ events, duplicate, ignored, dead int }

func (t *itemTally) add(s gateway.ItemState) {
	switch s {
	case gateway.ItemEvent:
		t.events++
	case gateway.ItemDuplicate:
		t.duplicate++
	case gateway.ItemIgnored:
		t.ignored++
	case gateway.ItemDead:
		t.dead++
	}
}

// readTally counts the items that are written of a payload.
func (w *relayWrite) readTally(t *itemTally, pos int64) error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.c.query("SELECT state FROM item WHERE pos = ?", func(r row) error {
		t.add(gateway.ItemState(r.str(0)))
		return nil
	}, pos)
}

// state is the payload's state by those of its items; none is ignored.
func (t *itemTally) state() gateway.PayloadState {
	switch {
	case t.events > 0:
		return gateway.PayloadRelayed
	case t.dead > 0:
		return gateway.PayloadDead
	case t.ignored > 0:
		return gateway.PayloadIgnored
	case t.duplicate > 0:
		return gateway.PayloadDuplicate
	}
	return gateway.PayloadIgnored
}

// payload writes the state row of a payload whose items are all written.
func (w *relayWrite) payload(p *gateway.RelayedPayload, tally itemTally) error {
	state, reason := p.State, p.Reason
	if state == "" {
		state = tally.state()
		if tally == (itemTally{}) && reason == "" {
			reason = "empty"
		}
	}
	err := w.payloads.add(w.c, p.Pos, string(state), reason, p.Detail, p.KeyFP, p.Platform, p.Endpoint, p.ReceivedAt)
	if err != nil {
		return err
	}
	w.l.book.add(prefixPayload+string(state), 1)
	if p.State == gateway.PayloadDead {
		err = w.bury(&gateway.DeadLetter{Kind: "payload", Reason: reason, Detail: p.Detail,
			Platform: p.Platform, Payload: payloadID(p), Pos: p.Pos, Item: -1}, func() (string, error) { return "", nil })
	}
	return err
}

// bury writes a dead letter and tells of it. When it is refused it is owed, and the
// conversation that stands names waits for it; everything else goes on.
func (w *relayWrite) bury(d *gateway.DeadLetter, stands func() (string, error)) (err error) {
	d.At = w.now
	d.ID, err = w.l.bury(w.c, w.now, d)
	switch {
	case err == nil:
		w.res.Buried = append(w.res.Buried, *d)
		return nil
	case !w.l.notBuried(err):
		return err
	}
	conv, err := stands()
	if err != nil {
		return err
	}
	return w.owe(d, conv)
}
