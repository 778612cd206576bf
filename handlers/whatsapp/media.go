package whatsapp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// MediaLife is how long the media id of a callback can be resolved; the URL of a
// callback or of an answer works for MediaURLLife. Source: Meta, "Media" of the
// Cloud API (June 2026).
const (
	MediaLife    = 7 * 24 * time.Hour
	MediaURLLife = 5 * time.Minute
)

// MediaHosts are where Meta's media lie. Documented are graph.facebook.com (an id
// is resolved there) and lookaside.fbsbx.com (the URL that it answers with);
// others of *.fbsbx.com and *.fbcdn.net are what implementers have seen redirects
// lead to. Sources: Meta, "Media" (June 2026); public issue threads (2025, 2026).
func MediaHosts() []string { return []string{"graph.facebook.com", "*.fbsbx.com", "*.fbcdn.net"} }

// MediaTokenHosts are the documented hosts that get our token.
func MediaTokenHosts() []string { return []string{"graph.facebook.com", "lookaside.fbsbx.com"} }

// MediaClient gets and gives files for one phone number. It is safe for
// concurrent use; the media stage calls it.
type MediaClient struct {
	config ClientConfig
	base   string
	fetch  *egress.Fetcher
	send   *egress.Client
	now    func() time.Time
	codes  codeTable
}

// NewMediaClient makes a client. The fetcher knows the route and the token, the
// egress client makes uploads; neither is closed by it.
func NewMediaClient(c ClientConfig, fetch *egress.Fetcher, send *egress.Client, now func() time.Time) *MediaClient {
	if c.Version == "" {
		c.Version = DefaultVersion
	}
	return &MediaClient{config: c, base: strings.TrimRight(c.APIBase, "/") + "/" + c.Version + "/", fetch: fetch, send: send, now: now, codes: newCodeTable()}
}

// Fetch writes the bytes of a file into w, at most limit of them: by the URL that
// came with the callback while it is fresh, else by the id. A callback that Meta
// tried again for hours brings a URL that is long dead, so a URL that does not
// work is no failure while there is an id. After an error w may have got a part.
// Errors are *gateway.MediaError, or what w said.
func (c *MediaClient) Fetch(ctx context.Context, row *gateway.MediaRow, limit int64, w io.Writer) (gateway.MediaFetched, error) {
	m := &row.Media
	told := gateway.MediaFetched{MIME: m.MIME, SHA256: hashOfMedia(m.SHA256)}
	if m.URL != "" && (m.ID == "" || row.Tries == 0) && c.now().Sub(row.ReceivedAt) < MediaURLLife-10*time.Second {
		out, err := c.fetch.Get(ctx, m.URL, limit, w)
		switch {
		case err == nil && out.Status == http.StatusOK:
			return told, nil
		case m.ID == "":
			return told, c.failure(out, err)
		case err != nil && errors.Is(err, egress.ErrForbidden):
			// The id's own answer is asked, which names an address of its own.
		case err != nil:
			return told, c.failure(out, err)
		}
	}
	if m.ID == "" {
		return told, &gateway.MediaError{Reason: gateway.MediaExpired, Final: true, Code: "url_expired"}
	}
	place, err := c.resolve(ctx, m.ID)
	if err != nil {
		return told, err
	}
	if told.MIME == "" {
		told.MIME = place.MIME
	}
	if told.SHA256 == nil {
		told.SHA256 = hashOfMedia(place.SHA256)
	}
	if told.Size = place.size(); told.Size > limit {
		return told, &gateway.MediaError{Reason: gateway.MediaTooLarge, Final: true, Code: "declared"}
	}
	out, err := c.fetch.Get(ctx, place.URL, limit, w)
	if err == nil && out.Status == http.StatusOK {
		return told, nil
	}
	return told, c.failure(out, err)
}

// idLetters are what a media id may be made of; Meta's are digits.
const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// place is the answer to GET /{media_id}. The size comes as a number or a text.
type place struct {
	URL    string          `json:"url"`
	MIME   string          `json:"mime_type"`
	SHA256 string          `json:"sha256"`
	Bytes  json.RawMessage `json:"file_size"`
	Error  *graphError     `json:"error"`
}

func (p *place) size() int64 {
	n, err := strconv.ParseInt(strings.Trim(string(p.Bytes), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// resolve asks where the file of an id is now.
func (c *MediaClient) resolve(ctx context.Context, id string) (*place, error) {
	if len(id) > maxIDBytes || strings.Trim(id, idLetters) != "" {
		return nil, &gateway.MediaError{Reason: gateway.MediaGone, Final: true, Code: "no_id"} // it would lead elsewhere
	}
	var b bytes.Buffer
	out, err := c.fetch.Get(ctx, c.base+url.PathEscape(id)+"?phone_number_id="+url.QueryEscape(c.config.PhoneNumberID), 64<<10, &b)
	if err != nil {
		return nil, c.failure(nil, err)
	}
	body := b.Bytes()
	if out.Status != http.StatusOK {
		body = out.Body
	}
	var p place
	readable := json.Unmarshal(body, &p) == nil
	switch {
	case readable && p.Error != nil && p.Error.Code != nil:
		return nil, c.refused(out, p.Error)
	case out.Status != http.StatusOK:
		return nil, c.failure(out, nil)
	case !readable || p.URL == "":
		return nil, &gateway.MediaError{Code: "unreadable"}
	}
	return &p, nil
}

// refused sorts an error that Graph wrote. 100 with subcode 33 is an id that does
// not exist, or not for this number and token.
func (c *MediaClient) refused(out *egress.Fetched, e *graphError) *gateway.MediaError {
	number := *e.Code
	m := &gateway.MediaError{Code: strconv.Itoa(number), After: egress.RetryAfter(out.Header, c.now())}
	if number == 100 {
		m.Reason = gateway.MediaGone
		return m
	}
	code, known := c.codes.find(number)
	switch {
	case known && (code.Class == ClassThrottle || code.Class == ClassCredential || code.Class == ClassPolicy || code.Class == ClassMaintenance):
		m.Account, m.After = true, max(m.After, usageWait(out.Header), code.Wait)
	case known && code.Class == ClassPermanent, number == 131053: // of an upload: its type or size
		m.Reason = gateway.MediaRefused
	case known, e.Transient, faulty(out.Status): // it passes
	default:
		m.Reason, m.Code = gateway.MediaRefused, "other"
	}
	return m
}

// failure sorts an answer that is not the file, or no answer. What another try
// may mend has no reason or is not final.
func (c *MediaClient) failure(out *egress.Fetched, err error) error {
	if err != nil {
		return egress.Unfetched(err)
	}
	m := &gateway.MediaError{Code: "http_" + strconv.Itoa(out.Status), After: egress.RetryAfter(out.Header, c.now())}
	switch {
	case out.Status == http.StatusUnauthorized, out.Status == http.StatusTooManyRequests:
		m.Account = true
	case out.Status == http.StatusNotFound, out.Status == http.StatusGone:
		m.Reason = gateway.MediaGone
	case faulty(out.Status), out.Status < 300:
	default:
		m.Reason = gateway.MediaRefused
	}
	return m
}

// hashOfMedia reads a SHA-256, which callbacks write in base64 and GET /{media_id}
// in hex; nil for what is neither.
func hashOfMedia(s string) []byte {
	if b, err := hex.DecodeString(s); err == nil && len(b) == 32 {
		return b
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(s); err == nil && len(b) == 32 {
			return b
		}
	}
	return nil
}
