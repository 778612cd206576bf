package unified_test

import (
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/eventtest"
)

func published(t testing.TB, it *gateway.Item) []byte {
	t.Helper()
	return eventtest.Published(t, "unified", "hub-a", it)
}

func fits(t testing.TB, it *gateway.Item) {
	t.Helper()
	eventtest.Fits(t, "unified", "hub-a", it)
}
