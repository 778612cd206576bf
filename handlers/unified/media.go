package unified

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// MediaLife is how long a file is asked for after its callback came. How long an
// address works no vendor says, so this is when to stop and not when it ends: one
// that has ended is answered so, and is unavailable after three tries.
const MediaLife = 24 * time.Hour

// MediaRoute is where the files of an account may lie: on hosts, and at api_base as
// it stands (scheme, host and port) where hosts names its host and port. That is the
// one way to an address in our own networks, and the operator's own word twice.
func MediaRoute(apiBase string, hosts []string) egress.Route {
	r := egress.Route{}
	base, err := url.Parse(apiBase)
	for _, h := range hosts {
		if err == nil && h == base.Host && base.Host != "" {
			r.Base = base
			continue
		}
		r.Hosts = append(r.Hosts, h)
	}
	return r
}

// MediaTokenHosts are the hosts that are told who we are: those that stand there in
// full, since below a "*" others may live.
func MediaTokenHosts(r egress.Route) []string {
	var out []string
	for _, h := range r.Hosts {
		if !strings.HasPrefix(h, "*") {
			out = append(out, h)
		}
	}
	return out
}

// ValidMediaHost says whether an entry of hosts can be one: a name in lower case,
// "*." and a name of at least two parts, or the host and port of apiBase.
func ValidMediaHost(apiBase, host string) bool {
	if r := MediaRoute(apiBase, []string{host}); r.Base != nil {
		return true
	}
	name, below := strings.CutPrefix(host, "*.")
	if below {
		if !strings.Contains(name, ".") {
			return false
		}
		name = "a." + name
	}
	_, err := egress.Route{Hosts: []string{host}}.Target("https://" + name + "/")
	return err == nil
}

// Media gets the files that callbacks of one account name by their address. It is
// safe for concurrent use; the media stage calls it.
type Media struct {
	fetch *egress.Fetcher
	now   func() time.Time
	token bool
}

// NewMedia makes it. fetch knows the route (MediaRoute) and is not closed by it;
// token says that it has a credential, which a vendor may refuse.
func NewMedia(fetch *egress.Fetcher, token bool, now func() time.Time) *Media {
	return &Media{fetch: fetch, now: now, token: token}
}

// Fetch writes the bytes of a file into w, at most limit of them. After an error w
// may have got a part. Errors are *gateway.MediaError, or what w said.
func (m *Media) Fetch(ctx context.Context, row *gateway.MediaRow, limit int64, w io.Writer) (gateway.MediaFetched, error) {
	told := gateway.MediaFetched{MIME: row.Media.MIME}
	if row.Media.URL == "" { // an id alone; no call for it is described
		return told, &gateway.MediaError{Reason: gateway.MediaGone, Final: true, Code: "no_address"}
	}
	head := &beginning{to: w}
	out, err := m.fetch.Get(ctx, row.Media.URL, limit, head)
	if err != nil {
		return told, egress.Unfetched(err)
	}
	if !out.File {
		return told, m.refused(out)
	}
	typ, _, err := mime.ParseMediaType(out.Header.Get("Content-Type"))
	if err != nil || typ == "application/octet-stream" {
		typ, _, _ = mime.ParseMediaType(http.DetectContentType(head.bytes))
	}
	if aPage(typ) && !named(&row.Media) {
		return told, &gateway.MediaError{Reason: gateway.MediaRefused, Code: "page"}
	}
	if told.MIME == "" {
		told.MIME = typ
	}
	return told, nil
}

// refused sorts an answer that is not the file.
func (m *Media) refused(out *egress.Fetched) *gateway.MediaError {
	e := &gateway.MediaError{Code: "http_" + strconv.Itoa(out.Status), After: egress.RetryAfter(out.Header, m.now())}
	switch status := out.Status; {
	case status == http.StatusTooManyRequests, status == http.StatusUnauthorized && m.token:
		e.Account = true
	case status >= 500, status == http.StatusRequestTimeout:
	case status == http.StatusNotFound, status == http.StatusGone:
		e.Reason = gateway.MediaGone
	default:
		e.Reason = gateway.MediaRefused
	}
	return e
}

// aPage says whether a type is that of the words in which a vendor refuses under 200,
// or of the page of somebody in between.
func aPage(typ string) bool { return typ == "application/json" || typ == "text/html" }

// named says whether the callback said that the file is of such a type.
func named(m *gateway.Media) bool {
	typ, _, _ := mime.ParseMediaType(m.MIME)
	name := strings.ToLower(m.Filename)
	return aPage(typ) || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".htm")
}

// beginning passes bytes on and keeps the first ones, which tell the type.
type beginning struct {
	to    io.Writer
	bytes []byte
}

// maxBeginning is how much http.DetectContentType looks at.
const maxBeginning = 512

// Write is for io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	if more := maxBeginning - len(b.bytes); more > 0 {
		b.bytes = append(b.bytes, p[:min(more, len(p))]...)
	}
	return b.to.Write(p)
}
