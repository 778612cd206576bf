package main

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

// ExportEvents writes the events of archived payloads as they are published, one
// JSON a line: decoded as a replay decodes them, with the conversation and seq that
// they got. What is sealed or dead, an item that is no event, and notices that the
// gateway makes by itself (files) are not among them. It changes nothing.
func (x adminAPI) ExportEvents(ctx context.Context, q admin.ReplayRequest, w io.Writer) error {
	run, err := x.a.replays.asks(ctx, q)
	if err != nil {
		return err
	}
	return x.a.replays.each(ctx, &run, func(p *gateway.Payload) error {
		rp, err := x.a.relay.Read(ctx, p)
		if errors.Is(err, gateway.ErrConflict) {
			return nil
		} else if err != nil {
			return err
		}
		known, err := x.a.ledger.PayloadState(ctx, p.Pos)
		if err != nil {
			return err
		}
		_, err = w.Write(exported(p, &rp, &known, run.Conv))
		return err
	})
}

// exported are the lines of one payload. An item is found by its event, since
// today's code may count the items of a payload differently.
func exported(p *gateway.Payload, rp *gateway.RelayedPayload, known *store.PayloadStatus, onlyConv string) []byte {
	given := map[string]*store.ItemStatus{}
	for i := range known.Items {
		if it := &known.Items[i]; it.State == gateway.ItemEvent {
			given[it.Event] = it
		}
	}
	var b bytes.Buffer
	for i := range rp.Items {
		row := rp.Items[i].Event
		it := given[row.ID]
		if it == nil || onlyConv != "" && it.Conv != onlyConv {
			continue
		}
		delete(given, row.ID) // a payload may hold an item twice
		row.Conv, row.Seq, row.Payload = it.Conv, it.Seq, p.ID
		b.Write(row.Body(row.ID))
		b.WriteByte('\n')
	}
	return b.Bytes()
}
