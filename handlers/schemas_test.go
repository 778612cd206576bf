package handlers_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/testdata/schema"
)

// The schemas that are in the repository are served byte by byte, to anybody.
func TestSchemas(t *testing.T) {
	f := open(t, func(o *handlers.Options) { o.Schemas = schema.Files() })
	for name, want := range schema.Files() {
		var any map[string]any
		if err := json.Unmarshal(want, &any); err != nil || any["$schema"] == nil {
			t.Errorf("%s is no schema: %v", name, err)
		}
		res, text := f.send(t, http.MethodGet, "/schemas/"+name, nil, nil)
		if res.StatusCode != 200 || text != string(want) || res.Header.Get("Content-Type") != "application/schema+json" {
			t.Errorf("%s: %d %s, %d bytes", name, res.StatusCode, res.Header.Get("Content-Type"), len(text))
		}
		if res, text = f.send(t, http.MethodHead, "/schemas/"+name, nil, nil); res.StatusCode != 200 || text != "" {
			t.Errorf("HEAD %s: %d", name, res.StatusCode)
		}
	}
	for path, want := range map[string]int{
		"/schemas/schema.go": 404, "/schemas/": 404, "/schemas": 404, "/schemas/..%2fevent.json": 404, "/schemas/a/event.json": 404,
	} {
		if res, text := f.send(t, http.MethodGet, path, nil, nil); res.StatusCode != want || text != "" {
			t.Errorf("%s: %d %q", path, res.StatusCode, text)
		}
	}
	if res, _ := f.send(t, http.MethodPost, "/schemas/event.json", []byte("{}"), nil); res.StatusCode != 405 {
		t.Errorf("POST: %d", res.StatusCode)
	}
	if len(schema.Files()) != 4 {
		t.Errorf("%d schemas", len(schema.Files()))
	}
}
