package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// fitter is a platform's client that says before a message is stored what it would
// refuse; the error is a *gateway.FieldError of the reply, or names "to".
type fitter interface {
	Fits(m *gateway.Message) error
}

// Submit takes messages that no event asked for. A key that is known is answered
// before anything else is looked at, so that a repeat finds its messages whatever
// has become of the configuration, the conversation or the time. If the process
// dies before the commit, nothing was sent and a repeat does it; after the commit,
// the sender finds the messages at its start and a repeat finds the key.
func (x adminAPI) Submit(ctx context.Context, s *gateway.Submission) (gateway.Submitted, error) {
	var err error
	if s.Digest, err = s.Sum(); err != nil {
		return gateway.Submitted{}, err
	}
	if s.Key != "" {
		known, err := x.a.ledger.Submitted(ctx, s.Key, s.Digest)
		if !errors.Is(err, gateway.ErrNotFound) {
			return known, err
		}
	}
	if err := x.a.fromPool(ctx, s); err != nil {
		return gateway.Submitted{}, err
	}
	now := x.a.o.Now()
	if err := x.a.checkSubmission(ctx, s, now); err != nil {
		return gateway.Submitted{}, err
	}
	x.a.o.Boundary("submit.checked")
	s.Takeover = x.a.takeover
	out, err := x.a.ledger.Submit(ctx, s, now)
	switch {
	case errors.Is(err, gateway.ErrRetired):
		return out, invalid("to.value", "was given up by whom it named, and may be another person's; name the customer otherwise, or the conversation")
	case err != nil || out.Known: // by the same request at the same moment
		return out, err
	}
	x.a.o.Boundary("submit.committed")
	if s.Human {
		x.a.tookOver()
	}
	x.a.sender.Wake(out.Conv)
	x.a.o.Log.Info("message.submitted", zap.String("message", out.ID), zap.String("conv", out.Conv), zap.String("account", out.Account),
		zap.Int("parts", len(out.Messages)), zap.String("by", s.By))
	return out, nil
}

// Message returns a message with its attempts.
func (x adminAPI) Message(ctx context.Context, id string) (*gateway.Message, []gateway.Attempt, error) {
	return x.a.ledger.Message(ctx, id)
}

// Receipts is what the platform told of a message.
func (x adminAPI) Receipts(ctx context.Context, id string) (gateway.Receipts, error) {
	return x.a.ledger.Receipts(ctx, id)
}

// CancelMessage takes back a message that waits.
func (x adminAPI) CancelMessage(ctx context.Context, id, by string) (gateway.MessageState, error) {
	conv, state, err := x.a.ledger.CancelMessage(ctx, id, by, x.a.o.Now())
	if err != nil {
		return "", err
	}
	x.a.sender.Wake(conv) // what waited behind it
	x.a.publisher.Kick()
	return state, nil
}

func invalid(field, format string, args ...any) error {
	return &admin.InvalidError{Fields: []admin.InvalidField{{Field: field, Detail: fmt.Sprintf(format, args...)}}}
}

// noSuch refuses a name that the configuration does not have, and says which it has.
func noSuch(field string, names []string) error {
	what := map[string]string{"account": "an account", "app": "an application"}[field]
	if len(names) == 0 {
		return invalid(field, "is not the name of %s: the configuration has none", what)
	}
	const most = 12
	list := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		list += ", …"
	}
	return invalid(field, "is not the name of %s in the configuration, which has %s", what, list)
}

func applicationNames(apps []gateway.Application) []string {
	names := make([]string, 0, len(apps))
	for i := range apps {
		names = append(names, apps[i].Name)
	}
	return names
}

// checkSubmission refuses what certainly would not be sent, and fills in what the
// account says: platform, and the recipient as the relay knows it. Without the account
// nothing else can be said.
func (a *app) checkSubmission(ctx context.Context, s *gateway.Submission, now time.Time) error {
	i := slices.IndexFunc(a.o.Config.Accounts, func(acc config.Account) bool { return acc.Name == s.Account })
	if i < 0 {
		return noSuch("account", a.accountNames())
	}
	acc := &a.o.Config.Accounts[i]
	s.Platform = acc.Platform
	client := a.dir.client(acc.Platform, acc.Name)
	if client == nil {
		return invalid("account", "cannot send messages")
	}
	var wrong wrongs
	if err := wrong.note(checkTimes(s, now)); err != nil {
		return err
	}
	if s.Callback != "" && !slices.ContainsFunc(a.o.Config.Results, func(r config.Receiver) bool { return r.Name == s.Callback }) {
		_ = wrong.note(invalid("callback", "is not the name of one of results in the configuration"))
	}
	to, err := a.addressee(ctx, s, acc)
	if err := wrong.note(err); err != nil {
		return err
	}
	fit, _ := client.(fitter)
	for i := range s.Replies {
		m := &gateway.Message{Platform: s.Platform, Account: s.Account, Reply: s.Replies[i], To: to}
		if err := wrong.note(a.checkPart(ctx, fit, m, i)); err != nil {
			return err
		}
	}
	if err := wrong.err(); err != nil {
		return err
	}
	return a.checkWindow(ctx, s, now)
}

func checkTimes(s *gateway.Submission, now time.Time) error {
	latest := now.Add(gateway.MaxScheduled)
	var wrong wrongs
	if s.DueAt.After(latest) {
		_ = wrong.note(invalid("scheduled_at", "must be within a year from now"))
	}
	switch {
	case s.ExpiresAt.IsZero():
	case !s.ExpiresAt.After(now) || !s.ExpiresAt.After(s.DueAt):
		_ = wrong.note(invalid("expires_at", "must be later than now and than scheduled_at"))
	case s.ExpiresAt.After(latest):
		_ = wrong.note(invalid("expires_at", "must be within a year from now"))
	}
	if err := wrong.err(); err != nil || s.Window == nil {
		return err
	}
	opens := now
	if s.DueAt.After(now) {
		opens = s.DueAt
	}
	opens = s.Window.Due(opens)
	if s.ExpiresAt.IsZero() {
		s.ExpiresAt, s.EndMoves = opens.Add(gateway.WindowedFor), true
	}
	if !s.ExpiresAt.After(opens) {
		return invalid("send_window", "must open before expires_at")
	}
	return nil
}

func (a *app) checkPart(ctx context.Context, fit fitter, m *gateway.Message, i int) error {
	part := fmt.Sprintf("parts[%d].", i)
	if fit != nil {
		var wrong *gateway.FieldError
		if errors.As(fit.Fits(m), &wrong) {
			if wrong.Field == "to" {
				part = ""
			}
			return invalid(part+wrong.Field, "%s", wrong.Detail)
		}
	}
	if f := m.Reply.File; f != nil && f.File != "" {
		_, err := a.ledger.File(ctx, f.File)
		if errors.Is(err, gateway.ErrNotFound) {
			return invalid(part+"file.file", "is not in the store; POST /api/v1/media, or causeway media put, brings it there")
		}
		return err
	}
	return nil
}

// addressee says who is written to: the names of the conversation, or the one name
// given, in the form in which the ledger compares it.
func (a *app) addressee(ctx context.Context, s *gateway.Submission, acc *config.Account) ([]gateway.Identity, error) {
	if s.Conv != "" {
		c, err := a.ledger.Conversation(ctx, s.Conv, 1)
		switch {
		case errors.Is(err, gateway.ErrNotFound) || err == nil && (c.Platform != acc.Platform || c.Account != acc.Name):
			return nil, invalid("conversation", "is none of this account")
		case err != nil:
			return nil, err
		case c.Chat == gateway.ChatAccount:
			return nil, invalid("conversation", "has nobody in it: it is what is told about the account")
		}
		return slices.DeleteFunc(c.Identities, func(id gateway.Identity) bool { return id.Retired }), nil
	}
	own := gateway.Identity{Kind: "group", Value: acc.Name}
	if acc.Kind == "robot" && len(s.Chat.Identities) == 0 {
		s.Chat = gateway.Chat{Kind: gateway.ChatGroup, Identities: []gateway.Identity{own}}
	}
	if len(s.Chat.Identities) == 0 {
		return nil, invalid("to", "is needed, or conversation")
	}
	id := &s.Chat.Identities[0]
	if acc.Kind == "robot" && *id != own {
		return nil, invalid("to", "must be left out: the account writes to one group")
	}
	if kinds := recipientKinds(acc); !slices.Contains(kinds, id.Kind) {
		return nil, invalid("to.kind", "must be %s for this account", strings.Join(kinds, " or "))
	}
	switch id.Kind {
	case "phone":
		id.Value = strings.TrimPrefix(id.Value, "+")
		if id.Value == "" || strings.Trim(id.Value, "0123456789") != "" {
			return nil, invalid("to.value", "must be the digits of a phone number with the country code")
		}
	case "userid":
		if acc.Platform == "wecom" { // compared without case
			id.As, id.Value = id.Value, strings.ToLower(id.Value)
		}
	}
	return s.Chat.Identities, nil
}

// recipientKinds are the names by which an account knows whom it can write to.
func recipientKinds(acc *config.Account) []string {
	switch {
	case acc.Platform == "whatsapp":
		return []string{"phone", "bsuid", "group"}
	case acc.Platform == "unified":
		return []string{"conversation", "userid", "group"}
	case acc.Kind == "kf":
		return []string{"external_userid"}
	case acc.Kind == "robot":
		return []string{"group"}
	}
	return []string{"userid", "group"}
}
