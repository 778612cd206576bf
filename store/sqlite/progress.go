package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// progress is a progress with what only the store knows of it.
type progress struct {
	gateway.Progress
	n, c  int64
	parts []progressPart
}

// progressPart is a message in a progress.
type progressPart struct {
	Message   string `json:"m"`
	Receipt   string `json:"r,omitempty"`
	Delivered bool   `json:"d,omitempty"`
	Picture   bool   `json:"i,omitempty"`
}

// readProgress reads the event and what was said to it.
func readProgress(c *conn, event string) (*progress, error) {
	var p *progress
	var content []byte
	_, err := c.one(`SELECT e.n, e.c, e.received_at, e.content, v.account, v.conv, v.chat FROM event e CROSS JOIN conversation v ON v.c = e.c
		WHERE e.id = ? AND e.run = ''`, func(r row) {
		p = &progress{n: r.int(0), c: r.int(1)}
		p.Event, p.ReceivedAt, p.Account, p.Conv, content = event, r.time(2), r.str(4), r.str(5), r.blob(3)
		p.Chat.Kind = gateway.ChatKind(r.str(6))
	}, eventKey(event))
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fmt.Errorf("event: %w", gateway.ErrNotFound)
	}
	var says struct {
		Handle *gateway.Handle `json:"handle"`
	}
	if json.Unmarshal(content, &says) == nil { // one that cannot be read has none
		p.Handle = says.Handle
	}
	var parts, pictures []byte
	_, err = c.one(`SELECT state, text, taken, card, card_taken, parts, polled_at, used_by, pictures, pictures_taken
		FROM progress WHERE n = ?`, func(r row) {
		p.State, p.Text, p.Taken = gateway.ProgressState(r.str(0)), string(r.blob(1)), int(r.int(2))
		p.Card, p.CardTaken, parts, p.PolledAt, p.UsedBy = r.blob(3), r.int(4) == 1, r.blob(5), r.time(6), r.str(7)
		pictures, p.PicturesTaken = r.blob(8), int(r.int(9))
	}, p.n)
	if err == nil && len(parts) > 0 {
		err = json.Unmarshal(parts, &p.parts)
	}
	for i := range p.parts {
		p.Messages = append(p.Messages, p.parts[i].Message)
	}
	if err == nil && len(pictures) > 0 {
		err = json.Unmarshal(pictures, &p.Pictures)
	}
	return p, err
}

// storeProgress writes it, the first time too.
func storeProgress(c *conn, p *progress, now time.Time) error {
	if p.State == "" {
		p.State = gateway.ProgressOpen
	}
	parts, err := json.Marshal(p.parts)
	if err != nil {
		return err
	}
	card, pictures := []byte(p.Card), []byte{}
	if card == nil {
		card = []byte{}
	}
	if len(p.Pictures) > 0 {
		if pictures, err = json.Marshal(p.Pictures); err != nil {
			return err
		}
	}
	_, err = c.exec(`INSERT INTO progress (n, state, text, taken, card, card_taken, parts, polled_at, used_by, changed_at, pictures, pictures_taken)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (n) DO UPDATE SET state = excluded.state, text = excluded.text,
		taken = excluded.taken, card = excluded.card, card_taken = excluded.card_taken, parts = excluded.parts,
		polled_at = excluded.polled_at, used_by = excluded.used_by, changed_at = excluded.changed_at,
		pictures = excluded.pictures, pictures_taken = excluded.pictures_taken`,
		p.n, string(p.State), []byte(p.Text), p.Taken, card, p.CardTaken, parts, p.PolledAt, p.UsedBy, now, pictures, p.PicturesTaken)
	return err
}

// Progress reads how far an answer is; see store.ProgressLedger.
func (l *Ledger) Progress(ctx context.Context, event string, apps []string) (*gateway.Progress, error) {
	var p *progress
	err := l.r.snapshot(ctx, func(c *conn) (err error) {
		if p, err = readProgress(c, event); err != nil {
			return err
		}
		if p.Chat.Identities, err = identities(c, p.c); err != nil {
			return err
		}
		for _, app := range apps {
			n, err := c.number("SELECT count(*) FROM pending WHERE app = ? AND c = ? AND n = ?", app, p.c, p.n)
			if err != nil {
				return err
			}
			if n > 0 {
				p.Pending = append(p.Pending, app)
			}
		}
		return c.query("SELECT event FROM message WHERE conv = ? AND open = 1", func(r row) error {
			if of, _ := gateway.SplitDeliveryID(r.str(0)); of == event {
				p.Unsent++
			}
			return nil
		}, p.Conv)
	})
	if err != nil {
		return nil, err
	}
	return &p.Progress, nil
}

// changeProgress is one change of a progress.
func (l *Ledger) changeProgress(ctx context.Context, event string, durable bool, now time.Time, change func(*conn, *progress) (store bool, err error)) (*gateway.Progress, error) {
	var p *progress
	err := l.write(ctx, durable, 0, func(c *conn) (err error) {
		if p, err = readProgress(c, event); err != nil {
			return err
		}
		keep, err := change(c, p)
		if err != nil || !keep {
			return err
		}
		return storeProgress(c, p, now)
	})
	if err != nil {
		return nil, err
	}
	return &p.Progress, nil
}

// AddProgress adds a part once, durable.
func (l *Ledger) AddProgress(ctx context.Context, event string, part gateway.ProgressPart, now time.Time) (*gateway.Progress, error) {
	return l.changeProgress(ctx, event, true, now, func(_ *conn, p *progress) (bool, error) {
		if p.UsedBy != "" && p.UsedBy != part.Message {
			return false, fmt.Errorf("the one answer to the event is used: %w", gateway.ErrConflict)
		}
		added := false
		for i := range p.parts {
			added = added || p.parts[i].Message == part.Message
		}
		if !added && (part.Text != "" || len(part.Card) > 0 || part.Picture != "") {
			p.parts = append(p.parts, progressPart{Message: part.Message, Receipt: part.Receipt, Picture: part.Picture != ""})
			if part.Text != "" && p.Text != "" {
				p.Text += "\n\n"
			}
			p.Text += part.Text
			if len(part.Card) > 0 {
				p.Card, p.CardTaken = part.Card, false
			}
			if part.Picture != "" {
				p.Pictures = append(p.Pictures, part.Picture)
			}
		}
		if part.Last && (p.State == "" || p.State == gateway.ProgressOpen) {
			p.State = gateway.ProgressFinished
		}
		return true, nil
	})
}

// PollProgress notes that the platform asked; see store.ProgressLedger.
func (l *Ledger) PollProgress(ctx context.Context, event string, end bool, now time.Time) (*gateway.Progress, []string, error) {
	var woken []string
	p, err := l.changeProgress(ctx, event, end, now, func(c *conn, p *progress) (bool, error) {
		woken = nil
		p.PolledAt = now
		if p.State == gateway.ProgressTaken || p.State == gateway.ProgressClosed {
			return true, nil
		}
		if end {
			p.State, p.Taken, p.CardTaken = gateway.ProgressTaken, len(p.Text), len(p.Card) > 0
			p.PicturesTaken = len(p.Pictures)
		}
		for i := range p.parts {
			part := &p.parts[i]
			if part.Delivered || part.Picture && !end {
				continue
			}
			part.Delivered = true
			wake, err := l.tellPart(c, part, gateway.Status{State: gateway.StatusDelivered}, now)
			if err != nil {
				return false, err
			}
			if wake != "" {
				woken = append(woken, wake)
			}
		}
		return true, nil
	})
	return p, woken, err
}

// tellPart moves a message by a status that the platform's fetching is.
func (l *Ledger) tellPart(c *conn, part *progressPart, st gateway.Status, now time.Time) (wake string, err error) {
	m, err := messageByID(c, part.Message)
	if err != nil {
		return "", err
	}
	st.MessageID = part.Receipt
	e := gateway.Evidence{Kind: gateway.KindStatus, Platform: m.Platform, Account: m.Account, Conv: m.Conv, Status: st, At: now}
	if st.State != gateway.StatusFailed {
		e.ExternalID = part.Receipt
	}
	return l.proven(c, &e, m, now)
}

// CloseProgress gives the event's handle to a message; see store.ProgressLedger.
func (l *Ledger) CloseProgress(ctx context.Context, event, message string, now time.Time) (*gateway.Progress, error) {
	return l.changeProgress(ctx, event, true, now, func(_ *conn, p *progress) (bool, error) {
		switch {
		case p.Fetched():
			return false, nil
		case p.UsedBy != "" && p.UsedBy != message:
			return false, fmt.Errorf("the one answer to the event is used: %w", gateway.ErrConflict)
		}
		p.UsedBy = message
		if p.State != gateway.ProgressTaken {
			p.State = gateway.ProgressClosed
		}
		return true, nil
	})
}

// FailProgress marks what was not delivered as failed; see store.ProgressLedger.
func (l *Ledger) FailProgress(ctx context.Context, event string, f gateway.ProgressFailure, now time.Time) error {
	_, err := l.changeProgress(ctx, event, true, now, func(c *conn, p *progress) (bool, error) {
		for i := range p.parts {
			part := &p.parts[i]
			if part.Delivered || part.Message == f.But || f.Pictures && !part.Picture {
				continue
			}
			st := gateway.Status{State: gateway.StatusFailed, Errors: []gateway.Problem{{Title: f.Code}}}
			if _, err := l.tellPart(c, part, st, now); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return err
}
