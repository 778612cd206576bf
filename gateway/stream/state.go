package stream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/causewayhq/causeway/gateway"
)

// StateLife is when the bucket of states was made: another one than before is empty.
func (s *Streams) StateLife(ctx context.Context) (time.Time, error) {
	if err := s.need(ctx, StateStream); err != nil {
		return time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	str, err := s.js.Stream(ctx, StateStream)
	if err != nil {
		return time.Time{}, s.check(StateStream, err)
	}
	if err := s.stillOurs(str.CachedInfo()); err != nil {
		return time.Time{}, err
	}
	return life(str.CachedInfo()), nil
}

// PublishStates puts states into the bucket, each under its conversation; errors as
// PublishEvents. Putting one again is harmless, so there is no message id.
func (s *Streams) PublishStates(ctx context.Context, states []gateway.State) []error {
	return s.publishAll(ctx, StateStream, len(states), func(i int) (*nats.Msg, error) {
		subject, err := StateSubject(states[i].Conv)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(&states[i])
		if err != nil {
			return nil, errors.New("a state cannot be written as JSON")
		}
		return &nats.Msg{Subject: subject, Data: body}, nil
	})
}

// Asked is the body of a request on cw.current.<app>.
type Asked struct {
	Conv string `json:"conv"`
}

// Refused is the answer to a request that has none; Error is one of the words of
// package gateway/current.
type Refused struct {
	Error string `json:"error"`
}

// ServeCurrent answers requests for states until ctx ends, at most parallel at once:
// fn gives the state, or a word that says why not.
func (s *Streams) ServeCurrent(ctx context.Context, parallel int, fn func(ctx context.Context, app, conv string) (*gateway.State, string)) error {
	return s.serve(ctx, "requests for states", currentPrefix+"*", parallel, func(ctx context.Context, m *nats.Msg) { s.answerCurrent(ctx, m, fn) })
}

func (s *Streams) answerCurrent(ctx context.Context, m *nats.Msg, fn func(ctx context.Context, app, conv string) (*gateway.State, string)) {
	if m.Reply == "" {
		return
	}
	var asked Asked
	var answer any = &Refused{"bad_request"}
	if json.Unmarshal(m.Data, &asked) == nil && asked.Conv != "" {
		state, word := fn(ctx, strings.TrimPrefix(m.Subject, currentPrefix), asked.Conv)
		if answer = state; word != "" {
			answer = &Refused{word}
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return // a state always can be; the caller's patience ends
	}
	_ = m.Respond(body) // as above, when the connection is gone
}
