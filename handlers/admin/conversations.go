package admin

import (
	"math"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// maxIdentity bounds an identity, in bytes; WeCom's longest id has 64.
const maxIdentity = 256

func (r *router) conversations(c *gin.Context) {
	p := query(c, "list", "app", "account", "after", "limit")
	q := store.ConversationQuery{
		List: store.ConversationList(p.word("list", string(store.ListHot), string(store.ListWaiting), string(store.ListUnanswered))),
		App:  p.name("app"), Account: p.name("account"), After: p.number("after", 1, math.MaxInt64, 0), Limit: p.limit(),
	}
	if p.text("list") == "" {
		p.bad("list", "is needed, such as waiting")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	found, next, err := r.API.Conversations(c.Request.Context(), q)
	r.answer(c, struct {
		Conversations []gateway.ListedConversation `json:"conversations"`
		Next          int64                        `json:"next,omitempty"`
	}{list(found), next}, err)
}

func (r *router) conversation(c *gin.Context) {
	p, conv := query(c, "limit", "text"), c.Param("conv")
	limit, text := p.limit(), p.flag("text")
	if !validConv(conv) {
		p.bad("conv", "must be the 26 characters of a conversation's id")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	if text && !r.mayReadBody(c) {
		return
	}
	found, err := r.API.Conversation(c.Request.Context(), conv, limit)
	if err == nil && text {
		if !r.audited(c, "read conversation texts", conv) {
			return
		}
		err = r.API.ConversationTexts(c.Request.Context(), found)
	}
	r.answer(c, found, err)
}

// releaseConversation takes a conversation back from a colleague.
func (r *router) releaseConversation(c *gin.Context) {
	p, conv := query(c, "then"), c.Param("conv")
	then := gateway.Then(p.word("then", string(gateway.ThenDrop), string(gateway.ThenSend)))
	if !validConv(conv) {
		p.bad("conv", "must be the 26 characters of a conversation's id")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	held, err := r.API.ReleaseConversation(c.Request.Context(), conv, then, by(c))
	r.answer(c, gin.H{"conv": conv, "held": held}, err)
}

// find answers the id of the conversation with a customer or group.
func (r *router) find(c *gin.Context) {
	p := query(c, "platform", "account", "identity", "kind")
	platform := p.word("platform", "whatsapp", "wecom", "unified")
	account := p.name("account")
	id := gateway.Identity{Kind: p.word("kind", "bsuid", "phone", "userid", "external_userid", "conversation", "group", "account",
		"member", "customer", "chat", "tag", "approval", "living", "kf", "session", "audit"), Value: p.text("identity")}
	if len(id.Value) > maxIdentity || !utf8.ValidString(id.Value) {
		p.bad("identity", "must be at most 256 bytes of UTF-8")
	}
	for _, name := range []string{"platform", "account", "kind", "identity"} {
		if p.text(name) == "" {
			p.bad(name, "is needed")
		}
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	conv, err := r.API.FindConversation(c.Request.Context(), platform, account, id)
	r.answer(c, gin.H{"conv": conv}, err)
}

// unanswered lists what was recovered too late; next is the before of the page that
// follows, absent at the end.
func (r *router) unanswered(c *gin.Context) {
	p := query(c, "app", "before", "limit")
	app, before, limit := p.name("app"), p.number("before", 1, 1<<62, 0), p.limit()
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := r.API.Unanswered(c.Request.Context(), app, before, limit)
	next := int64(0)
	if len(found) >= limit {
		next = found[len(found)-1].N
	}
	r.answer(c, struct {
		Unanswered []gateway.Unanswered `json:"unanswered"`
		Next       int64                `json:"next,omitempty"`
	}{list(found), next}, err)
}
