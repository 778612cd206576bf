package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// What is known of the changes of a message: per type and person the time of the
// newest, and that it was revoked. A change that is older than one known, and
// whatever comes after a revoke, is recorded and not offered. Times of platforms
// have a second's resolution: of two changes of one second the later archived
// counts. The message itself is offered also after an edit of it: an application
// may want messages only.
//
// A row is kept for keepNewest after its change came; each new one takes up to
// newestSlice rows that are over along.
const (
	keepNewest  = 31 * 24 * time.Hour
	newestSlice = 4
)

type newestKey [16]byte

// changeKey names the changes of a type by a person to a message of an account. The
// conversation is not in it: that may change.
func changeKey(e *gateway.EventRow, message, kind, actor string) (k newestKey) {
	h := sha256.New()
	for _, part := range [...]string{e.Platform, e.Account, message, kind, actor} {
		_, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part)))) //nolint:gosec // a payload has a few MB
		_, _ = h.Write([]byte(part))
	}
	copy(k[:], h.Sum(nil))
	return k
}

const typeRevoke = "revoke"

// changeKeys are the keys of a change: one per name of who made it, since names
// come and go. A revoke has one: it counts for everybody.
func changeKeys(it *gateway.ItemRow) []newestKey {
	ch := it.Change
	if ch.Type == typeRevoke || len(ch.Actor) == 0 {
		return []newestKey{changeKey(&it.Event, ch.Target, ch.Type, "")}
	}
	out := make([]newestKey, len(ch.Actor))
	for i, id := range ch.Actor {
		out[i] = changeKey(&it.Event, ch.Target, ch.Type, id.Kind+":"+id.Value)
	}
	return out
}

// superseded says why an item is not offered: something newer about the message
// is known. "" for nearly all; an ordinary message costs no statement.
func (w *relayWrite) superseded(p *gateway.RelayedPayload, it *gateway.ItemRow) (string, error) {
	message := it.MessageID
	if it.Change != nil {
		message = it.Change.Target
	}
	if message == "" || it.Observed != "" || it.Change == nil && w.l.revoked.none() {
		return "", nil
	}
	at := nanos(happened(p, it))
	if k := changeKey(&it.Event, message, typeRevoke, ""); w.l.revoked.has(k) {
		known, found, err := newestAt(w.c, k)
		// The revoke itself, handed out again by a replay, is no later one.
		itself := w.b.Run != "" && it.Change != nil && it.Change.Type == typeRevoke && known == at
		if err != nil || found && !itself {
			return gateway.SupersededRevoked, err
		}
	}
	if it.Change == nil || it.Change.Type == typeRevoke {
		return "", nil
	}
	for _, k := range changeKeys(it) {
		if known, found, err := newestAt(w.c, k); err != nil || found && known > at {
			return gateway.SupersededNewer, err
		}
	}
	return "", nil
}

func newestAt(c *conn, k newestKey) (at int64, found bool, err error) {
	found, err = c.one("SELECT at FROM newest WHERE key = ?", func(r row) { at = r.int(0) }, k[:])
	return at, found, err
}

// keepNewest remembers a change that is the newest.
func (w *relayWrite) keepNewest(p *gateway.RelayedPayload, it *gateway.ItemRow) error {
	revoke := it.Change.Type == typeRevoke
	for _, k := range changeKeys(it) {
		if revoke {
			w.l.revoked.add(k)
		}
		_, err := w.c.exec("INSERT OR REPLACE INTO newest (key, at, kept, revoke) VALUES (?, ?, ?, ?)", k[:], happened(p, it), w.now, revoke)
		if err != nil {
			return err
		}
	}
	_, err := w.c.exec("DELETE FROM newest WHERE row IN (SELECT row FROM newest ORDER BY row LIMIT ?) AND kept < ?", newestSlice, w.now.Add(-keepNewest))
	return err
}

// happened is the platform's time of an item, else ours.
func happened(p *gateway.RelayedPayload, it *gateway.ItemRow) time.Time {
	for _, at := range []time.Time{it.Event.OccurredAt, it.Event.ReceivedAt} {
		if !at.IsZero() {
			return at
		}
	}
	return p.ReceivedAt
}

// revokes remembers which keys may be those of revoked messages, in 128 KiB
// however many there are (a Bloom filter), so that a message that was not revoked
// costs no look into the file. With 100,000 of them one message in thirty does. It
// may say yes wrongly, also after a write was taken back, and never no.
type revokes struct{ bits []uint64 }

const revokeBits = 1 << 20

func (f *revokes) none() bool { return f.bits == nil }

func (f *revokes) add(k newestKey) {
	if f.bits == nil {
		f.bits = make([]uint64, revokeBits/64)
	}
	a, b := places(k)
	f.bits[a/64] |= 1 << (a % 64)
	f.bits[b/64] |= 1 << (b % 64)
}

func (f *revokes) has(k newestKey) bool {
	if f.bits == nil {
		return false
	}
	a, b := places(k)
	return f.bits[a/64]&(1<<(a%64)) != 0 && f.bits[b/64]&(1<<(b%64)) != 0
}

func places(k newestKey) (a, b uint32) {
	return binary.BigEndian.Uint32(k[:4]) % revokeBits, binary.BigEndian.Uint32(k[4:8]) % revokeBits
}

// load reads the keys that are kept.
func (f *revokes) load(c *conn) error {
	return c.query("SELECT key FROM newest WHERE revoke = 1", func(r row) error {
		f.add(newestKey(r.blob(0)))
		return nil
	})
}
