package gate_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sort"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// model is the ledger and the broker of one application in memory, as their
// specifications say: pending rows in order, one message per conversation in the
// stream, ids remembered while the stream lives. Whole programs with the real
// ones are tested in cmd/causeway; this one runs in virtual time.
type model struct {
	mu      sync.Mutex
	pending map[string][]gateway.Pending // by conversation, in order
	dead    []string
	order   map[string][]int64 // seqs settled, by conversation
	merges  []gateway.Merge
	erased  map[int64]bool // rows, by N
	early   []string       // conversations offered before one that was merged into them
	life    time.Time
	seq     uint64
	ids     map[string]uint64
	stream  map[string]stored // by conversation
	handed  uint64
	floor   uint64 // acked, as the consumer believes
	revived int
	down    bool
	paused  bool
	pulls   int
	unacked int                 // offers that workers have, as the consumer says
	fired   int                 // offers of a conversation whose place was not free
	deaf    int                 // withdrawals that fail
	until   map[int64]time.Time // when the code of a row ends; none for most
	buried  []string            // reasons
	broken  gateway.Breaker     // as kept

	rows    map[int64]*gateway.EventRow // by N, of those that have one
	offers  map[string][]int64          // N carried, by conversation and delivery
	when    map[string][]time.Time      // each delivery was stored
	sizes   []int                       // of bundles, when first stored
	foul    []string                    // what may not be
	settled map[int64]int               // how often, by N
}

type stored struct {
	seq      uint64
	delivery string
	round    int
}

func newModel() *model {
	return &model{pending: map[string][]gateway.Pending{}, order: map[string][]int64{}, ids: map[string]uint64{}, stream: map[string]stored{}, life: time.Now(),
		rows: map[int64]*gateway.EventRow{}, offers: map[string][]int64{}, when: map[string][]time.Time{}, settled: map[int64]int{}}
}

func (m *model) add(conv string, n int) []gateway.Pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []gateway.Pending
	for range n {
		seq := int64(len(m.order[conv]) + len(m.pending[conv]) + 1)
		p := gateway.Pending{App: "bot", Conv: conv, Seq: seq, N: seq, Event: conv + "-" + time.Duration(seq).String()}
		m.pending[conv] = append(m.pending[conv], p)
		out = append(out, p)
	}
	return out
}

// settle takes the decision for the head when it is the event named.
func (m *model) settle(conv, event string, d gateway.Decision) gateway.Settled {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.pending[conv]
	s := gateway.Settled{App: "bot", Conv: conv, Decision: d}
	n := m.answered(list, event)
	if n == 0 {
		s.Late = true
		s.Head = head(list)
		return s
	}
	s.Was = list[0]
	for i := range n {
		if i > 0 {
			s.Also = append(s.Also, gateway.SettledAlso{Was: list[i]})
		}
		switch d.State {
		case gateway.EventPending:
			list[i].Tries, list[i].NextAt, list[i].Blocked = d.Tries, d.NextAt, d.Blocked
			list[i].Round++
			continue
		case gateway.EventDead:
			m.dead, m.buried = append(m.dead, list[i].Event), append(m.buried, d.Reason)
		default:
		}
		m.order[conv] = append(m.order[conv], list[i].Seq)
		m.settled[list[i].N]++
	}
	if d.State != gateway.EventPending {
		m.carried(conv, event, list[:n])
		m.pending[conv] = list[n:]
	}
	s.Head = head(m.pending[conv])
	return s
}

func head(list []gateway.Pending) *gateway.Pending {
	if len(list) == 0 {
		return nil
	}
	p := list[0]
	return &p
}

func (m *model) Heads(_ context.Context, _, after string, limit int) ([]gateway.Pending, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []gateway.Pending
	for conv, list := range m.pending {
		if conv > after && len(list) > 0 {
			out = append(out, list[0])
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Conv < out[j].Conv })
	return out[:min(len(out), limit)], nil
}

// Merges is for gate.Ledger.
func (m *model) Merges(context.Context) ([]gateway.Merge, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []gateway.Merge
	for _, x := range m.merges {
		if m.busy(x.Conv) {
			out = append(out, x)
		}
	}
	return out, nil
}

// busy says whether something is pending in a conversation, or in one that became
// part of it.
func (m *model) busy(conv string) bool {
	return len(m.pending[conv]) > 0 || m.behind(conv)
}

func (m *model) behind(conv string) bool {
	for _, x := range m.merges {
		if x.Into == conv && m.busy(x.Conv) {
			return true
		}
	}
	return false
}

// root is where new events of a conversation go.
func (m *model) root(conv string) string {
	for _, x := range m.merges {
		if x.Conv == conv {
			return m.root(x.Into)
		}
	}
	return conv
}

// merge makes two conversations one and says what gates are told.
func (m *model) merge(conv, into string) []gateway.Merge {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := gateway.Merge{Conv: conv, Into: into}
	m.merges = append(m.merges, x)
	if !m.busy(conv) {
		return nil
	}
	return []gateway.Merge{x}
}

func (m *model) Events(_ context.Context, ns []int64) (map[int64]*gateway.EventRow, error) {
	out := map[int64]*gateway.EventRow{}
	for _, n := range ns {
		if m.erased[n] {
			continue
		}
		if row := m.rows[n]; row != nil {
			out[n] = row
			continue
		}
		out[n] = &gateway.EventRow{N: n, ReceivedAt: time.Now(), Content: []byte("{}"), Account: "shop"}
		if at, ok := m.until[n]; ok {
			out[n].Kind = gateway.KindState
			out[n].Content = []byte(`{"handle":{"kind":"welcome","code":"k","until":"` + at.UTC().Format(time.RFC3339Nano) + `"}}`)
		}
	}
	return out, nil
}

func (m *model) Resolve(_ context.Context, p gateway.Pending, d gateway.Decision, _ time.Time) (gateway.Settled, error) {
	return m.settle(p.Conv, p.Delivery(), d), nil
}

func (m *model) Offer(_ context.Context, _ string, offers []gateway.Offer) []gateway.Offered {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]gateway.Offered, len(offers))
	for i := range offers {
		out[i] = m.offer(&offers[i].Pending)
		if out[i].State == gateway.OfferTaken {
			m.noted(&offers[i])
		}
	}
	return out
}

func (m *model) offer(p *gateway.Pending) gateway.Offered {
	id := p.Delivery() + ":" + time.Duration(p.Round).String()
	if m.down {
		return gateway.Offered{State: gateway.OfferFailed, Err: errors.New("down")}
	}
	if seq, ok := m.ids[id]; ok {
		return gateway.Offered{State: gateway.OfferDuplicate, Seq: seq}
	}
	if _, taken := m.stream[p.Conv]; taken {
		m.fired++
		return gateway.Offered{State: gateway.OfferClosed}
	}
	if m.behind(p.Conv) {
		m.early = append(m.early, p.Conv)
	}
	m.seq++
	m.ids[id] = m.seq
	m.stream[p.Conv] = stored{m.seq, p.Delivery(), p.Round}
	return gateway.Offered{State: gateway.OfferTaken, Seq: m.seq}
}

// offered is how many offers are in the gate.
func (m *model) offered() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.stream)
}

func (m *model) GateState(context.Context, string) (gateway.GateState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return gateway.GateState{}, errors.New("down")
	}
	return gateway.GateState{Created: m.life, LastSeq: m.seq, Messages: uint64(len(m.stream)), Delivered: m.handed, AckFloor: m.floor, Pulls: m.pulls, Unacked: m.unacked, Paused: m.paused}, nil
}

func (m *model) OpenOffers(context.Context, string) ([]gateway.OpenOffer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return nil, errors.New("down")
	}
	var out []gateway.OpenOffer
	for conv, s := range m.stream {
		out = append(out, gateway.OpenOffer{Account: "shop", Conv: conv, Delivery: s.delivery, Round: s.round, Seq: s.seq})
	}
	return out, nil
}

func (m *model) Withdraw(_ context.Context, _ string, seq uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deaf > 0 {
		m.deaf--
		return errors.New("no answer")
	}
	for conv, s := range m.stream {
		if s.seq == seq {
			delete(m.stream, conv)
		}
	}
	return nil
}

func (m *model) Hold(_ context.Context, _ string, paused bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused = paused
	return nil
}

func (m *model) Revive(context.Context, string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.floor, m.revived = 0, m.revived+1
	return nil
}

// Reround is for gate.Waiting.
func (m *model) Reround(_ context.Context, rows []gateway.Pending) ([]gateway.Pending, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []gateway.Pending
	for _, p := range rows {
		if l := m.pending[p.Conv]; len(l) > 0 && l[0].N == p.N && l[0].Round == p.Round {
			l[0].Round++
			out = append(out, l[0])
		}
	}
	return out, nil
}

// Collect is for gate.Waiting.
func (m *model) Collect(_ context.Context, heads []gateway.Pending, rule gateway.Collect, now time.Time) ([]gateway.Bundle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]gateway.Bundle, len(heads))
	for i := range heads {
		out[i] = m.bundle(&heads[i], rule, now)
	}
	return out, nil
}

// SetBreaker is for gate.Waiting.
func (m *model) SetBreaker(_ context.Context, b gateway.Breaker) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = b
	return nil
}

func (m *model) Caught(context.Context) error { return nil }

// deliver hands out some open offer, as a worker's pull would.
func (m *model) deliver(r *rand.Rand) (conv string, s stored, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paused || m.down || len(m.stream) == 0 {
		return "", stored{}, false
	}
	convs := make([]string, 0, len(m.stream))
	for c := range m.stream {
		convs = append(convs, c)
	}
	sort.Strings(convs)
	conv = convs[r.IntN(len(convs))]
	s = m.stream[conv]
	m.handed = max(m.handed, s.seq)
	return conv, s, true
}

// ack frees the conversation's place when it still holds that offer.
func (m *model) ack(conv string, seq uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stream[conv].seq == seq {
		delete(m.stream, conv)
	}
}

// wipe is another life of the stream; forget is a restart that forgot ids.
func (m *model) wipe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life, m.seq, m.handed = time.Now(), 0, 0
	m.ids, m.stream = map[string]uint64{}, map[string]stored{}
}

func (m *model) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// at is the offer that holds a conversation's place.
func (m *model) at(conv string) stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stream[conv]
}

func (m *model) left() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, list := range m.pending {
		n += len(list)
	}
	return n
}
