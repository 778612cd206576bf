package admin

import (
	"context"
	"net/http"
	"regexp"

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
	// slices: when it ends early, the rest is as it was, and asking again goes on; under
	// the same Key where it counts from where the messages stand. gateway.ErrConflict: the
	// key stands for another change.
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
