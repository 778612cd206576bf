package wecomtest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Field is one element of an inner XML. Number writes it without CDATA; In are
// the elements inside it, in place of a text.
type Field struct {
	Name   string
	Value  string
	Number bool
	In     []Field
}

// App is our side as callbacks name it.
type App struct {
	CorpID  string
	AgentID int64
	// SuiteID is the suite that commands and suite-… are sent to. Empty means
	// CorpID, so that the same frame is theirs.
	SuiteID string
	// NewID makes the MsgId of a message. Nil means that Event.ID must be set.
	NewID func() string
	// Now is the time of what has no time of its own. Nil means time.Now.
	Now func() time.Time
}

// Event is what one callback tells. Only Kind must be set; what a kind does not
// use is ignored, what is left empty is made up.
type Event struct {
	Kind string `json:"kind"`
	// Variant picks one of Kind.Variants; empty means the first one.
	Variant string `json:"variant,omitempty"`
	// From is the userid of the member who wrote, or whom it is about.
	From string `json:"from,omitempty"`
	// ID is the MsgId of a message, and the number of a batch, an approval, a
	// live broadcast, a department.
	ID string `json:"id,omitempty"`
	// At is the platform's time, in whole seconds.
	At time.Time `json:"at,omitzero"`
	// Text is the text, title or result of a scan.
	Text string `json:"text,omitempty"`
	// Key is the EventKey: of a menu item, a button of a card, a page.
	Key string `json:"key,omitempty"`
	// Task is the task_id that we gave a card; Code the one-time code that comes
	// with it or with a new customer.
	Task string `json:"task,omitempty"`
	Code string `json:"code,omitempty"`
	// Picked are the options ticked on a card.
	Picked []string `json:"picked,omitempty"`
	// Customer is an external_userid, Chat a chat of customers, Tag a tag, Kf an
	// open_kfid.
	Customer string `json:"customer,omitempty"`
	Chat     string `json:"chat,omitempty"`
	Tag      string `json:"tag,omitempty"`
	Kf       string `json:"kf,omitempty"`
	// Target is the message that a recall or a failure is about: kf-recall,
	// kf-send-fail.
	Target string `json:"target,omitempty"`
	// Renamed is the userid from now on: member renamed.
	Renamed string `json:"renamed,omitempty"`
	// People are those who joined or left a chat; Before and Version the chain
	// of its members' versions.
	People  []string `json:"people,omitempty"`
	Before  string   `json:"before,omitempty"`
	Version string   `json:"version,omitempty"`
	// Media is the file's media id.
	Media string `json:"media,omitempty"`
	// Latitude and Longitude are degrees. Both 0 means a place in Shanghai.
	Latitude  float64 `json:"latitude,omitempty"`
	Longitude float64 `json:"longitude,omitempty"`
}

// draft is an inner document in the making.
type draft struct {
	Event
	app    App
	sender string // FromUserName; empty for none
	msg    string // MsgType
	agent  bool   // has an AgentID at its end
	suite  bool   // the form sent to suites, without MsgType
	fields []Field
}

// Inner makes the inner XML of a callback, and the MsgId of a message; it is
// neither encrypted nor signed. A kind or a variant that does not exist is an
// error.
func (a App) Inner(e Event) (msgID string, inner []byte, err error) {
	k, ok := KindNamed(e.Kind)
	if !ok {
		return "", nil, fmt.Errorf("wecomtest: %q is no kind of callback", e.Kind)
	}
	if e.Variant, ok = k.Variant(e.Variant); !ok {
		return "", nil, fmt.Errorf("wecomtest: %s has no variant %q", k.Name, e.Variant)
	}
	if e.At.IsZero() {
		e.At = time.Now()
		if a.Now != nil {
			e.At = a.Now()
		}
	}
	e.fillIn()
	d := &draft{Event: e, app: a, sender: e.From, msg: "event", agent: true}
	k.build(d)
	if d.msg != "event" {
		if msgID = e.ID; msgID == "" && a.NewID != nil {
			msgID = a.NewID()
		}
		if msgID == "" {
			return "", nil, errors.New("wecomtest: a message without an id")
		}
		d.number("MsgId", msgID)
	}
	return msgID, d.document(), nil
}

// fillIn makes up what was not said.
func (e *Event) fillIn() {
	or := func(s *string, made string) {
		if *s == "" {
			*s = made
		}
	}
	or(&e.From, "LinXiaoyu")
	or(&e.Customer, "wmMadeUpCustomer0000000000000001")
	or(&e.Chat, "wrMadeUpGroup00000000000000000001")
	or(&e.Tag, "etMadeUpTag0001")
	or(&e.Kf, "wkMadeUpKf0001")
	or(&e.Renamed, e.From+".new")
	or(&e.Key, "KEY_"+strings.ToUpper(strings.ReplaceAll(e.Kind, "-", "_")))
	or(&e.Task, "task-made-up-0001")
	or(&e.Code, "made-up-code-0001")
	or(&e.Media, madeUpMedia)
	or(&e.Text, "made up")
	or(&e.Before, "9c3f97c2ada667dfb5f6d03308d963e1")
	or(&e.Version, "71217227bbd112ecfe3a49c482195cb4")
	if len(e.People) == 0 {
		e.People = []string{e.Customer}
	}
	if len(e.Picked) == 0 {
		e.Picked = []string{"option-1", "option-3"}
	}
	if e.Latitude == 0 && e.Longitude == 0 {
		e.Latitude, e.Longitude = 31.2304, 121.4737
	}
}

// id is the number of something that is no message.
func (d *draft) id(made string) string {
	if d.ID != "" {
		return d.ID
	}
	return made
}

func (d *draft) text(name, value string) {
	d.fields = append(d.fields, Field{Name: name, Value: value})
}

func (d *draft) number(name, value string) {
	d.fields = append(d.fields, Field{Name: name, Value: value, Number: true})
}

func (d *draft) within(name string, in ...Field) {
	d.fields = append(d.fields, Field{Name: name, In: in})
}

// event begins an event; of the suite form the name stands elsewhere.
func (d *draft) event(name string) {
	if d.suite {
		d.fields = append([]Field{{Name: "InfoType", Value: name}}, d.fields...)
		return
	}
	d.fields = append([]Field{{Name: "Event", Value: name}}, d.fields...)
}

// ofSystem says that nobody caused it and that it is not the app's.
func (d *draft) ofSystem() { d.sender, d.agent = "sys", false }

// document puts the common fields of 90239 and 90240, or of 92277 for suites,
// around those of the kind.
func (d *draft) document() []byte {
	at := strconv.FormatInt(d.At.Unix(), 10)
	var all []Field
	if d.suite {
		suite := d.app.SuiteID
		if suite == "" {
			suite = d.app.CorpID
		}
		all = append([]Field{{Name: "SuiteId", Value: suite}}, d.fields...)
		all = append(all, Field{Name: "TimeStamp", Value: at, Number: true})
	} else {
		all = append(all, Field{Name: "ToUserName", Value: d.app.CorpID})
		if d.sender != "" {
			all = append(all, Field{Name: "FromUserName", Value: d.sender})
		}
		all = append(all, Field{Name: "CreateTime", Value: at, Number: true}, Field{Name: "MsgType", Value: d.msg})
		all = append(all, d.fields...)
		if d.agent {
			all = append(all, Field{Name: "AgentID", Value: strconv.FormatInt(d.app.AgentID, 10), Number: true})
		}
	}
	var b strings.Builder
	writeFields(&b, []Field{{Name: "xml", In: all}})
	return []byte(b.String())
}

func writeFields(b *strings.Builder, fields []Field) {
	for _, f := range fields {
		b.WriteString("<" + f.Name + ">")
		switch {
		case len(f.In) > 0:
			writeFields(b, f.In)
		case f.Number:
			b.WriteString(f.Value)
		default:
			b.WriteString("<![CDATA[" + strings.ReplaceAll(f.Value, "]]>", "]]]]><![CDATA[>") + "]]>")
		}
		b.WriteString("</" + f.Name + ">")
	}
}
