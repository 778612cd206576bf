package gateway

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Origin says where an event came from.
type Origin string

// The origins. Backfill is an event that was sealed, dead or missed and came in
// later; replay is an old event handed out again by an admin.
const (
	OriginLive     Origin = "live"
	OriginBackfill Origin = "backfill"
	OriginReplay   Origin = "replay"
)

// EventRow is an event as the ledger keeps it. Content is the JSON object of
// Content; Body makes the published form of it.
type EventRow struct {
	N          int64 // place in the order of publishing; grows by one
	ID         string
	Run        string // replay run, "" for live events
	Platform   string
	Account    string // configured name
	Conv       string
	Chat       ChatKind
	Seq        int64 // 0 for statuses, echoes and replays
	Kind       Kind
	Origin     Origin
	Payload    string // id of the payload it came in
	ReceivedAt time.Time
	OccurredAt time.Time // zero where the platform gives none
	Content    []byte
}

// Event is the published form: the body on CW_EVENT and of every offer, as a
// worker reads it. The JSON Schema is testdata/schema/event.json.
type Event struct {
	// Event is the id of the fact; the same in replays and requeues.
	Event string `json:"event"`
	// Delivery is what an answer must name: the event id, for a replay or a
	// requeue with a suffix.
	Delivery   string     `json:"delivery"`
	Conv       string     `json:"conv"`
	Seq        int64      `json:"seq,omitempty"`
	Kind       Kind       `json:"kind"`
	Origin     Origin     `json:"origin"`
	Run        string     `json:"run,omitempty"`
	Platform   string     `json:"platform"`
	Account    string     `json:"account"`
	Chat       ChatKind   `json:"chat"`
	Payload    string     `json:"payload"`
	ReceivedAt time.Time  `json:"received_at"`
	OccurredAt *time.Time `json:"occurred_at"`
	// Collected are events that came before this one and are answered together with
	// it, in order; most deliveries carry one event and have none. Theirs is the same
	// Delivery. See Collect, and All.
	Collected []*Event `json:"collected,omitempty"`
	Content
}

// Body renders the published JSON. delivery is the ce-id of this publication.
// The envelope is written by hand so that the stored content is copied and not
// decoded again; the order of the fields is fixed.
func (e *EventRow) Body(delivery string) []byte { return e.BodyWith(nil, delivery) }

// BodyWith is Body for the last event of a bundle; before are those before it.
func (e *EventRow) BodyWith(before []EventRow, delivery string) []byte {
	var b bytes.Buffer
	size := len(e.Content) + envelopeSize
	for i := range before {
		size += len(before[i].Content) + envelopeSize
	}
	b.Grow(size)
	e.write(&b, before, delivery)
	return b.Bytes()
}

// envelopeSize is about how long the fields before the content are.
const envelopeSize = 420

func (e *EventRow) write(b *bytes.Buffer, before []EventRow, delivery string) {
	field := func(name, value string) {
		b.WriteString(`,"` + name + `":"`)
		b.WriteString(value) // ids, names and times: no character needs escaping
		b.WriteByte('"')
	}
	b.WriteString(`{"event":"` + e.ID + `"`)
	field("delivery", delivery)
	field("conv", e.Conv)
	if e.Seq > 0 {
		b.WriteString(`,"seq":` + strconv.FormatInt(e.Seq, 10))
	}
	field("kind", string(e.Kind))
	field("origin", string(e.Origin))
	if e.Run != "" {
		field("run", e.Run)
	}
	field("platform", e.Platform)
	field("account", e.Account)
	field("chat", string(e.Chat))
	field("payload", e.Payload)
	field("received_at", e.ReceivedAt.UTC().Format(time.RFC3339Nano))
	if e.OccurredAt.IsZero() {
		b.WriteString(`,"occurred_at":null`)
	} else {
		field("occurred_at", e.OccurredAt.UTC().Format(time.RFC3339Nano))
	}
	for i := range before {
		if i == 0 {
			b.WriteString(collectedField)
		} else {
			b.WriteByte(',')
		}
		before[i].write(b, nil, delivery)
	}
	if len(before) > 0 {
		b.WriteByte(']')
	}
	if len(e.Content) > 2 { // more than "{}"
		b.WriteByte(',')
		b.Write(e.Content[1:])
	} else {
		b.WriteByte('}')
	}
}

// collectedField begins the events before, which stand between envelope and content.
const collectedField = `,"collected":[`

// DecodeEvent reads what Body wrote: the envelope and a plain text as they were
// written, any other content by the JSON library, and Raw, by far the largest field
// of most events and the last one, is taken as it stands; a body laid out otherwise,
// and that of a bundle, is read in the ordinary way. Raw shares b's memory and is not
// looked into; the strings share that of one copy of all before it.
func DecodeEvent(b []byte) (*Event, error) {
	e := new(Event)
	if e.readBody(b) {
		return e, nil
	}
	*e = Event{}
	if err := json.Unmarshal(b, e); err != nil {
		return nil, err
	}
	return e, nil
}

// WithoutRaw is the row's content without its raw part, and whether it had one:
// what a broker refuses for its size can go without it, the bytes are in the
// archive. Content itself is left as it is, since others hold it.
func (e *EventRow) WithoutRaw() ([]byte, bool) {
	for at := 0; ; at++ { // a form inside may have a field of this name as well
		next := bytes.Index(e.Content[at:], rawField())
		if next < 0 {
			return e.Content, false
		}
		at += next
		if short := append(bytes.Clone(e.Content[:at]), '}'); json.Valid(short) {
			return short, true
		}
	}
}

// readBody reads what Body wrote, as it wrote it; false for anything else.
func (e *Event) readBody(b []byte) bool {
	if len(b) == 0 || b[len(b)-1] != '}' {
		return false
	}
	b = b[:len(b)-1]
	var raw json.RawMessage
	// No string before it can hold these bytes: its quotes are escaped.
	if at := bytes.Index(b, rawField()); at >= 0 {
		raw, b = b[at+len(rawField()):], b[:at]
	}
	content := e.readEnvelope(string(b))
	if content == "" || strings.HasPrefix(content, collectedField) {
		return false
	}
	if !e.readPlain(content) {
		e.Content = Content{}
		if json.Unmarshal([]byte("{"+content[1:]+"}"), &e.Content) != nil {
			return false
		}
	}
	e.Raw = raw
	return true
}

func rawField() []byte { return []byte(`,"raw":`) }

// Values of Content.Superseded.
const (
	SupersededNewer   = "newer"   // a newer change of the type was known
	SupersededRevoked = "revoked" // the message was revoked
)

// Supersede returns stored content with Content.Superseded set. The ledger calls
// it, which alone knows what came before; the field goes first, since Raw is last.
func Supersede(content []byte, why string) []byte {
	out := make([]byte, 0, len(content)+len(why)+len(`{"superseded":"",`))
	out = append(append(append(out, `{"superseded":"`...), why...), '"')
	if len(content) <= 2 { // "{}" or nothing
		return append(out, '}')
	}
	return append(append(out, ','), content[1:]...)
}

// EncodeContent renders a Content for the ledger. HTML characters stay as they
// are, since the text is for people and platforms, not for a page.
func EncodeContent(c *Content) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimRight(b.Bytes(), "\n")), nil // it is kept for long, and b has room for twice as much
}
