package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/causewayhq/causeway/gateway"
)

// knownMedia lets the events of a replay say what became of their files, which
// were fetched long ago. Live events cannot: they are published before.
func (r *Relay) knownMedia(ctx context.Context, rp *gateway.RelayedPayload) error {
	if r.o.Media == nil {
		return nil
	}
	for i := range rp.Items {
		it := &rp.Items[i]
		if it.Fetch == nil || it.State != gateway.ItemEvent {
			continue
		}
		m, err := r.o.Media(ctx, it.Event.ID)
		if err != nil {
			return fmt.Errorf("media of a replayed event: %w", err)
		}
		if m == nil {
			continue
		}
		if it.Event.Content, err = withMedia(it.Event.Content, m); err != nil {
			return err
		}
	}
	return nil
}

// withMedia replaces the media of a content.
func withMedia(content []byte, m *gateway.Media) ([]byte, error) {
	var c gateway.Content
	dec := json.NewDecoder(bytes.NewReader(content))
	if err := dec.Decode(&c); err != nil {
		return nil, fmt.Errorf("content of a replayed event: %w", err)
	}
	c.Media = m
	return gateway.EncodeContent(&c)
}
