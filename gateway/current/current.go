package current

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// The words of an answer that is none.
const (
	WordNotFound    = "not_found"   // no such conversation
	WordNotYours    = "not_yours"   // the application does not get events of its account
	WordUnavailable = "unavailable" // the ledger did not answer
)

// Ledger is what is read of the ledger.
type Ledger interface {
	Subject(ctx context.Context, conv string) (gateway.Subject, error)
	FindConversation(ctx context.Context, platform, account string, id gateway.Identity) (string, error)
}

// Platform can be asked for the state of a key of one account.
type Platform interface {
	// Ask returns what the platform says now of the one with this identity; fields
	// that it does not tell are empty. gateway.ErrNotFound when it has no answer for
	// a key of this kind. Errors hold no id.
	Ask(ctx context.Context, id gateway.Identity) (gateway.State, error)
}

// Options of a Current; Ledger, Apps and Platform are required.
type Options struct {
	Ledger Ledger
	Apps   []gateway.Application
	// Platform is who can be asked for an account; nil for nobody.
	Platform func(platform, account string) Platform
	// Customers is the account that is told of an account's customers; "" for none.
	Customers func(platform, account string) string
	// Parallel is how many calls of platforms run at once; 0 means 32.
	Parallel int
	Now      func() time.Time
}

const (
	answerWithin = 1900 * time.Millisecond // the rest is the way back
	keepFor      = 2 * time.Second
)

// Current answers for states.
type Current struct {
	o    Options
	apps map[string]*gateway.Application
	ask  *asked
}

// New makes a Current.
func New(o Options) *Current {
	if o.Parallel <= 0 {
		o.Parallel = 32
	}
	if o.Customers == nil {
		o.Customers = func(string, string) string { return "" }
	}
	c := &Current{o: o, apps: map[string]*gateway.Application{}, ask: newAsked(o.Parallel, o.Now)}
	for i := range o.Apps {
		c.apps[o.Apps[i].Name] = &o.Apps[i]
	}
	return c
}

// State is the state of a conversation for an application, or a word.
func (c *Current) State(ctx context.Context, app, conv string) (*gateway.State, string) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	sub, err := c.o.Ledger.Subject(ctx, conv)
	switch {
	case errors.Is(err, gateway.ErrNotFound):
		return nil, WordNotFound
	case err != nil:
		return nil, WordUnavailable
	case !c.may(app, &sub.State):
		return nil, WordNotYours
	}
	state := sub.State
	whole, any := true, false
	for _, k := range c.keys(&sub) {
		told, err := c.told(ctx, &k, &state)
		if err != nil {
			return nil, WordUnavailable
		}
		any, whole = any || told != notAsked, whole && told != fromLedger
	}
	if any && whole {
		now := c.o.Now()
		state.Source, state.At = gateway.SourcePlatform, &now
	}
	return &state, ""
}

// may says whether the application gets events of the account.
func (c *Current) may(app string, s *gateway.State) bool {
	a := c.apps[app]
	return a != nil && (len(a.Platforms) == 0 || slices.Contains(a.Platforms, s.Platform)) &&
		(len(a.Accounts) == 0 || slices.Contains(a.Accounts, s.Account))
}

// key is one thing to be asked for.
type key struct {
	platform, account string
	id                gateway.Identity
	// of is its row, where the key is the subject itself.
	of *gateway.Subject
	// known: asked only when an event told of it.
	known bool
}

// keys are what the state of a subject is made of.
func (c *Current) keys(sub *gateway.Subject) []key {
	s := &sub.State
	for _, id := range sub.Identities {
		switch {
		case id.Retired:
		case s.Chat == gateway.ChatAccount && (id.Kind == "customer" || id.Kind == "chat" || id.Kind == "session"):
			return []key{{platform: s.Platform, account: s.Account, id: id, of: sub}}
		case s.Chat == gateway.ChatSingle && id.Kind == "external_userid":
			session, customer := id, id
			session.Kind, customer.Kind = "session", "customer"
			out := []key{{platform: s.Platform, account: s.Account, id: session}}
			if account := c.o.Customers(s.Platform, s.Account); account != "" {
				out = append(out, key{platform: s.Platform, account: account, id: customer, known: true})
			}
			return out
		}
	}
	return nil
}

type teller int

const (
	notAsked teller = iota
	fromLedger
	fromPlatform
)

// told fills in what is known of a key: by its row, and over it by the platform.
func (c *Current) told(ctx context.Context, k *key, s *gateway.State) (teller, error) {
	by := notAsked
	if k.of == nil {
		conv, err := c.o.Ledger.FindConversation(ctx, k.platform, k.account, k.id)
		switch {
		case errors.Is(err, gateway.ErrNotFound) && k.known:
			return notAsked, nil
		case errors.Is(err, gateway.ErrNotFound):
		case err != nil:
			return notAsked, err
		default:
			row, err := c.o.Ledger.Subject(ctx, conv)
			if err != nil {
				return notAsked, err
			}
			lay(s, &row.State)
			if row.At != nil && (s.At == nil || row.At.After(*s.At)) {
				s.At = row.At
			}
			by = fromLedger
		}
	}
	platform := c.o.Platform(k.platform, k.account)
	if platform == nil {
		if k.of != nil {
			by = fromLedger
		}
		return by, nil
	}
	now, err := c.ask.state(ctx, k.platform+"/"+k.account+"/"+k.id.Kind+"/"+k.id.Value, func(ctx context.Context) (gateway.State, error) {
		return platform.Ask(ctx, k.id)
	})
	if err != nil {
		return fromLedger, nil //nolint:nilerr // then the row's word stands, and says so
	}
	switch k.id.Kind {
	case "session":
		s.Session, s.Servicer = now.Session, now.Servicer
	default:
		s.Owner, s.Members = now.Owner, now.Members
	}
	return fromPlatform, nil
}

// lay puts what a row says of a key over a state.
func lay(s, row *gateway.State) {
	if row.Session != "" {
		s.Session, s.Servicer = row.Session, row.Servicer
	}
	if row.Owner != "" {
		s.Owner, s.Members = row.Owner, row.Members
	}
}
