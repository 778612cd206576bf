package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// currentWait is how long the gateway may take; it answers within 2 s.
const currentWait = 3 * time.Second

type askKey struct{}

// Current tells who looks after the customer, chat or conversation of an event now:
// by the platform where it can be asked (at most 2 s old), else by the events that
// came; Source says which, At as of when. A hand-over and the customer's next
// message come in any order, so a handler that depends on the owner asks here and
// does not remember. ctx is the handler's.
//
// Errors: the gateway has no answer (not_found, not_yours, unavailable), is away, or
// the context ended. Without the SDK it is one NATS request on cw.current.<app> with
// {"conv": "..."}, answered by the JSON of gateway.State or {"error": "..."}.
func Current(ctx context.Context, ev *gateway.Event) (gateway.State, error) {
	r, ok := ctx.Value(askKey{}).(*run)
	if !ok {
		return gateway.State{}, errors.New("worker: Current is for handlers that Run called, with their context")
	}
	body, err := json.Marshal(stream.Asked{Conv: ev.Conv})
	if err != nil {
		return gateway.State{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, currentWait)
	defer cancel()
	m, err := r.nc.RequestWithContext(ctx, stream.CurrentSubject(r.opts.App), body)
	if err != nil {
		return gateway.State{}, fmt.Errorf("worker: the gateway did not answer for the state: %w", err)
	}
	var got struct {
		gateway.State
		stream.Refused
	}
	if err := json.Unmarshal(m.Data, &got); err != nil {
		return gateway.State{}, errors.New("worker: the gateway's answer is not the JSON of a state")
	}
	if got.Error != "" {
		return gateway.State{}, fmt.Errorf("worker: the gateway has no state: %s", got.Error)
	}
	return got.State, nil
}
