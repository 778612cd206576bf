package stream

import (
	"context"
	"time"
)

// GrownAgain lets tests ask what TakeAnswers asks after a break.
func GrownAgain(ctx context.Context, s *Streams, seq uint64, stored time.Time) (bool, error) {
	str, err := s.js.Stream(ctx, ReplyStream)
	if err != nil {
		return false, err
	}
	pos := readUpTo{stored: stored}
	pos.Seq = seq
	return s.grownAgain(ctx, str, &pos), nil
}
