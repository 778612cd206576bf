package wecom

import (
	"bytes"
	"encoding/xml"
	"errors"
	"unicode/utf8"
)

// Errors of a document. They hold no part of it.
var (
	errDoctype = errors.New("document type declaration")
	errTooBig  = errors.New("nested too deep or too many elements")
	errSyntax  = errors.New("not well-formed XML")
)

// Bounds of what is kept of a document. Real events have five levels and names
// of 20 characters; what is longer or deeper is walked and not kept, so that a
// hostile document costs no more than its own size.
const (
	keptDepth = 6
	maxPath   = 160
)

// field is one element below the root: the names that lead to it, with slashes
// between them, and the text directly in it. An element stands before those in it.
type field struct{ path, text string }

// parseXML walks one document and returns the elements below its root in order.
// It refuses declarations (a DOCTYPE alone passes encoding/xml in silence), more
// than maxDepth levels, more than maxNodes elements, and an end before the root
// is closed. Bytes after the root are ignored: the platform's own clients do so
// too. No value is returned with an error, since encoding/xml fills fields before
// it fails.
func parseXML(doc []byte, maxNodes int) ([]field, error) {
	d := xml.NewDecoder(bytes.NewReader(doc))
	w := walk{fields: make([]field, 0, 24)}
	nodes := 0
	for {
		t, err := d.Token()
		if err != nil { // io.EOF too: the root is not closed yet
			return nil, errSyntax
		}
		switch t := t.(type) {
		case xml.Directive:
			return nil, errDoctype
		case xml.StartElement:
			if nodes++; w.depth+1 > maxDepth || nodes > maxNodes {
				return nil, errTooBig
			}
			w.start(t.Name.Local)
		case xml.CharData:
			if w.depth >= 2 && w.depth <= keptDepth {
				w.text[w.depth] = append(w.text[w.depth], t...)
			}
		case xml.EndElement:
			if w.end(); w.depth == 0 {
				return w.fields, nil
			}
		}
	}
}

// walk is where a parser is: the root has depth 1.
type walk struct {
	fields []field
	depth  int
	at     [keptDepth + 1]int // which field an open element is; -1: not kept
	text   [keptDepth + 1][]byte
}

func (w *walk) start(name string) {
	w.depth++
	if w.depth < 2 || w.depth > keptDepth {
		return
	}
	w.at[w.depth], w.text[w.depth] = -1, w.text[w.depth][:0]
	if w.depth > 2 {
		parent := w.at[w.depth-1]
		if parent < 0 {
			return
		}
		name = w.fields[parent].path + "/" + name
	}
	if len(name) <= maxPath {
		w.at[w.depth] = len(w.fields)
		w.fields = append(w.fields, field{path: name})
	}
}

func (w *walk) end() {
	if w.depth >= 2 && w.depth <= keptDepth && w.at[w.depth] >= 0 {
		w.fields[w.at[w.depth]].text = string(w.text[w.depth])
	}
	w.depth--
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
