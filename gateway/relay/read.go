package relay

import (
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

// numbers are our own phone numbers as the platform tells them, by platform. The
// relay and a replay both learn from what they read.
type numbers struct {
	mu   sync.Mutex
	seen map[string]struct{}
}

func (n *numbers) learn(platform, number string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]struct{}{}
	}
	n.seen[platform+":"+number] = struct{}{}
}

func (n *numbers) ours(platform, number string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.seen[platform+":"+number]
	return ok
}

// read decodes a payload and decides about each item. It is pure but for the
// hint about our own numbers.
func (r *Relay) read(p *gateway.Payload) gateway.RelayedPayload {
	e := r.open(p)
	return r.rows(e, len(e.items))
}

// open decodes a payload and finds the accounts of its items.
func (r *Relay) open(p *gateway.Payload) *entry {
	e := &entry{size: len(p.Body), head: gateway.RelayedPayload{
		Pos: p.Pos, Platform: p.Platform, Endpoint: p.Endpoint, ReceivedAt: p.ReceivedAt, Last: true,
	}}
	items, keyFP, err := r.decode(p)
	bare := *p
	bare.Body = nil
	e.p, e.head.KeyFP = &bare, keyFP
	switch {
	case err != nil:
		items = nil
		e.head.State, e.head.Reason = sealedOrDead(err)
		e.head.Detail = err.Error()
	case len(items) == 0:
		e.head.State, e.head.Reason = gateway.PayloadIgnored, "nothing_for_us"
	}
	e.items, e.accounts = items, make([]string, len(items))
	for i := range items {
		e.accounts[i], _ = r.o.Directory.Account(p.Platform, items[i].AccountID)
		if number := items[i].AccountNumber; number != "" {
			r.own.learn(p.Platform, number)
		}
	}
	return e
}

// rows makes the rows of a payload's items that are not written, before upto.
func (r *Relay) rows(e *entry, upto int) gateway.RelayedPayload {
	out := e.head
	apps := r.o.Directory.Applications()
	out.Items = make([]gateway.ItemRow, 0, upto-e.done)
	for i := e.done; i < upto; i++ {
		out.Items = append(out.Items, r.item(e.p, i, &e.items[i], e.accounts[i], apps))
	}
	return out
}

// decode guards the process: a payload that makes a decoder panic is a dead
// letter, not the end of every conversation.
func (r *Relay) decode(p *gateway.Payload) (items []gateway.Item, keyFP string, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.o.Log.Error("relay.panic", zap.String("payload", p.ID), zap.Stack("stack"))
			items, err = nil, gateway.ErrUndecodable
		}
	}()
	return r.o.Decoder.Decode(p)
}

// item makes the row of an item; account is "" when it is not configured.
func (r *Relay) item(p *gateway.Payload, index int, it *gateway.Item, account string, apps []gateway.Application) gateway.ItemRow {
	row := gateway.ItemRow{Index: index, State: gateway.ItemEvent, Chat: it.Chat, Status: it.Content.Status, Echo: it.Content.Echo,
		Observed: it.Observed, Change: change(it), Note: it.Note, Relaxed: it.Kind.Ordered() && it.Observed == "" && r.o.Relaxed(it.Kind)}
	if it.Kind == gateway.KindMessage {
		row.MessageID = it.Content.ID
	}
	row.Heard = heard(it)
	row.Event = gateway.EventRow{
		ID: gateway.EventID(p.Platform, it), Platform: p.Platform, Account: account, Chat: it.Chat.Kind,
		Kind: it.Kind, Origin: gateway.OriginLive, ReceivedAt: p.ReceivedAt, OccurredAt: it.OccurredAt,
	}
	dead := func(reason, detail string) gateway.ItemRow {
		row.State, row.Reason, row.Detail = gateway.ItemDead, reason, detail
		return row
	}
	switch {
	case it.Err != "":
		return dead(gateway.ReasonBadItem, it.Err)
	case account == "":
		return dead(gateway.ReasonNoAccount, "the platform's account id is not configured")
	case len(it.Chat.Identities) == 0:
		return dead(gateway.ReasonBadItem, "the item names nobody")
	}
	if row.Fetch = it.Fetch(p.ReceivedAt, r.o.MediaLife(p.Platform, account)); row.Fetch != nil {
		it.Content.Media.State = gateway.MediaPending
	}
	says := it.Content
	if row.Observed == "" && r.fromOurs(p.Platform, it) {
		row.Observed = gateway.ObservedOwn
	}
	says.Observed = row.Observed
	content, err := r.content(&says)
	switch {
	case errors.Is(err, errTooLarge):
		return dead(gateway.ReasonBadItem, errTooLarge.Error())
	case err != nil:
		return dead(gateway.ReasonBadItem, "the item's raw part is not valid JSON")
	}
	row.Event.Content = content
	for i := range apps {
		if row.Observed == "" && apps[i].Wants(p.Platform, account, it.Kind, it.Chat.Kind) {
			row.Wanted = append(row.Wanted, apps[i].Name)
			if apps[i].SkipTaken {
				row.SkipTaken = append(row.SkipTaken, apps[i].Name)
			}
		}
	}
	return row
}

// heard says that the customer of a single chat did this: wrote, changed what they
// wrote, reacted, called. Meta does not say that a reaction opens its window (an item
// that does not would make a message be refused by Meta, not by us).
func heard(it *gateway.Item) bool {
	if it.Chat.Kind != gateway.ChatSingle || it.Kind == gateway.KindStatus || it.Kind == gateway.KindEcho {
		return false
	}
	if it.Kind == gateway.KindMessage {
		return true
	}
	if it.Content.From == nil {
		return false
	}
	return slices.ContainsFunc(it.Content.From.Identities, func(id gateway.Identity) bool {
		return slices.ContainsFunc(it.Chat.Identities, func(side gateway.Identity) bool { return id.Kind == side.Kind && id.Value == side.Value })
	})
}

// change says what a change is about, and in a chat of several people who made it:
// the other side of a single chat is one person under whatever name.
func change(it *gateway.Item) *gateway.ChangeRow {
	target := it.Content.Target
	if it.Kind != gateway.KindChange || target == nil || target.MessageID == "" {
		return nil
	}
	row := &gateway.ChangeRow{Target: target.MessageID, Type: it.Content.Type}
	if it.Content.From == nil {
		return row
	}
	for _, id := range it.Content.From.Identities {
		for _, side := range it.Chat.Identities {
			if it.Chat.Kind == gateway.ChatSingle && id.Kind == side.Kind && id.Value == side.Value {
				return row
			}
		}
	}
	row.Actor = it.Content.From.Identities
	return row
}

// errTooLarge: even without its raw part the item fits into no message.
var errTooLarge = errors.New("the item is larger than an event may be") //nolint:gochecknoglobals // a sentinel error is a constant

// content renders what an event says. One that the broker would refuse stays
// refused for ever, and would hold its conversation and all copies behind it;
// the raw part is in the archive, so it can be left out. The design lets workers ask
// for it on cw.get.<app>; nobody answers there, since a broker that does not take it
// in an event would not take it in an answer either.
func (r *Relay) content(c *gateway.Content) ([]byte, error) {
	most := r.o.MaxContent()
	if most <= 0 {
		most = DefaultMaxContent
	}
	b, err := gateway.EncodeContent(c)
	if err != nil || len(b) <= most {
		return b, err
	}
	lean := *c
	lean.Raw = nil
	if b, err = gateway.EncodeContent(&lean); err == nil && len(b) > most {
		return nil, errTooLarge
	}
	return b, err
}

// fromOurs says that another account of ours wrote this: an answer to it would be
// answered by a bot of ours, without end. The numbers are those that platforms told
// since the process began; who is not known yet is answered once, which tells it.
func (r *Relay) fromOurs(platform string, it *gateway.Item) bool {
	if it.Kind != gateway.KindMessage || it.Content.From == nil {
		return false
	}
	return slices.ContainsFunc(it.Content.From.Identities, func(id gateway.Identity) bool {
		return (id.Kind == "phone" || id.Kind == "userid") && r.own.ours(platform, id.Value)
	})
}
