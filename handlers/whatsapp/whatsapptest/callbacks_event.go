package whatsapptest

import (
	"strings"
	"time"
)

// Customer is the other side. The zero value of every field but Phone or UserID
// is what most callbacks have.
type Customer struct {
	// Phone is the number in digits, with or without a plus. A BSUID here is
	// taken for UserID, as Meta's own fields do at times.
	Phone string `json:"phone,omitempty"`
	// UserID is the BSUID; empty means the one that BSUID makes of Phone.
	UserID       string `json:"user_id,omitempty"`
	ParentUserID string `json:"parent_user_id,omitempty"`
	Username     string `json:"username,omitempty"`
	Name         string `json:"name,omitempty"`
	// HidePhone leaves the number out of callbacks, as for people with a
	// username whom the business did not speak with for 30 days.
	HidePhone bool `json:"hide_phone,omitempty"`
	// NoUserID leaves the BSUID out, as all callbacks before April 2026 did.
	NoUserID bool `json:"no_user_id,omitempty"`
}

// phone is the number as callbacks write it, empty when hidden.
func (c Customer) phone() string {
	if c.HidePhone || isBSUID(c.Phone) {
		return ""
	}
	return strings.TrimPrefix(c.Phone, "+")
}

func (c Customer) userID() string {
	switch {
	case c.NoUserID:
		return ""
	case c.UserID != "":
		return c.UserID
	case isBSUID(c.Phone), c.Phone == "":
		return c.Phone
	}
	return BSUID(strings.TrimPrefix(c.Phone, "+"))
}

// same says that both speak of one person.
func (c Customer) same(d Customer) bool { return c.phone() == d.phone() && c.userID() == d.userID() }

// contact is the customer's entry in value.contacts.
func (c Customer) contact() obj {
	return obj{}.object("profile", obj{}.opt("name", c.Name).opt("username", c.Username)).
		opt("wa_id", c.phone()).opt("user_id", c.userID()).opt("parent_user_id", c.ParentUserID)
}

// sender are the fields by which a message names its sender.
func (c Customer) sender() obj {
	return obj{}.opt("from", c.phone()).opt("from_user_id", c.userID()).opt("from_parent_user_id", c.ParentUserID)
}

// Event is what one item of a callback tells. Only Kind must be set; what a kind
// does not use is ignored, what is left empty is made up.
type Event struct {
	Kind     string   `json:"kind"`
	Customer Customer `json:"customer"`
	// ID is the platform's id of the item: a wamid, of call-… a wacid. For
	// statuses it is the message of ours that they tell of.
	ID string `json:"id,omitempty"`
	// Text is the text, caption, title or description.
	Text string `json:"text,omitempty"`
	// Variant picks one of Kind.Variants; empty means the first one.
	Variant string `json:"variant,omitempty"`
	// At is the platform's time, in whole seconds.
	At time.Time `json:"at,omitzero"`
	// Quote is the message that this one answers; Target the one that a
	// reaction, edit or revoke is about.
	Quote  string `json:"quote,omitempty"`
	Target string `json:"target,omitempty"`
	Emoji  string `json:"emoji,omitempty"`
	// Choice is the id of the button or row.
	Choice string `json:"choice,omitempty"`
	// Code is the error of what failed; Marker what we left on our message.
	Code   int    `json:"code,omitempty"`
	Marker string `json:"marker,omitempty"`
	// Group is a group's id; Participants are those who got a message of ours.
	Group        string     `json:"group,omitempty"`
	Participants []Customer `json:"participants,omitempty"`
	Media        Media      `json:"media"`
	// Moved is what the customer becomes by system-….
	Moved Customer `json:"moved"`
	// Count is how many messages batch, history and app-state-sync hold, over
	// so many Customers (batch). 0 means 1.
	Count     int `json:"count,omitempty"`
	Customers int `json:"customers,omitempty"`
	// Bill adds what Meta says about the price to a status.
	Bill Bill `json:"bill"`
}

// Media is the file of a message. SHA256 is in base64.
type Media struct {
	ID       string `json:"id,omitempty"`
	MIME     string `json:"mime,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	Filename string `json:"filename,omitempty"`
	URL      string `json:"url,omitempty"`
}
