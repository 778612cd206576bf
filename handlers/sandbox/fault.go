package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Stage says on which side of taking the message a fault happens.
type Stage string

// The stages.
const (
	Before Stage = "before" // the message is not taken
	After  Stage = "after"  // the message is taken, the caller may not learn it
)

// Drop is a way to lose the answer.
type Drop string

// The ways.
const (
	DropReset Drop = "reset" // the connection is reset
	DropHang  Drop = "hang"  // no answer until the caller gives up
)

// Operations that faults can hit.
const (
	OpSend  = "send"
	OpToken = "token"
	OpRead  = "read"  // a question about account or number
	OpMedia = "media" // a file up or down, where the platform's files have no faults of their own
)

// Fault is one thing that goes wrong. Delays of several faults add up; the
// first fault of a stage with an answer or a drop ends the call.
type Fault struct {
	// Name is how to remove it; chosen when empty.
	Name string `json:"name"`
	// Stage defaults to before.
	Stage Stage `json:"stage"`
	// DelayMS waits, in milliseconds.
	DelayMS int64 `json:"delay_ms,omitempty"`
	// Until waits until it is closed, for use in process.
	Until <-chan struct{} `json:"-"`
	// Status answers with this HTTP status; with Code 0 and a status other
	// than 200 the body is not the platform's.
	Status int `json:"status,omitempty"`
	// Code answers with the platform's error of this number, under Status or
	// the status the platform uses for it.
	Code int `json:"code,omitempty"`
	// RetryAfterS adds a Retry-After header, in seconds.
	RetryAfterS int `json:"retry_after_s,omitempty"`
	// Drop loses the answer.
	Drop Drop `json:"drop,omitempty"`
	// FailCode lets the taken message fail later: its statuses are one
	// "failed" with this code, after a "sent" when FailAfterSent is set.
	// NoStatuses lets them never come. Stage after.
	FailCode      int  `json:"fail_code,omitempty"`
	FailAfterSent bool `json:"fail_after_sent,omitempty"`
	NoStatuses    bool `json:"no_statuses,omitempty"`

	// What it hits: the operation (send when empty), a kind of message, a
	// recipient, a part of the text. Empty matches all.
	Op   string `json:"op,omitempty"`
	Type string `json:"type,omitempty"`
	To   string `json:"to,omitempty"`
	Text string `json:"text,omitempty"`
	// Skip lets so many matching calls pass first; Next hits so many and then
	// ends the fault; 0 means until it is removed.
	Skip int `json:"skip,omitempty"`
	Next int `json:"next,omitempty"`
	// Match is a further condition, for use in process.
	Match func(*Call) bool `json:"-"`
}

func (f *Fault) ends() bool { return f.Status != 0 || f.Code != 0 || f.Drop != "" }

func (f *Fault) hits(op string, c *Call) bool {
	return f.Op == op && (f.Type == "" || f.Type == c.Type) && (f.To == "" || f.To == c.To) &&
		strings.Contains(c.Text, f.Text) && (f.Match == nil || f.Match(c))
}

// Faults is the set in force.
type Faults struct {
	mu    sync.Mutex
	list  []*Fault
	named int
}

// Add puts a fault in force and returns its name. Errors name the field.
func (fs *Faults) Add(f Fault) (string, error) {
	if f.Stage == "" {
		f.Stage = Before
	}
	if f.Op == "" {
		f.Op = OpSend
	}
	switch {
	case f.Stage != Before && f.Stage != After:
		return "", errors.New("stage must be before or after")
	case f.Op != OpSend && f.Op != OpToken && f.Op != OpRead && f.Op != OpMedia:
		return "", errors.New("op must be send, token, read or media")
	case f.Drop != "" && f.Drop != DropReset && f.Drop != DropHang:
		return "", errors.New("drop must be reset or hang")
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return "", errors.New("status must be 200 to 599")
	case f.DelayMS < 0 || f.Skip < 0 || f.Next < 0 || f.RetryAfterS < 0:
		return "", errors.New("delay_ms, skip, next and retry_after_s must not be negative")
	case f.Stage == Before && (f.FailCode != 0 || f.NoStatuses):
		return "", errors.New("fail_code and no_statuses need stage after")
	case f.FailAfterSent && f.FailCode == 0:
		return "", errors.New("fail_after_sent needs fail_code")
	case !f.ends() && f.DelayMS == 0 && f.Until == nil && f.FailCode == 0 && !f.NoStatuses:
		return "", errors.New("one of delay_ms, status, code, drop, fail_code, no_statuses must be set")
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.Name == "" {
		fs.named++
		f.Name = fmt.Sprintf("fault-%d", fs.named)
	}
	for _, have := range fs.list {
		if have.Name == f.Name {
			return "", errors.New("name is taken")
		}
	}
	fs.list = append(fs.list, &f)
	return f.Name, nil
}

// Remove ends a fault; false when there is none of that name. An empty name
// ends all.
func (fs *Faults) Remove(name string) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	before := len(fs.list)
	fs.list = slices.DeleteFunc(fs.list, func(f *Fault) bool { return name == "" || f.Name == name })
	return name == "" || len(fs.list) < before
}

// List returns the faults in force with what is left of Skip and Next.
func (fs *Faults) List() []Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	out := make([]Fault, 0, len(fs.list))
	for _, f := range fs.list {
		out = append(out, *f)
	}
	return out
}

// Take uses the faults of a stage that hit the call, up to and including the
// first that ends it.
func (fs *Faults) Take(stage Stage, op string, c *Call) []Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var taken []Fault
	for i := 0; i < len(fs.list); i++ {
		f := fs.list[i]
		if f.Stage != stage || !f.hits(op, c) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		taken = append(taken, *f)
		if f.Next > 0 {
			if f.Next--; f.Next == 0 {
				fs.list = slices.Delete(fs.list, i, i+1)
				i--
			}
		}
		if f.ends() {
			break
		}
	}
	return taken
}
