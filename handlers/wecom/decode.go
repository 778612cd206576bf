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
// self-built app holds exactly one item, so there is nothing between a good item
// and an error. The signature is not checked again: the archive holds verified
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
	return []gateway.Item{it}, keyFP, nil
}

// decodeInner reads one decrypted document.
func decodeInner(frame opened) (gateway.Item, error) {
	fields, err := parseInner(frame.text, maxInnerNodes)
	if err != nil {
		return gateway.Item{}, err
	}
	doc, err := index(fields)
	if err != nil {
		return gateway.Item{}, err
	}
	raw, err := xmlAsJSON(frame.text)
	if err != nil {
		return gateway.Item{}, err
	}
	it := gateway.Item{
		AccountID:  first(doc["ToUserName"], doc["AuthCorpId"], frame.receiveID) + "/" + doc["AgentID"],
		Kind:       gateway.KindNotice,
		Key:        hashKey(frame.text),
		OccurredAt: unixTime(first(doc["CreateTime"], doc["TimeStamp"])),
		Content:    gateway.Content{Raw: raw},
	}
	it.Chat = gateway.Chat{
		Kind:       gateway.ChatAccount,
		Identities: []gateway.Identity{{Kind: "account", Value: it.AccountID}},
	}
	switch msgType := doc["MsgType"]; {
	case msgType == "event" && doc["Event"] != "":
		fillEvent(&it, doc, doc["Event"])
	case msgType == "" && doc["InfoType"] != "": // the form sent to suites
		fillEvent(&it, doc, doc["InfoType"])
	case msgType == "event":
		return gateway.Item{}, errors.New("an event without Event")
	case msgType == "":
		return gateway.Item{}, errors.New("neither MsgType nor InfoType")
	case doc["FromUserName"] == "":
		return gateway.Item{}, errors.New("a message without FromUserName")
	default:
		fillMessage(&it, doc, msgType)
	}
	return it, nil
}

// fillMessage reads what a member wrote to the app. Types whose content is not
// read yet, and types nobody knows, are notices in the member's conversation, so
// that they keep their place in its order. Source: path/90239.
func fillMessage(it *gateway.Item, doc map[string]string, msgType string) {
	member(it, doc["FromUserName"])
	it.Content.Type = msgType
	id := doc["MsgId"]
	if id != "" && strings.Trim(id, "0") != "" {
		// MsgId is not proven unique over apps and senders, hence all three.
		it.Key = "m:" + id + ":" + fold(doc["FromUserName"]) + ":" + doc["AgentID"]
		it.Content.ID = id
	}
	switch msgType {
	case "text":
		it.Content.Text = doc["Content"]
	case "image":
		it.Content.Media = &gateway.Media{ID: doc["MediaId"], URL: doc["PicUrl"]}
	case "voice":
		it.Content.Media = &gateway.Media{ID: doc["MediaId"], Format: doc["Format"]}
	default:
		return
	}
	it.Kind = gateway.KindMessage
}

// fillEvent names an event "event.<Event>[.<ChangeType>]". Those a member caused
// in the chat with the app go into that conversation, all others into the
// account's: a corp-wide change has no place in anybody's order. Events carry no
// id; their key is the hash of the plaintext, since sender and second are the
// same for different events. Source: path/90240, and reports of lost events.
func fillEvent(it *gateway.Item, doc map[string]string, event string) {
	it.Content.Type = "event." + event
	if change := doc["ChangeType"]; change != "" {
		it.Content.Type += "." + change
	}
	if conversational(event) && doc["FromUserName"] != "" {
		member(it, doc["FromUserName"])
	}
}

// conversational lists the events of path/90240 that a member causes in the chat
// with the app: menu, card, scan, location. subscribe and unsubscribe are not
// among them, they say something about the member.
func conversational(event string) bool {
	switch event {
	case "enter_agent", "LOCATION", "click", "view", "view_miniprogram",
		"scancode_push", "scancode_waitmsg",
		"pic_sysphoto", "pic_photo_or_album", "pic_weixin", "location_select",
		"taskcard_click", "template_card_event", "template_card_menu_event":
		return true
	}
	return false
}

// member puts the item into the conversation of a member with the app. WeCom
// compares userids without case and reports them in lower case at times, so the
// folded form is compared and the spelling received is kept for calls.
func member(it *gateway.Item, userID string) {
	who := []gateway.Identity{{Kind: "userid", Value: fold(userID), As: userID}}
	it.Chat = gateway.Chat{Kind: gateway.ChatSingle, Identities: who}
	it.Content.From = &gateway.Party{Identities: who}
}

func fold(userID string) string { return strings.ToLower(userID) }

// keyField says whether the decoder reads the element, and under which name. An
// id is trimmed, a text is not.
func keyField(name string) (as string, isID, ok bool) {
	switch name {
	case "AgentId": // some cards spell it so
		return "AgentID", true, true
	case "ToUserName", "FromUserName", "CreateTime", "MsgType", "MsgId", "AgentID",
		"Event", "ChangeType", "MediaId", "Format", "PicUrl",
		"SuiteId", "AuthCorpId", "InfoType", "TimeStamp":
		return name, true, true
	case "Content":
		return name, false, true
	}
	return "", false, false
}

// index keeps the elements the decoder reads. One that comes twice is an error:
// of two senders the first or the last would win, depending on the parser. Other
// elements may repeat, and do (AuthAddOpenKfId).
func index(fields []field) (map[string]string, error) {
	doc := make(map[string]string, len(fields))
	for _, f := range fields {
		as, isID, ok := keyField(f.name)
		if !ok {
			continue
		}
		if _, twice := doc[as]; twice {
			return nil, errors.New(as + " comes twice")
		}
		text := f.text
		if isID {
			text = strings.TrimSpace(text)
			if len(text) > maxIDBytes && as != "MediaId" && as != "PicUrl" {
				return nil, errors.New(as + " is too long")
			}
		}
		doc[as] = text
	}
	return doc, nil
}

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
	case err != nil || n <= 0 || n > 1e15:
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
