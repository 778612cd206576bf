package wecom

import (
	"errors"
	"strings"
)

// document is what the decoder reads of an inner document.
type document struct {
	values map[string]string // by path
	fields []field
}

// value is the text at a path; empty where there is none, or where what is there
// cannot be told: it comes twice, or is longer than an id can be.
func (d *document) value(path string) string { return d.values[path] }

// list returns the texts of an element that repeats.
func (d *document) list(path string) []string {
	var out []string
	for _, f := range d.fields {
		if f.path == path {
			if t := strings.TrimSpace(f.text); t != "" {
				out = append(out, t)
			}
		}
	}
	return out
}

// use says how the decoder takes an element.
type use int

const (
	unread  use = iota
	keyID       // an id that decides: twice, or too long, nothing can be told
	keyText     // what was written: twice, nothing can be told
	keyWord     // of a message: trimmed, of any length; twice, nothing can be told
	oddID       // an id of an event: twice or too long, it is taken as missing
	oddWord     // a word of an event: twice, it is taken as missing
)

// useOf lists the elements that are read, and the name under which one is kept.
// An id and a word are trimmed, a text is not. Others may repeat, and do
// (AuthAddOpenKfId): unknown events are notices, whatever they hold.
func useOf(path string) (as string, u use) {
	switch path {
	case "AgentId": // some cards spell it so
		return "AgentID", keyID
	case "ToUserName", "FromUserName", "CreateTime", "MsgType", "MsgId", "AgentID",
		"Event", "ChangeType", "SuiteId", "AuthCorpId", "InfoType", "TimeStamp":
		return path, keyID
	case "Content":
		return path, keyText
	case "MediaId", "Format", "PicUrl", "Location_X", "Location_Y", "Label",
		"Title", "Description", "Url", "FileName":
		return path, keyWord
	case "UserID", "NewUserID", "ExternalUserID", "ChatId", "Id", "TagId", "OpenKfId", "LivingId",
		"ApprovalInfo/ThirdNo", "ApprovalInfo/SpNo":
		return path, oddID
	case "EventKey", "TaskId", "CardType", "ResponseCode", "WelcomeCode", "State", "Source", "FailReason",
		"TagType", "UpdateDetail", "JoinScene", "QuitScene", "LastMemVer", "CurMemVer", "Status",
		"Latitude", "Longitude", "BatchJob/JobId",
		"ApprovalInfo/OpenSpStatus", "ApprovalInfo/SpStatus", "ApprovalInfo/StatuChangeEvent",
		"ScanCodeInfo/ScanResult", "SendLocationInfo/Location_X", "SendLocationInfo/Location_Y",
		"SendLocationInfo/Label", "SendLocationInfo/Poiname":
		return path, oddWord
	}
	return "", unread
}

// index keeps the elements the decoder reads. Of two senders the first or the
// last would win, depending on the parser, so the document is refused; an
// element of one event that comes twice, or is no id, costs that element only.
func index(fields []field) (*document, error) {
	doc := &document{values: make(map[string]string, len(fields)), fields: fields}
	for _, f := range fields {
		as, u := useOf(f.path)
		if u == unread {
			continue
		}
		text := f.text
		if u != keyText {
			text = strings.TrimSpace(text)
		}
		_, twice := doc.values[as]
		long := (u == keyID || u == oddID) && len(text) > maxIDBytes
		switch {
		case twice && u < oddID:
			return nil, errors.New(as + " comes twice")
		case long && u == keyID:
			return nil, errors.New(as + " is too long")
		case twice || long:
			text = ""
		}
		doc.values[as] = text
	}
	return doc, nil
}
