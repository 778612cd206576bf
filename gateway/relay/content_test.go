package relay

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
)

type oneAccount struct{}

func (oneAccount) Account(string, string) (string, bool) { return "shop", true }
func (oneAccount) Applications() []gateway.Application   { return []gateway.Application{{Name: "bot"}} }

// An item that the broker would refuse goes without its raw part; when even that
// is too much it is a dead item with a reason, and never an error that would hold
// what comes after.
func TestContentFitsTheBroker(t *testing.T) {
	r := New(Options{Directory: oneAccount{}, MaxContent: func() int { return 4096 }, Log: zap.NewNop()})
	for name, c := range map[string]struct {
		text, raw int
		state     gateway.ItemState
		hasRaw    bool
	}{
		"small":                   {10, 10, gateway.ItemEvent, true},
		"as much as is allowed":   {2000, 2000, gateway.ItemEvent, true},
		"too much with raw":       {2000, 2200, gateway.ItemEvent, false},
		"raw alone too much":      {0, 5000, gateway.ItemEvent, false},
		"too much without raw":    {4097, 10, gateway.ItemDead, false},
		"grows by being escaped":  {-1000, 10, gateway.ItemDead, false},
		"escaped text, raw small": {-500, 10, gateway.ItemEvent, true},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat("x", max(c.text, 0)) + strings.Repeat("\u2028", max(-c.text, 0)) // 3 bytes, 6 as JSON
			it := gateway.Item{Kind: gateway.KindMessage, Key: "m:1",
				Chat:    gateway.Chat{Kind: gateway.ChatSingle, Identities: []gateway.Identity{{Kind: "phone", Value: "1"}}},
				Content: gateway.Content{Type: "text", Text: text, Raw: json.RawMessage(`"` + strings.Repeat("r", c.raw) + `"`)}}
			row := r.item(&gateway.Payload{Platform: "whatsapp"}, 0, &it, "shop", oneAccount{}.Applications())
			if row.State != c.state || len(row.Event.Content) > 4096 {
				t.Fatalf("state %s with %d bytes, want %s", row.State, len(row.Event.Content), c.state)
			}
			if c.state == gateway.ItemDead {
				if row.Reason != gateway.ReasonBadItem || !strings.Contains(row.Detail, "larger") || len(row.Wanted) != 0 {
					t.Errorf("dead item %q %q wanted by %v", row.Reason, row.Detail, row.Wanted)
				}
				return
			}
			var got gateway.Content
			if err := json.Unmarshal(row.Event.Content, &got); err != nil || got.Text != text || (got.Raw != nil) != c.hasRaw {
				t.Errorf("text of %d bytes, raw %v (%v)", len(got.Text), got.Raw != nil, err)
			}
			if len(it.Content.Raw) == 0 {
				t.Error("the item itself was changed")
			}
		})
	}
}
