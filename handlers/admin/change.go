package admin

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// ChangeRequest is what is to be done, and to which messages: those named, or else those
// that Query selects, at most Limit (0: all).
type ChangeRequest struct {
	Do       store.MessageDeed
	Messages []string
	Query    store.MessageQuery
	Limit    int
	// For reschedule: the time, or a duration by which each is moved; with Over, the
	// tasks are spread evenly from At (zero: now) on.
	At   time.Time
	By   time.Duration
	Over time.Duration
	// Key makes a reschedule by By or Over safe to be asked for again: what it has moved
	// under this key is not moved twice. Digest is of all else that was asked for.
	Key    string
	Digest []byte
	// Priority is that of DeedPriority.
	Priority int
	DryRun   bool
}

// Changed is what was done, or would be. The parts of a task that went along are counted
// too.
type Changed struct {
	Matched int // in a state that allows it
	Changed int
	Skipped int // left, ended or gone meanwhile; or would be due after their end
	Before  int // changed under the same key before
	Sample  []gateway.Message
}

// ChangeForm is the body of POST /api/v1/messages:change. The filter has the names and
// forms of the parameters of GET /api/v1/messages.
type ChangeForm struct {
	Do       store.MessageDeed `json:"do"`
	Messages []string          `json:"messages,omitempty"`
	Filter   map[string]string `json:"filter,omitempty"`
	Limit    int               `json:"limit,omitempty"`
	At       string            `json:"at,omitempty"`
	By       string            `json:"by,omitempty"`
	Over     string            `json:"over,omitempty"`
	// IdempotencyKey goes with By and Over: the same request again with the same key does
	// what is left.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	Priority       *int   `json:"priority,omitempty"`
	DryRun         bool   `json:"dry_run,omitempty"`
}

const (
	changeFields = "do, messages, filter, limit, at, by, over, idempotency_key, priority, dry_run"
	// maxNamed bounds how many messages one request names.
	maxNamed = 1000
)

func deeds() []store.MessageDeed {
	return []store.MessageDeed{store.DeedCancel, store.DeedReschedule, store.DeedPriority, store.DeedHold, store.DeedRelease}
}

// request reads a form, and notes what is wrong.
func (f *ChangeForm) request(p *params) ChangeRequest {
	r := ChangeRequest{Do: f.Do, Messages: f.Messages, Limit: f.Limit, DryRun: f.DryRun}
	if !slices.Contains(deeds(), f.Do) {
		p.bad("do", "must be one of cancel, reschedule, priority, hold, release")
	}
	filter := params{values: map[string][]string{}}
	for _, name := range messageFilter() {
		if v, ok := f.Filter[name]; ok {
			filter.values[name] = []string{v}
		}
	}
	for name := range f.Filter {
		if !slices.Contains(messageFilter(), name) {
			filter.bad(printable(name), "is not known here")
		}
	}
	r.Query = filter.messageQuery()
	for _, w := range filter.wrong {
		p.bad("filter."+w.Field, w.Detail)
	}
	switch named, selected := len(f.Messages) > 0, r.Query != (store.MessageQuery{}); {
	case named == selected:
		p.bad("messages", "is needed, or a filter that is not empty, and not both")
	case len(f.Messages) > maxNamed:
		p.bad("messages", "must be at most "+strconv.Itoa(maxNamed))
	}
	for i, id := range f.Messages {
		if !validID(id, "ms_") {
			p.bad("messages["+strconv.Itoa(i)+"]", "must be an id such as ms_01JDRX5S3V8P9A6K2M4N7Q0T1W")
			break
		}
	}
	if f.Limit < 0 {
		p.bad("limit", "must not be negative; 0 means all")
	}
	f.times(&r, p)
	f.once(&r, p)
	if given := f.Priority != nil; given != (f.Do == store.DeedPriority) || given && (*f.Priority < 0 || *f.Priority > gateway.MaxPriority) {
		p.bad("priority", "must be 0 to 9 for do priority, and be left out otherwise")
	} else if given {
		r.Priority = *f.Priority
	}
	return r
}

// times reads what goes with reschedule.
func (f *ChangeForm) times(r *ChangeRequest, p *params) {
	at := params{values: map[string][]string{"at": {f.At}}}
	r.At = at.time("at")
	p.wrong = append(p.wrong, at.wrong...)
	for _, d := range []struct {
		name, text string
		to         *time.Duration
		least      time.Duration
	}{{"by", f.By, &r.By, -gateway.MaxScheduled}, {"over", f.Over, &r.Over, time.Second}} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil || v < d.least || v > gateway.MaxScheduled {
			p.bad(d.name, "must be a duration such as 90m, at most a year")
		}
		*d.to = v
	}
	ways := 0
	for _, given := range []bool{f.At != "" && f.Over == "", f.By != "", f.Over != ""} {
		if given {
			ways++
		}
	}
	switch {
	case f.Do == store.DeedReschedule && ways != 1:
		p.bad("at", "is needed, or by, or over, with or without at")
	case f.Do != store.DeedReschedule && f.At+f.By+f.Over != "":
		p.bad("at", "goes with do reschedule, as by and over do")
	}
}

// once reads the key of a change that counts from where the messages stand.
func (f *ChangeForm) once(r *ChangeRequest, p *params) {
	if f.IdempotencyKey == "" {
		return
	}
	if f.By+f.Over == "" {
		p.bad("idempotency_key", "goes with by and over; any other change can be asked for again as it is")
	}
	if !validKey(f.IdempotencyKey) {
		p.bad("idempotency_key", "must be at most 128 printable ASCII characters")
	}
	asked := *f
	asked.IdempotencyKey, asked.DryRun = "", false
	raw, err := json.Marshal(asked) // the names of a map in order
	if err != nil {
		p.bad("body", "cannot be read")
		return
	}
	sum := sha256.Sum256(raw)
	r.Key, r.Digest = f.IdempotencyKey, sum[:]
}

func validKey(key string) bool {
	return len(key) <= gateway.MaxKeyBytes && !strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
}

// changedView is Changed as it is answered.
type changedView struct {
	DryRun  bool          `json:"dry_run"`
	Matched int           `json:"matched"`
	Changed int           `json:"changed"`
	Skipped int           `json:"skipped"`
	Before  int           `json:"before,omitempty"` // under the same idempotency_key
	Sample  []messageView `json:"sample"`
}

func (r *router) change(c *gin.Context) {
	p := query(c)
	var f ChangeForm
	if !r.read(c, p, &f, changeFields) {
		return
	}
	in := f.request(p)
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	out, err := r.API.ChangeMessages(c.Request.Context(), in, by(c))
	r.answer(c, changedView{f.DryRun, out.Matched, out.Changed, out.Skipped, out.Before, viewMessages(out.Sample)}, err)
}
