package gateway

import (
	"slices"
	"time"
)

// Application is one consumer of events: a chatbot or an observer that wants
// them in order. It is configured and handed in; the ledger knows its name.
type Application struct {
	Name string
	// The filter. Empty lists mean: every platform, every account, kind
	// message, single chats.
	Platforms, Accounts []string
	Kinds               []Kind
	Chats               []ChatKind
	// Tries is how often a failing event is handed out before it is a dead
	// letter; Delays the waits between, the last one repeated.
	Tries  int
	Delays []time.Duration
	// Block: an event whose tries are spent holds its conversation instead of
	// becoming a dead letter, until BlockTries tries are spent in all or a try
	// fails BlockFor or more after the first of them were spent.
	Block      bool
	BlockFor   time.Duration
	BlockTries int
	// AckWait is how long the broker waits for a worker's word; HandlerMax
	// how long a handler may work at most.
	AckWait, HandlerMax time.Duration
	// StaleAfter: an event older than this when its turn comes is a dead
	// letter "stale". 0 means never.
	StaleAfter time.Duration
	// AnswerWithin: a message that was recovered (its payload was read again) is
	// offered when it is no older than this and still the last word of its
	// conversation; another one is dropped "unanswered". 0 means whatever its age
	// and place. Observers are offered all.
	AnswerWithin time.Duration
	// From is where the application begins when it is first seen.
	From From
	// Replies false makes an observer: replies in its answers are dropped.
	Replies bool
	// SkipTaken settles events of a conversation that a colleague has (reason
	// takeover) instead of offering them, marked.
	SkipTaken bool
	// Collect hands out several messages of a conversation as one delivery.
	Collect Collect
	// AckDone lets an ack without an answer count as done.
	AckDone bool
	// Builtin names a bot inside the gateway ("echo"), for trying.
	Builtin string
}

// Wants says whether an event of this shape goes to the application.
func (a *Application) Wants(platform, account string, kind Kind, chat ChatKind) bool {
	if !kind.Ordered() {
		return false
	}
	kinds, chats := a.Kinds, a.Chats
	if len(kinds) == 0 {
		kinds = []Kind{KindMessage}
	}
	if len(chats) == 0 {
		chats = []ChatKind{ChatSingle}
	}
	return slices.Contains(kinds, kind) && slices.Contains(chats, chat) &&
		(len(a.Platforms) == 0 || slices.Contains(a.Platforms, platform)) &&
		(len(a.Accounts) == 0 || slices.Contains(a.Accounts, account))
}

// Delay is the wait before the try after n spent ones (n >= 1).
func (a *Application) Delay(n int) time.Duration {
	if len(a.Delays) == 0 {
		return 0
	}
	return a.Delays[min(max(n, 1), len(a.Delays))-1]
}

// MaxDeliver is the broker's net for workers that die without a word: three
// times the tries, at least 10.
func (a *Application) MaxDeliver() int { return max(3*a.Tries, 10) }

// Tended is what one step did to bring the ledger's applications up to those that
// are configured.
type Tended struct {
	Pending []Pending // given to applications that begin in the past, in order
	Merged  []Merge   // conversations that have something left again; told before Pending
	Dropped int       // events of applications that were removed
	Done    bool      // nothing is left to do
}

// From is where in the past an application begins; the zero value is now.
type From struct {
	Beginning bool
	Time      time.Time // events received at or after it
}

// IsNow says that nothing of the past is wanted.
func (f From) IsNow() bool { return !f.Beginning && f.Time.IsZero() }
