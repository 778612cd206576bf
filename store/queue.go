package store

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// QueueLedger is the queue of outgoing messages as the sender orders it and as people
// see and change it.
type QueueLedger interface {
	// Ranks says where conversations stand that have something due; others are left
	// out.
	Ranks(ctx context.Context, convs []string, now time.Time) (map[string]gateway.Rank, error)
	// Postpone lets a waiting message and the waiting parts behind it be due at
	// another time. Not durable: a sender that finds it undone does it again.
	// gateway.ErrConflict when it is not waiting.
	Postpone(ctx context.Context, message string, due time.Time) error
	// Resend lets a message whose outcome is still waited for be sent once more, in its
	// place. gateway.ErrConflict when it is not unknown or was sent again before: two
	// attempts ended so. Not durable: undone, it is asked for again.
	Resend(ctx context.Context, message string, now time.Time) error
	// Unproven says that an attempt of a message ended unknown and nothing has told of the
	// message since.
	Unproven(ctx context.Context, message string) (bool, error)
	// FindMessages returns a page of the messages that a query selects. It looks at a
	// bounded number of rows, so a page may be empty and not the last.
	FindMessages(ctx context.Context, q MessageQuery) (MessagePage, error)
	// NamedMessages returns those messages that there are, in the order of their ids
	// in the list.
	NamedMessages(ctx context.Context, ids []string) ([]gateway.Message, error)
	// ChangeMessages does one thing to messages, at most MaxChange, in one durable
	// transaction with an audit entry. What is not in a state that allows it is
	// skipped. Of many it takes as many as it can do in a short time.
	ChangeMessages(ctx context.Context, ch MessageChange, by string, now time.Time) (MessagesChanged, error)
	// BeginMove records a change of times under a key, durable, audited, or finds the one
	// of this key. gateway.ErrConflict when the key stands for another digest.
	BeginMove(ctx context.Context, key string, digest []byte, by string, now time.Time) (Move, error)
	// Move finds it without recording any: gateway.ErrNotFound when there is none.
	Move(ctx context.Context, key string, digest []byte) (Move, error)
	// ResolveMessage settles an unknown message by a person's word, durable, audited;
	// gateway.ErrConflict when it is not unknown. It returns the conversation.
	ResolveMessage(ctx context.Context, r Resolve, by string, now time.Time) (conv string, err error)
}

// ResultLedger feeds the receivers of results.
type ResultLedger interface {
	// ResultsFrom is a receiver's place; one that was never seen is put at the end,
	// durable.
	ResultsFrom(ctx context.Context, receiver string) (n int64, err error)
	// ResultsAfter lists the changes of messages behind a place, in order of N; last is
	// how far it looked.
	ResultsAfter(ctx context.Context, n int64, limit int) (rows []gateway.Result, last int64, err error)
	// KeepResults moves the place, never back, and counts what was given up as
	// results_undelivered.
	KeepResults(ctx context.Context, receiver string, n int64, undelivered int) error
}

// MessageQuery selects messages; what is left out selects all. The order is that of
// the key for Key, of the parts for Task, by time due for waiting and sending ones,
// else the newest first.
type MessageQuery struct {
	State   gateway.MessageState
	Account string
	App     string
	Conv    string
	Task    string
	Key     string // the beginning of the idempotency key
	// DueFrom and DueUntil bound DueAt: at or after, before.
	DueFrom, DueUntil time.Time
	// After is Next of the page before.
	After string
	Limit int
}

// MessagePage is a part of what a query selects; TaskState is set in each message.
type MessagePage struct {
	Messages []gateway.Message
	Next     string // "" when there is no more
}

// MaxChange is how many messages one ChangeMessages takes: few enough that the writer is
// not held for long.
const MaxChange = 100

// MessageDeed is what can be done to messages that have not left.
type MessageDeed string

// The deeds. A task moves as a whole, as far as it has not left: its parts stay in order.
const (
	DeedCancel     MessageDeed = "cancel"     // waiting and held ones, with the parts behind them
	DeedReschedule MessageDeed = "reschedule" // waiting ones, to At
	DeedPriority   MessageDeed = "priority"   // waiting and held ones
	DeedHold       MessageDeed = "hold"       // waiting ones
	DeedRelease    MessageDeed = "release"    // held ones, but those of a replay that is not released
)

// MessageChange is a deed and the messages it is done to. Those it does not find are
// skipped.
type MessageChange struct {
	Do       MessageDeed
	Messages []string
	// At has a time for each message, for DeedReschedule, or else By is how much later
	// each is due than it is. It wins over what was asked for, but not over a send window
	// or an end.
	At       []time.Time
	By       time.Duration
	Priority int
	// Move is N of the move that DeedReschedule is a part of; 0 for none. What a later one
	// has moved since is skipped, and what this one has moved is not moved By again.
	Move int64
}

// Move is a change of times that was begun under a key.
type Move struct {
	N        int64 // grows with each
	At       time.Time
	Messages []string // that no later one has moved since
}

// MessagesChanged counts messages; the parts that went along are among Changed.
type MessagesChanged struct {
	Changed, Skipped int
	// Taken is how many of those named were looked at: the rest is for another call,
	// when many parts went along or it would have taken long.
	Taken int
	Convs []string // that the sender should look at
}

// Resolve is a person's word about an unknown message.
type Resolve struct {
	Message string
	// Again sends it again, by a new attempt; otherwise it was sent.
	Again bool
	// Rest sends the parts behind it too that were cancelled for its sake.
	Rest bool
}
