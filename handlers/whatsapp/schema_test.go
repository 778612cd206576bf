package whatsapp_test

import (
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/eventtest"
)

func published(t testing.TB, it *gateway.Item) []byte {
	t.Helper()
	return eventtest.Published(t, "whatsapp", "shop-a", it)
}

func fits(t testing.TB, it *gateway.Item) {
	t.Helper()
	eventtest.Fits(t, "whatsapp", "shop-a", it)
}

// The validator validates: an event that is wrong in one place does not fit.
func TestSchemaRefuses(t *testing.T) {
	it := decode(t, read(t, "reaction_add.json"))[0]
	eventtest.Refuses(t, published(t, &it), map[string][2]string{
		"kind":         {`"kind":"change"`, `"kind":"changes"`},
		"target":       {`"target":{"message_id"`, `"target":{"id"`},
		"time":         {`"received_at":"2026`, `"received_at":"yesterday 2026`},
		"event id":     {`"event":"ev_`, `"event":"`},
		"identity":     {`"identities":[{"kind":"bsuid"`, `"identities":[{"kind":"email"`},
		"no such word": {`"type":"reaction"`, `"type":5`},
	}, [2]string{`"emoji"`, `"emojis"`})
}
