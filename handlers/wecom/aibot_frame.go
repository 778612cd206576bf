package wecom

import (
	"encoding/json"
	"fmt"

	"github.com/causewayhq/causeway/gateway"
)

// FrameEndpoint is the Endpoint of frames that came by the long connection of a
// robot's account; no callback URL can have such a name.
func FrameEndpoint(account string) string { return framePrefix + account }

const framePrefix = "bot:"

// DecodeFrame reads a frame of a robot's long connection, {cmd, headers, body}, of
// which the body is what a callback holds decrypted (101463). It is pure, as
// Endpoint.Decode is. What cmd says the body says too; our own side's frames have no
// message in theirs. The item is the one that the callback would be, so that a robot
// that is moved from one to the other tells nothing twice, but for files: each has a
// key of its own here, which stands with its address in the raw part alone, and none
// is fetched.
func DecodeFrame(p *gateway.Payload) ([]gateway.Item, error) {
	doc := plainDocument(p.Body)
	if err := checkJSON(doc); err != nil {
		return nil, fmt.Errorf("%w: %w", gateway.ErrUndecodable, err)
	}
	var frame struct {
		Body json.RawMessage `json:"body"`
	}
	if json.Unmarshal(doc, &frame) != nil || len(frame.Body) == 0 {
		return nil, fmt.Errorf("%w: a frame without body", gateway.ErrUndecodable)
	}
	items, err := decodeBot(frame.Body, p.ReceivedAt)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", gateway.ErrUndecodable, err)
	}
	items[0].Content.Media = nil
	return items[:1], nil // the others are its further files
}
