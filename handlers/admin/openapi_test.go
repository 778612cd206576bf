package admin_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/handlers/admin/openapitest"
)

// document reads the description that a server gives of itself.
func document(t *testing.T, base string) *openapitest.Document {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapitest.Load(t.Context(), text)
	if err != nil {
		t.Fatalf("the document: %v", err)
	}
	return doc
}

// The document has every route of the router and no other, and every one of them
// answers as it says, to good requests and to bad ones.
func TestOpenAPI(t *testing.T) {
	s := open(t)
	doc := document(t, s.url)
	engine, ok := s.handler.(*gin.Engine)
	if !ok {
		t.Fatal("the router is none of gin")
	}
	var routes []string
	for _, r := range engine.Routes() {
		if r.Method == http.MethodHead {
			continue // as GET, without a body
		}
		segments := strings.Split(strings.ReplaceAll(r.Path, `\:`, "\x00"), "/")
		for i, part := range segments {
			if name, found := strings.CutPrefix(part, ":"); found {
				segments[i] = "{" + name + "}"
			}
		}
		routes = append(routes, r.Method+" "+strings.ReplaceAll(strings.Join(segments, "/"), "\x00", ":"))
	}
	slices.Sort(routes)
	for _, r := range routes {
		if !slices.Contains(doc.Operations(), r) {
			t.Errorf("not in the document: %s", r)
		}
	}
	for _, op := range doc.Operations() {
		if !slices.Contains(routes, op) {
			t.Errorf("not in the router: %s", op)
		}
	}

	done := map[string]bool{}
	ask := func(token, target, body string) {
		t.Helper()
		status, header, text := s.send(t, token, target, body)
		method, path, _ := strings.Cut(target, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		op, err := doc.Check(req, status, header, []byte(text))
		if err != nil {
			t.Errorf("%v: %s", err, text)
		}
		if op == "" {
			t.Errorf("%s is not described", target)
		}
		if status/100 == 2 {
			done[op] = true
		}
	}
	cases := routeCases()
	for i := range cases {
		c := &cases[i]
		ask(root, c.target, c.body)
		ask("", c.target, c.body)
		if c.target == "GET /metrics" {
			continue // it takes any parameters
		}
		bad := "?limit=none"
		if strings.Contains(c.target, "?") {
			bad = "&limit=none"
		}
		ask(root, c.target+bad, c.body)
	}
	for _, c := range [][2]string{
		{"GET /healthz"}, {"GET /readyz"}, {"GET /openapi.json"}, {"GET /schemas/event.json"}, {"GET /api/v1/tail?app=bot"},
		{"GET /api/v1/media?state=ready"}, {"GET /api/v1/media/" + fileName}, {"POST /api/v1/media", "hello"},
		{"GET /api/v1/events?conv=" + conv},
	} {
		ask(root, c[0], c[1])
	}
	ask(replyToken, "POST /api/v1/answers", `{"verdict":"done","replies":[]}`)
	s.ready = false
	ask(root, "GET /readyz", "")
	for _, op := range doc.Operations() {
		if !done[op] {
			t.Errorf("no good answer of %s was looked at", op)
		}
	}
}
