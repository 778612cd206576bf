package whatsapptest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// Statuses is how statuses come: after how many milliseconds from the moment the
// message was taken (0 means 20, 60, 150 and 250; negative: never), and in which
// version of webhooks.
type Statuses struct {
	SentMS      int64 `json:"sent_ms"`
	DeliveredMS int64 `json:"delivered_ms"`
	ReadMS      int64 `json:"read_ms"`
	PlayedMS    int64 `json:"played_ms"`
	// Version is the Graph version of webhooks; 0 means 26. Up to 23 a status
	// tells of the conversation, later of the price alone.
	Version int `json:"version"`
}

// SetStatuses changes how the statuses of later messages come.
func (s *Sandbox) SetStatuses(w Statuses) {
	for _, d := range []struct {
		at    *int64
		usual int64
	}{{&w.SentMS, 20}, {&w.DeliveredMS, 60}, {&w.ReadMS, 150}, {&w.PlayedMS, 250}} {
		if *d.at == 0 {
			*d.at = d.usual
		}
	}
	if w.Version == 0 {
		w.Version = 26
	}
	s.way.Store(&w)
}

func (w *Statuses) check() error {
	if w.Version < 0 || w.Version > 99 {
		return errors.New("version must be that of the Graph API, such as 26")
	}
	const most = int64(time.Hour / time.Millisecond)
	if max(w.SentMS, w.DeliveredMS, w.ReadMS, w.PlayedMS) > most {
		return errors.New("sent_ms, delivered_ms, read_ms and played_ms must be at most an hour")
	}
	return nil
}

// taken is a message that was accepted.
type taken struct {
	id, marker string
	to         address
	kind       string // type of the send call
	voice      bool   // a voice note: it can be played
}

// step is one status of a message, to come.
type step struct {
	state string
	after int64 // milliseconds
}

// steps are the statuses that come. Of a reaction only sent does; to a number
// that somebody left nothing can be delivered.
func (w *Statuses) steps(t *taken, m sandbox.Aftermath) (list []step, code int) {
	code = m.FailCode
	if t.to.gone && code == 0 {
		code = 131026
	}
	sent, failed := step{"sent", w.SentMS}, step{"failed", w.SentMS}
	switch {
	case code != 0 && m.FailAfterSent:
		failed.after = max(w.DeliveredMS, w.SentMS)
		list = []step{sent, failed}
	case code != 0:
		list = []step{failed}
	case t.kind == "reaction":
		list = []step{sent}
	default:
		list = []step{sent, {"delivered", w.DeliveredMS}, {"read", w.ReadMS}}
		if t.voice {
			list = append(list, step{"played", w.PlayedMS})
		}
	}
	return slices.DeleteFunc(list, func(s step) bool { return s.after < 0 }), code
}

// queueStatuses lets the statuses of a taken message come.
func (s *Sandbox) queueStatuses(t taken, m sandbox.Aftermath) {
	if m.NoStatuses {
		return
	}
	way := s.way.Load()
	steps, code := way.steps(&t, m)
	group := make([]sandbox.Callback, 0, len(steps))
	for _, st := range steps {
		// The body is made when it is first tried, so that its timestamp is
		// the time of the status.
		group = append(group, s.parcel("status", time.Duration(st.after)*time.Millisecond, sync.OnceValue(func() []byte {
			return s.statusBody(&t, st.state, code, way.Version)
		})))
	}
	s.queue(group...)
}

// statusBody is one POST: of a group with all participants.
func (s *Sandbox) statusBody(t *taken, state string, code, version int) []byte {
	e := Event{Kind: "status", ID: t.id, Marker: t.marker, Variant: state, Code: code}
	if state == "sent" || state == "delivered" {
		e.Bill = t.bill(version)
	}
	c := s.business().Callback()
	if !t.to.group {
		e.Customer = t.to.customer()
		c.And(e)
	} else {
		e.Kind, e.Group = "group-status", t.to.input
		s.groupStatuses(c, e)
	}
	body, err := c.Body()
	if err != nil {
		return []byte(`{}`)
	}
	return body
}

// groupStatuses adds the receipts of a group. A participant for whom it fails
// says so instead of delivered, and nothing more.
func (s *Sandbox) groupStatuses(c *Callback, e Event) {
	fine, failed := e, e
	for _, p := range s.people.participants(e.Group) {
		if p.FailCode != 0 && e.Variant != "failed" && e.Variant != "sent" {
			failed.Participants = append(failed.Participants, p.Customer)
			failed.Variant, failed.Code = "failed", p.FailCode
			continue
		}
		fine.Participants = append(fine.Participants, p.Customer)
	}
	if len(fine.Participants) > 0 || e.Variant == "sent" {
		c.And(fine)
	}
	if failed.Variant == "failed" && e.Variant == "delivered" {
		failed.Bill = Bill{}
		c.And(failed)
	}
}

func (t *taken) bill(version int) Bill {
	b := Bill{Category: "service"}
	switch {
	case t.to.group:
		b.Category = "group_service"
	case t.kind == "template":
		b.Category = "utility"
	}
	if version <= 23 {
		sum := sha256.Sum256([]byte("conversation:" + t.to.input))
		b.Conversation = hex.EncodeToString(sum[:16])
	}
	return b
}

// customer is the recipient as statuses name it.
func (a address) customer() Customer {
	return Customer{Phone: a.waID, UserID: a.user, HidePhone: a.waID == ""}
}
