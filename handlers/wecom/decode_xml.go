package wecom

import (
	"bytes"
	"encoding/xml"
	"errors"
	"strings"
	"unicode/utf8"
)

// Errors of a document. They hold no part of it.
var (
	errDoctype = errors.New("document type declaration")
	errTooBig  = errors.New("nested too deep or too many elements")
	errSyntax  = errors.New("not well-formed XML")
)

// field is one child element of the root: its name and the text directly in it.
type field struct{ name, text string }

// parseXML walks one document and returns the children of its root in order.
// It refuses declarations (a DOCTYPE alone passes encoding/xml in silence), more
// than maxDepth levels, more than maxNodes elements, and an end before the root
// is closed. Bytes after the root are ignored: the platform's own clients do so
// too. No value is returned with an error, since encoding/xml fills fields before
// it fails.
func parseXML(doc []byte, maxNodes int) ([]field, error) {
	d := xml.NewDecoder(bytes.NewReader(doc))
	var fields []field
	var text strings.Builder
	depth, nodes := 0, 0
	for {
		t, err := d.Token()
		if err != nil { // io.EOF too: the root is not closed yet
			return nil, errSyntax
		}
		switch t := t.(type) {
		case xml.Directive:
			return nil, errDoctype
		case xml.StartElement:
			depth++
			nodes++
			if depth > maxDepth || nodes > maxNodes {
				return nil, errTooBig
			}
			if depth == 2 {
				fields = append(fields, field{name: t.Name.Local})
				text.Reset()
			}
		case xml.CharData:
			if depth == 2 {
				text.Write(t)
			}
		case xml.EndElement:
			if depth == 2 {
				fields[len(fields)-1].text = text.String()
			}
			depth--
			if depth == 0 {
				return fields, nil
			}
		}
	}
}

// parseInner parses a decrypted document. When it is not well-formed it is tried
// once more without the characters XML forbids: control characters and cut UTF-8
// do reach callbacks inside people's text, and a strict parser would lose the
// message. The archive keeps the bytes as they came.
func parseInner(doc []byte, maxNodes int) ([]field, error) {
	fields, err := parseXML(doc, maxNodes)
	if !errors.Is(err, errSyntax) {
		return fields, err
	}
	clean := scrub(doc)
	if bytes.Equal(clean, doc) {
		return nil, err
	}
	return parseXML(clean, maxNodes)
}

// scrub drops what XML 1.0 does not allow and replaces what is not UTF-8.
func scrub(doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	for len(doc) > 0 {
		r, n := utf8.DecodeRune(doc)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, "\ufffd"...)
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0xFFFE, r == 0xFFFF:
		default:
			out = append(out, doc[:n]...)
		}
		doc = doc[n:]
	}
	return out
}
