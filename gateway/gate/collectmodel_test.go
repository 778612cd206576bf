package gate_test

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// write is a message, or another kind of event, that comes now. With its row, so that
// its N is nobody else's.
func (m *model) write(conv string, kind gateway.Kind) gateway.Pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := int64(len(m.rows) + 1)
	seq := int64(1)
	for _, row := range m.rows {
		if row.Conv == conv {
			seq++
		}
	}
	row := &gateway.EventRow{N: n, ID: fmt.Sprintf("ev_%s-%d", conv, seq), Account: "shop", Conv: conv, Seq: seq, Kind: kind,
		ReceivedAt: time.Now(), Content: []byte(`{"type":"text"}`)}
	m.rows[n] = row
	p := gateway.Pending{App: "bot", Conv: conv, Seq: seq, N: n, Event: row.ID}
	m.pending[conv] = append(m.pending[conv], p)
	p.Row = row
	return p
}

// requeue lets some dead event of a conversation wait in its old place again.
func (m *model) requeue(conv string) (gateway.Pending, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, id := range m.dead {
		for _, row := range m.rows {
			if row.ID != id || row.Conv != conv {
				continue
			}
			m.dead = slices.Delete(m.dead, i, i+1)
			m.settled[row.N]--
			m.order[conv] = slices.DeleteFunc(m.order[conv], func(s int64) bool { return s == row.Seq })
			p := gateway.Pending{App: "bot", Conv: conv, Seq: row.Seq, N: row.N, Event: row.ID, Requeue: 1, Round: 100}
			list := append(m.pending[conv], p)
			sort.SliceStable(list, func(a, b int) bool { return list[a].Seq < list[b].Seq })
			m.pending[conv] = list
			return p, true
		}
	}
	return gateway.Pending{}, false
}

// answered is how many rows from the head on an answer to a delivery is for; 0 when
// nothing was handed out so.
func (m *model) answered(list []gateway.Pending, delivery string) int {
	switch {
	case len(list) == 0:
		return 0
	case delivery == list[0].Delivery():
		return bundleOf(list)
	case list[0].Last != "" && delivery == list[0].Event: // offered before it was collected
		for i := range bundleOf(list) {
			list[i].Lead, list[i].Last = 0, ""
		}
		return 1
	}
	return 0
}

// bundleOf is how many rows belong to the bundle of the head.
func bundleOf(list []gateway.Pending) int {
	n := 1
	for list[0].Last != "" && n < len(list) && list[n].Lead == list[0].N {
		n++
	}
	return n
}

func (m *model) bundle(head *gateway.Pending, rule gateway.Collect, now time.Time) gateway.Bundle {
	list := m.pending[head.Conv]
	if len(list) == 0 || list[0].N != head.N || list[0].Round != head.Round {
		b := gateway.Bundle{Moved: true}
		if len(list) > 0 {
			h := list[0]
			b.Head = &h
		}
		return b
	}
	for i := range list {
		list[i].Row = m.rows[list[i].N]
	}
	rows := list[:bundleOf(list)]
	if list[0].Lead == 0 && rule.On() {
		n, due := rule.Bundle(list, now)
		if due.After(now) {
			return gateway.Bundle{NotBefore: due, Waiting: n}
		}
		if rows = list[:n]; rows[0].Collectable() {
			if n > 1 {
				rows[0].Last = rows[n-1].Event
			}
			for i := range rows {
				rows[i].Lead = rows[0].N
			}
		}
	}
	return gateway.Bundle{Rows: slices.Clone(rows)}
}

// noted keeps what a delivery carries; it may never carry anything else.
func (m *model) noted(o *gateway.Offer) {
	if len(m.rows) == 0 {
		return
	}
	ns := make([]int64, 0, len(o.Before)+1)
	for i := range o.Before {
		ns = append(ns, o.Before[i].N)
	}
	ns = append(ns, o.Event.N)
	key := o.Pending.Conv + " " + o.Pending.Delivery()
	if before, ok := m.offers[key]; ok && !slices.Equal(before, ns) {
		m.foul = append(m.foul, fmt.Sprintf("%s carried %v and now carries %v", key, before, ns))
	} else if !ok {
		m.sizes = append(m.sizes, len(ns))
	}
	m.offers[key], m.when[key] = ns, append(m.when[key], time.Now())
}

// carried checks that an answer settles what its delivery carried.
func (m *model) carried(conv, delivery string, rows []gateway.Pending) {
	want, ok := m.offers[conv+" "+delivery]
	if !ok {
		return // not of these tests, or buried before it was offered
	}
	got := make([]int64, 0, len(rows))
	for i := range rows {
		got = append(got, rows[i].N)
	}
	if !slices.Equal(got, want) {
		m.foul = append(m.foul, fmt.Sprintf("%s %s carried %v and settled %v", conv, delivery, want, got))
	}
}

// bundles are the sizes of all deliveries so far, in the order in which they were
// stored.
func (m *model) bundles() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.sizes)
}
