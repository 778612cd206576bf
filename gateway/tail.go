package gateway

import (
	"slices"
	"time"
)

// TailLine is one thing that happened, for whoever watches. Only what is set is
// written.
type TailLine struct {
	At   time.Time `json:"at"`
	What TailWhat  `json:"what"`
	// Apps are the applications it is about: those that wait for a relayed event, or
	// the one that settled it or asked for the message.
	Apps     []string `json:"apps,omitempty"`
	Platform string   `json:"platform,omitempty"`
	Account  string   `json:"account,omitempty"`
	Conv     string   `json:"conv,omitempty"`
	Kind     Kind     `json:"kind,omitempty"`
	Seq      int64    `json:"seq,omitempty"`
	Event    string   `json:"event,omitempty"`
	Message  string   `json:"message,omitempty"`
	Dead     string   `json:"dead,omitempty"`
	// State and Reason are what a verdict, an attempt or a burial came to.
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
	Tries  int    `json:"tries,omitempty"`
	Build  string `json:"build,omitempty"`
	// By is what told it, as Change.By.
	By     string `json:"by,omitempty"`
	TookMS int64  `json:"took_ms,omitempty"`
	// Missed is how many lines its reader was too slow for, or were not kept.
	Missed int64 `json:"missed,omitempty"`
	// Text is there only for those who asked and may.
	Text string `json:"text,omitempty"`
}

// TailWhat is what happened.
type TailWhat string

// What a line tells.
const (
	TailRelayed   TailWhat = "relayed"   // an event has its place in its conversation
	TailSettled   TailWhat = "settled"   // an event has its verdict, or is tried again
	TailLate      TailWhat = "late"      // an answer came to an event that had its verdict
	TailAttempted TailWhat = "attempted" // a message was tried to be sent
	TailMessage   TailWhat = "message"   // a message is in another state, beside an attempt: a status, an end of time, a hold
	TailJudged    TailWhat = "judged"    // an echo is ours, a colleague's or another's
	TailDead      TailWhat = "dead"      // something was given up
	TailMissed    TailWhat = "missed"    // lines are not here
)

// TailFilter selects lines; empty fields select all.
type TailFilter struct {
	App, Account, Conv string
	Kind               Kind
	Text               bool // with text
}

// Selects says whether the filter wants a line. A line that does not tell what is
// filtered by is not wanted.
func (f *TailFilter) Selects(l *TailLine) bool {
	return (f.App == "" || slices.Contains(l.Apps, f.App)) && (f.Account == "" || l.Account == f.Account) &&
		(f.Conv == "" || l.Conv == f.Conv) && (f.Kind == "" || l.Kind == f.Kind)
}
