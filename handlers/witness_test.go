package handlers_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// witness goes by the client's address and a header that is kept of no other
// callback.
type witness struct {
	handlers.Endpoint
	mu   sync.Mutex
	seen []string
}

func (e *witness) Keep(r *handlers.Request) http.Header {
	return http.Header{"Causeway-Client": {r.Client}, "X-Sign": r.Header["X-Sign"]}
}

func (e *witness) Verify(r *handlers.Request) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, r.Client)
	if r.Kept || r.Header.Get("X-Sign") != "good" {
		return "", gateway.ErrUnverified
	}
	return "fp", nil
}

// An endpoint that goes by more than a signature is told the address, that of trusted
// proxies' clients too, and what it wants kept is kept, of what is refused as well;
// nothing from outside can take its place.
func TestWitness(t *testing.T) {
	for _, c := range []struct {
		trusted []string
		want    string
	}{{nil, "127.0.0.1"}, {[]string{"127.0.0.0/8"}, "203.0.113.7"}} {
		e := &witness{Endpoint: meta()}
		f := open(t, func(o *handlers.Options) {
			o.TrustedProxies, o.Endpoint = c.trusted, endpoints(map[string]handlers.Endpoint{"unified/hub": e})
		})
		for sign, status := range map[string]int{"good": 200, "bad": 401} {
			h := http.Header{"X-Forwarded-For": {"203.0.113.7"}, "X-Sign": {sign}, "Causeway-Client": {"198.51.100.1"}, "Authorization": {"secret"}}
			if res, _ := f.send(t, http.MethodPost, "/webhooks/unified/hub", []byte("{}"), h); res.StatusCode != status {
				t.Errorf("%s: %d", sign, res.StatusCode)
			}
		}
		if got := strings.Join(e.seen, " "); got != c.want+" "+c.want {
			t.Errorf("trusted %v: told %s", c.trusted, got)
		}
		list, err := f.archive.Read(t.Context(), 0, 10, 1<<20)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		rejects, err := f.archive.Rejects(t.Context(), 0, 10)
		if err != nil || len(rejects) != 1 {
			t.Fatal(rejects, err)
		}
		for sign, h := range map[string]http.Header{"good": list[0].Header, "bad": rejects[0].Payload.Header} {
			if h.Get("Causeway-Client") != c.want || h.Get("X-Sign") != sign || h.Get("Authorization") != "" {
				t.Errorf("kept of a %s one: %v", sign, h)
			}
		}
	}
}
