package wecom

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Bounds of a decrypted document. A userid has at most 64 bytes by the
// documentation (path/90195); somewhat more is let through, a page of text is
// not an id.
const (
	maxInnerNodes = 10_000
	maxIDBytes    = 256
)

// Decode opens a payload that Verify accepted and reads it. A callback of a
// self-built app holds exactly one fact, so there is nothing between a good item
// and an error; more items are one more for each app of a corp whose member was
// renamed. The signature is not checked again: the archive holds verified
// payloads only, and a key that left the ring must not make old ones unreadable.
// keyFP names the key that opened it, also when what was inside is undecodable.
func (e *Endpoint) Decode(p *gateway.Payload) (items []gateway.Item, keyFP string, err error) {
	encrypted, err := parseEnvelope(p.Body)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", gateway.ErrUndecodable, err)
	}
	frame, keyFP, err := e.open(encrypted)
	if err != nil {
		return nil, "", err
	}
	it, err := decodeInner(frame)
	if err != nil {
		return nil, keyFP, fmt.Errorf("%w: %w", gateway.ErrUndecodable, err)
	}
	return append([]gateway.Item{it}, e.renamed(&it)...), keyFP, nil
}

// decodeInner reads one decrypted document, which is XML, or JSON where an app is
// set up for it: the first character tells.
func decodeInner(frame opened) (gateway.Item, error) {
	var fields []field
	var raw json.RawMessage
	var err error
	if bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(frame.text, []byte("\ufeff")), " \t\r\n"), []byte("{")) {
		fields, raw, err = parseInnerJSON(bytes.TrimPrefix(frame.text, []byte("\ufeff")), maxInnerNodes)
	} else {
		fields, raw, err = parseInnerXML(frame.text)
	}
	if err != nil {
		return gateway.Item{}, err
	}
	doc, err := index(fields)
	if err != nil {
		return gateway.Item{}, err
	}
	event := doc.value("Event")
	if doc.value("MsgType") == "" {
		event = doc.value("InfoType") // the form sent to suites
	}
	it := gateway.Item{
		AccountID:  accountOf(doc, event, frame.receiveID),
		Kind:       gateway.KindNotice,
		Key:        hashKey(frame.text),
		OccurredAt: unixTime(first(doc.value("CreateTime"), doc.value("TimeStamp"))),
		Content:    gateway.Content{Raw: raw},
	}
	of(&it, gateway.Identity{Kind: "account", Value: it.AccountID})
	switch msgType := doc.value("MsgType"); {
	case event != "" && (msgType == "event" || msgType == ""):
		fillEvent(&it, doc, event)
	case msgType == "event":
		return gateway.Item{}, errors.New("an event without Event")
	case msgType == "":
		return gateway.Item{}, errors.New("neither MsgType nor InfoType")
	case doc.value("FromUserName") == "":
		return gateway.Item{}, errors.New("a message without FromUserName")
	default:
		fillMessage(&it, doc, msgType)
	}
	return it, nil
}

func parseInnerXML(doc []byte) (fields []field, raw json.RawMessage, err error) {
	if fields, err = parseInner(doc, maxInnerNodes); err != nil {
		return nil, nil, err
	}
	raw, err = xmlAsJSON(doc)
	return fields, raw, err
}

// accountOf names our side: "<corp>/<agent>" for what belongs to an app,
// "<corp>/" for what belongs to the corp and may come by any app's URL, "<suite>/"
// for the commands to a suite. Two URLs that are told the same of the corp then
// tell it once.
func accountOf(doc *document, event, receiveID string) string {
	switch {
	case doc.value("InfoType") != "" && suiteCommand(event):
		return first(doc.value("SuiteId"), receiveID) + "/"
	case ofCorp(event):
		return first(doc.value("ToUserName"), doc.value("AuthCorpId"), receiveID) + "/"
	}
	return first(doc.value("ToUserName"), doc.value("AuthCorpId"), receiveID) + "/" + doc.value("AgentID")
}

// of puts an item under a key that is no conversation's.
func of(it *gateway.Item, keys ...gateway.Identity) {
	it.Chat = gateway.Chat{Kind: gateway.ChatAccount, Identities: keys}
}

// member puts the item into the conversation of a member with the app.
func member(it *gateway.Item, userID string) {
	who := []gateway.Identity{folded("userid", userID)}
	it.Chat = gateway.Chat{Kind: gateway.ChatSingle, Identities: who}
	it.Content.From = &gateway.Party{Identities: who}
}

// folded is a userid: WeCom compares them without case and reports them in lower
// case at times, so the folded form is compared and the spelling received is kept
// for calls. The ids of customers, chats and tags are compared as they are.
func folded(kind, userID string) gateway.Identity {
	return gateway.Identity{Kind: kind, Value: fold(userID), As: userID}
}

func fold(userID string) string { return strings.ToLower(userID) }

// hashKey is over the plaintext: every encryption of the same event differs in
// its 16 random bytes, so ciphertext and nonce name a delivery and not a fact.
func hashKey(plain []byte) string {
	sum := sha256.Sum256(plain)
	return "h:" + hex.EncodeToString(sum[:])
}

// unixTime reads seconds, or milliseconds from 1e12 on. What is no such number
// is no time.
func unixTime(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil || n <= 0 || n > 9e9 && n < 1e12 || n > 9e12: // after the year 2255
		return time.Time{}
	case n >= 1e12:
		return time.UnixMilli(n).UTC()
	}
	return time.Unix(n, 0).UTC()
}

// xmlAsJSON renders the document as a JSON string. What is not UTF-8 becomes
// U+FFFD; the exact bytes are in the archive.
func xmlAsJSON(doc []byte) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(string(doc)); err != nil {
		return nil, errors.New("cannot be written as JSON")
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
