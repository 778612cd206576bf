package main

import (
	"context"
	"encoding/json"
	"net/http"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/handlers/admin"
)

// sendsParallel is how many requests to send are carried out at once: commits are made
// for many together.
const sendsParallel = 64

// serveSends takes messages by request on cw.send.<account>, in the form of POST
// /api/v1/messages: the answer is a gateway.Submitted once they are on disk, else an
// admin.Problem, which has a status. If the process dies before the answer, the caller
// asks again with the same key.
func (b *broker) serveSends(ctx context.Context) error {
	forms, err := admin.NewForms()
	if err != nil {
		return err
	}
	return b.streams.ServeSends(ctx, sendsParallel, func(ctx context.Context, sender string, body []byte) []byte {
		var answer any
		out, refused, err := forms.Submit(ctx, adminAPI{b.a}, admin.Asked{Body: body, Account: sender, By: "nats " + sender})
		if answer = out; refused != nil {
			answer = refused
			if refused.Status == http.StatusInternalServerError {
				b.a.o.Log.Error("send.failed", zap.Error(err))
			}
		}
		raw, err := json.Marshal(answer)
		if err != nil {
			b.a.o.Log.Error("send.failed", zap.Error(err))
		}
		return raw
	})
}
