package main

import (
	"context"
	"errors"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// windowOf is how long after a customer's last message an account may write.
func windowOf(acc *config.Account) gateway.CustomerWindow {
	switch {
	case acc.Platform == "whatsapp":
		w := whatsapp.CustomerWindow()
		if t := acc.OutsideWindow; t != nil {
			w.Instead = &gateway.Reply{Type: gateway.ReplyTemplate, Template: &gateway.TemplateReply{Name: t.Template, Language: t.Language}}
		}
		return w
	case acc.Platform == "wecom" && acc.Kind == "kf":
		return wecom.KfWindow()
	}
	return gateway.CustomerWindow{}
}

// window is for the sender.
func (d *directory) window(platform, account string) gateway.CustomerWindow {
	return d.windows[platform+"/"+account]
}

// checkWindow refuses a request to write now to a customer who last wrote too long
// ago. What is due later may find them talking again; where a template goes in its
// place, the sender sees to that. Of a pool that account sends with which they talked
// last, so there it is too late when it is with each that they talked with.
func (a *app) checkWindow(ctx context.Context, s *gateway.Submission, now time.Time) error {
	if s.DueAt.After(now) || s.Window != nil {
		return nil
	}
	if s.Conv != "" {
		return a.inWindow(ctx, s, s.Account, s.Conv, "conversation", now)
	}
	accounts := s.Pool
	if len(accounts) == 0 {
		accounts = []string{s.Account}
	}
	var late error
	for _, account := range accounts {
		conv, err := a.ledger.FindConversation(ctx, s.Platform, account, s.Chat.Identities[0])
		if errors.Is(err, gateway.ErrNotFound) {
			continue // nothing is known of them
		}
		if err == nil {
			err = a.inWindow(ctx, s, account, conv, "to", now)
		}
		var tooLate *admin.TooLateError
		if !errors.As(err, &tooLate) {
			return err
		}
		late = err
	}
	return late
}

// inWindow refuses what an account cannot send to a conversation now.
func (a *app) inWindow(ctx context.Context, s *gateway.Submission, account, conv, field string, now time.Time) error {
	w := a.dir.window(s.Platform, account)
	if w.For == 0 || w.Instead != nil {
		return nil
	}
	heard, err := a.ledger.Heard(ctx, conv)
	if err != nil {
		return err
	}
	for i := range s.Replies {
		if why := w.Closed(heard, &s.Replies[i], now); why != "" {
			return &admin.TooLateError{InvalidField: admin.InvalidField{Field: field, Detail: "cannot be written to now: " + why + windowHint(s.Platform)}}
		}
	}
	return nil
}

func windowHint(platform string) string {
	if platform == "whatsapp" {
		return "; a template may be sent"
	}
	return ""
}
