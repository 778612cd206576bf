package unifiedtest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/unified"
)

// theirs and ours are what a customer or our side writes in a conversation. Where
// the description has no path for a conversation, the customer's id stands for it.
func (s *Sandbox) theirs(conversation, text string) unified.Facts {
	return unified.Facts{Kind: "message", Account: s.o.Account.GUID, EventID: s.nextID("evt"), MessageID: s.nextID("m"),
		Conversation: conversation, Sender: conversation, SenderName: "sample", Recipient: s.o.OwnID, Self: "false",
		At: s.o.Now(), Type: "text", Text: text}
}

func (s *Sandbox) ours(conversation, text string) unified.Facts {
	f := s.theirs(conversation, text)
	f.Sender, f.Recipient, f.Self = s.o.OwnID, conversation, "true"
	return f
}

// Customer lets a customer write a text; the callback is on its way.
func (s *Sandbox) Customer(conversation, text string) (messageID string) {
	f := s.theirs(conversation, text)
	s.tell(f, 0)
	return f.MessageID
}

// Colleague lets a colleague write by hand, in our name.
func (s *Sandbox) Colleague(conversation, text string) (messageID string) {
	f := s.ours(conversation, text)
	s.tell(f, 0)
	return f.MessageID
}

// Make makes the body of a callback of one of Kinds. Text, id and time may be empty.
func (s *Sandbox) Make(e Event) (id string, body []byte, err error) {
	f := s.theirs(e.From, e.Text)
	switch e.Kind {
	case "text":
	case "image":
		f.Type, f.MediaURL = "image", e.Media
		if f.MediaURL == "" {
			f.MediaURL = "https://files.example.invalid/" + s.nextID("file")
		}
	case "group":
		f.Group, f.Room, f.Conversation, f.Sender = true, e.From, "R:"+e.From, "member-1"
	case "colleague":
		f = s.ours(e.From, e.Text)
	case "undecided":
		f.Self, f.Sender = "", ""
	case "failed":
		f = s.ours(e.From, e.Text)
		f.SentID, f.MessageID, f.Marker, f.ErrorCode = e.ID, e.ID, e.ID, "1"
	case "account", "contact", "room":
		f = unified.Facts{Kind: e.Kind, Value: e.Variant, Account: f.Account, EventID: f.EventID, Conversation: e.From, Sender: e.From, Room: e.From, At: f.At}
	case "unknown":
		f.Kind, f.Value = "notice", "quantum_sync_done"
	default:
		return "", nil, errors.New("no such kind of callback")
	}
	if e.ID != "" {
		f.MessageID, f.EventID = e.ID, "evt-"+e.ID
	}
	if !e.At.IsZero() {
		f.At = e.At
	}
	body, err = s.o.Endpoint.Decoding.Compose(f)
	return f.MessageID, body, err
}

// Event is a callback to be made.
type Event struct {
	Kind    string    `json:"kind"`
	Variant string    `json:"variant"` // of account, contact, room: the vendor's value
	From    string    `json:"from"`    // the conversation, or the customer's id
	Text    string    `json:"text"`
	ID      string    `json:"id"` // of the message; of failed: what the send call was answered with
	At      time.Time `json:"at"`
	Media   string    `json:"media"` // of image: its address [one that leads nowhere]
}

// Kind is one kind of callback that Make makes.
type Kind struct{ Name, Becomes, About string }

// Kinds lists them.
func Kinds() []Kind {
	return []Kind{
		{"text", "message", "a customer writes"},
		{"image", "message", "a customer sends a picture by its address"},
		{"group", "message", "a member of a group writes; --from is the group"},
		{"colleague", "echo", "a colleague writes by hand, in our name"},
		{"undecided", "echo", "a message that does not tell who wrote it"},
		{"failed", "status", "a message of ours did not arrive; --id is that of the send call's answer"},
		{"account", "state", "our side went online or offline"},
		{"contact", "state", "a contact changed"},
		{"room", "state", "a group changed"},
		{"unknown", "notice", "an event that nobody described"},
	}
}

// tell makes a callback and lets it be delivered. What the description has no words
// for is not told, as with a real vendor.
func (s *Sandbox) tell(f unified.Facts, after time.Duration) {
	body, err := s.o.Endpoint.Decoding.Compose(f)
	if err != nil {
		s.o.Log.Warn("callback.not_made", zap.Error(err))
		return
	}
	s.deliver(f.Kind, body, after)
}

// Deliver proves a body of any kind and lets it be delivered, three times at most.
func (s *Sandbox) Deliver(kind string, body []byte) { s.deliver(kind, body, 0) }

func (s *Sandbox) deliver(kind string, body []byte, after time.Duration) {
	if *s.callback.Load() == "" {
		return
	}
	s.courier.Queue(sandbox.Callback{Kind: kind, After: after, Build: func(ctx context.Context, _ int) (*http.Request, error) {
		return s.request(ctx, body)
	}})
}

// Post proves and posts a body at once, without retries.
func (s *Sandbox) Post(ctx context.Context, body []byte) (status int, answer []byte, err error) {
	req, err := s.request(ctx, body)
	if err != nil {
		return 0, nil, err
	}
	return s.courier.Send(req)
}

func (s *Sandbox) request(ctx context.Context, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *s.callback.Load(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("unifiedtest: the callback URL is not a URL")
	}
	req.Header.Set("Content-Type", "application/json")
	s.o.Endpoint.Verification.Prove(req.Header, body)
	return req, nil
}
