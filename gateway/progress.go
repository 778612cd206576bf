package gateway

import (
	"encoding/json"
	"slices"
	"time"
)

// ProgressState says how far the answer to a message is on its way.
type ProgressState string

// The states of a progress. There is no way back.
const (
	ProgressOpen     ProgressState = "open"     // more may be added
	ProgressFinished ProgressState = "finished" // the answer is whole
	ProgressTaken    ProgressState = "taken"    // the platform fetched the end
	ProgressClosed   ProgressState = "closed"   // it leaves by another way; nothing is fetched any more
)

// Progress is how far the answer to a message is, for a platform that comes and
// asks: WeCom's robots.
type Progress struct {
	// Of the event.
	Event      string
	Account    string
	Conv       string
	Chat       Chat
	ReceivedAt time.Time
	Handle     *Handle

	// State is empty before anything was said.
	State ProgressState
	// Text is all that was said so far, of which the first Taken bytes were fetched
	// with the end of the answer: what comes later cannot be fetched any more.
	Text  string
	Taken int
	// Card is a card that goes with it; CardTaken says that it was fetched.
	Card      json.RawMessage
	CardTaken bool
	// Pictures are files of our store that go with the end, of which the first
	// PicturesTaken were fetched.
	Pictures      []string
	PicturesTaken int
	// Messages are those in it, in order.
	Messages []string
	// PolledAt is when the platform last asked, within seconds; zero for never.
	PolledAt time.Time
	// UsedBy is the message that used Handle, or is about to.
	UsedBy string

	// Pending are the applications asked about that have not settled the event;
	// Unsent is how many messages that answer it are open.
	Pending []string
	Unsent  int
}

// Of says whether the event is of the conversation with that name.
func (p *Progress) Of(id Identity) bool {
	return slices.ContainsFunc(p.Chat.Identities, func(i Identity) bool { return i.Kind == id.Kind && i.Value == id.Value })
}

// Fetched says that the platform has all there is.
func (p *Progress) Fetched() bool {
	return p.State == ProgressTaken && p.Taken == len(p.Text) && (len(p.Card) == 0 || p.CardTaken) && p.PicturesTaken == len(p.Pictures)
}

// ProgressPart is one message of an answer.
type ProgressPart struct {
	Message string
	// Receipt is the platform's id of it: evidence names it.
	Receipt string
	// Text is added to what was said, after an empty line; Card and Picture, a file of
	// our store, go with it. All empty adds nothing.
	Text    string
	Card    json.RawMessage
	Picture string
	// Last ends the answer.
	Last bool
}

// ProgressFailure says which messages of an answer did not get there: those that were
// not delivered, but for one, which has an outcome of its own.
type ProgressFailure struct {
	But  string
	Code string
	// Pictures says that of the others all got there.
	Pictures bool
}
