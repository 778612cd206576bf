package storetest

import (
	"testing"

	"github.com/causewayhq/causeway/store"
)

// Run checks every promise of store.Archive and store.Ledger. open is called
// once per subtest.
func Run(t *testing.T, open func(t *testing.T) (store.Archive, store.Ledger)) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*world)
	}{
		{"archive/append and read", archiveAppend},
		{"archive/list and after", archiveList},
		{"archive/concurrent appends have no holes", archiveConcurrent},
		{"archive/rejects and readmit", archiveRejects},
		{"archive/pages and cursors", archivePulled},
		{"archive/cancelled append", archiveCancelled},
		{"relay/orders events of a conversation", relayOrders},
		{"relay/known events are duplicates", relayDuplicates},
		{"relay/twenty identical payloads are one event", relayConcurrentDuplicates},
		{"relay/payload states", relayStates},
		{"relay/slices of a payload", relaySlices},
		{"relay/payloads that overtake", relayOvertakes},
		{"relay/identities", relayIdentities},
		{"relay/hops", relayHops},
		{"relay/observed items", relayObserved},
		{"identity/retired names", identityRetired},
		{"identity/a number that comes back", identityReturns},
		{"identity/a new BSUID", identityRotates},
		{"identity/strangers stay apart", identityStrangers},
		{"identity/the answer to a send", identityByAnswer},
		{"merge/events", mergeEvents},
		{"merge/nothing left", mergeAtRest},
		{"merge/messages", mergeMessages},
		{"merge/chain", mergeChain},
		{"merge/both ways", mergeBothWays},
		{"merge/requeue", mergeRequeue},
		{"merge/held replies", mergeHeld},
		{"merge/two numbers of ours", mergeTwoNumbers},
		{"merge/notice about a file", mergeMediaNotice},
		{"changes/the newest wins", changesNewest},
		{"changes/before their message", changesFirst},
		{"changes/by person", changesActors},
		{"changes/in any order", changesAnyOrder},
		{"changes/are forgotten", changesForgotten},
		{"state/a hand-over in any order", stateTransfer},
		{"state/any order", stateAnyOrder},
		{"state/sessions", stateSessions},
		{"state/published", statePublished},
		{"relay/out of order is counted", relayOutOfOrder},
		{"relay/unfit items are dead", relayUnfit},
		{"relay/read again", relayAgain},
		{"relay/read again one item", relayAgainItem},
		{"relay/replay", relayReplay},
		{"relay/runs", runs},
		{"publish/cursors", publishCursors},
		{"gate/heads", gateHeads},
		{"gate/resolve", gateResolve},
		{"gate/brakes", gateBrakes},
		{"intake/done, late and duplicate", settleDone},
		{"intake/retry and handback", settleRetry},
		{"intake/dead, requeue and drop", settleDead},
		{"intake/answers one batch in order", settleBatch},
		{"intake/held replies of a replay", settleHeld},
		{"intake/a conversation with a long wait", settleLong},
		{"outbox/order and one sending", outboxOrder},
		{"outbox/a clock that goes back", outboxClock},
		{"outbox/outcomes", outboxOutcomes},
		{"outbox/a refused account spends no try", outboxSpared},
		{"outbox/rejected cancels later parts", outboxRejected},
		{"outbox/unknown is given up", outboxUnknown},
		{"outbox/expired", outboxExpired},
		{"outbox/every kind of reply is kept", outboxKinds},
		{"outbox/marking read ends and holds up nothing", outboxHarmless},
		{"outbox/marking read refused and requeued", outboxHarmlessRefused},
		{"submit/a task", submitTask},
		{"submit/a key stands for one request", submitKey},
		{"submit/twenty at once are one", submitConcurrent},
		{"submit/whom", submitWhom},
		{"submit/later", submitLater},
		{"submit/cancelled", submitCancel},
		{"submit/merged", submitMerged},
		{"evidence/members of a group", evidenceMembers},
		{"evidence/status before the answer", evidenceFirst},
		{"evidence/status settles unknown", evidenceUnknown},
		{"evidence/one status names another", evidenceNames},
		{"evidence/statuses only move forward", evidenceForward},
		{"evidence/foreign status", evidenceForeign},
		{"evidence/echoes", evidenceEchoes},
		{"evidence/echoes of another kind", evidenceOtherwise},
		{"admin/conversation", adminConversation},
		{"admin/payload state and positions", adminPayloads},
		{"admin/stuck and audit", adminStuck},
		{"admin/identity", adminIdentity},
		{"admin/names are for ever", adminNames},
		{"model/sums agree with rows and a plain model", modelRandom},
		{"media/queue", mediaQueue},
		{"media/ends once with a notice", mediaEnds},
		{"media/observed events", mediaObserved},
		{"media/files and uploads", mediaFiles},
		{"progress/grows and is fetched", progressGrows},
		{"progress/leaves by the handle", progressCloses},
		{"progress/settles messages", progressSettles},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, l := open(t)
			c.test(newWorld(t, a, l))
		})
	}
}
