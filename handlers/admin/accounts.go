package admin

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

// Accounts is an API that tells how the senders fare. It is optional.
type Accounts interface {
	// Accounts lists every configured account, in the order of the configuration.
	Accounts(ctx context.Context) ([]AccountView, error)
	// ResumeAccount lets a stopped account try again now, one message at a time.
	// gateway.ErrNotFound for one that is not configured.
	ResumeAccount(ctx context.Context, name, by string) error
}

// AccountView is one account as it fares. What comes in is taken whatever its state.
type AccountView struct {
	Name     string               `json:"name"`
	Platform string               `json:"platform"`
	Kind     string               `json:"kind,omitempty"`
	State    gateway.AccountState `json:"state"`
	// Reason is why it is not healthy; Code and Detail are the platform's that began it.
	Reason gateway.Blame `json:"reason,omitempty"`
	Code   string        `json:"code,omitempty"`
	Detail string        `json:"detail,omitempty"`
	Since  *time.Time    `json:"since,omitempty"`
	// ProbeAt is when it is tried again, Probes how many tries failed.
	ProbeAt *time.Time `json:"probe_at,omitempty"`
	Probes  int        `json:"probes,omitempty"`
	// Waiting is how many conversations wait for the account's pace or state, InFlight
	// how many calls run, Pace which part of its pace is let through.
	Waiting  int     `json:"waiting"`
	InFlight int     `json:"in_flight"`
	Pace     float64 `json:"pace"`
	// TemplatesAt is when a template is tried again, of one that begins no conversation
	// just now by the platform's TemplatesCode.
	TemplatesAt   *time.Time `json:"templates_at,omitempty"`
	TemplatesCode string     `json:"templates_code,omitempty"`
}

// accountRoutes are there where API is an Accounts.
func (r *router) accountRoutes(a Accounts, viewer, operator *gin.RouterGroup) {
	viewer.GET("/accounts", func(c *gin.Context) { r.accounts(c, a) })
	viewer.GET("/accounts/:name", func(c *gin.Context) { r.account(c, a) })
	operator.POST("/accounts/:name/resume", r.bodiless, func(c *gin.Context) { r.resumeAccount(c, a) })
}

func (r *router) accounts(c *gin.Context, a Accounts) {
	if err := query(c).err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := a.Accounts(c.Request.Context())
	r.answer(c, struct {
		Accounts []AccountView `json:"accounts"`
	}{list(found)}, err)
}

// accountName reads the name in the path.
func accountName(c *gin.Context, p *params) string {
	name := c.Param("name")
	if !gateway.ValidName(name) {
		p.bad("name", "must be the name of an account")
	}
	return name
}

func (r *router) account(c *gin.Context, a Accounts) {
	p := query(c)
	name := accountName(c, p)
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := a.Accounts(c.Request.Context())
	for i := range found {
		if found[i].Name == name {
			r.answer(c, &found[i], err)
			return
		}
	}
	if err == nil {
		err = gateway.ErrNotFound
	}
	r.fail(c, err)
}

func (r *router) resumeAccount(c *gin.Context, a Accounts) {
	p := query(c)
	name := accountName(c, p)
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	err := a.ResumeAccount(c.Request.Context(), name, by(c))
	r.answer(c, gin.H{"name": name, "state": gateway.AccountHealthy}, err)
}
