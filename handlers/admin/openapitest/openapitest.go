// Package openapitest holds answers against an OpenAPI document, for tests.
//
// It is stricter than a client may be: a field that the document does not name is a
// fault, since the document is to be the API as it is.
package openapitest

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Document is a document that was read, and found valid.
type Document struct {
	spec  *openapi3.T
	paths []template
}

type template struct {
	path  string
	match *regexp.Regexp
	names []string
}

// Load reads a document; an error says what is wrong with it.
func Load(ctx context.Context, text []byte) (*Document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if err := spec.Validate(ctx); err != nil {
		return nil, err
	}
	d := &Document{spec: spec}
	parameter := regexp.MustCompile(`\{([a-z]+)\}`)
	for path := range spec.Paths.Map() {
		t := template{path: path}
		for _, m := range parameter.FindAllStringSubmatch(path, -1) {
			t.names = append(t.names, m[1])
		}
		parts := parameter.Split(path, -1)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		t.match = regexp.MustCompile("^" + strings.Join(parts, "([^/]+)") + "$")
		d.paths = append(d.paths, t)
	}
	// A path that is written out goes before one with a parameter in its place.
	slices.SortFunc(d.paths, func(a, b template) int { return len(a.names) - len(b.names) })
	closed := map[*openapi3.Schema]bool{}
	for _, s := range spec.Components.Schemas {
		forbidMore(s.Value, closed)
	}
	for _, item := range spec.Paths.Map() {
		for _, op := range item.Operations() {
			for _, res := range op.Responses.Map() {
				for _, m := range res.Value.Content {
					forbidMore(m.Schema.Value, closed)
				}
			}
		}
	}
	return d, nil
}

// forbidMore lets an object have no fields but its own.
func forbidMore(s *openapi3.Schema, seen map[*openapi3.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if len(s.Properties) > 0 && s.AdditionalProperties.Schema == nil {
		no := false
		s.AdditionalProperties.Has = &no
	}
	for _, p := range s.Properties {
		forbidMore(p.Value, seen)
	}
	if s.Items != nil {
		forbidMore(s.Items.Value, seen)
	}
	if s.AdditionalProperties.Schema != nil {
		forbidMore(s.AdditionalProperties.Schema.Value, seen)
	}
}

// Operations are all operations, "GET /api/v1/apps", in order.
func (d *Document) Operations() (out []string) {
	for path, item := range d.spec.Paths.Map() {
		for method := range item.Operations() {
			out = append(out, method+" "+path)
		}
	}
	slices.Sort(out)
	return out
}

// Check holds an answer against the document. It returns the operation that was asked
// for, "" when the document has none for the request.
func (d *Document) Check(req *http.Request, status int, header http.Header, body []byte) (operation string, err error) {
	for _, t := range d.paths {
		m := t.match.FindStringSubmatch(req.URL.Path)
		op := d.spec.Paths.Value(t.path).GetOperation(req.Method)
		if m == nil || op == nil {
			continue
		}
		operation = req.Method + " " + t.path
		params := map[string]string{}
		for i, name := range t.names {
			params[name] = m[i+1]
		}
		in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: &routers.Route{
			Spec: d.spec, Path: t.path, PathItem: d.spec.Paths.Value(t.path), Method: req.Method, Operation: op,
		}}
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: status, Header: header, Options: &openapi3filter.Options{MultiError: true}}
		if kind, _, _ := strings.Cut(header.Get("Content-Type"), ";"); !strings.HasSuffix(kind, "/json") && !strings.HasSuffix(kind, "/problem+json") {
			out.Options.ExcludeResponseBody = true
			if res := op.Responses.Value(strconv.Itoa(status)); res != nil && res.Value.Content.Get(kind) == nil {
				return operation, fmt.Errorf("%s: %d has the content type %s, which is not described", operation, status, kind)
			}
		}
		out.SetBodyBytes(body)
		if err := openapi3filter.ValidateResponse(req.Context(), out); err != nil {
			return operation, fmt.Errorf("%s: %d is not as described: %w", operation, status, err)
		}
		for name := range req.URL.Query() {
			if status/100 == 2 && op.Parameters.GetByInAndName("query", name) == nil {
				return operation, fmt.Errorf("%s takes the parameter %s, which is not described", operation, name)
			}
		}
		return operation, nil
	}
	return "", nil
}
