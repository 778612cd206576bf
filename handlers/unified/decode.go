package unified

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

const (
	maxItems = 10_000 // of a body; more make it undecodable, as a whole and with its bytes kept
	maxID    = 256    // bytes of an id that stands for somebody
	maxWord  = 64     // bytes of a vendor's word for a kind or type
)

// decoder is a Decoding that was read.
type decoder struct {
	items, account, kind                    paths
	kinds                                   map[string]KindRule
	eventID, messageID, sentID              paths
	conversation, room, chatType            paths
	rule                                    string
	groups                                  []string
	sender, senderName, recipient, ownID    paths
	fromSelf, marker, source, errorCode     paths
	sources                                 map[string]string
	time                                    paths
	unit                                    string
	zone                                    *time.Location
	typ, text                               paths
	types                                   map[string]string
	mediaID, mediaURL, mediaMIME, mediaName paths
}

// paths are those of one field; the first that finds a text wins.
type paths []*path

// first is the text of the first path that finds one, "" for none.
func (ps paths) first(s *scope) string {
	for _, p := range ps {
		if text := s.text(p); text != "" {
			return text
		}
	}
	return ""
}

// scope is where the paths of one item begin.
type scope struct {
	item, root value
	// ofRoot keeps what was found from the root on, since a body may have many
	// items.
	ofRoot map[*path]string
}

func (s *scope) text(p *path) string {
	switch {
	case p.is:
		return p.constant
	case !p.root:
		return p.find(s.item).text()
	}
	text, known := s.ofRoot[p]
	if !known {
		text = p.find(s.root).text()
		s.ofRoot[p] = text
	}
	return text
}

// Decode reads a payload that Verify accepted; see the package comment for what
// becomes of an item. Errors: gateway.ErrUndecodable for what is not JSON, no
// object or list, or has more than 10,000 items. keyFP is empty: nothing is
// encrypted.
func (e *Endpoint) Decode(p *gateway.Payload) (items []gateway.Item, keyFP string, err error) {
	root := readJSON(p.Body)
	if root == nil {
		return nil, "", fmt.Errorf("%w: the body is not JSON", gateway.ErrUndecodable)
	}
	var parts []scope
	switch {
	case root.isObject():
		parts = e.decoder.parts(nil, root)
	case root.isList():
		for one := range root.elements() {
			if parts = e.decoder.parts(parts, one); len(parts) > maxItems {
				break
			}
		}
	default:
		return nil, "", fmt.Errorf("%w: the body is neither an object nor a list", gateway.ErrUndecodable)
	}
	if len(parts) > maxItems {
		return nil, "", fmt.Errorf("%w: more than %d items", gateway.ErrUndecodable, maxItems)
	}
	b := batch{d: e.decoder, payload: p, seen: map[string]int{}}
	for i := range parts {
		items = append(items, b.item(i, &parts[i]))
	}
	return items, "", nil
}

// parts adds the items of one callback.
func (d *decoder) parts(to []scope, root value) []scope {
	ofRoot := map[*path]string{}
	for _, p := range d.items {
		found, there := p.all(root, maxItems)
		if !there {
			continue
		}
		for _, v := range found {
			to = append(to, scope{item: v, root: root, ofRoot: ofRoot})
		}
		return to
	}
	return append(to, scope{item: root, root: root, ofRoot: ofRoot})
}

// batch reads the items of one payload.
type batch struct {
	d       *decoder
	payload *gateway.Payload
	seen    map[string]int // items without an id, by hash
}

// item reads one item; what is odd in it is its own.
func (b *batch) item(index int, s *scope) gateway.Item {
	d := b.d
	word := d.kind.first(s)
	rule, known := d.kinds[word]
	switch {
	case len(d.kind) == 0:
		rule.Kind = "message"
	case !known:
		rule.Kind = "notice"
	}
	it := gateway.Item{AccountID: d.account.first(s), AccountNumber: bounded(d.ownID.first(s), maxID), OccurredAt: d.when(s)}
	it.Content = gateway.Content{ID: bounded(d.messageID.first(s), maxID), Raw: json.RawMessage(s.item)}
	b.key(&it, s, rule.Dedup == "none", index)
	it.Content.Type = rule.Type
	if it.Content.Type == "" {
		it.Content.Type = wordOr(word, "unknown")
	}
	var err error
	switch rule.Kind {
	case "message", "echo":
		err = d.message(&it, s, rule.Kind == "echo")
	case "send_failed":
		err = d.failed(&it, s)
	case "account", "contact", "room":
		d.state(&it, s, rule.Kind)
	default:
		it.Kind = gateway.KindNotice
		if err = d.join(&it, s, d.whose(s)); err != nil {
			it.Chat, err = gateway.Chat{}, nil // of nobody's conversation: a notice of the account
		}
	}
	if len(it.Chat.Identities) == 0 {
		it.Chat = gateway.Chat{Kind: gateway.ChatAccount, Identities: []gateway.Identity{{Kind: "account", Value: it.AccountID}}}
	}
	if err != nil {
		it.Err = "bad item: " + err.Error()
	}
	if len(it.AccountID) > maxID {
		it.Err = "bad item: an account id of more than 256 bytes"
	}
	return it
}

// key names the fact. Without an id it is a hash of the item, which is weak: items
// that are equal are one. Their number in the body is part of it, and without a
// time the minute in which they came, since two people may say "hello".
func (b *batch) key(it *gateway.Item, s *scope, every bool, index int) {
	id := b.d.eventID.first(s)
	switch {
	case every:
		it.Key = "p:" + b.payload.ID + ":" + strconv.Itoa(index)
		return
	case id != "":
		it.Key = "e:" + id
		return
	}
	if id = b.d.messageID.first(s); id != "" {
		it.Key = "m:" + id
		return
	}
	sum := sha256.Sum256(s.item)
	hash := hex.EncodeToString(sum[:])
	it.Key = "h:" + hash
	if it.OccurredAt.IsZero() {
		it.Key += ":" + strconv.FormatInt(b.payload.ReceivedAt.Unix()/60, 10)
	}
	if n := b.seen[hash]; n > 0 {
		it.Key += "#" + strconv.Itoa(n)
	}
	b.seen[hash]++
	it.Content.WeakID = true
}

// failed is a message of ours that did not arrive.
func (d *decoder) failed(it *gateway.Item, s *scope) error {
	it.Kind = gateway.KindStatus
	code := d.errorCode.first(s)
	problem := gateway.Problem{}
	if n, err := strconv.Atoi(code); err == nil {
		problem.Code = n
	} else {
		problem.Title = bounded(code, maxWord)
	}
	it.Content.Type = "failed"
	it.Content.Status = &gateway.Status{MessageID: d.sentAs(s), State: gateway.StatusFailed, Marker: d.markerOf(s), Errors: []gateway.Problem{problem}}
	if d.join(it, s, sideOurs) != nil {
		it.Chat = gateway.Chat{} // whose it was is known by its message
	}
	return nil
}

// state is of the account, a contact or a group; it has a key of its own, which is
// no conversation's.
func (d *decoder) state(it *gateway.Item, s *scope, of string) {
	it.Kind = gateway.KindState
	who := gateway.Identity{Kind: "account", Value: it.AccountID}
	conversation := d.conversation.first(s)
	switch of {
	case "contact":
		if id := firstText(d.sender.first(s), conversation); id != "" && len(id) <= maxID {
			who = gateway.Identity{Kind: "customer", Value: id}
		}
	case "room":
		if id := firstText(d.room.first(s), conversation); id != "" && len(id) <= maxID {
			who = gateway.Identity{Kind: "chat", Value: id}
		}
	}
	it.Chat = gateway.Chat{Kind: gateway.ChatAccount, Identities: []gateway.Identity{who}}
	it.Content.Change = &gateway.StateChange{Of: who, What: it.Content.Type}
}

// sentAs is the id by which the answer of a send call named a message of ours.
func (d *decoder) sentAs(s *scope) string {
	return bounded(firstText(d.sentID.first(s), d.messageID.first(s), d.eventID.first(s)), maxID)
}

// markerOf is the marker on an item: one of ours, if any is.
func (d *decoder) markerOf(s *scope) (marker string) {
	for _, p := range d.marker {
		switch text := s.text(p); {
		case gateway.OurMarker(text):
			return text
		case marker == "":
			marker = bounded(text, maxID)
		}
	}
	return marker
}

// bounded is s, or nothing when it is longer than any such id is.
func bounded(s string, most int) string {
	if len(s) > most {
		return ""
	}
	return s
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// wordOr is a vendor's word, or another when it is none.
func wordOr(word, other string) string {
	if word = bounded(word, maxWord); word == "" {
		return other
	}
	return word
}

var errNoConversation = errors.New("no conversation is named") //nolint:gochecknoglobals // a sentinel error is a constant
