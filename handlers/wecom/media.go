package wecom

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// MediaLife is how long the media id of a message can be resolved. Sources: WeCom
// 90239 (messages), 90254 (media/get).
const MediaLife = UploadLife

// MediaHosts are where WeCom's media lie. media/get answers with the bytes; no
// redirect of it is documented.
func MediaHosts() []string { return []string{"qyapi.weixin.qq.com"} }

// IsMedia says whether a 200 of media/get is the file. Errors come under 200 as
// well, as JSON; a file is documented to come as an attachment with its name, and
// may be JSON or a web page itself. Source: WeCom 90254.
func IsMedia(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Disposition")) // known also when the name cannot be read
	typ, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	major, _, _ := strings.Cut(typ, "/")
	return kind == "attachment" || major == "image" || major == "audio" || major == "video"
}

// MediaClient gets the files of messages to one account: a media id resolves for
// every app of the corp, so the token may be that of any (90254). It is safe for
// concurrent use; the media stage calls it.
//
// Only the id is used. PicUrl is the address of a picture on hosts that nobody
// documents, and what is not fetched by id is not fetched.
type MediaClient struct {
	client *Client
	fetch  *egress.Fetcher
}

// Media makes a client for files that shares the access token with c. fetch knows
// the route (MediaHosts) and what a file is (IsMedia), and is not closed by it.
func (c *Client) Media(fetch *egress.Fetcher) *MediaClient {
	return &MediaClient{client: c, fetch: fetch}
}

// Fetch writes the bytes of a file into w, at most limit of them. A token that
// WeCom refuses is replaced once. After an error w may have got a part. Errors are
// *gateway.MediaError, or what w said.
func (m *MediaClient) Fetch(ctx context.Context, row *gateway.MediaRow, limit int64, w io.Writer) (gateway.MediaFetched, error) {
	told := gateway.MediaFetched{MIME: row.Media.MIME}
	if id := row.Media.ID; id == "" || len(id) > maxMediaID {
		return told, &gateway.MediaError{Reason: gateway.MediaGone, Final: true, Code: "no_id"}
	}
	for n := 0; ; n++ {
		token, err := m.client.tokens.get(ctx)
		if err != nil {
			return told, noMediaToken(err)
		}
		q := url.Values{"access_token": {token}, "media_id": {row.Media.ID}}
		out, err := m.fetch.Get(ctx, apiURL(m.client.config.APIBase, "media/get", q), limit, w)
		if err == nil && out.File {
			told.MIME = typeOfMedia(&row.Media, out.Header)
			told.Filename = nameOfMedia(&row.Media, out.Header)
			return told, nil
		}
		again, err := m.failure(out, err)
		if !again || n > 0 {
			return told, err
		}
		m.client.tokens.drop(token)
	}
}

// failure sorts an answer that is not the file, or no answer; again says that the
// token was refused. What another try may mend has no reason or is not final.
func (m *MediaClient) failure(out *egress.Fetched, err error) (again bool, failure error) {
	if err != nil {
		return false, egress.Unfetched(err)
	}
	var a struct {
		Code *int `json:"errcode"`
	}
	e := &gateway.MediaError{Code: "http_" + strconv.Itoa(out.Status), After: egress.RetryAfter(out.Header, m.client.now())}
	if json.Unmarshal(out.Body, &a) == nil && a.Code != nil && *a.Code != 0 {
		return m.refused(*a.Code, e)
	}
	switch status := out.Status; {
	case status == http.StatusOK: // a page of somebody in between
		e.Code = "unreadable"
	case status == http.StatusTooManyRequests:
		e.Account = true
	case status >= 500, status == http.StatusRequestTimeout:
	default:
		e.Reason = gateway.MediaRefused
	}
	return false, e
}

// refused sorts an errcode; see Codes. An id may be unknown for a moment, so it is
// not final.
func (m *MediaClient) refused(number int, e *gateway.MediaError) (again bool, failure error) {
	code, known := m.client.codes[number]
	e.Code, e.After = strconv.Itoa(number), max(e.After, code.Wait)
	switch {
	case !known:
		e.Code, e.Reason = "other", gateway.MediaRefused
	case e.Code == codeNoMedia:
		e.Reason = gateway.MediaGone
	case code.Class == ClassToken, code.Class == ClassRate, code.Class.stops():
		e.Account = true
	case code.Class == ClassNotNow, code.Class == ClassPermanent:
		e.Reason = gateway.MediaRefused
	}
	return code.Class == ClassToken, e
}

// typeOfMedia is the type of a file: what the answer says, or for a voice message
// that it says nothing of, what the message said.
func typeOfMedia(m *gateway.Media, h http.Header) string {
	typ := h.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(typ)
	switch {
	case m.MIME != "":
		return m.MIME
	case err == nil && kind != "application/octet-stream":
		return typ
	case strings.EqualFold(m.Format, "amr"):
		return "audio/amr"
	}
	return typ
}

// maxFilename bounds the name of a file in bytes.
const maxFilename = 255

// nameOfMedia is what the sender called a file, for showing: no folders, nothing
// that cannot be seen. Of pictures, voice messages and videos WeCom makes a name
// of the media id, which is none.
func nameOfMedia(m *gateway.Media, h http.Header) string {
	_, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	name := params["filename"]
	if err != nil || !utf8.ValidString(name) || strings.Contains(name, m.ID) {
		return ""
	}
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, name)
	for len(name) > maxFilename {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	if name == "." || name == "/" || name == ".." {
		return ""
	}
	return name
}
