package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// model is a plain picture of what a ledger should hold.
type model struct {
	*world
	r       *rand.Rand
	known   map[string]bool
	lastSeq map[string]int64             // by conversation
	conv    map[string]string            // by customer
	age     []string                     // conversations, oldest first
	into    map[string]string            // by a conversation that became part of another
	waited  int                          // messages found behind another conversation
	from    int                          // the first customer of those who write at present
	waiting map[string][]gateway.Pending // by application and conversation, in order
	dead    []string                     // letters that may come back, by age
	app     map[string]gateway.AppSums
	items   map[gateway.ItemState]int64
	out     map[string][]*sent // by conversation, in order
	taken   int64
	id      int
	keys    map[string]keyed // of submissions

	cancelled int
	bundles   int // made, those of one event included
	begun     int // with the end of the one before
}

// sent is a message of the model.
type sent struct {
	id, text string
	state    gateway.MessageState
	open     bool
	attempt  *gateway.Attempt
	task     int
}

// modelRandom runs random deeds on the store and on a plain model beside it.
func modelRandom(w *world) {
	const seed = 20260301
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a seeded test must repeat itself
	m := &model{world: w, r: r, known: map[string]bool{}, lastSeq: map[string]int64{}, conv: map[string]string{}, into: map[string]string{},
		waiting: map[string][]gateway.Pending{}, app: map[string]gateway.AppSums{},
		items: map[gateway.ItemState]int64{}, out: map[string][]*sent{}, keys: map[string]keyed{}}
	m.run()
}

func (m *model) run() {
	for step := range 720 {
		m.later(time.Duration(m.r.IntN(1000)) * time.Millisecond)
		m.from = step / 40
		switch m.r.IntN(12) {
		case 0, 1, 2:
			m.relaySome()
		case 3, 4, 5:
			m.answerOne()
		case 6, 7, 8:
			m.sendOne()
		case 9:
			m.requeueOne()
		case 10:
			m.submitOne()
		case 11:
			m.cancelOne()
		}
		if step%50 == 49 {
			m.check()
		}
		if m.Failed() {
			m.Fatalf("at step %d", step)
		}
	}
	if len(m.into) < 5 || m.waited < 5 || len(m.keys) < 20 || m.cancelled < 3 || m.bundles < 20 || m.begun < 5 {
		m.Errorf("the run shows little: %d merges, %d messages behind others, %d submissions, %d cancelled, %d bundles, %d begun with an end",
			len(m.into), m.waited, len(m.keys), m.cancelled, m.bundles, m.begun)
	}
}

func (m *model) relaySome() {
	var items []gateway.ItemRow
	for range 1 + m.r.IntN(4) {
		m.id = max(m.id+m.r.IntN(4)-1, 0) // some ids come again
		who := fmt.Sprint(m.from + m.r.IntN(6))
		it := m.message(fmt.Sprint(m.id)+"x"+who, who)
		if m.r.IntN(10) == 0 {
			it.Chat.Identities = append(it.Chat.Identities, phone(fmt.Sprint(m.from+m.r.IntN(6))))
		}
		if m.r.IntN(2) == 0 {
			it.Wanted = append(it.Wanted, "other")
		}
		switch m.r.IntN(8) {
		case 0:
			it.State, it.Reason = gateway.ItemIgnored, "not wanted"
		case 1:
			it.State, it.Reason = gateway.ItemDead, gateway.ReasonNoAccount
		}
		items = append(items, it)
	}
	r := m.relay(items...)
	i := 0
	for _, it := range items {
		state := it.State
		if state == gateway.ItemEvent && m.known[it.Event.ID] {
			state = gateway.ItemDuplicate
		}
		m.items[state]++
		if state != gateway.ItemEvent {
			continue
		}
		m.known[it.Event.ID] = true
		conv := m.belongs(it.Chat.Identities, r.Pending[min(i, len(r.Pending)-1)].Conv)
		m.lastSeq[conv]++
		for _, app := range it.Wanted {
			if i >= len(r.Pending) {
				m.Fatal("pending rows are missing")
			}
			p := r.Pending[i]
			i++
			m.same("pending row", [4]any{p.App, p.Conv, p.Seq, p.Event}, [4]any{app, conv, m.lastSeq[conv], it.Event.ID})
			m.waiting[app+"/"+p.Conv] = append(m.waiting[app+"/"+p.Conv], p)
			a := m.app[app]
			a.Wanted++
			a.Pending++
			m.app[app] = a
		}
	}
}

// pick returns a random key, of which each is or ends with a conversation. They stand
// by age, so that a seed is a run: the ids of conversations are others in every store.
func pick[V any](m *model, from map[string]V, ok func(V) bool) (string, bool) {
	var keys []string
	for k, v := range from {
		if ok(v) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return "", false
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(m.place(a), m.place(b)), cmp.Compare(a, b)) })
	return keys[m.r.IntN(len(keys))], true
}

// place is how many conversations are older than that of a key.
func (m *model) place(key string) int {
	return slices.Index(m.age, key[strings.LastIndexByte(key, '/')+1:])
}

// buried returns a random dead letter.
func (m *model) buried() (string, bool) {
	if len(m.dead) == 0 {
		return "", false
	}
	i := m.r.IntN(len(m.dead))
	id := m.dead[i]
	m.dead = slices.Delete(m.dead, i, i+1)
	return id, true
}

func (m *model) answerOne() {
	key, ok := pick(m, m.waiting, func(ps []gateway.Pending) bool { return len(ps) > 0 })
	if !ok {
		return
	}
	ps := m.waiting[key]
	i := 0
	if m.r.IntN(5) == 0 {
		i = m.r.IntN(len(ps)) // not the head
	}
	if m.r.IntN(3) == 0 {
		m.collectSome(ps)
	}
	p := ps[i]
	if p.Lead != 0 && p.Lead != p.N { // it is handed out under another name
		s := m.answer(p, done("x"))
		m.same("late", s.Late, true)
		m.same("head", s.Head, &ps[0])
		return
	}
	with := []int{i} // places of what is handed out
	for j := range ps {
		if p.Last != "" && j != i && ps[j].Lead == p.N {
			with = append(with, j)
		}
	}
	a := m.app[p.App]
	var d gateway.Decision
	switch m.r.IntN(5) {
	case 0:
		d = gateway.Decision{State: gateway.EventPending, Tries: p.Tries + 1, NextAt: m.now.Add(time.Second)}
	case 1:
		d = gateway.Decision{State: gateway.EventDead, Reason: gateway.ReasonTries, Tries: 4}
	default:
		d = done([]string{"1", "2", "3"}[:m.r.IntN(4)]...)
	}
	s := m.answer(p, d)
	m.same("late", s.Late, false)
	m.same("settled together", len(s.Also), len(with)-1)
	n := int64(len(with))
	switch d.State {
	case gateway.EventPending:
		for _, j := range with {
			ps[j].Tries, ps[j].NextAt, ps[j].Round = d.Tries, d.NextAt, ps[j].Round+1
		}
	case gateway.EventDead:
		m.dead = append(m.dead, s.Dead)
		for _, also := range s.Also {
			m.dead = append(m.dead, also.Dead)
		}
		a.Pending -= n
		a.Dead += n
	case gateway.EventBlocked: // a word for people
	case gateway.EventSettled, gateway.EventDropped:
		a.Pending -= n
		a.Settled += n
		m.take(p.Conv, d.Replies)
		if m.r.IntN(4) == 0 {
			m.same("the answer again", m.answer(p, d).Late, true)
		}
	}
	if d.State != gateway.EventPending {
		gone := make(map[int64]bool, len(with))
		for _, j := range with {
			gone[ps[j].N] = true
		}
		m.waiting[key] = slices.DeleteFunc(ps, func(p gateway.Pending) bool { return gone[p.N] })
	}
	m.app[p.App] = a
	if rest := m.waiting[key]; len(rest) > 0 {
		m.same("head", s.Head, &rest[0])
	} else {
		m.same("head", s.Head, (*gateway.Pending)(nil))
	}
}

func (m *model) take(conv string, replies []gateway.Reply) {
	m.taken += int64(len(replies))
	for _, r := range replies {
		m.out[conv] = append(m.out[conv], &sent{text: r.Text, state: gateway.MessageWaiting, open: true, task: m.id<<20 + int(m.seq)})
	}
}

func (m *model) sendOne() {
	conv, ok := pick(m, m.out, func(ms []*sent) bool { return slices.ContainsFunc(ms, func(s *sent) bool { return s.open }) })
	if !ok {
		return
	}
	i := slices.IndexFunc(m.out[conv], func(s *sent) bool { return s.open })
	s := m.out[conv][i]
	got, open := m.next(conv)
	if got == nil {
		m.Fatal("nothing to send")
	}
	var ahead func(string) bool
	ahead = func(c string) bool { return m.open(c) || m.any(c, ahead) }
	if waits := s.state == gateway.MessageWaiting && m.any(conv, ahead); waits {
		m.waited++
		m.same("behind another conversation", got.Behind != "" && m.open(got.Behind), true)
		a := &gateway.Attempt{ID: "at_early", Message: got.ID, StartedAt: m.now, VoidAfter: m.now}
		if err := m.l.BeginAttempt(m.ctx, a, conv); !errors.Is(err, gateway.ErrConflict) {
			m.Errorf("an attempt out of turn: %v", err)
		}
		return
	}
	m.same("next message", [3]any{got.Reply.Text, got.State, open != nil}, [3]any{s.text, s.state, s.attempt != nil})
	later := func(state gateway.MessageState) {
		for _, p := range m.out[conv][i+1:] {
			if p.task == s.task && p.open {
				p.state, p.open = state, false
			}
		}
	}
	s.id = got.ID
	switch s.state {
	case gateway.MessageUnknown:
		if m.r.IntN(2) == 0 {
			m.must(m.l.Conclude(m.ctx, s.id, gateway.MessageUnknown, "no evidence", m.now))
			s.open = false
			later(gateway.MessageCancelled)
			return
		}
		m.relay(m.status("st."+fmt.Sprint(m.seq, s.id), "0", "w."+s.id, s.id, gateway.StatusSent))
		m.items[gateway.ItemEvent]++
		m.judge()
		s.state, s.open = gateway.MessageAccepted, false
	case gateway.MessageWaiting:
		if m.r.IntN(12) == 0 {
			m.must(m.l.Conclude(m.ctx, s.id, gateway.MessageExpired, "old", m.now))
			s.state, s.open = gateway.MessageExpired, false
			later(gateway.MessageExpired)
			return
		}
		_, s.attempt = m.begin(conv)
		s.state = gateway.MessageSending
	default:
		kind := []gateway.OutcomeKind{"accepted", "accepted", "retry", "rejected", "unknown"}[m.r.IntN(5)]
		behind := m.after(got)
		var follower *sent
		if f := slices.IndexFunc(m.out[conv][i+1:], func(s *sent) bool { return s.open }); f >= 0 && behind != nil {
			follower = m.out[conv][i+1+f]
			m.same("message behind", [2]any{behind.Reply.Text, behind.State}, [2]any{follower.text, follower.state})
		} else if f >= 0 || behind != nil {
			m.Errorf("message behind: %v, want one: %v", behind, f >= 0)
		}
		if m.r.IntN(2) == 0 { // sometimes it is asked to go with it
			behind = nil
		}
		may := kind == gateway.OutcomeAccepted && behind != nil && !m.any(conv, ahead)
		e, _ := m.endWith(s.attempt, kind, behind)
		m.same("begun with the end", e.Begun != nil, may)
		m.same("nobody is left", e.Last, kind == gateway.OutcomeAccepted && follower == nil)
		if s.attempt = nil; e.Begun != nil {
			m.begun++
			follower.id, follower.attempt, follower.state = behind.ID, e.Begun, gateway.MessageSending
		}
		switch kind {
		case gateway.OutcomeAccepted:
			s.state, s.open = gateway.MessageAccepted, false
		case gateway.OutcomeRetry:
			s.state = gateway.MessageWaiting
		case gateway.OutcomeUnknown:
			s.state = gateway.MessageUnknown
		case gateway.OutcomeRejected:
			s.state, s.open = gateway.MessageRejected, false
			later(gateway.MessageCancelled)
		}
	}
}

func (m *model) requeueOne() {
	id, ok := m.buried()
	if !ok {
		return
	}
	d, err := m.l.DeadLetter(m.ctx, id)
	m.must(err)
	a := m.app[d.App]
	a.Dead--
	if m.r.IntN(3) == 0 {
		m.must(m.l.Drop(m.ctx, id, "ops", "", m.now))
		a.Dropped++
	} else {
		re, err := m.l.Requeue(m.ctx, id, "ops", m.now)
		m.must(err)
		a.Pending++
		key := d.App + "/" + d.Conv
		m.waiting[key] = append(m.waiting[key], *re.Pending)
		slices.SortFunc(m.waiting[key], func(x, y gateway.Pending) int { return cmp.Compare(x.Seq, y.Seq) })
	}
	m.app[d.App] = a
}
