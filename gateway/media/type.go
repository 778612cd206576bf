package media

import (
	"mime"
	"strings"
)

// Bytes is the type of what nobody told the type of.
const Bytes = "application/octet-stream"

// maxUploadType is the longest type of an upload in bytes: its parameters may hold
// the file's name, where each character takes up to twelve.
const maxUploadType = 4096

// mediaType is a type as it may be given out again.
func mediaType(s string) string { return plainType(s, 200) }

// plainType is a type that can be read, without surprises; Bytes for what cannot,
// or has more bytes than most.
func plainType(s string, most int) string {
	if len(s) > most {
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
