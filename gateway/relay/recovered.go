package relay

import (
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// recovered says of the messages of a payload that was read again who is still
// offered them: what came late is answered only as long as somebody may wait for it.
// Whether it is still the last word of its conversation, the ledger knows. Observers
// answer nothing and are offered all, as are kinds that nobody answers.
func (r *Relay) recovered(rp *gateway.RelayedPayload) {
	now, apps := r.o.Now(), r.o.Directory.Applications()
	for i := range rp.Items {
		it := &rp.Items[i]
		if it.Event.Kind != gateway.KindMessage {
			continue
		}
		at := it.Event.OccurredAt
		if at.IsZero() {
			at = rp.ReceivedAt
		}
		for j := range apps {
			app := &apps[j]
			if !app.Replies || app.AnswerWithin <= 0 || !slices.Contains(it.Wanted, app.Name) {
				continue
			}
			if now.Sub(at) <= app.AnswerWithin {
				it.IfLast = append(it.IfLast, app.Name)
				continue
			}
			it.Unanswered = append(it.Unanswered, app.Name)
			it.Wanted = slices.DeleteFunc(it.Wanted, func(name string) bool { return name == app.Name })
		}
	}
}
