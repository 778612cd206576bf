package egress

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Only what certainly did not leave may go again.
func TestLost(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want gateway.Outcome
	}{
		{"refused", &Error{Word: WordRefused}, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopeAccount, After: time.Second, Code: WordRefused}},
		{"void", &Error{Word: WordVoid}, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: WordVoid}},
		{"cancelled", &Error{Word: WordCanceled}, gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: WordCanceled}},
		{"timeout, written", &Error{Word: WordTimeout, Written: true}, gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: WordTimeout}},
		{"void, written", fmt.Errorf("wrapped: %w", &Error{Word: WordVoid, Written: true}), gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: WordVoid}},
		{"no error of Do", errors.New("odd"), gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: WordOther}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Lost(tt.err, &Pause{First: time.Second, Max: time.Minute}, time.Now())
			got.Detail = ""
			if got.Kind != tt.want.Kind || got.Scope != tt.want.Scope || got.Code != tt.want.Code || got.After != tt.want.After {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
