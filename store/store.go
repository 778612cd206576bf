package store

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Identity says which store this is. It stands in every stream's metadata, so
// that a broker of another life is seen before anything is published.
type Identity struct {
	ID     string // made once, random
	Epoch  int64  // raised by a restore
	Secret []byte // 32 random bytes, key of gateway.ConvID; never leaves the process
}

// PayloadQuery selects archived payloads, newest first.
type PayloadQuery struct {
	Before   int64     // Pos below this; 0 = from the newest
	Since    time.Time // ReceivedAt at or after; zero = no limit
	Until    time.Time // ReceivedAt before; zero = no limit
	Endpoint string
	Limit    int
}

// ArchiveStats are the archive's own numbers.
type ArchiveStats struct {
	Payloads int64 // rows in it
	LastPos  int64
	Rejects  int64
	Bytes    int64 // of the files
}

// Archive holds the raw bytes. One goroutine writes it, in group commits with
// fsync; it is a database of its own, so that nothing else waits in its queue.
type Archive interface {
	// Append stores the payload durably and fills Pos and ID. It returns
	// after the fsync of the commit that holds the row, or with the error
	// of that commit; never success before. When ctx ends first it returns
	// ctx's error and the row may or may not be stored. A failed commit (disk
	// full, read-only) fails the callers in it and nothing later.
	Append(ctx context.Context, p *gateway.Payload) error
	// AppendReject keeps an unverified callback, without fsync, and drops the
	// oldest over the configured count, bytes and age.
	AppendReject(ctx context.Context, r *gateway.Reject) error
	// Read returns payloads after pos in order, at most limit and about
	// maxBytes of bodies (at least one). It holds no snapshot afterwards.
	Read(ctx context.Context, after int64, limit, maxBytes int) ([]gateway.Payload, error)
	// Get returns one payload; gateway.ErrNotFound.
	Get(ctx context.Context, pos int64) (*gateway.Payload, error)
	// List returns payloads without their bodies (Body nil), newest first. It looks at
	// a bounded number, so it may be short although others follow: next is Before of
	// the next page, 0 behind the last.
	List(ctx context.Context, q PayloadQuery) (list []gateway.Payload, next int64, err error)
	// Rejects lists rejects newest first with id below before (0 = newest);
	// Reject returns one with its body.
	Rejects(ctx context.Context, before int64, limit int) ([]gateway.Reject, error)
	Reject(ctx context.Context, id int64) (*gateway.Reject, error)
	// Readmit appends p durably and removes the reject in one transaction.
	Readmit(ctx context.Context, reject int64, p *gateway.Payload) error
	// Pulled returns how far a source was read; one that nobody asked for
	// before is kept, durable, with an empty cursor and now as its beginning.
	Pulled(ctx context.Context, source string, now time.Time) (gateway.Pulled, error)
	// AppendPulled moves the cursor of at to cursor and, unless page is nil,
	// appends the page, in one durable transaction: a page is never in the
	// archive without its cursor, nor the other way round. gateway.ErrConflict
	// when the cursor is not at.Cursor any more.
	AppendPulled(ctx context.Context, at gateway.Pulled, cursor string, page *gateway.Payload) error
	// After counts the payloads with Pos above pos.
	After(ctx context.Context, pos int64) (int64, error)
	Stats(ctx context.Context) (ArchiveStats, error)
	// Waiting is the length of the queue of callbacks not yet committed; the
	// relay goes slowly while it is long, since taking callbacks goes first.
	Waiting() int
	// Probe writes and removes a row: nil means a callback would be taken.
	Probe(ctx context.Context) error
	Close() error
}

// Ledger orders everything after the archive. One writer; commits are grouped;
// each method that writes is one atomic change. "Durable" methods return after
// an fsync; the others ride on the next one, since they can be made again from
// the archive. Methods that take an id which is not there return
// gateway.ErrNotFound; in the wrong state gateway.ErrConflict.
type Ledger interface {
	RelayLedger
	PublishLedger
	GateLedger
	IntakeLedger
	OutboxLedger
	SubmitLedger
	QueueLedger
	ResultLedger
	AdminLedger
	MediaLedger
	ProgressLedger
	CurrentLedger
	ApplicationLedger
	AccountLedger
	Identity() Identity
	Close() error
}

// RelayLedger is what the relay needs.
type RelayLedger interface {
	Position(ctx context.Context) (gateway.RelayPosition, error)
	// Relay writes a batch in one transaction; see gateway.RelayBatch. For
	// each item, in order:
	//  - ItemEvent: is (event id, run) known? Then a duplicate is recorded
	//    (payload, item, event) and nothing else. Otherwise the conversation
	//    is found by the first known identity of Chat, within platform,
	//    account and chat kind, or made (gateway.ConvID); identities not known yet
	//    become aliases of it. Conversations that others of its identities lead to
	//    become one with it: the one with the older event lives, aliases move to
	//    it. An identity that is retired, or beside a better one known elsewhere,
	//    does not lead to a conversation that has a different better one: it moves.
	//    A retired identity is never written to (Message.To). What is older by the
	//    platform's time than the last change of an alias changes nothing of it.
	//    Kinds that are Ordered get LastSeq+1 (a replay
	//    gets none); a message older by OccurredAt than the newest message of
	//    the conversation counts out_of_order. The event row is written and,
	//    per name in Wanted, one pending row (wanted + 1). Status and Echo
	//    are parked as gateway.Evidence with the deadline ReceivedAt of now +
	//    ParkStatus or ParkEcho. A message that ends as many fast turns of a
	//    conversation in a row as RelayBatch.Loop says stops the conversation, in the
	//    same transaction, with an audit entry; see gateway.Loop.
	//  - Note: kept by the platform's time, but for a replay.
	//  - Observed: recorded as an event without seq, pending rows, evidence or
	//    merge, in a replay too.
	//  - Change: of the changes of a type by a person to a message, and of what comes
	//    after a revoke, the message included, only the newest by time gets pending
	//    rows (equal times: the later); others are events with
	//    Content.Superseded. Remembered for 30 days at least.
	//  - Relaxed: a duplicate is an event all the same, with the id gateway.CopyID and
	//    counted as relaxed; read again it is the same one.
	//  - IfLast, Unanswered: dropped "unanswered" (wanted and dropped + 1) for
	//    Unanswered, and for IfLast when somebody has spoken in the conversation since.
	//  - ItemIgnored, ItemDead: recorded with the reason; dead makes a dead
	//    letter of kind "item".
	// A payload's state row is written with its Last slice: relayed when any
	// item of it is an event, else dead when any is dead, else ignored when any
	// is ignored, else duplicate. A payload that was read Again replaces its old
	// state row and its old item rows; its again row goes. An Again row with
	// Item >= 0 touches that item only. Position: (Pos of the last payload, 0)
	// after a Last slice, else (Pos-1, index after the last item); then over those
	// that are relayed already. With Held, payloads are relayed behind the position
	// and are known again by their state, in turn too; see gateway.RelayBatch.
	Relay(ctx context.Context, b *gateway.RelayBatch, now time.Time) (gateway.RelayResult, error)
	// A dead letter that is refused (not by a file that takes nothing) is owed: counted
	// as unburied, and the conversation of its item is stopped, BrakeConversation with
	// ReasonNotBuried. An item without one and a payload hold nobody.
	//
	// BuryAgain tries owed letters that are due, at most 100, durable; those refused
	// again wait twice as long, 5 minutes at most. A conversation that nothing is owed
	// in goes on, unless a person stopped it. To read an item again forgives its letter.
	BuryAgain(ctx context.Context, due, now time.Time) (gateway.Reburied, error)
	// Again lists payloads to be read again, oldest first.
	Again(ctx context.Context, limit int) ([]gateway.AgainRow, error)
	// StartRun records a replay, durable; false when the run exists already.
	// That one keeps what it reads and its bound, and is open again.
	StartRun(ctx context.Context, r gateway.ReplayRun) (bool, error)
	// OpenRuns lists runs that were started and not ended, oldest first.
	OpenRuns(ctx context.Context, limit int) ([]gateway.ReplayRun, error)
	// EndRun records that a run has read everything. A lost end costs another
	// reading, which makes nothing twice.
	EndRun(ctx context.Context, run string, now time.Time) error
}

// PublishLedger feeds the copies for observers.
type PublishLedger interface {
	// Unpublished lists events after the publish cursor in order of N; live
	// and backfill only.
	Unpublished(ctx context.Context, limit int) ([]gateway.EventRow, error)
	SetPublished(ctx context.Context, n int64) error
	UnpublishedChanges(ctx context.Context, limit int) ([]gateway.Change, error)
	SetChangesPublished(ctx context.Context, n int64) error
	// UnpublishedStates lists states that changed after their cursor, by Rev; all of
	// them when the cursor is of another life of the bucket, which is how a bucket
	// that was lost is filled again. A conversation that became part of another has
	// the state of that one.
	UnpublishedStates(ctx context.Context, life time.Time, limit int) ([]gateway.State, error)
	SetStatesPublished(ctx context.Context, life time.Time, rev int64) error
}

// CurrentLedger is what answering for the state of a conversation needs.
type CurrentLedger interface {
	// Subject is a conversation or key with its names and its state, by the events
	// that came: gateway.ErrNotFound. See gateway.StateNote for the rule.
	Subject(ctx context.Context, conv string) (gateway.Subject, error)
	// FindConversation is that of AdminLedger.
	FindConversation(ctx context.Context, platform, account string, id gateway.Identity) (string, error)
}

// ApplicationLedger follows the configured applications.
type ApplicationLedger interface {
	// KeepApplications records which applications are configured, in one durable
	// change with audit entries. One that is seen for the first time, or again after
	// it was removed, begins by its From. The names of those that are not configured
	// any more since this call are returned. What follows from it is left for
	// TendApplications.
	KeepApplications(ctx context.Context, apps []gateway.Application, now time.Time) (removed []string, err error)
	// TendApplications does one slice of that, a short transaction: what waits for an
	// application that was removed becomes dropped "removed"; one that begins in the
	// past is given, in order, the events received since that it wants and did not
	// settle. Until it has come up the relay gives it nothing, and what is relayed
	// meanwhile follows in order: rows of this call are told to the gate before rows
	// of a Relay that was committed later.
	TendApplications(ctx context.Context, apps []gateway.Application, now time.Time) (gateway.Tended, error)
	// Unanswered lists, newest first and with N below before (0: from the newest),
	// what was recovered too late to be answered; app "" means all. What was so for
	// several applications stays together, beyond the limit if need be.
	Unanswered(ctx context.Context, app string, before int64, limit int) ([]gateway.Unanswered, error)
}

// GateLedger is what the gate needs.
type GateLedger interface {
	// Heads lists the head of every conversation of the application that has
	// one, by conversation after afterConv.
	Heads(ctx context.Context, app, afterConv string, limit int) ([]gateway.Pending, error)
	// Events returns the rows named by n.
	Events(ctx context.Context, ns []int64) (map[int64]*gateway.EventRow, error)
	// Resolve carries out a decision that no answer made (silent, watchdog,
	// stale) when the row is still pending in the same round; otherwise Late. Of a
	// row that leads a bundle it is for all of it. Durable.
	Resolve(ctx context.Context, p gateway.Pending, d gateway.Decision, now time.Time) (gateway.Settled, error)
	// Reround gives those of the rows that are still pending in their round the next
	// one, so that what was taken back from the broker can be offered anew, and
	// returns them as they are now. Durable.
	Reround(ctx context.Context, rows []gateway.Pending) ([]gateway.Pending, error)
	// Collect says for heads what is offered together with each, by the rule, and
	// writes it down: asked again it says the same until it is settled, whatever the
	// rule is by then. A head that nothing can be collected with, a rule that is off
	// and a bundle of one give the head alone. Durable, since an offer may outlive us.
	Collect(ctx context.Context, heads []gateway.Pending, rule gateway.Collect, now time.Time) ([]gateway.Bundle, error)
	Brakes(ctx context.Context) ([]gateway.Brake, error)
	// Breakers lists the applications that are tripped; SetBreaker keeps one, or
	// with a zero Since forgets it.
	Breakers(ctx context.Context) ([]gateway.Breaker, error)
	SetBreaker(ctx context.Context, b gateway.Breaker) error
	// InTakeover says which of the conversations a colleague has at now, those that are
	// part of one included.
	InTakeover(ctx context.Context, convs []string, now time.Time) (map[string]bool, error)
	// Blocked counts, by application, pending events that hold their conversation.
	Blocked(ctx context.Context) (map[string]int64, error)
	// Merges lists the conversations that became part of another one and have
	// something pending or unsent, each with that one, oldest first.
	Merges(ctx context.Context) ([]gateway.Merge, error)
}

// IntakeLedger is what the intake of answers needs.
type IntakeLedger interface {
	Taken(ctx context.Context) (gateway.ReplyPosition, error)
	// Settle takes answers in order, in one transaction together with the
	// position; its fsync follows, see Sync. The pending row is found by application, conversation and
	// the event (and run) of the answer, whatever its round; none, or an answer that
	// is outdated for it (Answer.Outdated): Late, counted.
	// Else decide is called (it must be pure and quick) and carried out:
	//  - settled: pending row gone, settled row written; Decision.Replies
	//    become one task with one message per reply, DueAt now, state waiting
	//    (held when the event's run holds its replies); taken + n.
	//  - dead: pending row gone, settled row in state dead, dead letter of kind
	//    "event" with reason, detail and tries.
	//  - pending: Tries, NextAt, Round + 1.
	// An answer to a bundle (see Collect) does this for each of its events, dead
	// letters for all or none; decide is called once. It must name the bundle, which
	// stands for the same events for ever. Head is read afterwards.
	Settle(ctx context.Context, at gateway.ReplyPosition, answers []gateway.Settlement,
		decide func(*gateway.Pending, *gateway.Answer) gateway.Decision, now time.Time) ([]gateway.Settled, error)
	// CountBadAnswers counts answers that could not be read; their events are
	// found by the gate as silent.
	CountBadAnswers(ctx context.Context, n int) error
	// Sync returns when all that was committed before the call is on disk. What
	// Settle committed gets there by itself soon, and before any later durable
	// write: a crash of the machine in between leaves an earlier state of the
	// whole ledger, as it was between two commits.
	Sync(ctx context.Context) error
}

// OutboxLedger is what the sender needs. A message is open while it holds its
// conversation: waiting, sending, or unknown and not given up. At most one
// message of a conversation is sending: a unique index says so.
type OutboxLedger interface {
	// OpenConversations lists conversations that have an open message, after
	// afterConv, in order.
	OpenConversations(ctx context.Context, afterConv string, limit int) ([]gateway.Open, error)
	// NextMessage returns the first open message of a conversation by (DueAt,
	// ID), with its open attempt when it is sending; nil when there is none.
	// To is filled with the conversation's identities in use; Behind names a
	// conversation that became part of it and has open messages.
	NextMessage(ctx context.Context, conv string) (*gateway.Message, *gateway.Attempt, error)
	// BeginAttempt stores the attempt and sets the message sending, durable.
	// gateway.ErrConflict when the message is not waiting, not due or not the first
	// open one of the conversation any more, another one is sending, it is behind
	// another conversation, or an echo of the conversation is not judged yet.
	BeginAttempt(ctx context.Context, a *gateway.Attempt, conv string) error
	// EndAttempt closes an attempt, durable. Evidence that came first wins: a
	// message whose ExternalID is known by a status is accepted whatever the
	// outcome. Accepted: external id stored, parked evidence for it judged,
	// Outcome.Aliases learned for the conversation, which becomes one with those
	// they lead to (Merged is set). Retry: waiting with NextAt; of ScopeAccount and
	// ScopeTemplates, the attempt is spared (gateway.Message).
	// Rejected: dead letter of kind "message", later waiting and held parts of the task
	// cancelled "after rejected"; so a retry that is Spent, with ReasonTries. Of a message
	// that may have arrived by an attempt before it is unknown, and for good: no dead
	// letter, later parts cancelled "after unknown".
	// Unknown: open until Conclude.
	// Accepted with Next: the attempt that it makes of the head begins in the same commit,
	// where BeginAttempt would let it (Begun is set); where not, the end is stored all the
	// same. Without a head, Last is set.
	// A harmless reply ends no other part: rejected is a dead letter only; retry
	// and unknown wait until NextAt, or expire when that is zero.
	EndAttempt(ctx context.Context, e *gateway.AttemptEnd) error
	// Conclude ends a message without an attempt: MessageUnknown (given up
	// waiting for evidence: it stays unknown, is not open any more, later
	// open parts cancelled "after unknown") or MessageExpired (later open
	// parts expire too; with ReasonExpired there is a dead letter). What expires and
	// may have arrived, since it was to be sent again, becomes unknown.
	Conclude(ctx context.Context, message string, state gateway.MessageState, reason string, now time.Time) error
	// Heard is what is known of the customer's last message in the conversation, or the
	// one it became part of, by the platform's time: the newest message, and whatever
	// else they did (ItemRow.Heard), at our time where the platform's is more than eight
	// days before; Sent counts what left since that message came by
	// our clock, rather too few than too many. Zero in chats of several people.
	Heard(ctx context.Context, conv string) (gateway.Heard, error)
	// Refuse rejects a message that waits, durable: dead letter of kind "message" with
	// the reason, later parts cancelled as after any rejection. Instead becomes a task
	// of its own for the same event, unless one did within a day before.
	// gateway.ErrConflict when it does not wait.
	Refuse(ctx context.Context, r gateway.Refusal) error
	// Judge looks at parked evidence, oldest first, at most limit, and decides
	// what it can at now:
	//  - status: message by marker, else by (account, external id). Found:
	//    delivery moves by gateway.Forward; a message that is waiting, sending
	//    or unknown becomes accepted by "status" (while an attempt is open only
	//    ExternalID is set). Not found: parked until its deadline, then foreign.
	//  - echo: a message with that external id or marker: ours. Else while
	//    an attempt of the conversation is open: parked until its deadline.
	//    Else as the event's content says in echo.otherwise: foreign, or
	//    undecided; human where it says nothing: LastHumanAt is set, and the
	//    conversation is taken by the rule of its account, for so long after the
	//    platform's time of the echo.
	// While a conversation is taken (State.Takeover), messages that do not pass
	// (Message.Passes) are held, reason "takeover": those that wait, at once, new
	// ones, and those that are to be tried again; what is sending stays. Events that
	// come are marked (Content.Takeover) and settled with that reason for
	// applications of ItemRow.SkipTaken. Judge also ends takeovers that are over: held
	// replies are cancelled, reason "takeover", or wait again in their old place
	// (rule.Then); held messages that nobody's event asked for wait again in any
	// case. A takeover is over at its end, when ReleaseConversation says so, or when
	// the customer's session with a colleague ended (StateNote, or a transfer of ours);
	// what was written before those two takes nothing afterwards.
	// Rows that stay parked are not looked at again before something about them
	// changed or their deadline passed; Next is the next deadline.
	Judge(ctx context.Context, now time.Time, limit int, rule func(platform, account string) gateway.Takeover) (gateway.Judged, error)
}

// AccountLedger keeps which accounts are stopped, and how much of their pace is spent.
type AccountLedger interface {
	// AccountHealth lists those that are not healthy, by name.
	AccountHealth(ctx context.Context) ([]gateway.AccountHealth, error)
	// SetAccountHealth keeps one, or forgets it when it is healthy, durable;
	// with an audit entry "account.<state>" unless by is empty.
	SetAccountHealth(ctx context.Context, h *gateway.AccountHealth, by string, now time.Time) error
	// Begun lists the attempts that began at or after since, the oldest first, without
	// those of harmless replies. It looks at a bounded number of changes: of what is
	// older than those it may leave out attempts.
	Begun(ctx context.Context, since time.Time) ([]gateway.Begun, error)
}

// SubmitLedger takes messages that no event asked for.
type SubmitLedger interface {
	// Submit makes the replies one task of waiting messages, in one durable
	// transaction with the key and an audit entry "send". A key that is there
	// already makes nothing: Known, with what it stands for; gateway.ErrConflict
	// when it stands for another digest. The conversation is the one named, or the
	// one it became part of (gateway.ErrNotFound when the account has none of this
	// id, ErrConflict for one of kind account); else that in which the one identity
	// is known, else a new one; gateway.ErrRetired for an identity that was given
	// up. Messages are due at DueAt, not before now: order in a conversation is
	// (DueAt, ID), and what is sending is not overtaken. With a Window, DueAt is its
	// next opening. With a Pool all that is looked for in every member, and the account
	// is chosen in the transaction. What is Human takes the conversation over by
	// s.Takeover, as an echo of a colleague's does.
	Submit(ctx context.Context, s *gateway.Submission, now time.Time) (gateway.Submitted, error)
	// Submitted is what a key stands for; gateway.ErrNotFound for nothing,
	// ErrConflict when it stands for another digest.
	Submitted(ctx context.Context, key string, digest []byte) (gateway.Submitted, error)
	// Message returns a message with its attempts, oldest first.
	Message(ctx context.Context, id string) (*gateway.Message, []gateway.Attempt, error)
	// Receipts is what the platform told of a message, in order; empty for one that
	// is not known. Statuses are of the message, Members of a group's.
	Receipts(ctx context.Context, id string) (gateway.Receipts, error)
	// CancelMessage cancels a message and the parts behind it "by operator", and
	// returns the conversation and what the message is then: unknown when it was to be
	// sent once more. gateway.ErrConflict when it neither waits nor is held.
	CancelMessage(ctx context.Context, id, by string, now time.Time) (conv string, state gateway.MessageState, err error)
}
