package wecom_test

import (
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/eventtest"
)

func published(t testing.TB, it *gateway.Item) []byte {
	t.Helper()
	return eventtest.Published(t, "wecom", "corp-a", it)
}

func fits(t testing.TB, it *gateway.Item) {
	t.Helper()
	eventtest.Fits(t, "wecom", "corp-a", it)
}

// The validator validates: an event that is wrong in one place does not fit.
func TestSchemaRefuses(t *testing.T) {
	it := decode(t, read(t, "event_ext_add.xml"))
	eventtest.Refuses(t, published(t, &it), map[string][2]string{
		"kind":         {`"kind":"state"`, `"kind":"states"`},
		"whose state":  {`"change":{"of":{"kind":"customer"`, `"change":{"of":{"kind":"company"`},
		"handle":       {`"handle":{"kind":"welcome"`, `"handle":{"kind":"farewell"`},
		"until":        {`"until":"2026`, `"until":"soon 2026`},
		"no such word": {`"type":"event.`, `"type":5,"was":"event.`},
	}, [2]string{`"what"`, `"whats"`})
}
