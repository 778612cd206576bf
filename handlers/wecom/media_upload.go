package wecom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// UploadLife is how long the id of an upload lives. Source: WeCom, "temporary
// media" (90389).
const UploadLife = 3 * 24 * time.Hour

// minUpload is the fewest bytes of a file that WeCom takes, maxUploads the most by
// kind. Source: WeCom 90389.
const minUpload = 6

func maxUploads() map[string]int64 {
	return map[string]int64{"image": 10 << 20, "voice": 2 << 20, "video": 10 << 20, "file": 20 << 20}
}

// Uploads brings files to WeCom for one app. It is safe for concurrent use.
type Uploads struct {
	client *Client
	egress *egress.Client
	key    string // of a group's webhook, in place of an access token
}

// NewUploads makes it. It shares the app's access token with c; e makes the calls,
// whose bodies are larger than those of c, and is not closed by it.
func NewUploads(c *Client, e *egress.Client) *Uploads { return &Uploads{client: c, egress: e} }

// Keeps is how long an id may be used: an hour less than it lives.
func (u *Uploads) Keeps() time.Duration { return UploadLife - time.Hour }

// Upload brings a file of size bytes to WeCom and returns its media id. mimeType is
// its type with the parameters kind (image, voice, video or file) and name, which
// the member sees of a file. Repeating it sends nothing to anybody; it only leaves
// another copy there for three days. A token that WeCom refuses is given up, and
// the next Upload fetches one: the file is being read, so it is not sent again
// here. Errors are *gateway.MediaError or the context's; a final one means that
// WeCom will never take the file.
func (u *Uploads) Upload(ctx context.Context, file io.Reader, size int64, mimeType string) (mediaID string, err error) {
	typ, params, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return "", &gateway.MediaError{Reason: gateway.MediaRefused, Final: true, Code: "bad_type"}
	}
	kind := params[paramKind]
	most, known := maxUploads()[kind]
	switch {
	case !known:
		return "", &gateway.MediaError{Reason: gateway.MediaRefused, Final: true, Code: "bad_type"}
	case size > most:
		return "", &gateway.MediaError{Reason: gateway.MediaTooLarge, Final: true, Code: "too_large"}
	case size < minUpload:
		return "", &gateway.MediaError{Reason: gateway.MediaRefused, Final: true, Code: "too_small"}
	}
	head, tail, contentType, err := uploadForm(typ, uploadName(params[paramName], kind, typ), size)
	if err != nil {
		return "", &gateway.MediaError{Reason: gateway.MediaRefused, Final: true, Code: "bad_type"}
	}
	token := ""
	if u.key == "" {
		if token, err = u.client.tokens.get(ctx); err != nil {
			return "", noMediaToken(err)
		}
	}
	body := io.MultiReader(bytes.NewReader(head), io.LimitReader(file, size), bytes.NewReader(tail))
	id, again, err := u.post(ctx, kind, token, body, int64(len(head))+size+int64(len(tail)), contentType)
	if again {
		u.client.tokens.drop(token)
	}
	return id, err
}

// post makes one call; again says that WeCom refused the token.
func (u *Uploads) post(ctx context.Context, kind, token string, body io.Reader, length int64, contentType string) (id string, again bool, err error) {
	target := apiURL(u.client.config.APIBase, "media/upload", url.Values{"access_token": {token}, "type": {kind}})
	if u.key != "" {
		target = apiURL(u.client.config.APIBase, "webhook/upload_media", url.Values{"key": {u.key}, "type": {kind}})
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, body)
	if err != nil {
		return "", false, &gateway.MediaError{Account: true, Code: "bad_url"}
	}
	req.ContentLength = length // known beforehand, so that the body is not sent in chunks
	req.Header.Set("Content-Type", contentType)
	resp, err := u.egress.Do(req, time.Time{})
	if err != nil {
		code := egress.WordOther
		var e *egress.Error
		if errors.As(err, &e) {
			code = e.Word
		}
		return "", false, &gateway.MediaError{Code: code}
	}
	var a struct {
		Code *int   `json:"errcode"`
		ID   string `json:"media_id"`
	}
	asked := egress.RetryAfter(resp.Header, u.client.now())
	readable := json.Unmarshal(resp.Body, &a) == nil
	switch {
	case readable && a.Code != nil && *a.Code != 0:
		m, again := u.refused(*a.Code, asked)
		return "", again, m
	case resp.Status == http.StatusRequestEntityTooLarge:
		return "", false, &gateway.MediaError{Reason: gateway.MediaTooLarge, Final: true, Code: "http_413"}
	case resp.Status != http.StatusOK:
		return "", false, &gateway.MediaError{Code: "http_" + strconv.Itoa(resp.Status), After: asked,
			Account: resp.Status == http.StatusTooManyRequests}
	case !readable || a.ID == "" || len(a.ID) > maxMediaID:
		return "", false, &gateway.MediaError{Code: "unreadable"}
	}
	return a.ID, false, nil
}

// maxMediaID bounds an id in bytes; WeCom's have some ninety.
const maxMediaID = 512

// refused sorts an errcode; see Codes.
func (u *Uploads) refused(number int, asked time.Duration) (m *gateway.MediaError, again bool) {
	code, known := u.client.codes[number]
	m = &gateway.MediaError{Code: strconv.Itoa(number), After: max(asked, code.Wait)}
	switch {
	case !known:
		m.Code, m.Reason, m.Final = codeOther, gateway.MediaRefused, true
	case code.Class == ClassToken:
		m.Account, again = true, true
	case code.Class == ClassRate, code.Class.stops():
		m.Account = true
	case code.Class == ClassNotNow, code.Class == ClassPermanent:
		m.Reason, m.Final = gateway.MediaRefused, true
	}
	return m, again
}

// noMediaToken makes the error of a file that cannot be moved for want of a token.
func noMediaToken(err error) error {
	var e *tokenError
	if errors.As(err, &e) {
		return &gateway.MediaError{Account: true, After: e.After, Code: "token_" + e.Code}
	}
	return err
}

// uploadName is what the member sees of a file, and what WeCom tells its type by.
func uploadName(name, kind, typ string) string {
	if name != "" {
		return name
	}
	ending := map[string]string{
		"image/jpeg": ".jpg", "image/jpg": ".jpg", "image/png": ".png", "audio/amr": ".amr", "audio/3gpp": ".amr", "video/mp4": ".mp4",
		"application/pdf": ".pdf", "text/plain": ".txt", "text/csv": ".csv", "application/zip": ".zip",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   ".docx",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         ".xlsx",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
	}
	return kind + ending[typ]
}

// uploadForm is what stands around the file in the form: one part "media" with
// filename, filelength and type. Source: WeCom 90389.
func uploadForm(typ, name string, size int64) (head, tail []byte, contentType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part := textproto.MIMEHeader{}
	// The name as it is: WeCom documents no other way to write it.
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "", "\n", "").Replace(name)
	part.Set("Content-Disposition", fmt.Sprintf(`form-data; name="media"; filename="%s"; filelength=%d`, quoted, size))
	part.Set("Content-Type", typ)
	if _, err := w.CreatePart(part); err != nil {
		return nil, nil, "", err
	}
	head = bytes.Clone(b.Bytes())
	if err := w.Close(); err != nil {
		return nil, nil, "", err
	}
	return head, b.Bytes()[len(head):], w.FormDataContentType(), nil
}
