package sqlite

import (
	"encoding/json"
	"slices"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// item writes one item of a payload that is not replayed, and says what it
// became.
func (w *relayWrite) item(p *gateway.RelayedPayload, it *gateway.ItemRow) (gateway.ItemState, error) {
	state, reason, detail, n := it.State, it.Reason, it.Detail, int64(0)
	if state == gateway.ItemEvent {
		if why := unfit(it); why != "" {
			state, reason, detail = gateway.ItemDead, gateway.ReasonBadItem, why
		}
	}
	if state == gateway.ItemEvent {
		var err error
		if state, n, err = w.event(p, it); err != nil {
			return "", err
		}
		if state == gateway.ItemDuplicate && it.Relaxed {
			if state, n, err = w.copied(p, it); err != nil {
				return "", err
			}
		}
	}
	if err := w.items.add(w.c, p.Pos, it.Index, string(state), reason, detail, n); err != nil {
		return "", err
	}
	w.l.book.add(countItemDecoded, 1)
	w.l.book.add(prefixItem+string(state), 1)
	if state == gateway.ItemDead {
		err := w.bury(&gateway.DeadLetter{Kind: "item", Reason: reason, Detail: detail,
			Platform: p.Platform, Account: it.Event.Account, Payload: payloadID(p), Pos: p.Pos, Item: it.Index, Event: it.Event.ID},
			func() (string, error) { return w.standsIn(p, it) })
		if err != nil {
			return "", err
		}
	}
	return state, nil
}

// unfit says why an item cannot be an event; "" when it can. It is a dead item
// then: an error would hold every payload behind it.
func unfit(it *gateway.ItemRow) string {
	switch {
	case len(it.Chat.Identities) == 0:
		return "no identity of its chat"
	case it.Event.ID == "":
		return "no event id"
	case !slices.Contains(gateway.Kinds(), it.Event.Kind):
		return "unknown kind of event"
	}
	switch it.Chat.Kind {
	case gateway.ChatSingle, gateway.ChatGroup, gateway.ChatAccount:
		return ""
	}
	return "unknown kind of chat"
}

// event writes an event with what hangs on it. It returns ItemEvent with the new
// row, or ItemDuplicate with the known row.
func (w *relayWrite) event(p *gateway.RelayedPayload, it *gateway.ItemRow) (gateway.ItemState, int64, error) {
	e, run := &it.Event, w.b.Run
	// A new conversation must not be written for what is known already; for the rest
	// the insert itself says whether the event is known.
	t, also, err := w.find(p, it)
	if err != nil {
		return "", 0, err
	}
	made := t == nil
	if made || len(also) > 0 {
		if state, n, err := w.known(p, it); err != nil || n > 0 {
			return state, n, err
		}
	}
	if made {
		if t, err = w.l.resolve(w.c, chatOf{e.Platform, e.Account, happened(p, it), &it.Chat}); err != nil {
			return "", 0, err
		}
		w.l.book.begins(t.c, it.Wanted)
	}
	for _, other := range also {
		if t, err = w.merge(t, other); err != nil {
			return "", 0, err
		}
	}
	n := w.l.book.events + 1
	ordered := e.Kind.Ordered() && run == "" && it.Observed == ""
	ord := -n
	if ordered {
		ord = t.lastSeq + 1
	}
	origin := gateway.OriginLive
	switch {
	case run != "":
		origin = gateway.OriginReplay
	case w.b.Again || e.Origin == gateway.OriginBackfill:
		origin = gateway.OriginBackfill
	}
	payload := e.Payload
	if payload == "" {
		payload = payloadID(p)
	}
	receivedAt := e.ReceivedAt
	if receivedAt.IsZero() {
		receivedAt = p.ReceivedAt
	}
	content, wanted, late := e.Content, it.Wanted, it.Unanswered
	why, err := w.superseded(p, it)
	if err != nil {
		return "", 0, err
	}
	if why != "" {
		content, wanted, late = gateway.Supersede(content, why), nil, nil
	}
	if len(it.IfLast) > 0 && len(wanted) > 0 {
		last, err := w.lastWord(t, p, it)
		if err != nil {
			return "", 0, err
		}
		if !last {
			late = append(slices.Clone(late), it.IfLast...)
			wanted = slices.DeleteFunc(slices.Clone(wanted), func(app string) bool { return slices.Contains(it.IfLast, app) })
		}
	}
	offered := wanted
	if t.takenUntil > 0 {
		if content, offered, err = w.inTakeover(t, it, content, wanted); err != nil {
			return "", 0, err
		}
	}
	rows, err := w.c.exec(`INSERT INTO event (n, id, run, c, ord, kind, origin, pos, item, payload, received_at, occurred_at, content)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id, run) DO NOTHING`,
		n, eventKey(e.ID), run, t.c, ord, string(e.Kind), string(origin), p.Pos, it.Index, payload,
		receivedAt, e.OccurredAt, content)
	if err != nil {
		return "", 0, err
	}
	if rows == 0 {
		return w.known(p, it)
	}
	w.l.book.events = n
	w.res.Events++
	// A receipt names whom our message was addressed to, which may be out of date.
	quiet := run != "" || it.Observed != "" || e.Kind == gateway.KindStatus
	if err := w.l.learn(w.c, t, it.Chat.Identities, happened(p, it), quiet); err != nil {
		return "", 0, err
	}
	if err := w.changes(p, it, why); err != nil {
		return "", 0, err
	}
	if ordered {
		w.count(t, e)
	}
	w.heard(p, t, it)
	if err := w.turn(t, it); err != nil {
		return "", 0, err
	}
	if it.Note != nil && run == "" && it.Observed == "" {
		if err := w.l.noted(w.c, t, it.Note, happened(p, it)); err != nil {
			return "", 0, err
		}
		w.res.States++
		if err := w.sessionOver(it, happened(p, it)); err != nil {
			return "", 0, err
		}
	}
	if err := w.fetch(t, it, n); err != nil {
		return "", 0, err
	}
	if ordered && len(late) > 0 {
		if err := w.tooLate(n, late); err != nil {
			return "", 0, err
		}
	}
	if skip := len(wanted) - len(offered); skip > 0 {
		if err := w.skipTaken(n, without(wanted, offered)); err != nil {
			return "", 0, err
		}
	}
	if len(offered) > 0 && e.Kind.Ordered() && it.Observed == "" {
		row := &gateway.EventRow{N: n, ID: e.ID, Run: run, Platform: t.platform, Account: t.account, Conv: t.conv, Chat: it.Chat.Kind,
			Seq: max(ord, 0), Kind: e.Kind, Origin: origin, Payload: payload, ReceivedAt: fromNanos(nanos(receivedAt)),
			OccurredAt: fromNanos(nanos(e.OccurredAt)), Content: content}
		if err := w.want(t.c, row, offered); err != nil {
			return "", 0, err
		}
	}
	if run == "" && !e.Kind.Ordered() && it.Observed == "" {
		return gateway.ItemEvent, n, w.park(t, it, n)
	}
	return gateway.ItemEvent, n, nil
}

// find returns the conversation of an item, and others that turn out to be the
// same person's. An item of a replay belongs where its event is: its names may be
// another person's by now. Copies of other traffic join nobody.
func (w *relayWrite) find(p *gateway.RelayedPayload, it *gateway.ItemRow) (t *talk, also []*talk, err error) {
	if w.b.Run != "" {
		key := int64(-1)
		_, err := w.c.one("SELECT c FROM event WHERE id = ? AND run = ''", func(r row) { key = r.int(0) }, eventKey(it.Event.ID))
		if err != nil {
			return nil, nil, err
		}
		if key >= 0 {
			if t, err = w.l.talk(w.c, key); err == nil {
				t, err = w.l.root(w.c, t)
			}
			return t, nil, err
		}
	}
	t, also, err = w.l.find(w.c, chatOf{it.Event.Platform, it.Event.Account, happened(p, it), &it.Chat})
	if w.b.Run != "" || it.Observed != "" {
		also = nil
	}
	return t, also, err
}

// merge makes two conversations one and returns the one that lives.
func (w *relayWrite) merge(a, b *talk) (*talk, error) {
	if err := w.flush(); err != nil { // what waits is looked for
		return nil, err
	}
	kept, m, tell, err := w.l.merge(w.c, a, b, w.now)
	if tell {
		w.res.Merged = append(w.res.Merged, m)
	}
	return kept, err
}

// changes keeps what a new event says about the changes of a message; why is why
// it is superseded.
func (w *relayWrite) changes(p *gateway.RelayedPayload, it *gateway.ItemRow, why string) error {
	switch {
	case why != "":
		w.l.book.add(prefixOther+"superseded", 1)
	case it.Change != nil && it.Change.Target != "" && it.Observed == "" && w.b.Run == "":
		return w.keepNewest(p, it)
	}
	return nil
}

// known looks for an event that exists. One that this very item made before (its
// payload is read again) is still its event.
func (w *relayWrite) known(p *gateway.RelayedPayload, it *gateway.ItemRow) (gateway.ItemState, int64, error) {
	var n, pos, item int64
	_, err := w.c.one("SELECT n, pos, item FROM event WHERE id = ? AND run = ?",
		func(r row) { n, pos, item = r.int(0), r.int(1), r.int(2) }, eventKey(it.Event.ID), w.b.Run)
	if err != nil || n == 0 {
		return "", 0, err
	}
	w.res.Duplicates++
	if pos == p.Pos && item == int64(it.Index) {
		return gateway.ItemEvent, n, nil
	}
	return gateway.ItemDuplicate, n, nil
}

// copied writes a duplicate that is let through, under an id of its own: known when
// its payload is read again.
func (w *relayWrite) copied(p *gateway.RelayedPayload, it *gateway.ItemRow) (gateway.ItemState, int64, error) {
	before := w.l.book.events
	c := *it
	c.Event.ID = gateway.CopyID(it.Event.ID, p.Pos, it.Index)
	state, n, err := w.event(p, &c)
	if w.l.book.events > before {
		w.l.book.add(prefixOther+"relaxed", 1)
	}
	return state, n, err
}

// asRelayed is an item of a replay with the id it had when it was relayed: its own,
// or that of a copy.
func (w *relayWrite) asRelayed(p *gateway.RelayedPayload, it *gateway.ItemRow) (*gateway.ItemRow, error) {
	id := gateway.CopyID(it.Event.ID, p.Pos, it.Index)
	found, err := w.c.one("SELECT 1 FROM event WHERE id = ? AND run = ''", func(row) {}, eventKey(id))
	if err != nil || !found {
		return it, err
	}
	c := *it
	c.Event.ID = id
	return &c, nil
}

// note remembers a conversation to be stored at the end of the batch.
func (w *relayWrite) note(t *talk) {
	if len(w.changed) == 0 || w.changed[len(w.changed)-1] != t {
		w.changed = append(w.changed, t)
	}
}

// count gives the conversation its next seq and looks at the platform's time.
func (w *relayWrite) count(t *talk, e *gateway.EventRow) {
	t.lastSeq++
	if e.Kind == gateway.KindMessage && !e.OccurredAt.IsZero() {
		at := nanos(e.OccurredAt)
		if at < t.newestAt {
			w.res.OutOfOrder++
			w.l.book.add(prefixOther+"out_of_order", 1)
		}
		t.newestAt = max(t.newestAt, at)
	}
	w.l.book.touched = true
	w.note(t)
}

// want writes one pending row per application.
func (w *relayWrite) want(key int64, row *gateway.EventRow, apps []string) error {
	p := gateway.Pending{Conv: row.Conv, Lane: gateway.LaneLive, Seq: row.Seq, N: row.N, Event: row.ID, Run: row.Run, Row: row}
	if row.Run != "" {
		p.Lane, p.Seq = gateway.LaneReplay, row.N
	}
	starting, err := w.l.startingNow(w.c)
	if err != nil {
		return err
	}
	for _, app := range apps {
		if p.App = app; starting[app] { // it will be given it, see application.go
			continue
		}
		if err := w.pending.add(w.c, pendingArgs(key, &p)...); err != nil {
			return err
		}
		w.l.book.add(appCount(app, "wanted"), 1)
		w.l.book.add(appCount(app, "pending"), 1)
		w.l.book.waits(key, &p)
		w.res.Pending = append(w.res.Pending, p)
	}
	return nil
}

func pendingArgs(key int64, p *gateway.Pending) []any {
	return []any{p.App, key, int64(p.Lane), p.Seq, p.N, p.Tries, p.NextAt, p.Round, p.Requeue}
}

// park keeps a status or an echo until it is judged.
func (w *relayWrite) park(t *talk, it *gateway.ItemRow, n int64) error {
	var external, marker string
	var status []byte
	wait := gateway.ParkStatus
	switch {
	case it.Event.Kind == gateway.KindStatus && it.Status != nil:
		external, marker = it.Status.MessageID, it.Status.Marker
		var err error
		if status, err = json.Marshal(it.Status); err != nil {
			return err
		}
	case it.Event.Kind == gateway.KindEcho && it.Echo != nil:
		external, marker, wait = it.Echo.MessageID, it.Echo.Marker, gateway.ParkEcho
	default:
		return nil // nothing to be judged by
	}
	at := it.Event.OccurredAt
	if at.IsZero() {
		at = w.now
	}
	_, err := w.c.exec(`INSERT INTO parked (n, kind, platform, account, conv, external_id, marker, status, at, deadline, look_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
		n, string(it.Event.Kind), it.Event.Platform, it.Event.Account, t.conv, external, marker, status, at, w.now.Add(wait))
	if err != nil {
		return err
	}
	w.l.book.parked = true
	w.l.book.add(prefixOther+"parked", 1)
	w.res.Parked++
	return nil
}

func payloadID(p *gateway.RelayedPayload) string { return store.PayloadID(p.ReceivedAt, p.Pos) }
