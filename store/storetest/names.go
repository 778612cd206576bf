package storetest

import (
	"errors"

	"github.com/causewayhq/causeway/gateway"
)

// adminNames: an account's name and its platform id stay together, and a
// refused change leaves nothing behind.
func adminNames(w *world) {
	keep := func(names map[string]string, ok bool) {
		w.Helper()
		if err := w.l.KeepNames(w.ctx, names); (err == nil) != ok || err != nil && !errors.Is(err, gateway.ErrConflict) {
			w.Errorf("%v: %v", names, err)
		}
	}
	keep(map[string]string{"whatsapp/a": "whatsapp/1", "whatsapp/b": "whatsapp/2"}, true)
	keep(map[string]string{"whatsapp/a": "whatsapp/1"}, true)                             // one may go
	keep(map[string]string{"whatsapp/a": "whatsapp/3"}, false)                            // the name moves
	keep(map[string]string{"whatsapp/c": "whatsapp/2"}, false)                            // the id moves
	keep(map[string]string{"whatsapp/b": "whatsapp/2", "whatsapp/d": "whatsapp/4"}, true) // one comes back
	keep(map[string]string{"wecom/a": "wecom/ww1/1"}, true)                               // another platform
}
