package sqlite

import (
	"errors"
	"net/http"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// What is kept of a callback beside its body stands in one column, head, as
// lines that can be read with any tool: platform, endpoint, fingerprint of the
// key, request line, and then the chosen headers as HTTP writes them. A column
// of its own for each of them made a third of what a row cost. No line of an
// HTTP request holds a line break, so nothing is escaped and every byte comes
// back as it was.

// headFixed is the number of lines before the headers.
const headFixed = 4

var errLineBreak = errors.New("sqlite: a line break, or a colon in the name of a header, cannot be kept in a head") //nolint:gochecknoglobals // a sentinel error is a constant

// encodeHead writes the head of p; errLineBreak for what no HTTP request holds.
func encodeHead(p *gateway.Payload) ([]byte, error) {
	fixed := [headFixed]string{p.Platform, p.Endpoint, p.KeyFP, p.RequestLine}
	size := 0
	for _, line := range fixed {
		size += len(line) + 1
	}
	for name, values := range p.Header {
		for _, v := range values {
			size += len(name) + len(v) + 3
		}
	}
	b := make([]byte, 0, size)
	for _, line := range fixed {
		if strings.IndexByte(line, '\n') >= 0 {
			return nil, errLineBreak
		}
		b = append(append(b, line...), '\n')
	}
	for name, values := range p.Header {
		if strings.ContainsAny(name, ":\n") {
			return nil, errLineBreak
		}
		for _, v := range values {
			if strings.IndexByte(v, '\n') >= 0 {
				return nil, errLineBreak
			}
			b = append(append(append(append(b, name...), ": "...), v...), '\n')
		}
	}
	return b, nil
}

// decodeHead fills p from a head.
func decodeHead(head []byte, p *gateway.Payload) {
	rest := string(head)
	for _, to := range [headFixed]*string{&p.Platform, &p.Endpoint, &p.KeyFP, &p.RequestLine} {
		*to, rest, _ = strings.Cut(rest, "\n")
	}
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		name, value, _ := strings.Cut(line, ": ")
		if p.Header == nil {
			p.Header = make(http.Header, 4)
		}
		p.Header[name] = append(p.Header[name], value)
	}
}
