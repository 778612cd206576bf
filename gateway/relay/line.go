package relay

import (
	"context"
	"fmt"
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// What waits behind a large payload is kept decoded, up to so much.
const (
	linePayloads = 1000
	lineBytes    = 8 << 20
	largeBody    = 256 << 10 // may take long to decode: what is before it goes first
)

// line holds the payloads that were read and are not wholly relayed, in the order
// of the archive. It belongs to the goroutine of Run; all of it can be read again.
type line struct {
	list []*entry
	read int64 // the last position that was read
	item int   // items written of the payload that is read next
}

// entry is a decoded payload. Rows are made of its items when they are written.
type entry struct {
	head     gateway.RelayedPayload // without items
	p        *gateway.Payload       // without its body
	size     int                    // of the body
	items    []gateway.Item
	accounts []string // of the items; "" for one that is not configured
	done     int      // items that are written
	held     bool     // behind a large payload that it must not overtake yet

	names []gateway.Name       // of all items; see Relay.named
	last  map[gateway.Name]int // of a large payload: the last item that has the name
	// between is where, behind a large payload at the head of the line, the first held
	// one with a name stands; those that are noted are in it. Made once and not for
	// every slice: many large payloads in a row have very many names.
	between map[gateway.Name]int64
	noted   bool
}

func newLine(pos gateway.RelayPosition) *line { return &line{read: pos.Pos, item: pos.Item} }

// large says that what is left of a payload takes more than one transaction.
func (e *entry) large() bool { return len(e.items)-e.done > batchItems }

func (l *line) full() bool {
	bytes := 0
	for _, e := range l.list[min(1, len(l.list)):] {
		bytes += e.size
	}
	return len(l.list) >= linePayloads || bytes >= lineBytes
}

// fill reads at most most payloads more.
func (r *Relay) fill(ctx context.Context, l *line, most int) error {
	if l.full() {
		return nil
	}
	payloads, err := r.o.Archive.Read(ctx, l.read, most, readBytes)
	if err != nil {
		return fmt.Errorf("read archive: %w", err)
	}
	for i := range payloads {
		p := &payloads[i]
		if len(p.Body) > largeBody && len(l.list) > 0 && !l.list[0].large() {
			return nil
		}
		e := r.open(p)
		if p.Pos == l.read+1 {
			e.done = min(l.item, len(e.items))
		}
		l.list, l.read, l.item = append(l.list, e), p.Pos, 0
		r.slow.look()
	}
	return nil
}

// inTurn writes the payloads at the head of the line, up to a large one.
func (r *Relay) inTurn(ctx context.Context, l *line) error {
	b := batcher{write: r.writer(ctx)}
	n := 0
	for ; n < len(l.list) && !l.list[n].large(); n++ {
		e := l.list[n]
		if err := b.add(r.rows(e, len(e.items))); err != nil {
			return err
		}
	}
	l.list = slices.Delete(l.list, 0, n)
	return b.flush()
}

// slice writes the next items of a large payload.
func (r *Relay) slice(ctx context.Context, e *entry) error {
	rp := r.rows(e, e.done+batchItems)
	rp.Last = false
	if err := r.writer(ctx)(&gateway.RelayBatch{Payloads: []gateway.RelayedPayload{rp}}); err != nil {
		return err
	}
	e.done += batchItems
	return nil
}

// overtake writes what stands behind the large payload at the head of the line and
// has no name in common with what is left of it, nor with what stands between. A
// conversation has other names than those in a payload: the ledger tells them.
func (r *Relay) overtake(ctx context.Context, l *line) error {
	if len(l.list) == 1 {
		return nil
	}
	head := l.list[0]
	if head.last == nil {
		head.last = make(map[gateway.Name]int, 2*len(head.items))
		for i := head.done; i < len(head.items); i++ {
			for _, n := range itemNames(head.p, &head.items[i], head.accounts[i]) {
				head.last[n] = i
			}
		}
	}
	if head.between == nil {
		head.between = make(map[gateway.Name]int64)
		for _, e := range l.list {
			e.noted = false
		}
	}
	taken := func(e *entry, names []gateway.Name) bool {
		return slices.ContainsFunc(names, func(n gateway.Name) bool {
			if i, ok := head.last[n]; ok && i >= head.done {
				return true
			}
			pos, ok := head.between[n]
			return ok && pos < e.head.Pos
		})
	}
	// The ledger is asked after those behind were looked at, so what is noted later
	// may stand before.
	hold := func(e *entry) {
		if e.held = true; e.noted {
			return
		}
		e.noted = true
		for _, n := range e.names {
			if at, ok := head.between[n]; !ok || e.head.Pos < at {
				head.between[n] = e.head.Pos
			}
		}
	}
	asked := make(map[int64]*entry)
	b := batcher{write: r.writer(ctx), of: gateway.RelayBatch{Held: func(p *gateway.RelayedPayload, names []gateway.Name) bool {
		e := asked[p.Pos]
		if taken(e, names) || taken(e, e.names) {
			hold(e)
		}
		return e.held
	}}}
	for _, e := range l.list[1:] {
		r.named(e)
		if e.held = false; e.large() || taken(e, e.names) {
			hold(e) // without asking
			continue
		}
		asked[e.head.Pos] = e
		if err := b.add(r.rows(e, len(e.items))); err != nil {
			return err
		}
	}
	if err := b.flush(); err != nil {
		return err
	}
	l.list = slices.DeleteFunc(l.list, func(e *entry) bool {
		gone := e != head && !e.held
		if gone && e.noted { // its names are free, or those of another one now
			head.between = nil
		}
		return gone
	})
	return nil
}

// named fills in the names of an entry.
func (r *Relay) named(e *entry) {
	if e.names != nil {
		return
	}
	for i := range e.items {
		e.names = append(e.names, itemNames(e.p, &e.items[i], e.accounts[i])...)
	}
}

// itemNames are those by which two items are seen to concern each other: of their
// conversation, of the event itself, and of the message that is changed.
func itemNames(p *gateway.Payload, it *gateway.Item, account string) []gateway.Name {
	out := make([]gateway.Name, 0, len(it.Chat.Identities)+2)
	for i := range it.Chat.Identities {
		id := &it.Chat.Identities[i]
		out = append(out, gateway.Name{Platform: p.Platform, Account: account, Chat: it.Chat.Kind, Kind: id.Kind, Value: id.Value})
	}
	out = append(out, gateway.Name{Kind: "event", Value: gateway.EventID(p.Platform, it)})
	if m := message(it); m != "" {
		out = append(out, gateway.Name{Platform: p.Platform, Account: account, Kind: "message", Value: m})
	}
	return out
}

// message is the platform's id of the message that an item is or changes.
func message(it *gateway.Item) string {
	switch {
	case it.Kind == gateway.KindMessage:
		return it.Content.ID
	case it.Kind == gateway.KindChange && it.Content.Target != nil:
		return it.Content.Target.MessageID
	}
	return ""
}
