package sqlite

import (
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// ahead relays a whole payload while the position is before it; see
// gateway.RelayBatch. That it has a state row says that it overtook.
func (w *relayWrite) ahead(p *gateway.RelayedPayload) error {
	if p.Pos <= w.position.Pos {
		return nil
	}
	if done, err := w.overtook(p.Pos); err != nil || done {
		return err
	}
	names, err := w.names(p)
	if err != nil || w.b.Held(p, names) {
		return err
	}
	var tally itemTally
	if _, err := w.itemsFrom(p, 0, &tally); err != nil {
		return err
	}
	return w.payload(p, tally)
}

// overtook says whether a payload behind the position is relayed. Nearly always
// none is, and that is known without a look.
func (w *relayWrite) overtook(pos int64) (bool, error) {
	if pos > w.furthest {
		return false, nil
	}
	return w.stated(pos)
}

// stated says whether a payload has a state: it is relayed wholly.
func (w *relayWrite) stated(pos int64) (bool, error) {
	return w.c.one("SELECT 1 FROM payload WHERE pos = ?", func(row) {}, pos)
}

// passOver moves the position over the payloads that come next and are relayed.
func (w *relayWrite) passOver() error {
	for w.position.Item == 0 {
		done, err := w.overtook(w.position.Pos + 1)
		if err != nil || !done {
			return err
		}
		w.position.Pos++
	}
	return nil
}

// names are all names of the conversations that a name in the payload leads to:
// whatever else speaks of one of those has one of them.
func (w *relayWrite) names(p *gateway.RelayedPayload) (out []gateway.Name, err error) {
	var seen []int64
	for i := range p.Items {
		it := &p.Items[i]
		h := chatOf{it.Event.Platform, it.Event.Account, time.Time{}, &it.Chat}
		for j := range it.Chat.Identities {
			a, err := w.l.alias(w.c, h.key(&it.Chat.Identities[j]))
			if err != nil {
				return nil, err
			}
			if a == nil || slices.Contains(seen, a.c) {
				continue
			}
			seen = append(seen, a.c)
			err = w.c.query("SELECT kind, value FROM alias WHERE c = ?", func(r row) error {
				out = append(out, gateway.Name{Platform: h.platform, Account: h.account, Chat: h.Kind, Kind: r.str(0), Value: string(r.blob(1))})
				return nil
			}, a.c)
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
