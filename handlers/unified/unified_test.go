package unified_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/unified"
)

// The made-up secrets of testdata/unified/causeway.yaml.
func env(name string) (string, bool) {
	return "secret-of-" + name, !strings.HasPrefix(name, "CAUSEWAY_")
}

// file is the complete configuration that packages share.
func file(t testing.TB) *config.Config {
	t.Helper()
	path := filepath.Join("..", "..", "testdata", "unified", "causeway.yaml")
	c, err := config.Load(path, env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// endpoint is one of that file.
func endpoint(t testing.TB, name string) *unified.Endpoint {
	t.Helper()
	c := file(t)
	i := slices.IndexFunc(c.Endpoints, func(e config.Endpoint) bool { return e.Name == name })
	e, err := unified.NewEndpoint(c.Endpoints[i].Unified())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "unified", name)) //nolint:gosec // a test's own files
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func payload(body []byte) *gateway.Payload {
	return &gateway.Payload{ID: "pl_01JDX7Q4T5V8N2KZ0C9RB3MEHA", Pos: 1, Platform: "unified", Endpoint: "e",
		ReceivedAt: time.Date(2026, 11, 29, 0, 0, 30, 0, time.UTC), Body: body}
}

// decode decodes a body that must be decodable, and holds every item against what
// the relay and workers count on.
func decode(t testing.TB, e *unified.Endpoint, body string) []gateway.Item {
	t.Helper()
	items, keyFP, err := e.Decode(payload([]byte(body)))
	if err != nil || keyFP != "" {
		t.Fatalf("%q: %q %v", body, keyFP, err)
	}
	for i := range items {
		if items[i].Err == "" {
			fits(t, &items[i])
		}
	}
	return items
}

func one(t testing.TB, e *unified.Endpoint, body string) gateway.Item {
	t.Helper()
	items := decode(t, e, body)
	if len(items) != 1 {
		t.Fatalf("%d items in %s", len(items), body)
	}
	return items[0]
}

// made is an endpoint of a description alone.
func made(t testing.TB, d unified.Decoding) *unified.Endpoint {
	t.Helper()
	e, err := unified.NewEndpoint(unified.EndpointConfig{Decoding: d})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// whose is what an item is and how it is judged.
func whose(it *gateway.Item) string {
	s := string(it.Kind)
	if it.Content.Echo != nil {
		j := it.Content.Echo.Otherwise
		if j == "" {
			j = gateway.JudgedHuman
		}
		s += " " + string(j)
	}
	if it.Err != "" {
		s = it.Err
	}
	return s
}

func request(body string, headers ...string) *handlers.Request {
	r := &handlers.Request{Header: http.Header{}, Body: []byte(body)}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}
