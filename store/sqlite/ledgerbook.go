package sqlite

import (
	"crypto/rand"
	"io"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/causewayhq/causeway/gateway"
)

// ledgerBook is what the ledger's writer keeps in memory: the next numbers, what
// the counters grew by since the last commit, and the conversations of late. All
// of it can be read again from the rows.
type ledgerBook struct {
	events  int64 // highest event.n given
	changes int64 // highest change.n given
	seen    int64 // highest alias.seen given
	parked  bool  // there may be rows of parked; see Ledger.anyParked
	deltas  []delta
	stored  numbers // as in the file
	before  numbers
	length  int // of deltas before this write
	sums    map[string]int64

	talks   map[int64]*talk // by number
	aliases map[aliasKey]*alias
	waiting map[waitingKey]*waiting
	names   map[int64][]gateway.Identity // in use, of conversations that send; see Ledger.names
	flying  map[string]flown             // messages that are sending, by id; see flies
	merging map[int64]int64              // see Ledger.merging; nil when it is to be read
	drains  atomic.Int64                 // its length, for readers; rather too high than too low
	// starting are the applications that the relay gives nothing yet; nil when they
	// are to be read. See application.go.
	starting map[string]bool
	touched  bool // the caches changed since mark

	waitingBytes int // held by waiting, about

	ids    io.Reader // monotonic
	lastMS uint64
	dueAt  time.Time // of the newest task
}

type numbers struct{ events, changes, seen int64 }

type delta struct {
	name string
	by   int64
}

// cachedTalks bounds the cache of conversations; over it all are forgotten.
const cachedTalks = 20_000

func newLedgerBook() *ledgerBook {
	b := &ledgerBook{sums: make(map[string]int64), ids: ulid.Monotonic(rand.Reader, 0)}
	b.forget()
	return b
}

func (b *ledgerBook) forget() {
	b.talks, b.aliases = make(map[int64]*talk), make(map[aliasKey]*alias)
	b.waiting, b.waitingBytes = make(map[waitingKey]*waiting), 0
	b.merging, b.starting = nil, nil
	b.names, b.flying = make(map[int64][]gateway.Identity), make(map[string]flown)
	b.drains.Add(1)
	b.touched, b.parked = false, true
}

func (b *ledgerBook) numbers() numbers { return numbers{b.events, b.changes, b.seen} }

func (b *ledgerBook) mark() {
	b.before, b.length, b.touched = b.numbers(), len(b.deltas), false
}

func (b *ledgerBook) undo() {
	b.events, b.changes, b.seen = b.before.events, b.before.changes, b.before.seen
	b.deltas, b.parked = b.deltas[:b.length], true
	if b.touched {
		b.forget()
	}
}

func (b *ledgerBook) flush(c *conn) error {
	clear(b.sums)
	for _, d := range b.deltas {
		b.sums[d.name] += d.by
	}
	for name, by := range b.sums {
		if by == 0 {
			continue
		}
		if _, err := c.exec("INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
			name, by); err != nil {
			return err
		}
	}
	if n := b.numbers(); n != b.stored {
		if err := setPlace(c, "numbers", n.events, n.changes); err != nil {
			return err
		}
		return setPlace(c, "seen", n.seen, 0)
	}
	return nil
}

func (b *ledgerBook) committed() {
	b.deltas, b.stored = b.deltas[:0], b.numbers()
	if len(b.talks) > cachedTalks || len(b.aliases) > 2*cachedTalks || len(b.waiting) > waitingKeys || len(b.names) > cachedTalks {
		b.forget()
	}
}

func (b *ledgerBook) lost(c *conn) (err error) {
	b.deltas = b.deltas[:0]
	b.forget()
	if b.events, b.changes, err = place(c, "numbers"); err != nil {
		return err
	}
	if b.seen, _, err = place(c, "seen"); err != nil {
		return err
	}
	b.stored = b.numbers()
	// Ids decide between messages that are due at one moment. Within a millisecond they
	// begin at random, so ours begin with the next one.
	_, err = c.one("SELECT id FROM message ORDER BY row DESC LIMIT 1", func(r row) {
		b.lastMS = max(b.lastMS, uint64(max(madeAt(r.str(0)).UnixMilli(), 0))+1)
	})
	return err
}

// add lets a kept count grow.
func (b *ledgerBook) add(name string, by int64) { b.deltas = append(b.deltas, delta{name, by}) }

// flown is a message as it was stored when its attempt began, with that.
type flown struct {
	m       message
	attempt string
}

// flies remembers a message that is sending, so that the end of its attempt need not
// read it again. Whoever writes the message in between forgets it (storeMessage).
func (b *ledgerBook) flies(m *message, a *gateway.Attempt) {
	b.flying[m.ID], b.touched = flown{*m, a.ID}, true
}

// newID makes an id with a prefix ("ms_") and a ULID that is above every other
// one made since the store was opened, and those of messages made before, also when
// the clock goes back.
func (b *ledgerBook) newID(prefix string, now time.Time) (string, error) {
	b.lastMS = max(b.lastMS, uint64(max(now.UnixMilli(), 0)))
	id, err := ulid.New(b.lastMS, b.ids)
	if err != nil { // the numbers of this millisecond are used up
		b.lastMS++
		if id, err = ulid.New(b.lastMS, b.ids); err != nil {
			return "", err
		}
	}
	return prefix + id.String(), nil
}

// due is when a task that is made now is due. A clock set back by up to a minute
// does not let a reply overtake an earlier one of its conversation.
func (b *ledgerBook) due(now time.Time) time.Time {
	if back := b.dueAt.Sub(now); back > 0 && back <= time.Minute {
		return b.dueAt
	}
	b.dueAt = now
	return now
}

// place reads a cursor; zeros when it was never set.
func place(c *conn, name string) (a, b int64, err error) {
	_, err = c.one("SELECT a, b FROM place WHERE name = ?", func(r row) { a, b = r.int(0), r.int(1) }, name)
	return a, b, err
}

func setPlace(c *conn, name string, a, b int64) error {
	_, err := c.exec("INSERT INTO place (name, a, b) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET a = excluded.a, b = excluded.b",
		name, a, b)
	return err
}

// Names of the kept counts. Those of an application have its name inside, so
// they are made by appCount.
const (
	countItemDecoded = "item.decoded"
	countTaken       = "message.taken"
	prefixItem       = "item."
	prefixPayload    = "payload."
	prefixMessage    = "message."
	prefixApp        = "app."
	prefixOther      = "other."
	countMediaWanted = "media.wanted"
	prefixMedia      = "media."
	prefixSeen       = "seen."
)

func appCount(app, what string) string { return prefixApp + app + "." + what }

// seenCount names what is counted of an application beside the sums.
func seenCount(app, what string) string { return prefixSeen + app + "." + what }

// sumState is the state under which a message is counted.
func sumState(s gateway.MessageState) gateway.MessageState {
	if s == gateway.MessageSending {
		return gateway.MessageWaiting
	}
	return s
}
