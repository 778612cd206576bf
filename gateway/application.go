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
	// AckWait is how long the broker waits for a worker's word; HandlerMax
	// how long a handler may work at most.
	AckWait, HandlerMax time.Duration
	// StaleAfter: an event older than this when its turn comes is a dead
	// letter "stale". 0 means never.
	StaleAfter time.Duration
	// Replies false makes an observer: replies in its answers are dropped.
	Replies bool
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
