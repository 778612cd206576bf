package relay

import "github.com/causewayhq/causeway/gateway"

// batcher cuts payloads into ledger transactions of at most batchItems items. A
// payload with more is cut into slices; only its last one is marked Last.
type batcher struct {
	again bool
	run   string
	conv  string
	write func(*gateway.RelayBatch) error

	batch gateway.RelayBatch
	items int
}

func (b *batcher) add(p gateway.RelayedPayload) error {
	for {
		if b.items >= batchItems {
			if err := b.flush(); err != nil {
				return err
			}
		}
		room := batchItems - b.items
		if len(p.Items) <= room {
			b.put(p, len(p.Items))
			return nil
		}
		slice := p
		slice.Items, slice.Last = p.Items[:room], false
		b.put(slice, room)
		p.Items = p.Items[room:]
	}
}

// put counts a payload without items as one, since it is a row too.
func (b *batcher) put(p gateway.RelayedPayload, items int) {
	b.batch.Payloads = append(b.batch.Payloads, p)
	b.items += max(items, 1)
}

func (b *batcher) flush() error {
	if len(b.batch.Payloads) == 0 {
		return nil
	}
	batch := b.batch
	batch.Again, batch.Run, batch.OnlyConv = b.again, b.run, b.conv
	b.batch, b.items = gateway.RelayBatch{}, 0
	return b.write(&batch)
}
