package wecom

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Bounds of an outer envelope. A real one has four elements on two levels.
const (
	maxDepth         = 32
	maxEnvelopeNodes = 64
)

// Errors of an envelope and of the XML in it. They hold no part of the input.
var (
	errNotEnvelope = errors.New("neither an XML nor a JSON envelope")
	errNoEncrypt   = errors.New("not exactly one Encrypt")
)

// parseEnvelope returns the Encrypt text of a callback's body. The first
// character that is not white space decides between XML, which is what WeCom
// sends to apps, and the JSON form {"encrypt": "..."} of newer receivers; the
// content type is not signed and not looked at. Nothing else of the envelope is
// returned, so that nothing unsigned can be used.
func parseEnvelope(body []byte) (string, error) {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\ufeff")), " \t\r\n")
	if len(body) == 0 {
		return "", errNotEnvelope
	}
	switch body[0] {
	case '<':
		fields, err := parseXML(body, maxEnvelopeNodes)
		if err != nil {
			return "", err
		}
		found, n := "", 0
		for _, f := range fields {
			if f.path == "Encrypt" {
				found = strings.TrimSpace(f.text)
				n++
			}
		}
		if n != 1 {
			return "", errNoEncrypt
		}
		return found, nil
	case '{':
		return parseJSONEnvelope(body)
	}
	return "", errNotEnvelope
}

// parseJSONEnvelope reads one flat object; nested values are refused, so depth
// needs no other bound. Keys are compared without case, as the documents print
// both "encrypt" and "Encrypt".
func parseJSONEnvelope(body []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", errNotEnvelope
	}
	found, n := "", 0
	for nodes := 0; d.More(); nodes++ {
		if nodes >= maxEnvelopeNodes {
			return "", errTooBig
		}
		key, err := d.Token()
		if err != nil {
			return "", errNotEnvelope
		}
		value, err := d.Token()
		if err != nil {
			return "", errNotEnvelope
		}
		if _, nested := value.(json.Delim); nested {
			return "", errNotEnvelope
		}
		name, _ := key.(string)
		if !strings.EqualFold(name, "encrypt") {
			continue
		}
		text, isText := value.(string)
		if !isText {
			return "", errNoEncrypt
		}
		found = text
		n++
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return "", errNotEnvelope
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errNotEnvelope
	}
	if n != 1 {
		return "", errNoEncrypt
	}
	return found, nil
}

// Envelope makes the outer XML of a callback as the platform sends it to an
// app. Callers: the sandbox and tests.
func Envelope(toUser, agentID, encrypted string) []byte {
	var b bytes.Buffer
	b.WriteString("<xml><ToUserName>")
	writeCDATA(&b, toUser)
	b.WriteString("</ToUserName><Encrypt>")
	writeCDATA(&b, encrypted)
	b.WriteString("</Encrypt><AgentID>")
	writeCDATA(&b, agentID)
	b.WriteString("</AgentID></xml>")
	return b.Bytes()
}

// writeCDATA writes s as character data; the only text that cannot stand inside
// a section, its end mark, is split over two.
func writeCDATA(b *bytes.Buffer, s string) {
	b.WriteString("<![CDATA[")
	b.WriteString(strings.ReplaceAll(s, "]]>", "]]]]><![CDATA[>"))
	b.WriteString("]]>")
}
