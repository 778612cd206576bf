package admin

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// Queue lists outgoing messages and changes those that have not left.
type Queue interface {
	// FindMessages returns at most q.Limit of what a query selects; the page may be
	// shorter and not be the last.
	FindMessages(ctx context.Context, q store.MessageQuery) (store.MessagePage, error)
	// ChangeMessages does one thing to the messages that are named or selected, in
	// slices: when it ends early, the rest is as it was, and asking again goes on.
	// Nothing is done when r.DryRun is set.
	ChangeMessages(ctx context.Context, r ChangeRequest, by string) (Changed, error)
	// ResolveMessage settles an unknown message by a person's word.
	ResolveMessage(ctx context.Context, r store.Resolve, by string) error
}

// queueRoutes are those of Queue.
func (r *router) queueRoutes(viewer, operator *gin.RouterGroup) {
	viewer.GET("/messages", r.messages)
	operator.POST(`/messages\:change`, r.change)
	operator.POST("/messages/:id/resolve", r.resolve)
}

// messageStates are the words for the state of a message.
func messageStates() []string {
	var out []string
	for _, s := range []gateway.MessageState{gateway.MessageWaiting, gateway.MessageSending, gateway.MessageAccepted, gateway.MessageRejected,
		gateway.MessageUnknown, gateway.MessageExpired, gateway.MessageCancelled, gateway.MessageHeld} {
		out = append(out, string(s))
	}
	return out
}

// messageFilter are the parameters that select messages.
func messageFilter() []string {
	return []string{"state", "account", "app", "conv", "task", "key", "due_from", "due_until"}
}

// messageQuery reads them.
func (p *params) messageQuery() store.MessageQuery {
	q := store.MessageQuery{
		State: gateway.MessageState(p.word("state", messageStates()...)), Account: p.name("account"), App: p.name("app"),
		Conv: p.text("conv"), Task: p.text("task"), Key: p.text("key"), DueFrom: p.time("due_from"), DueUntil: p.time("due_until"),
	}
	if q.Conv != "" && !validConv(q.Conv) {
		p.bad("conv", "must be the 26 characters of a conversation's id")
	}
	if q.Task != "" && !validID(q.Task, "ms_") {
		p.bad("task", "must be an id such as ms_01JDRX5S3V8P9A6K2M4N7Q0T1W")
	}
	if len(q.Key) > gateway.MaxKeyBytes {
		p.bad("key", "must be at most 128 characters")
	}
	if !q.DueFrom.IsZero() && !q.DueUntil.IsZero() && !q.DueFrom.Before(q.DueUntil) {
		p.bad("due_until", "must be later than due_from")
	}
	return q
}

func (r *router) messages(c *gin.Context) {
	p := query(c, append(messageFilter(), "after", "limit")...)
	q := p.messageQuery()
	q.Limit, q.After = p.limit(), p.text("after")
	if q.Key == "" && q.After != "" && !regexp.MustCompile(`^\d{1,19}(\.\d{1,19})?$`).MatchString(q.After) {
		p.bad("after", "must be next of the page before")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	page, err := r.API.FindMessages(c.Request.Context(), q)
	r.answer(c, struct {
		Messages []messageView `json:"messages"`
		// Next is after of the next page; there is none when it is left out.
		Next string `json:"next,omitempty"`
	}{viewMessages(page.Messages), page.Next}, err)
}

func viewMessages(list []gateway.Message) []messageView {
	out := make([]messageView, 0, len(list))
	for i := range list {
		out = append(out, viewMessage(&list[i]))
	}
	return out
}

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
	Priority *int              `json:"priority,omitempty"`
	DryRun   bool              `json:"dry_run,omitempty"`
}

const (
	changeFields = "do, messages, filter, limit, at, by, over, priority, dry_run"
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

// changedView is Changed as it is answered.
type changedView struct {
	DryRun  bool          `json:"dry_run"`
	Matched int           `json:"matched"`
	Changed int           `json:"changed"`
	Skipped int           `json:"skipped"`
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
	r.answer(c, changedView{f.DryRun, out.Matched, out.Changed, out.Skipped, viewMessages(out.Sample)}, err)
}

// resolveForm is a person's word about an unknown message: sent, or send-again.
type resolveForm struct {
	As   string `json:"as"`
	Rest bool   `json:"rest,omitempty"`
}

// resolve settles an unknown message by a person's word.
func (r *router) resolve(c *gin.Context) {
	p := query(c)
	id := messageID(c, p)
	var f resolveForm
	if !r.read(c, p, &f, "as, rest") {
		return
	}
	if f.As != "sent" && f.As != "send-again" {
		p.bad("as", "must be one of sent, send-again")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	in := store.Resolve{Message: id, Again: f.As == "send-again", Rest: f.Rest}
	if err := r.API.ResolveMessage(c.Request.Context(), in, by(c)); err != nil {
		r.fail(c, err)
		return
	}
	state := gateway.MessageAccepted
	if in.Again {
		state = gateway.MessageWaiting
	}
	c.JSON(http.StatusOK, gin.H{"id": id, "state": state})
}
