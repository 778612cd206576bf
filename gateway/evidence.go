package gateway

import "time"

// Evidence is a status or an echo that is to be judged against the messages we
// sent. It is parked until it is judged or its deadline passes.
type Evidence struct {
	N          int64 // row of the event it came with
	Kind       Kind  // KindStatus or KindEcho
	Platform   string
	Account    string
	Conv       string
	ExternalID string
	Marker     string
	Status     Status
	At         time.Time // platform's time, else ours
	Deadline   time.Time
}

// Judgement is what became of a piece of evidence.
type Judgement string

// The judgements. Human and foreign are what none of our messages explains: a
// colleague wrote it, or another system. Undecided is an echo of which nobody can
// say whether our side wrote it (Echo.Otherwise).
const (
	JudgedOurs      Judgement = "ours"
	JudgedHuman     Judgement = "human"
	JudgedForeign   Judgement = "foreign"
	JudgedUndecided Judgement = "undecided"
)

// How long evidence waits for the message it speaks of. An echo waits only while a
// message of its conversation is being sent, and longer than a call takes: taken for a
// colleague's, our own would hold every reply, and nothing else leaves meanwhile.
const (
	ParkStatus = 10 * time.Minute
	ParkEcho   = 30 * time.Second
)

// Change is one change of a message's state, as published on CW_RESULT.
type Change struct {
	N        int64        `json:"n"`
	At       time.Time    `json:"at"`
	Message  string       `json:"message,omitempty"`
	Task     string       `json:"task,omitempty"`
	Part     int          `json:"part"`
	App      string       `json:"app,omitempty"`
	Event    string       `json:"event,omitempty"`
	Platform string       `json:"platform"`
	Account  string       `json:"account"`
	Conv     string       `json:"conv"`
	State    MessageState `json:"state,omitempty"`
	Delivery StatusState  `json:"delivery,omitempty"`
	Code     string       `json:"code,omitempty"`
	// Result is Message.Result, TaskState that of the task after this change.
	Result    string       `json:"result,omitempty"`
	TaskState MessageState `json:"task_state,omitempty"`
	// By says what told it: "answer" (of the platform), "status", "echo",
	// "timeout", "restart", "operator", "policy" (on_unknown), "task", "takeover", "window".
	By string `json:"by"`
	// Echo is set when this is the judgement of an echo: ours, human, foreign,
	// undecided.
	Echo       Judgement `json:"echo,omitempty"`
	ExternalID string    `json:"external_id,omitempty"`
}

// Result is a change of a message as receivers of results are told of it.
type Result struct {
	Change
	// Callback names the receiver that is told, instead of all.
	Callback string
}

// Judged is what one look at parked evidence did.
type Judged struct {
	// Done counts what was decided and what was let go of; 0: nothing is to be done
	// before Next, zero for none.
	Done int
	Next time.Time
	// Woken are conversations whose head may have moved, Taken those that a colleague
	// took over.
	Woken, Taken []string
	// Failed are messages of ours of which the platform says now that they failed.
	Failed []FailedLater
}

// FailedLater is a message that the platform took, and of which it told in a status
// that it failed: with a code of its own, that may be about more than the message.
type FailedLater struct {
	Platform, Account, Conv string
	Code                    int
	Began                   time.Time // its last attempt; zero when there is none
}

// Told is a change of a message for those who watch, with the dead letter that was made
// of it, or an empty id.
type Told struct {
	Change
	Dead   string
	Reason string // of the dead letter
	Tries  int
}
