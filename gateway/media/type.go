package media

import (
	"mime"
	"strings"
)

// Bytes is the type of what nobody told the type of.
const Bytes = "application/octet-stream"

// mediaType is a type as it may be given out again: one that can be read, without
// surprises; Bytes for what cannot.
func mediaType(s string) string {
	if len(s) > 200 {
		return Bytes
	}
	kind, params, err := mime.ParseMediaType(s)
	if err != nil || !strings.Contains(kind, "/") {
		return Bytes
	}
	if out := mime.FormatMediaType(kind, params); out != "" {
		return out
	}
	return Bytes
}

// Type is for those who put files in: the type in its plain form, false when
// it cannot be read.
func Type(s string) (string, bool) {
	out := mediaType(s)
	return out, out != Bytes || strings.EqualFold(strings.TrimSpace(s), Bytes)
}
