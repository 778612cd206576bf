package store

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// AdminLedger is what operators see and do. Writing methods are durable and
// record an audit entry in the same transaction.
type AdminLedger interface {
	// Sums are kept counts, cheap; Recount counts rows, slow. Both leave
	// Payloads.Archived and Payloads.Pending to the caller.
	Sums(ctx context.Context) (gateway.Sums, error)
	Recount(ctx context.Context) (gateway.Sums, error)
	// Counters are the other counts: late, bad_answer, out_of_order, overrun,
	// parked, ... by name.
	Counters(ctx context.Context) (map[string]int64, error)
	// AppCounts are kept counts by application, cheap.
	AppCounts(ctx context.Context) (map[string]gateway.AppCounts, error)
	PayloadState(ctx context.Context, pos int64) (PayloadStatus, error)
	// PayloadStates are the states of payloads by their places; one that the relay has
	// not come to is left out.
	PayloadStates(ctx context.Context, pos []int64) (map[int64]gateway.PayloadState, error)
	// Dead lists dead letters, newest first. With 100,000 of them a page takes
	// milliseconds; one that ends before most of them (Until) tens.
	Dead(ctx context.Context, q DeadQuery) ([]gateway.DeadLetter, error)
	DeadLetter(ctx context.Context, id string) (*gateway.DeadLetter, error)
	// Requeue sets an open dead letter moving again (gateway.RequeueOrder): an event
	// is pending in its old place with no tries spent, Round and Requeue + 1; a
	// message, rejected or expired, waits again, due now and with no tries spent, with
	// the parts that ended with it, and never when it may have reached the platform
	// (gateway.ErrConflict); an item or payload is read again.
	Requeue(ctx context.Context, id, by string, now time.Time) (gateway.Requeued, error)
	// Drop closes an open dead letter for good; note is why, or "".
	Drop(ctx context.Context, id, by, note string, now time.Time) error
	// DeadStats counts what the query selects, DeadPlan says what moving it would
	// move; both look at all of it in short reads and pass over Before and Limit.
	DeadStats(ctx context.Context, q DeadQuery) (gateway.DeadStats, error)
	DeadPlan(ctx context.Context, q DeadQuery) (gateway.DeadPlan, error)
	// DeadOpen are kept counts of the open ones, cheap.
	DeadOpen(ctx context.Context) ([]gateway.DeadOpen, error)
	// RequeueAll and DropAll move the open dead letters that the query selects and
	// that are there at the call, oldest first so that events of a conversation come
	// back in order; at most q.Limit, 0 is all. They work in slices, each of them one
	// transaction with the number in the one audit entry of the deed, so that after a
	// death the rest is still open and the entry true. One that cannot be moved is
	// skipped and holds no other. moved is told of each slice after its commit.
	RequeueAll(ctx context.Context, q DeadQuery, by string, now time.Time, moved func([]gateway.Requeued)) (gateway.DeadMoved, error)
	DropAll(ctx context.Context, q DeadQuery, by, note string, now time.Time) (gateway.DeadMoved, error)
	// Told lists changes of messages behind n, in order of N, each with the open dead
	// letter that was made of it; last is how far it looked. n < 0: none, last is the
	// newest.
	Told(ctx context.Context, n int64, limit int) (list []gateway.Told, last int64, err error)
	// ReadAgain queues payloads to be read again (sealed, dead, no account).
	ReadAgain(ctx context.Context, rows []gateway.AgainRow, by string, now time.Time) error
	// Sealed lists positions of sealed payloads, oldest first, after pos.
	Sealed(ctx context.Context, endpoint string, after int64, limit int) ([]int64, error)
	// ConversationPayloads lists positions of the payloads that hold events of
	// a conversation, in order, after pos.
	ConversationPayloads(ctx context.Context, conv string, after int64, limit int) ([]int64, error)
	SetBrake(ctx context.Context, b gateway.Brake, on bool) error
	Audit(ctx context.Context, e gateway.AuditEntry) error
	AuditLog(ctx context.Context, limit int) ([]gateway.AuditEntry, error)
	Conversation(ctx context.Context, conv string, limit int) (*gateway.Conversation, error)
	// ConversationTexts fills in the texts of what Conversation returned.
	ConversationTexts(ctx context.Context, conv *gateway.Conversation) error
	// Conversations lists conversations; next is where the following page begins, 0
	// for none. See ConversationList for what each list holds and costs.
	Conversations(ctx context.Context, q ConversationQuery) (list []gateway.ListedConversation, next int64, err error)
	// FindConversation resolves identities as the relay does; ErrNotFound.
	FindConversation(ctx context.Context, platform, account string, id gateway.Identity) (string, error)
	// Messages lists messages in a state, newest first.
	Messages(ctx context.Context, state gateway.MessageState, limit int) ([]gateway.Message, error)
	// ReleaseConversation takes a conversation back from a colleague; Judge lets go of
	// what was held, by then, or by the account's rule where that is empty. It returns
	// how many messages that are; gateway.ErrConflict when nobody has it.
	ReleaseConversation(ctx context.Context, conv string, then gateway.Then, by string, now time.Time) (held int, err error)
	// ReleaseRun lets the held replies of a replay go; returns conversations.
	ReleaseRun(ctx context.Context, run, by string, now time.Time) ([]string, error)
	// KeepNames remembers which id of the platform ("platform/id") each account
	// ("platform/name") stands for, and refuses with gateway.ErrConflict and a
	// sentence when a name or an id stood for another one before: subjects,
	// events and conversations carry the name for ever. Nothing is remembered of
	// a refused call.
	KeepNames(ctx context.Context, names map[string]string) error
	// Stuck describes what waits and since when, for doctor: oldest pending
	// event per application, open unknowns, open dead letters.
	Stuck(ctx context.Context, now time.Time) ([]StuckThing, error)
}

// PayloadStatus is what the ledger knows of a payload.
type PayloadStatus struct {
	State  gateway.PayloadState
	Reason string
	Detail string
	KeyFP  string
	Items  []ItemStatus
}

// ItemStatus is one item of a payload.
type ItemStatus struct {
	Index  int
	State  gateway.ItemState
	Reason string
	Event  string
	Conv   string
	Seq    int64
	Kind   gateway.Kind
}

// DeadQuery selects dead letters, newest first. Empty fields select all, but an
// empty State means open.
type DeadQuery struct {
	App, Kind, State, Reason string
	Account, Platform, Conv  string
	Since, Until             time.Time // buried at or after; before
	Before                   string    // id below this: the next page
	Limit                    int
}

// ConversationQuery selects conversations. Account and App narrow a list: App to
// what waits for it or was settled by it; a hot list counts what waits for it.
type ConversationQuery struct {
	List         ConversationList
	App, Account string
	After        int64 // next of the page before; 0 for the first
	Limit        int
}

// ConversationList is what a list of conversations is about.
type ConversationList string

// The lists.
const (
	// ListHot: those with most of the newest 10,000 events; one page.
	ListHot ConversationList = "hot"
	// ListWaiting: those with events that wait, the longest wait first. Each page
	// reads all that waits, in short reads.
	ListWaiting ConversationList = "waiting"
	// ListUnanswered: single chats of which the last word is the customer's, newest
	// first: nothing waits in them, no reply was made after it that left, may have
	// left or still may, and no colleague wrote. A page looks at 2,000 messages at
	// most, so it may be short although others follow.
	ListUnanswered ConversationList = "unanswered"
)

// StuckThing is one line of doctor.
type StuckThing struct {
	What  string
	Name  string
	Count int64
	Since time.Time
}
