package sqlite

import (
	"errors"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// A file that turns read-only refuses callbacks, and takes them again when it is
// writable again, without a restart. (A file system cannot be remounted read-only
// while we hold its files; SQLite's own switch gives the same error.)
func TestReadOnlyAndBack(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	readOnly := func(on string) {
		t.Helper()
		var pragma error
		// The commit around it fails while the switch is on; the switch is no
		// part of it.
		_ = s.Archive.w.submit(t.Context(), false, 0, func(c *conn) error {
			_, pragma = c.exec("PRAGMA query_only = " + on)
			return pragma
		})
		if pragma != nil {
			t.Fatal(pragma)
		}
	}
	append1 := func() error {
		return s.Archive.Append(t.Context(), &gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Now(), Body: []byte("{}")})
	}
	if err := append1(); err != nil {
		t.Fatal(err)
	}
	readOnly("1")
	for range 3 {
		if err := append1(); !errors.Is(err, gateway.ErrUnavailable) {
			t.Errorf("while read-only: %v", err)
		}
		if err := s.Archive.Probe(t.Context()); !errors.Is(err, gateway.ErrUnavailable) {
			t.Errorf("probe while read-only: %v", err)
		}
	}
	readOnly("0")
	if err := append1(); err != nil {
		t.Errorf("writable again: %v", err)
	}
	st, err := s.Archive.Stats(t.Context())
	if err != nil || st.Payloads != 2 || st.LastPos != 2 {
		t.Errorf("%+v, %v", st, err)
	}
}
