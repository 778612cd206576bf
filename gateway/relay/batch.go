package relay

import "github.com/causewayhq/causeway/gateway"

// batchItems is how many items one ledger transaction takes at most, so that no
// transaction holds the writer long.
const batchItems = 100

// batcher gathers payloads into ledger transactions of at most batchItems items.
// Only a payload with more is cut; the last of its slices is marked Last.
type batcher struct {
	of    gateway.RelayBatch // what every batch is, without payloads
	write func(*gateway.RelayBatch) error

	payloads []gateway.RelayedPayload
	items    int
}

func (b *batcher) add(p gateway.RelayedPayload) error {
	for len(p.Items) > batchItems {
		slice := p
		slice.Items, slice.Last = p.Items[:batchItems], false
		if err := b.put(slice); err != nil {
			return err
		}
		p.Items = p.Items[batchItems:]
	}
	return b.put(p)
}

// put counts a payload without items as one, since it is a row too.
func (b *batcher) put(p gateway.RelayedPayload) error {
	if b.items+max(len(p.Items), 1) > batchItems {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.payloads = append(b.payloads, p)
	b.items += max(len(p.Items), 1)
	return nil
}

func (b *batcher) flush() error {
	if len(b.payloads) == 0 {
		return nil
	}
	batch := b.of
	batch.Payloads = b.payloads
	b.payloads, b.items = nil, 0
	return b.write(&batch)
}
