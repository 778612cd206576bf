package admin

import (
	"net/http"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// payloadView is an archived payload without its body.
type payloadView struct {
	Pos        int64     `json:"pos"`
	ID         string    `json:"id"`
	Platform   string    `json:"platform"`
	Endpoint   string    `json:"endpoint"`
	ReceivedAt time.Time `json:"received_at"`
	// RequestLine has the names of the query's parameters and no values.
	RequestLine string      `json:"request_line"`
	Header      http.Header `json:"header,omitempty"`
	KeyFP       string      `json:"key_fp,omitempty"`
	Bytes       int         `json:"bytes,omitempty"` // not in lists
}

func viewPayload(p *gateway.Payload) payloadView {
	return payloadView{
		Pos: p.Pos, ID: p.ID, Platform: p.Platform, Endpoint: p.Endpoint, ReceivedAt: p.ReceivedAt,
		RequestLine: withoutValues(p.RequestLine), KeyFP: p.KeyFP, Bytes: len(p.Body),
	}
}

// payloadListed is a payload in a list, with what became of it in one word.
type payloadListed struct {
	payloadView
	State gateway.PayloadState `json:"state"`
}

// payloadDetail is a payload and what became of it.
type payloadDetail struct {
	payloadView
	State  gateway.PayloadState `json:"state"`
	Reason string               `json:"reason,omitempty"`
	Detail string               `json:"detail,omitempty"`
	// OpenedBy is the fingerprint of the key that opened it.
	OpenedBy string     `json:"opened_by,omitempty"`
	Items    []itemView `json:"items"`
	rawView
}

// rawView is what only an operator sees, on demand, audited.
type rawView struct {
	RawRequestLine string `json:"raw_request_line,omitempty"`
	Body           []byte `json:"body,omitempty"` // base64
}

type itemView struct {
	Index  int               `json:"index"`
	State  gateway.ItemState `json:"state"`
	Reason string            `json:"reason,omitempty"`
	Event  string            `json:"event,omitempty"`
	Conv   string            `json:"conv,omitempty"`
	Seq    int64             `json:"seq,omitempty"`
	Kind   gateway.Kind      `json:"kind,omitempty"`
}

func viewDetail(p *gateway.Payload, s *store.PayloadStatus) payloadDetail {
	d := payloadDetail{
		payloadView: viewPayload(p), State: s.State, Reason: s.Reason, Detail: s.Detail,
		OpenedBy: s.KeyFP, Items: make([]itemView, 0, len(s.Items)),
	}
	d.Header = p.Header
	if d.State == "" {
		d.State = gateway.PayloadPending
	}
	for _, i := range s.Items {
		d.Items = append(d.Items, itemView(i))
	}
	return d
}

// rejectView is a callback that did not verify.
type rejectView struct {
	ID          int64       `json:"id"`
	At          time.Time   `json:"at"`
	Reason      string      `json:"reason"`
	Platform    string      `json:"platform"`
	Endpoint    string      `json:"endpoint"`
	RequestLine string      `json:"request_line"`
	Header      http.Header `json:"header,omitempty"`
	Bytes       int         `json:"bytes,omitempty"`
	rawView
}

func viewReject(r *gateway.Reject) rejectView {
	return rejectView{
		ID: r.ID, At: r.At, Reason: r.Reason, Platform: r.Payload.Platform, Endpoint: r.Payload.Endpoint,
		RequestLine: withoutValues(r.Payload.RequestLine), Bytes: len(r.Payload.Body),
	}
}

// messageView is an outgoing message without its text and its recipient.
type messageView struct {
	ID         string               `json:"id"`
	Task       string               `json:"task"`
	Part       int                  `json:"part"`
	Parts      int                  `json:"parts"`
	App        string               `json:"app"` // empty, as event is, when it was submitted
	Event      string               `json:"event"`
	Platform   string               `json:"platform"`
	Account    string               `json:"account"`
	Conv       string               `json:"conv"`
	State      gateway.MessageState `json:"state"`
	Reason     string               `json:"reason,omitempty"`
	Type       gateway.ReplyType    `json:"type"`
	DueAt      time.Time            `json:"due_at"`
	ExpiresAt  *time.Time           `json:"expires_at,omitempty"`
	Attempts   int                  `json:"attempts"`
	NextAt     *time.Time           `json:"next_at,omitempty"`
	ExternalID string               `json:"external_id,omitempty"`
	Delivery   gateway.StatusState  `json:"delivery,omitempty"`
	Failed     *gateway.Problem     `json:"failed,omitempty"`
	// Result is how far it is, in one word; see gateway.Message.Result. TaskState is
	// the state of its task.
	Result    string               `json:"result"`
	TaskState gateway.MessageState `json:"task_state,omitempty"`
	Priority  int                  `json:"priority"`
	// Author is bot or human.
	Author         string `json:"author"`
	EvenInTakeover bool   `json:"even_in_takeover,omitempty"`
	gateway.Terms
}

func viewMessage(m *gateway.Message) messageView {
	v := messageView{
		ID: m.ID, Task: m.Task, Part: m.Part, Parts: m.Parts, App: m.App, Event: m.Event, Platform: m.Platform,
		Account: m.Account, Conv: m.Conv, State: m.State, Reason: m.Reason, DueAt: m.DueAt, Attempts: m.Attempts,
		ExternalID: m.ExternalID, Delivery: m.Delivery, Failed: m.Failed, Result: m.Result(), TaskState: m.TaskState,
		Priority: m.Priority, Author: "bot", EvenInTakeover: m.EvenInTakeover, Terms: m.Terms,
	}
	if m.Human {
		v.Author = "human"
	}
	if v.Type = m.Reply.Type; v.Type == "" {
		v.Type = gateway.ReplyText
	}
	if !m.NextAt.IsZero() {
		v.NextAt = &m.NextAt
	}
	if !m.ExpiresAt.IsZero() {
		v.ExpiresAt = &m.ExpiresAt
	}
	return v
}

// withoutValues keeps the names of the query's parameters and hides their
// values: a caller can put anything there, also a secret.
func withoutValues(line string) string {
	method, rest, _ := strings.Cut(line, " ")
	target, proto, _ := strings.Cut(rest, " ")
	path, query, found := strings.Cut(target, "?")
	if !found {
		return line
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); ok {
			pairs[i] = name + "=…"
		} else {
			pairs[i] = "…" // a lone word is a value as much as a name
		}
	}
	return method + " " + path + "?" + strings.Join(pairs, "&") + " " + proto
}

// The sums as the API spells them; the conversions keep the fields in step.
type (
	payloadSums struct {
		Archived  int64 `json:"archived"`
		Relayed   int64 `json:"relayed"`
		Duplicate int64 `json:"duplicate"`
		Ignored   int64 `json:"ignored"`
		Sealed    int64 `json:"sealed"`
		Dead      int64 `json:"dead"`
		Pending   int64 `json:"pending"`
	}
	itemSums struct {
		Decoded   int64 `json:"decoded"`
		Events    int64 `json:"events"`
		Duplicate int64 `json:"duplicate"`
		Ignored   int64 `json:"ignored"`
		Dead      int64 `json:"dead"`
	}
	appSums struct {
		Wanted  int64 `json:"wanted"`
		Settled int64 `json:"settled"`
		Dead    int64 `json:"dead"`
		Dropped int64 `json:"dropped"`
		Erased  int64 `json:"erased"`
		Pending int64 `json:"pending"`
	}
	messageSums struct {
		Taken     int64 `json:"taken"`
		Accepted  int64 `json:"accepted"`
		Rejected  int64 `json:"rejected"`
		Unknown   int64 `json:"unknown"`
		Expired   int64 `json:"expired"`
		Cancelled int64 `json:"cancelled"`
		Waiting   int64 `json:"waiting"`
		Held      int64 `json:"held"`
	}
	mediaSums struct {
		Wanted      int64 `json:"wanted"`
		Ready       int64 `json:"ready"`
		Unavailable int64 `json:"unavailable"`
		Pending     int64 `json:"pending"`
	}
	sumsView struct {
		Payloads payloadSums        `json:"payloads"`
		Items    itemSums           `json:"items"`
		Apps     map[string]appSums `json:"apps"`
		Messages messageSums        `json:"messages"`
		Media    mediaSums          `json:"media"`
		// Broken has a sentence for every equation that does not hold.
		Broken []string `json:"broken"`
		// Lines are the equations with their numbers.
		Lines []string `json:"lines"`
	}
)

func viewSums(s *gateway.Sums) *sumsView {
	v := &sumsView{
		Payloads: payloadSums(s.Payloads), Items: itemSums(s.Items), Messages: messageSums(s.Messages), Media: mediaSums(s.Media),
		Apps: map[string]appSums{}, Broken: list(s.Broken()), Lines: list(s.Lines()),
	}
	for name, a := range s.Apps {
		v.Apps[name] = appSums(a)
	}
	return v
}

// list makes [] of nothing, since null is harder to read for a client.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
