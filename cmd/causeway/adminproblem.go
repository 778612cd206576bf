package main

import (
	"encoding/json"
	"strings"

	"github.com/causewayhq/causeway/handlers/admin"
)

// readProblem reads a problem document (RFC 9457); false when the body is none.
func readProblem(mediaType string, body []byte) (admin.Problem, bool) {
	var p admin.Problem
	if mediaType != "application/problem+json" || json.Unmarshal(body, &p) != nil {
		return admin.Problem{}, false
	}
	return p, true
}

// problemSentence names what is wrong and each field; fallback stands in for a
// problem that says nothing.
func problemSentence(p admin.Problem, fallback string) string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if len(p.Errors) > 0 {
		parts := make([]string, len(p.Errors))
		for i, f := range p.Errors {
			parts[i] = strings.TrimSpace(f.Field + " " + f.Detail)
		}
		text = strings.Join(parts, "; ")
	}
	if text == "" {
		text = fallback
	}
	return printable(strings.TrimRight(text, "."), 1000)
}
