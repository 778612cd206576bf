package stream

import (
	"context"
	"fmt"

	"github.com/causewayhq/causeway/gateway"
)

// Usage is what the account has at the broker.
type Usage struct {
	Streams   int
	Consumers int
	Stored    int64 // bytes in files and in memory
}

// Usage asks the broker. Error: gateway.ErrUnavailable.
func (s *Streams) Usage(ctx context.Context) (Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	info, err := s.js.AccountInfo(ctx)
	if err != nil {
		return Usage{}, fmt.Errorf("ask the broker what is used: %w: %w", gateway.ErrUnavailable, err)
	}
	return Usage{
		Streams: info.Streams, Consumers: info.Consumers,
		Stored: int64(info.Store + info.Memory), //nolint:gosec // no broker holds 2^63 bytes
	}, nil
}
