package outbox

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// pace decides when a conversation's message may leave. A message that has to wait
// for its own conversation's pace is told a time; one that waits for its account
// stands in the account's line and is let go from there, the best priority first (line), so that
// nobody looks at the ledger for each place that gets free. It is kept in memory only; a
// restart begins with the ledger's attempts (loadPace).
type pace struct {
	limits func(account string) []gateway.Limit
	keyFP  func(account string) string
	flight int // calls of one account at one moment; see flow.more

	mu      sync.Mutex
	flows   map[string]*flow // by account
	crowded map[*flow]struct{}
	shared  map[string]meter // by gateway.Limit.Of
	pairs   map[string][]meter
	sweepAt int
	stands  map[string]stood // conversations that stand in an account's line
	granted map[string]*flow // conversations that may go, by the line that let them
	// raised are conversations that stand better than their first message by itself, or
	// did when they were let go.
	raised map[string]struct{}
}

// stood is where a conversation stands.
type stood struct {
	in    *flow
	place *ready
}

// flow is one account: who waits, and what may leave.
type flow struct {
	name   string
	own    []meter // slowed by what the platform says
	shared []meter
	pair   []gateway.Limit
	perSec float64 // the account's rate; 0 for no bound
	both   bool    // of which what comes takes its part
	came   lately
	room   float64 // the part of the rate that what comes leaves

	waiting line
	flying  int       // calls that run
	taken   lately    // messages that were accepted
	ready   time.Time // not looked at again before; zero: look
	health
	templates templates
}

// sweepLeast is from how many conversations on idle ones are looked for.
const sweepLeast = 1024

func newPace(limits func(string) []gateway.Limit, keyFP func(string) string, flight int) *pace {
	return &pace{limits: limits, keyFP: keyFP, flight: flight, flows: map[string]*flow{}, crowded: map[*flow]struct{}{}, shared: map[string]meter{},
		pairs: map[string][]meter{}, sweepAt: sweepLeast, stands: map[string]stood{}, granted: map[string]*flow{}, raised: map[string]struct{}{}}
}

// flow is that of an account; the caller holds mu.
func (p *pace) flow(account string) *flow {
	if l := p.flows[account]; l != nil {
		return l
	}
	l := &flow{name: account, room: 1, health: health{part: 1}}
	l.kept = gateway.AccountHealth{Account: account, State: gateway.AccountHealthy, KeyFP: p.keyFP(account)}
	for _, limit := range p.limits(account) {
		switch {
		case limit.Pair:
			l.pair = append(l.pair, limit)
		case limit.Of != "":
			if p.shared[limit.Of] == nil {
				p.shared[limit.Of] = newMeter(limit)
			}
			l.shared = append(l.shared, p.shared[limit.Of])
		default:
			l.own = append(l.own, newMeter(limit))
			l.perSec, l.both = float64(limit.N)/limit.Per.Seconds(), limit.Both
		}
	}
	p.flows[account] = l
	return l
}

// ask says whether the message may leave now. Else it is told when to ask again, or,
// with a zero time, it stands in the account's line and is let go by pump. One that
// must is not asked.
func (p *pace) ask(m *gateway.Message, must bool, now time.Time) (leave bool, again time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.granted[m.Conv] != nil {
		delete(p.granted, m.Conv)
		return true, time.Time{}
	}
	l := p.flow(m.Account)
	if must || m.Reply.Type.Harmless() && l.open(p.flight, now) == 0 { // harmless: no platform counts it
		l.flying++
		return true, time.Time{}
	}
	pair := p.pairOf(l, m.Conv, now)
	if wait := longest(pair, now); wait > 0 {
		return false, now.Add(wait)
	}
	if l.waiting.len() == 0 && l.wait(p.flight, now) == 0 {
		p.let(l, pair, now)
		return true, time.Time{}
	}
	if _, stands := p.stands[m.Conv]; !stands {
		p.stands[m.Conv] = stood{l, l.waiting.add(m.Conv, m.Priority)}
		l.ready = time.Time{}
		p.crowded[l] = struct{}{}
	}
	return false, time.Time{}
}

// rank lets the conversation of a message, when it stands in its account's line, stand by
// the best that is due in it.
func (p *pace) rank(m *gateway.Message, best int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, stands := p.stands[m.Conv]
	if !stands {
		return // let go meanwhile
	}
	at.in.waiting.rank(at.place, best)
	if delete(p.raised, m.Conv); best < m.Priority {
		p.raised[m.Conv] = struct{}{}
	}
}

// quit takes a conversation that has nothing to send out of the line: let go from there
// it would use up a place for nothing, and a campaign that was taken back would hold the
// account for as long as it takes to send it.
func (p *pace) quit(conv string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, stands := p.stands[conv]; stands {
		at.in.waiting.remove(at.place)
		delete(p.stands, conv)
		delete(p.raised, conv)
	}
}

// wasRaised says whether a conversation stood better than its first message by itself.
func (p *pace) wasRaised(conv string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, raised := p.raised[conv]
	return raised
}

// let counts one that leaves.
func (p *pace) let(l *flow, pair []meter, now time.Time) {
	p.count(l, pair, now)
	l.flying++
}

func (p *pace) count(l *flow, pair []meter, now time.Time) {
	for _, meters := range [][]meter{l.own, l.shared, pair} {
		for _, m := range meters {
			m.take(now)
		}
	}
}

// pump lets go who may, and says when the next one might; zero: when something
// happens.
func (p *pace) pump(now time.Time, offer func(conv string)) (next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.crowded {
		for l.waiting.len() > 0 && !l.ready.After(now) {
			wait := l.wait(p.flight, now)
			if wait > 0 {
				l.ready = now.Add(wait)
				break
			}
			conv := l.waiting.next()
			delete(p.stands, conv)
			p.let(l, p.pairOf(l, conv, now), now)
			p.granted[conv] = l
			offer(conv)
		}
		if l.waiting.len() == 0 {
			delete(p.crowded, l)
		} else if next.IsZero() || l.ready.Before(next) {
			next = l.ready
		}
	}
	return next
}

// busy is the wait of an account whose calls are all in flight: it ends with one
// of them.
const busy = time.Minute

// open is how long the account takes nothing, whatever its pace; 0 for now.
func (l *flow) open(flight int, now time.Time) time.Duration {
	if l.careful() {
		flight = 1
	} else if l.flying >= flight {
		flight += l.more(flight, now)
	}
	if l.flying >= flight {
		return busy
	}
	return max(l.until.Sub(now), 0)
}

// wait is how long until the account may send one more.
func (l *flow) wait(flight int, now time.Time) time.Duration {
	if wait := l.open(flight, now); wait > 0 {
		return wait
	}
	if grown, less := l.recover(now), l.shares(now); grown || less {
		l.adjust(now)
	}
	return max(longest(l.own, now), longest(l.shared, now))
}

// more is how many calls beyond flight may run at one moment: half a second of what the
// account took lately, since a fast one has that many on their way. One that hangs took
// nothing: each call of it may become an unknown message, so there should be few.
func (l *flow) more(flight int, now time.Time) int {
	return min(int(l.taken.perSecond(now)/2), flightGrows*flight-flight)
}

// flightGrows bounds the calls of one account, by those of one that is slow.
const flightGrows = 4

// lately is about how many there were in the last second.
type lately struct {
	n  float64
	at time.Time
}

func (l *lately) perSecond(now time.Time) float64 {
	return l.n * math.Exp(-max(now.Sub(l.at).Seconds(), 0))
}

func (l *lately) add(now time.Time) { l.n, l.at = l.perSecond(now)+1, now }

func (l *flow) adjust(now time.Time) {
	for _, m := range l.own {
		m.slow(l.part*l.room, now)
	}
}

// leastRoom is the part of a rate that is left for what leaves, however much comes.
const leastRoom = 0.25

// shares says whether what comes leaves clearly more or less of the rate than before.
func (l *flow) shares(now time.Time) bool {
	if !l.both || l.room == 1 && l.came.n == 0 {
		return false
	}
	room := max(1-l.came.perSecond(now)/l.perSec, leastRoom)
	if room > 0.98 {
		room = 1
	}
	if math.Abs(room-l.room) < 0.05 && room < 1 || room == l.room {
		return false
	}
	l.room = room
	return true
}

// heard counts messages that came to an account.
func (p *pace) heard(account string, n int, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.flow(account); l.both {
		l.came.n, l.came.at = l.came.perSecond(now)+float64(n), now
	}
}

func longest(meters []meter, now time.Time) (d time.Duration) {
	for _, m := range meters {
		d = max(d, m.wait(now))
	}
	return d
}

// pairOf are the meters of a conversation. Those that are as new are forgotten when
// there are twice as many as after the last look.
func (p *pace) pairOf(l *flow, conv string, now time.Time) []meter {
	if len(l.pair) == 0 {
		return nil
	}
	if m, ok := p.pairs[conv]; ok {
		return m
	}
	if len(p.pairs) >= p.sweepAt {
		for c, meters := range p.pairs {
			if allIdle(meters, now) {
				delete(p.pairs, c)
			}
		}
		p.sweepAt = max(2*len(p.pairs), sweepLeast)
	}
	meters := make([]meter, len(l.pair))
	for i, limit := range l.pair {
		meters[i] = newMeter(limit)
	}
	p.pairs[conv] = meters
	return meters
}

func allIdle(meters []meter, now time.Time) bool {
	for _, m := range meters {
		if !m.idle(now) {
			return false
		}
	}
	return true
}

// may says whether a conversation was let go and has not left yet.
func (p *pace) may(conv string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.granted[conv] != nil
}

// back takes back what a conversation was let go for and did not use. What it took of
// the pace is gone: rather slower than too fast.
func (p *pace) back(conv string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.raised, conv)
	if l := p.granted[conv]; l != nil {
		delete(p.granted, conv)
		l.landed()
	}
}

// landed notes the end of a call.
func (l *flow) landed() {
	l.flying--
	l.ready = time.Time{}
}

// hold lets nothing of an account leave before a time.
func (p *pace) hold(account string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flow(account).hold(until)
}

func (l *flow) hold(until time.Time) {
	if until.After(l.until) {
		l.until, l.ready = until, time.Time{}
	}
}

// free is how many messages a second an account could take in more, for pools: 0
// for one of which nothing leaves.
func (p *pace) free(account string, now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.flow(account)
	if l.kept.State.Stopped() || l.until.After(now) {
		return 0
	}
	l.recover(now)
	perSec := l.perSec
	if perSec == 0 {
		perSec = unboundedRate
	}
	left := 1.0
	for _, m := range slices.Concat(l.own, l.shared) {
		left = min(left, m.left(now))
	}
	// Of an account that is just now at its pace something is left all the same.
	return perSec * l.part * l.room * max(left, 0.01) / float64(1+l.waiting.len())
}

// unboundedRate stands for the rate of an account without a bound.
const unboundedRate = 1000

// landed notes that a call was not made after all.
func (p *pace) landed(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flow(account).landed()
}

// stopped says whether only probes of an account leave.
func (p *pace) stopped(account string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flow(account).kept.State.Stopped()
}
