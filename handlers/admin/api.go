package admin

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// API is everything the routes ask for. cmd implements it. Every method may
// return gateway.ErrNotFound (404), gateway.ErrConflict (409),
// gateway.ErrUnavailable (503) and *InvalidError (400); anything else is 500.
// by is the name of the token that asked, for the audit.
type API interface {
	Archive
	Rejects
	Dead
	Replay
	Applications
	Brakes
	Conversations
	Queue
	Doctor
	Sums
	Audit
}

// Archive reads what arrived.
type Archive interface {
	// Payloads lists payloads newest first, without bodies. A page may be short, or
	// empty, although others follow: next is q.Before of the next one, 0 behind the last.
	Payloads(ctx context.Context, q store.PayloadQuery) (list []gateway.Payload, next int64, err error)
	// PayloadStates are the states of payloads by place; what is left out is pending.
	PayloadStates(ctx context.Context, pos []int64) (map[int64]gateway.PayloadState, error)
	// Payload returns one payload with its body, and what became of it.
	Payload(ctx context.Context, ref PayloadRef) (*gateway.Payload, store.PayloadStatus, error)
}

// PayloadRef names a payload by its place in the archive or by its public id;
// exactly one is set, and the id has the form "pl_" and a ULID.
type PayloadRef struct {
	Pos int64
	ID  string
}

// Rejects reads what was refused, and takes it back once it verifies.
type Rejects interface {
	// Rejects lists rejects newest first with id below before (0 = newest).
	Rejects(ctx context.Context, before int64, limit int) ([]gateway.Reject, error)
	// Reject returns one with its body.
	Reject(ctx context.Context, id int64) (*gateway.Reject, error)
	// Readmit verifies a reject with today's credentials and archives it.
	// gateway.ErrUnverified, ErrHostile or ErrNoSecret when it still does not
	// verify: 409, and the reject stays.
	Readmit(ctx context.Context, id int64, by string) (payload string, err error)
	// ReadmitAll does so for every reject of the endpoint ("" = all).
	ReadmitAll(ctx context.Context, endpoint, by string) (Readmitted, error)
}

// Readmitted counts what a readmission of many did.
type Readmitted struct {
	Readmitted int `json:"readmitted"`
	Refused    int `json:"refused"` // still not verified; they stay
}

// Dead reads dead letters and moves them.
type Dead interface {
	Dead(ctx context.Context, q store.DeadQuery) ([]gateway.DeadLetter, error)
	DeadLetter(ctx context.Context, id string) (*gateway.DeadLetter, error)
	DeadStats(ctx context.Context, q store.DeadQuery) (gateway.DeadStats, error)
	// DeadPlan says what moving the open ones of the query would move.
	DeadPlan(ctx context.Context, q store.DeadQuery) (gateway.DeadPlan, error)
	// Requeue sets an open dead letter moving again.
	Requeue(ctx context.Context, id, by string) error
	// Drop closes an open dead letter for good; note says why, or is "".
	Drop(ctx context.Context, id, by, note string) error
	// RequeueAll and DropAll move the open ones the query selects, oldest first, at
	// most q.Limit, 0 for all; in slices, so that a call that is cut off has moved
	// some, and another one moves the rest.
	RequeueAll(ctx context.Context, q store.DeadQuery, by string) (gateway.DeadMoved, error)
	DropAll(ctx context.Context, q store.DeadQuery, by, note string) (gateway.DeadMoved, error)
}

// Replay hands archived payloads out again.
type Replay interface {
	// StartReplay starts a replay, or finds the run that has this id already
	// (Started false). It returns once the run is recorded.
	StartReplay(ctx context.Context, r ReplayRequest, by string) (ReplayStarted, error)
	// ReleaseReplay lets the held replies of a run go and returns how many
	// conversations it woke.
	ReleaseReplay(ctx context.Context, run, by string) (conversations int, err error)
}

// ReplayRequest says what to replay: exactly one of Payload, Conv, a range of
// time, or Sealed.
type ReplayRequest struct {
	// Run is "run_" and 1 to 60 letters, digits, hyphens or underscores; ""
	// lets the gateway choose. The same run asked twice is one run.
	Run     string `json:"run,omitempty"`
	Payload string `json:"payload,omitempty"` // "pl_…"
	Conv    string `json:"conv,omitempty"`
	// Since and Until bound ReceivedAt: at or after, before. Both together.
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// Endpoint narrows a range, or Sealed; "" means all.
	Endpoint string `json:"endpoint,omitempty"`
	// Sealed reads payloads again that no key opened. They are not a replay of
	// events: those that open become events of their own.
	Sealed bool `json:"sealed,omitempty"`
	// SendReplies false holds what workers answer until the run is released.
	SendReplies bool `json:"send_replies,omitempty"`
}

// ReplayStarted is the answer to a replay request. Payloads counts what the
// run reads, -1 where that is not known before it ends.
type ReplayStarted struct {
	Run      string `json:"run"`
	Started  bool   `json:"started"`
	Payloads int64  `json:"payloads"`
}

// Applications shows the applications.
type Applications interface {
	Applications(ctx context.Context) ([]ApplicationState, error)
}

// Brakes stop things and let them go.
type Brakes interface {
	// Brakes lists what is stopped.
	Brakes(ctx context.Context) ([]gateway.Brake, error)
	// SetBrake acts at once and survives restarts; stopping what is stopped
	// changes nothing. gateway.ErrNotFound for an unknown name.
	SetBrake(ctx context.Context, scope gateway.BrakeScope, name, by string, on bool) error
}

// ApplicationState is an application as it stands.
type ApplicationState struct {
	Name     string   `json:"name"`
	Builtin  string   `json:"builtin,omitempty"`
	Accounts []string `json:"accounts,omitempty"` // empty: every account
	Kinds    []string `json:"kinds"`
	Replies  bool     `json:"replies"`
	// Paused is set while an admin has stopped it.
	Paused   bool       `json:"paused"`
	PausedBy string     `json:"paused_by,omitempty"`
	PausedAt *time.Time `json:"paused_at,omitempty"`
	// Tripped: the breaker offers only probes, the next one at ProbeAt.
	Tripped   bool       `json:"tripped"`
	TrippedAt *time.Time `json:"tripped_at,omitempty"`
	ProbeAt   *time.Time `json:"probe_at,omitempty"`
	// Blocked counts events that hold their conversation although their tries are
	// spent.
	Blocked int64 `json:"blocked"`
	// Pending counts events that wait for their verdict: Offered are those of them
	// in the gate now, which are Ready for a worker or handed to one, Unacked, and
	// Waiting the others, behind one of their conversation, for their time, or for
	// what is stopped. Workers counts waiting pulls.
	Pending int64 `json:"pending"`
	Offered int64 `json:"offered"`
	Ready   int64 `json:"ready"`
	Unacked int64 `json:"unacked"`
	Waiting int64 `json:"waiting"`
	Workers int   `json:"workers"`
	// Oldest is when the oldest waiting event was received; not there while the
	// gate does not run.
	Oldest *time.Time `json:"oldest,omitempty"`
	// Bridge is set when the application is a URL.
	Bridge *BridgeState `json:"bridge,omitempty"`
	// Rate is settled events per second over the last minute.
	Rate float64 `json:"rate"`
	// Retrying counts conversations whose next event has failed before.
	Retrying int `json:"retrying"`
	// Collecting counts conversations in which it is waited for more, since their
	// messages are handed out together.
	Collecting int `json:"collecting"`
	// Since the store was made: events given up that nobody requeued or dropped,
	// tries spent, answers that came late, and those of them after the watchdog.
	Dead    int64 `json:"dead"`
	Tries   int64 `json:"tries"`
	Late    int64 `json:"late"`
	Overrun int64 `json:"overrun"`
	// Builds are what the workers that answered in the last ten minutes call
	// themselves, latest first, at most eight.
	Builds []string `json:"builds"`
}

// BridgeState is how the calls to an application's URL are.
type BridgeState struct {
	Host string `json:"host"` // scheme, name and port; the path may be a secret
	// Circuit is closed, open (nothing is sent) or half-open (one probe is out);
	// Why is of the last failure.
	Circuit   string     `json:"circuit"`
	Since     time.Time  `json:"since"`
	Why       string     `json:"why,omitempty"`
	NextProbe *time.Time `json:"next_probe,omitempty"`
}

// Conversations reads conversations; no text but by ConversationTexts.
type Conversations interface {
	// Conversations lists them; next is where the following page begins, 0 for none.
	Conversations(ctx context.Context, q store.ConversationQuery) (list []gateway.ListedConversation, next int64, err error)
	// Conversation returns it with at most limit events and messages.
	Conversation(ctx context.Context, conv string, limit int) (*gateway.Conversation, error)
	// ConversationTexts fills in the texts of what Conversation returned.
	ConversationTexts(ctx context.Context, c *gateway.Conversation) error
	// FindConversation resolves an identity as the relay does.
	FindConversation(ctx context.Context, platform, account string, id gateway.Identity) (string, error)
	// Unanswered lists, newest first and with N below before (0: from the newest),
	// what was recovered too late to be answered; app "" means all.
	Unanswered(ctx context.Context, app string, before int64, limit int) ([]gateway.Unanswered, error)
	// ReleaseConversation takes a conversation back from a colleague, and returns how
	// many messages were held: they are dropped or sent, by then, or by the account's
	// rule where that is empty. gateway.ErrConflict when no colleague has it.
	ReleaseConversation(ctx context.Context, conv string, then gateway.Then, by string) (held int, err error)
}

// Doctor looks for what an operator should know.
type Doctor interface {
	Doctor(ctx context.Context) (Report, error)
	// DoctorAccount asks the platform about one account. gateway.ErrNotFound
	// for an unknown name.
	DoctorAccount(ctx context.Context, name string) (Report, error)
}

// Report is the result of doctor, worst finding first.
type Report struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

// Finding is one line of doctor: what is wrong and what would mend it.
type Finding struct {
	Level string `json:"level"` // "error", "warning", "info"
	What  string `json:"what"`
	Name  string `json:"name,omitempty"`
	Count int64  `json:"count,omitempty"`
	// Since is when it began, where that is known.
	Since *time.Time `json:"since,omitempty"`
	// Detail is what a platform said about it.
	Detail string `json:"detail,omitempty"`
	// Do is a command or an action.
	Do string `json:"do,omitempty"`
}

// Sums reads the conservation sums (promise 2) with Payloads.Archived and
// Payloads.Pending filled in.
type Sums interface {
	KeptSums(ctx context.Context) (gateway.Sums, error)
	// RecountedSums counts rows; slow.
	RecountedSums(ctx context.Context) (gateway.Sums, error)
	// Counters are the other counts by name.
	Counters(ctx context.Context) (map[string]int64, error)
}

// Audit records and lists the deeds of admins. The writing methods above
// record their own; the router records what it does by itself, such as showing
// a raw body.
type Audit interface {
	RecordAudit(ctx context.Context, e gateway.AuditEntry) error
	AuditLog(ctx context.Context, limit int) ([]gateway.AuditEntry, error)
}

// Adopter is an API that can take over the streams of another store. It is
// optional: cmd has it when there is a broker.
type Adopter interface {
	// Adopt empties our streams in the broker and makes them this store's.
	// gateway.ErrConflict when they are this store's already.
	Adopt(ctx context.Context, by string) error
}

// Tails is an API that tells what happens, as it happens. It is optional.
type Tails interface {
	// Tail begins to listen; gateway.ErrUnavailable when too many do already.
	Tail(f gateway.TailFilter) (TailReader, error)
}

// TailReader is one who listens.
type TailReader interface {
	// Next waits for lines; io.EOF when the process ends.
	Next(ctx context.Context) ([]gateway.TailLine, error)
	Close()
}
