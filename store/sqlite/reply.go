package sqlite

import (
	"bytes"
	"encoding/json"

	"github.com/causewayhq/causeway/gateway"
)

// A reply is stored as its type and its text, which is most of what there is,
// and in one JSON value what it has beyond them.

// restOf is the JSON of what r has beyond type and text; empty when nothing.
// Parts that are handed on as they are (template components, data of a form)
// keep their numbers and their escapes.
func restOf(r *gateway.Reply) ([]byte, error) {
	rest := *r
	rest.Type, rest.Text = "", ""
	if plain(&rest) {
		return []byte{}, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&rest); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// plain says that a reply without its type and text has nothing left.
func plain(r *gateway.Reply) bool {
	return !r.Preview && r.Header == "" && r.Footer == "" && r.Quote == "" && r.File == nil && r.Location == nil && len(r.Contacts) == 0 &&
		r.Emoji == "" && r.Template == nil && len(r.Buttons) == 0 && r.List == nil && r.Link == nil && r.Flow == nil && !r.Typing &&
		len(r.News) == 0 && r.Card == nil && r.Handle == nil && len(r.Attachments) == 0 && r.Transfer == nil
}

// replyOf puts a reply together again. A rest that cannot be read leaves the
// reply without its parts, which every platform's client refuses.
func replyOf(typ string, text, rest []byte) gateway.Reply {
	var r gateway.Reply
	if len(rest) > 0 && json.Unmarshal(rest, &r) != nil {
		r = gateway.Reply{}
	}
	r.Type, r.Text = gateway.ReplyType(typ), string(text)
	return r
}
