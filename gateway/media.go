package gateway

import (
	"encoding/json"
	"fmt"
	"time"
)

// The reasons for which the bytes of a file cannot be had; a closed set.
const (
	// MediaGone: the platform knows no such file, or not any more.
	MediaGone = "gone"
	// MediaExpired: its id ended while it could not be fetched.
	MediaExpired = "expired"
	// MediaTooLarge: it has more bytes than the gateway takes.
	MediaTooLarge = "too_large"
	// MediaForbidden: it is said to lie at an address that is not the
	// platform's.
	MediaForbidden = "forbidden_address"
	// MediaDamaged: what came never had the hash or the size that the platform
	// gave.
	MediaDamaged = "damaged"
	// MediaRefused: the platform does not hand it out.
	MediaRefused = "refused"
)

// Fetch says that the file of an item is to be fetched.
type Fetch struct {
	// Low lets it wait for every file that is not: old files of a history sync.
	Low bool
	// Until is when the platform's id ends; nothing is fetched afterwards.
	Until time.Time
}

// Fetch returns what is to be fetched for an item, nil for nothing: the files of
// messages, changes and echoes, not those of a conversation that another
// application has. life is how long a media id of the platform lives, for items
// that do not tell it themselves; 0 for a platform whose files are not fetched.
func (it *Item) Fetch(received time.Time, life time.Duration) *Fetch {
	m := it.Content.Media
	switch {
	case m == nil || m.ID == "" && m.URL == "" || life <= 0 || it.Observed == ObservedStandby:
		return nil
	case it.Kind == KindNotice && it.MediaLife > 0: // a further file of a message
	case it.Kind != KindMessage && it.Kind != KindChange && it.Kind != KindEcho:
		return nil
	}
	if it.MediaLife > 0 {
		life = it.MediaLife
	}
	return &Fetch{Low: it.Observed == ObservedHistory, Until: received.Add(life)}
}

// MediaRow is a file that an event refers to, as the ledger keeps it: one row
// per event.
type MediaRow struct {
	N        int64 // of the event
	Event    string
	Platform string
	Account  string
	Conv     string
	Chat     ChatKind
	// Message is the platform's id of the message, Observed as in the event.
	Message    string
	Observed   Observed
	ReceivedAt time.Time
	// Media is what the event said, with the state of now.
	Media Media
	Fetch
	// Tries is how many fetches failed; NextAt is when the next may begin.
	Tries  int
	NextAt time.Time
	// EndedAt is zero while it is pending.
	EndedAt time.Time
}

// MediaEnd is how fetching a file ended: MediaReady with File, Size, MIME and
// perhaps Filename, or MediaUnavailable with a reason.
type MediaEnd struct {
	N        int64
	At       time.Time
	State    MediaState
	File     string
	Size     int64
	MIME     string
	Filename string
	Reason   string
	// Wanted are the applications that want the notice.
	Wanted []string
}

// File is a file in our store.
type File struct {
	// File is its name: the lower-case hex of the SHA-256 of its bytes.
	File string    `json:"file"`
	Size int64     `json:"size"`
	MIME string    `json:"mime"`
	At   time.Time `json:"at"` // when it was first stored
}

// ValidFile says whether s has the form of a file's name in our store. Such a
// name is safe as a path element.
func ValidFile(s string) bool {
	if len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// MediaError is why a fetch or an upload failed. Its text holds no URL and no id.
type MediaError struct {
	// Reason is one of the reasons above when another try would end the same
	// way, or may: Final tells. Empty for what passes by itself: a timeout, a
	// 5xx, a throttle.
	Reason string
	Final  bool
	// Account says that nothing of the account can be fetched now (its token,
	// a throttle), for After at least; it is no try of this file.
	Account bool
	After   time.Duration
	// Code is a word or the platform's code, for the operator.
	Code string
}

func (e *MediaError) Error() string {
	if e.Reason == "" {
		return "media: " + e.Code
	}
	return "media: " + e.Reason + " (" + e.Code + ")"
}

// MediaNotice makes the event that tells how fetching ended: of kind notice and
// type "media", in the conversation of the event that referred to the file. Its
// id follows from that event, so that it is made once.
func MediaNotice(row *MediaRow, end *MediaEnd) (EventRow, error) {
	m := row.Media
	m.State, m.File, m.Size, m.Reason, m.Event = end.State, end.File, end.Size, end.Reason, row.Event
	m.URL = "" // ended long before anybody reads this
	if end.MIME != "" {
		m.MIME = end.MIME
	}
	if m.Filename == "" {
		m.Filename = end.Filename
	}
	content, err := EncodeContent(&Content{Type: "media", ID: row.Message, Observed: row.Observed, Media: &m})
	if err != nil {
		return EventRow{}, fmt.Errorf("media notice: %w", err)
	}
	id := EventID(row.Platform, &Item{AccountID: row.Account, Kind: KindNotice, Key: "media:" + row.Event + ":" + row.Media.ID})
	return EventRow{ID: id, Platform: row.Platform, Account: row.Account, Conv: row.Conv, Chat: row.Chat,
		Kind: KindNotice, Origin: OriginLive, ReceivedAt: end.At, Content: content}, nil
}

// ReadMedia fills what a row repeats of its event's content.
func (r *MediaRow) ReadMedia(content []byte) error {
	var c struct {
		ID       string   `json:"id"`
		Observed Observed `json:"observed"`
		Media    *Media   `json:"media"`
	}
	if err := json.Unmarshal(content, &c); err != nil {
		return fmt.Errorf("media row: content: %w", err)
	}
	r.Message, r.Observed = c.ID, c.Observed
	if c.Media != nil {
		r.Media = *c.Media
	}
	return nil
}

// MediaFetched is what a platform told of a file whose bytes came.
type MediaFetched struct {
	// MIME is its type as the platform told it; "" for unknown.
	MIME string
	// SHA256 is the hash the bytes must have; nil where none was given.
	SHA256 []byte
	// Size is the number of bytes they must be; 0 where none was given.
	Size int64
	// Filename is what the sender called it, where only the bytes' answer tells; a
	// name to show, never one to open.
	Filename string
}
