package sandbox

import (
	"sort"
	"sync"
	"time"
)

// DefaultLogSize is how many calls a log keeps.
const DefaultLogSize = 1_000_000

// Call is one call of the platform's send API as the platform saw it.
type Call struct {
	// Start is when the request was read, End right before the answer was
	// written or the caller had gone; zero while the call runs.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Account is our side: phone number id, or corp id/agent id.
	Account string `json:"account"`
	// Type is the kind of message, as the platform names it; "read" for the
	// marking of a message as read. Empty where the platform does not tell.
	Type string `json:"type,omitempty"`
	// To is the recipient as addressed, without a leading plus.
	To   string `json:"to"`
	Text string `json:"text"`
	// Marker is biz_opaque_callback_data; empty where the platform has none.
	Marker string `json:"marker,omitempty"`
	// MessageID is the id given to an accepted message.
	MessageID string `json:"message_id,omitempty"`
	// Accepted says that the platform took the message, whatever the caller
	// was told.
	Accepted bool `json:"accepted"`
	// Status is the HTTP status answered; 0 when nothing was.
	Status int `json:"status"`
	// Code is the platform's code answered, "http_NNN" for a bare status,
	// "reset" or "hang" when the answer was lost on purpose, "gone" when the
	// caller left during a delay, "dropped" for a message taken and thrown
	// away.
	Code string `json:"code,omitempty"`
}

// Key is what names the message: its marker, or its text where the platform
// has no marker; empty for what is no message.
func (c *Call) Key() string {
	if c.Marker != "" {
		return c.Marker
	}
	return c.Text
}

// gaveUp is how long it takes at most until the end of a connection is noticed.
const gaveUp = 200 * time.Millisecond

// over is the earliest time at which the caller may have done with a call that ended.
func (c *Call) over() time.Time {
	if c.Status == 0 && (c.Code == "gone" || c.Code == string(DropHang)) {
		return c.End.Add(-min(gaveUp, c.End.Sub(c.Start)))
	}
	return c.End
}

// Overlap is two calls for one recipient that ran at the same time.
type Overlap struct {
	First  Call `json:"first"`
	Second Call `json:"second"`
}

// CallLog keeps the last calls, oldest first.
type CallLog struct {
	size int

	mu    sync.Mutex
	calls []Call
	// begun counts every call ever; call n is at calls[n%size].
	begun int64
}

// NewCallLog makes a log of at most size calls; 0 means DefaultLogSize.
func NewCallLog(size int) *CallLog {
	if size <= 0 {
		size = DefaultLogSize
	}
	return &CallLog{size: size}
}

// Begin records a call and returns its number.
func (l *CallLog) Begin(c Call) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.begun
	l.begun++
	if len(l.calls) < l.size {
		l.calls = append(l.calls, c)
	} else {
		l.calls[n%int64(l.size)] = c
	}
	return n
}

// Change changes a recorded call; one that has left the log is no matter.
func (l *CallLog) Change(n int64, change func(*Call)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < l.begun-int64(len(l.calls)) {
		return
	}
	change(&l.calls[n%int64(l.size)])
}

// Calls returns the calls, oldest first.
func (l *CallLog) Calls() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Call, 0, len(l.calls))
	for n := l.begun - int64(len(l.calls)); n < l.begun; n++ {
		if c := l.calls[n%int64(l.size)]; !c.Start.IsZero() {
			out = append(out, c)
		}
	}
	return out
}

// Reset forgets every call that has ended; running ones stay.
func (l *CallLog) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.calls {
		// Running calls must keep their places, so a forgotten one leaves
		// an empty place, which Calls skips.
		if !l.calls[i].End.IsZero() {
			l.calls[i] = Call{}
		}
	}
}

// Accepted counts acceptances by Call.Key. A gateway that never sends twice
// has no count above one.
func (l *CallLog) Accepted() map[string]int {
	counts := make(map[string]int)
	for _, c := range l.Calls() {
		if key := c.Key(); c.Accepted && key != "" {
			counts[key]++
		}
	}
	return counts
}

// Overlaps finds calls of one account for one recipient that ran at the same
// time. A gateway that sends one message of a conversation at a time has none.
// A call that still runs lasts until now; one that its caller gave up ended at most
// gaveUp before that was noticed.
func (l *CallLog) Overlaps() []Overlap {
	type chat struct{ account, to string }
	byChat := make(map[chat][]Call)
	for _, c := range l.Calls() {
		if c.To != "" {
			k := chat{c.Account, c.To}
			byChat[k] = append(byChat[k], c)
		}
	}
	var found []Overlap
	for _, calls := range byChat {
		sort.SliceStable(calls, func(i, j int) bool { return calls[i].Start.Before(calls[j].Start) })
		last := calls[0] // the one that ends last so far
		for _, c := range calls[1:] {
			if last.End.IsZero() || c.Start.Before(last.over()) {
				found = append(found, Overlap{last, c})
			}
			if !last.End.IsZero() && (c.End.IsZero() || c.End.After(last.End)) {
				last = c
			}
		}
	}
	return found
}

// Summary is the log in figures.
type Summary struct {
	Calls    int `json:"calls"`
	Accepted int `json:"accepted"`
	Running  int `json:"running"`
	// Twice lists the keys that were accepted more than once.
	Twice    []string       `json:"twice"`
	Overlaps int            `json:"overlaps"`
	Codes    map[string]int `json:"codes"`
}

// Summary counts.
func (l *CallLog) Summary() Summary {
	s := Summary{Codes: make(map[string]int), Twice: []string{}}
	for _, c := range l.Calls() {
		s.Calls++
		if c.Accepted {
			s.Accepted++
		}
		if c.End.IsZero() {
			s.Running++
		}
		if c.Code != "" {
			s.Codes[c.Code]++
		}
	}
	for key, n := range l.Accepted() {
		if n > 1 {
			s.Twice = append(s.Twice, key)
		}
	}
	sort.Strings(s.Twice)
	s.Overlaps = len(l.Overlaps())
	return s
}
