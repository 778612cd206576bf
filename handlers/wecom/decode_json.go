package wecom

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

var errNotJSON = errors.New("not well-formed JSON") //nolint:gochecknoglobals // a sentinel error is a constant

// parseInnerJSON reads a decrypted JSON object as parseInner reads XML: the members
// of an object are elements, those of a list one element several times. Bounds and
// refusals are the same: of a doubled member both are seen. Names are taken in any
// case, since the documents print both ("MsgType", "msgtype"). Control characters
// reach people's text here too, and JSON forbids them raw: without them it is read
// once more. raw is the document as a JSON value, with nothing in it that is not
// UTF-8.
func parseInnerJSON(doc []byte, maxNodes int) (fields []field, raw json.RawMessage, err error) {
	doc = bytes.ToValidUTF8(doc, []byte("\ufffd"))
	fields, err = walkJSON(doc, maxNodes)
	if errors.Is(err, errNotJSON) {
		if clean := withoutControls(doc); len(clean) < len(doc) {
			doc = clean
			fields, err = walkJSON(doc, maxNodes)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return fields, doc, nil
}

// withoutControls also drops line ends between members, which mean nothing there.
func withoutControls(doc []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, doc)
}

// walkJSON walks one object to its end; nothing but white space may follow.
func walkJSON(doc []byte, maxNodes int) ([]field, error) {
	w := jsonWalk{d: json.NewDecoder(bytes.NewReader(doc)), left: maxNodes}
	w.d.UseNumber()
	if t, err := w.d.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotJSON
	}
	if err := w.members("", 1); err != nil {
		return nil, err
	}
	if _, err := w.d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return w.fields, nil
}

type jsonWalk struct {
	d      *json.Decoder
	fields []field
	left   int
}

// members reads an object after its brace, below the element at path.
func (w *jsonWalk) members(path string, depth int) error {
	for w.d.More() {
		name, err := w.d.Token()
		if err != nil {
			return errNotJSON
		}
		at, _ := name.(string)
		if path != "" {
			at = path + "/" + at
		}
		if err := w.value(spelling(at), depth+1); err != nil {
			return err
		}
	}
	return w.end()
}

// value reads what a member holds.
func (w *jsonWalk) value(path string, depth int) error {
	if w.left--; w.left < 0 || depth > maxDepth {
		return errTooBig
	}
	t, err := w.d.Token()
	if err != nil {
		return errNotJSON
	}
	switch t := t.(type) {
	case string:
		w.add(path, t, depth)
	case json.Number:
		w.add(path, t.String(), depth)
	case bool:
		w.add(path, map[bool]string{true: "1", false: "0"}[t], depth)
	case nil:
		w.add(path, "", depth)
	case json.Delim:
		if t == '{' {
			w.add(path, "", depth)
			return w.members(path, depth)
		}
		for w.d.More() {
			// One element each; lists in lists are bounded by their number.
			if err := w.value(path, depth); err != nil {
				return err
			}
		}
		return w.end()
	}
	return nil
}

func (w *jsonWalk) end() error {
	if _, err := w.d.Token(); err != nil {
		return errNotJSON
	}
	return nil
}

func (w *jsonWalk) add(path, text string, depth int) {
	if depth <= keptDepth && len(path) <= maxPath {
		w.fields = append(w.fields, field{path, text})
	}
}

// spelling is how XML writes a name that the decoder reads; others are as they
// came.
func spelling(path string) string {
	for _, name := range elements() {
		if len(name) == len(path) && strings.EqualFold(name, path) {
			return name
		}
	}
	return path
}

// elements are the paths that the decoder reads, those that lead to them, and lists.
func elements() []string {
	return []string{
		"ToUserName", "FromUserName", "CreateTime", "MsgType", "MsgId", "AgentID", "Event", "ChangeType", "SuiteId", "AuthCorpId", "InfoType", "TimeStamp",
		"Content", "MediaId", "Format", "PicUrl", "Location_X", "Location_Y", "Label", "Title", "Description", "Url", "FileName",
		"UserID", "NewUserID", "ExternalUserID", "ChatId", "Id", "TagId", "OpenKfId", "LivingId",
		"EventKey", "TaskId", "CardType", "ResponseCode", "WelcomeCode", "State", "Source", "FailReason",
		"TagType", "UpdateDetail", "JoinScene", "QuitScene", "LastMemVer", "CurMemVer", "Status", "Latitude", "Longitude",
		"MemChangeList", "MemChangeList/Item", "BatchJob", "BatchJob/JobId",
		"ApprovalInfo", "ApprovalInfo/ThirdNo", "ApprovalInfo/SpNo", "ApprovalInfo/OpenSpStatus", "ApprovalInfo/SpStatus", "ApprovalInfo/StatuChangeEvent",
		"ScanCodeInfo", "ScanCodeInfo/ScanResult",
		"SendLocationInfo", "SendLocationInfo/Location_X", "SendLocationInfo/Location_Y", "SendLocationInfo/Label", "SendLocationInfo/Poiname",
		"SelectedItems", "SelectedItems/SelectedItem", "SelectedItems/SelectedItem/QuestionKey",
		"SelectedItems/SelectedItem/OptionIds", "SelectedItems/SelectedItem/OptionIds/OptionId",
	}
}
