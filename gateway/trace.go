package gateway

import (
	"crypto/sha256"
	"encoding/hex"
)

// Traceparent is the W3C trace context (https://www.w3.org/TR/trace-context/) of
// one publication of an event: the trace is the event's, the same in every try,
// application and replay; the parent is the publication's. Both are made of the
// ids and not at random, so that a publication repeated after a death says the
// same. The flag says sampled: nothing here records spans, and a sampler that
// follows its parent would drop every trace otherwise.
func Traceparent(event, publication string) string {
	trace, parent := sha256.Sum256([]byte(event)), sha256.Sum256([]byte(publication))
	return "00-" + hex.EncodeToString(trace[:16]) + "-" + hex.EncodeToString(parent[:8]) + "-01"
}
