package relay

import (
	"encoding/json"
	"testing"

	"github.com/causewayhq/causeway/gateway"
)

// The media of a replayed event is what became of it; the rest stays, the raw
// part to the byte.
func TestReplayedMediaKeepsTheRest(t *testing.T) {
	in := []byte(`{"type":"image","id":"wamid.x","text":"<b>&","media":{"id":"m1","state":"pending"},"raw":{"n":12345678901234567890,"a":"\u0000"}}`)
	out, err := withMedia(in, &gateway.Media{ID: "m1", State: gateway.MediaReady, File: "f", Size: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"image","id":"wamid.x","text":"<b>&","media":{"id":"m1","state":"ready","file":"f","size":3},"raw":{"n":12345678901234567890,"a":"\u0000"}}`
	if string(out) != want || !json.Valid(out) {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}
