package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
)

// OtherLifeError says that the broker's streams belong to another store, or to
// this one before a restore. Nothing is published into them or deleted.
type OtherLifeError struct {
	Stream    string // the one that was found first
	Have      string // store id in its metadata; "" when it has none
	HaveEpoch int64
	Want      string
	WantEpoch int64
}

// Error names both lives and the way out.
func (e *OtherLifeError) Error() string {
	have := "no store"
	if e.Have != "" {
		have = fmt.Sprintf("store %s epoch %d", e.Have, e.HaveEpoch)
	}
	return fmt.Sprintf("stream %s belongs to %s, this is store %s epoch %d: run `causeway adopt` to empty the streams and take them over",
		e.Stream, have, e.Want, e.WantEpoch)
}

// ErrOtherLife matches every *OtherLifeError in errors.Is.
var ErrOtherLife = errors.New("streams of another store") //nolint:gochecknoglobals // a sentinel error is a constant

// Is makes errors.Is(err, ErrOtherLife) work.
func (e *OtherLifeError) Is(target error) bool { return target == ErrOtherLife }

// Error codes of the JetStream API (nats-server server/errors.json).
const (
	codeStreamNotFound   = 10059
	codeConsumerNotFound = 10014
	codeMessageNotFound  = 10037
	codeDeleteFailed     = 10057
	codeStoreFailed      = 10077
	codeNoResources      = 10023
	codeNoMemory         = 10028
	codeNoStorage        = 10047
)

// apiCode is the JetStream error code in err; 0 when there is none.
func apiCode(err error) int {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return int(api.ErrorCode)
	}
	return 0
}

// isClosedPlace says that an offer was refused since its subject holds one.
// The server uses one code for every refusal of a store and tells them apart in
// words only (server/store.go ErrMaxMsgsPerSubject, 2.15).
func isClosedPlace(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && int(api.ErrorCode) == codeStoreFailed &&
		strings.Contains(api.Description, "per subject")
}

// isFull says that the stream, or the store of the broker, has no room.
func isFull(err error) bool {
	switch apiCode(err) {
	case codeNoResources, codeNoMemory, codeNoStorage:
		return true
	case codeStoreFailed:
		return !isClosedPlace(err)
	}
	return false
}

// isGone says that a message to be deleted is not there. The code stands for
// every failure of a deletion; the words are those of server/store.go
// (ErrStoreMsgNotFound, ErrStoreEOF, errDeletedMsg, 2.15).
func isGone(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	return int(api.ErrorCode) == codeMessageNotFound || int(api.ErrorCode) == codeDeleteFailed &&
		(strings.Contains(api.Description, "no message found") || strings.Contains(api.Description, "deleted message") ||
			strings.Contains(api.Description, "EOF"))
}

// isMissing says that a stream or consumer is not there (any more).
func isMissing(err error) bool {
	switch apiCode(err) {
	case codeStreamNotFound, codeConsumerNotFound:
		return true
	}
	return errors.Is(err, errNoStream) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, jetstream.ErrNoStreamResponse)
}

// unavailable wraps what went wrong with the broker, so that callers see
// gateway.ErrUnavailable and the reason. The caller's own end stays what it is.
func unavailable(what string, err error) error {
	if err == nil {
		return nil
	}
	var other *OtherLifeError
	if errors.As(err, &other) || errors.Is(err, gateway.ErrUnavailable) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", gateway.ErrUnavailable, what, err)
}
