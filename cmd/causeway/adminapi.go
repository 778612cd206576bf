package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/testdata/schema"
)

// adminAPI implements admin.API over the store and the stages.
type adminAPI struct{ a *app }

func (a *app) adminHandler() http.Handler {
	tokens := make([]admin.Token, len(a.adminTokens))
	for i, t := range a.adminTokens {
		tokens[i] = admin.Token{Name: t.name, Role: admin.Role(t.role), Hash: admin.HashToken(t.token)}
	}
	return admin.NewRouter(admin.Options{
		Tokens:   func() []admin.Token { return tokens },
		Gatherer: a.registry,
		Ready:    a.readiness,
		API:      adminAPI{a},
		Schemas:  schema.Files(),
		Log:      a.o.Log,
		Now:      a.o.Now,
	})
}

// Payloads lists payloads newest first, without bodies.
func (x adminAPI) Payloads(ctx context.Context, q store.PayloadQuery) ([]gateway.Payload, int64, error) {
	return x.a.archive.List(ctx, q)
}

// PayloadStates are the states of payloads that the relay is done with.
func (x adminAPI) PayloadStates(ctx context.Context, pos []int64) (map[int64]gateway.PayloadState, error) {
	return x.a.ledger.PayloadStates(ctx, pos)
}

// Payload returns one payload and what became of it.
func (x adminAPI) Payload(ctx context.Context, ref admin.PayloadRef) (*gateway.Payload, store.PayloadStatus, error) {
	pos := ref.Pos
	if ref.ID != "" {
		var err error
		if _, pos, err = store.ParsePayloadID(ref.ID); err != nil {
			return nil, store.PayloadStatus{}, err
		}
	}
	p, err := x.a.archive.Get(ctx, pos)
	if err != nil {
		return nil, store.PayloadStatus{}, err
	}
	if ref.ID != "" && p.ID != ref.ID {
		return nil, store.PayloadStatus{}, gateway.ErrNotFound
	}
	status, err := x.a.ledger.PayloadState(ctx, pos)
	return p, status, err
}

// Rejects lists refused callbacks.
func (x adminAPI) Rejects(ctx context.Context, before int64, limit int) ([]gateway.Reject, error) {
	return x.a.archive.Rejects(ctx, before, limit)
}

// Reject returns one with its body.
func (x adminAPI) Reject(ctx context.Context, id int64) (*gateway.Reject, error) {
	return x.a.archive.Reject(ctx, id)
}

// Readmit verifies a reject with today's credentials and archives it, with the
// time it first came at. The deed is recorded first, so that there is none without
// its record; archived and taken out of the rejects is one commit, so a repeat
// after a death finds either everything to do or nothing, and the relay comes to
// the payload by itself.
func (x adminAPI) Readmit(ctx context.Context, id int64, by string) (string, error) {
	r, err := x.a.archive.Reject(ctx, id)
	if err != nil {
		return "", err
	}
	p := r.Payload
	e, ok := x.a.dir.endpoint(p.Platform, p.Endpoint)
	if !ok {
		return "", fmt.Errorf("endpoint is not configured: %w", gateway.ErrNoSecret)
	}
	if p.KeyFP, err = e.Verify(&handlers.Request{RawQuery: rawQuery(p.RequestLine), Header: p.Header, Body: p.Body, Kept: true}); err != nil {
		return "", err
	}
	err = x.RecordAudit(ctx, gateway.AuditEntry{At: x.a.o.Now(), By: by, What: "readmit", Target: fmt.Sprintf("reject %d of %s", id, p.Endpoint)})
	if err != nil {
		return "", err
	}
	x.a.o.Boundary("readmit.verified")
	if err := x.a.archive.Readmit(ctx, id, &p); err != nil {
		return "", err
	}
	x.a.o.Boundary("readmit.archived")
	x.a.relay.Kick()
	x.a.o.Log.Info("payload.readmitted", zap.Int64("reject", id), zap.String("payload", p.ID), zap.String("by", by))
	return p.ID, nil
}

// ReadmitAll does so for every reject, oldest first, so that they are archived
// in the order they came.
func (x adminAPI) ReadmitAll(ctx context.Context, endpoint, by string) (admin.Readmitted, error) {
	var ids []int64
	for before := int64(0); ; {
		page, err := x.a.archive.Rejects(ctx, before, 500)
		if err != nil {
			return admin.Readmitted{}, err
		}
		for i := range page {
			if endpoint == "" || page[i].Payload.Endpoint == endpoint {
				ids = append(ids, page[i].ID)
			}
		}
		if len(page) < 500 {
			break
		}
		before = page[len(page)-1].ID
	}
	var out admin.Readmitted
	for i := len(ids) - 1; i >= 0; i-- {
		_, err := x.Readmit(ctx, ids[i], by)
		switch {
		case err == nil:
			out.Readmitted++
		case errors.Is(err, gateway.ErrUnverified), errors.Is(err, gateway.ErrHostile), errors.Is(err, gateway.ErrNoSecret):
			out.Refused++
		case errors.Is(err, gateway.ErrNotFound): // dropped by the bound meanwhile
		default:
			return out, err
		}
	}
	return out, nil
}

// StartReplay starts or continues a replay.
func (x adminAPI) StartReplay(ctx context.Context, r admin.ReplayRequest, by string) (admin.ReplayStarted, error) {
	return x.a.replays.start(ctx, r, by)
}

// ReleaseReplay lets the held replies of a run go.
func (x adminAPI) ReleaseReplay(ctx context.Context, run, by string) (int, error) {
	convs, err := x.a.ledger.ReleaseRun(ctx, run, by, x.a.o.Now())
	if err != nil {
		return 0, err
	}
	x.a.sender.Wake(convs...)
	x.a.publisher.Kick()
	return len(convs), nil
}

// Conversations lists conversations.
func (x adminAPI) Conversations(ctx context.Context, q store.ConversationQuery) ([]gateway.ListedConversation, int64, error) {
	return x.a.ledger.Conversations(ctx, q)
}

// Conversation returns one conversation.
func (x adminAPI) Conversation(ctx context.Context, conv string, limit int) (*gateway.Conversation, error) {
	c, err := x.a.ledger.Conversation(ctx, conv, limit)
	if err != nil {
		return nil, err
	}
	x.a.brakes.holds(c)
	c.Offers = x.a.broker.offers(ctx, c)
	return c, nil
}

// ConversationTexts fills in what was said.
func (x adminAPI) ConversationTexts(ctx context.Context, c *gateway.Conversation) error {
	return x.a.ledger.ConversationTexts(ctx, c)
}

// FindConversation resolves an identity as the relay does. WeCom compares user
// ids without case.
func (x adminAPI) FindConversation(ctx context.Context, platform, account string, id gateway.Identity) (string, error) {
	if platform == "wecom" && (id.Kind == "userid" || id.Kind == "member") {
		id.Value = strings.ToLower(id.Value)
	}
	return x.a.ledger.FindConversation(ctx, platform, account, id)
}

// KeptSums are the kept counts of promise 2.
func (x adminAPI) KeptSums(ctx context.Context) (gateway.Sums, error) {
	return x.a.sums(ctx, x.a.ledger.Sums)
}

// RecountedSums counts rows.
func (x adminAPI) RecountedSums(ctx context.Context) (gateway.Sums, error) {
	return x.a.sums(ctx, x.a.ledger.Recount)
}

// Counters are the other counts.
func (x adminAPI) Counters(ctx context.Context) (map[string]int64, error) {
	return x.a.ledger.Counters(ctx)
}

// Adopt takes over the streams of another store.
func (x adminAPI) Adopt(ctx context.Context, by string) error {
	if err := x.a.broker.Adopt(ctx); err != nil {
		return err
	}
	return x.RecordAudit(ctx, gateway.AuditEntry{At: x.a.o.Now(), By: by, What: "adopt", Target: "streams"})
}

// RecordAudit records a deed.
func (x adminAPI) RecordAudit(ctx context.Context, e gateway.AuditEntry) error {
	return x.a.ledger.Audit(ctx, e)
}

// AuditLog lists deeds, newest first.
func (x adminAPI) AuditLog(ctx context.Context, limit int) ([]gateway.AuditEntry, error) {
	return x.a.ledger.AuditLog(ctx, limit)
}
