package whatsapp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// UploadLife is how long the id of an upload lives. Source: Meta, "Media" of the
// Cloud API (June 2026).
const UploadLife = 30 * 24 * time.Hour

// Upload brings a file of size bytes to Meta and returns its media id. Repeating
// it sends nothing to anybody; it only leaves another copy there for 30 days.
// Errors are *gateway.MediaError; a final one means that Meta will never take it.
func (c *MediaClient) Upload(ctx context.Context, file io.Reader, size int64, mimeType string) (mediaID string, err error) {
	head, tail, contentType, err := uploadForm(mimeType)
	if err != nil {
		return "", &gateway.MediaError{Reason: gateway.MediaRefused, Final: true, Code: "bad_type"}
	}
	target := c.base + url.PathEscape(c.config.PhoneNumberID) + "/media"
	body := io.MultiReader(bytes.NewReader(head), io.LimitReader(file, size), bytes.NewReader(tail))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, body)
	if err != nil {
		return "", &gateway.MediaError{Account: true, Code: "bad_url"}
	}
	// Known beforehand, so that the body is not sent in chunks.
	req.ContentLength = int64(len(head)) + size + int64(len(tail))
	req.Header.Set("Authorization", "Bearer "+c.config.AccessToken)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	resp, err := c.send.Do(req, time.Time{})
	if err != nil {
		code := egress.WordOther
		var e *egress.Error
		if errors.As(err, &e) {
			code = e.Word
		}
		return "", &gateway.MediaError{Code: code}
	}
	return c.uploaded(resp)
}

// uploaded reads the answer to an upload.
func (c *MediaClient) uploaded(resp *egress.Response) (string, error) {
	var a struct {
		ID    string      `json:"id"`
		Error *graphError `json:"error"`
	}
	readable := json.Unmarshal(resp.Body, &a) == nil
	out := &egress.Fetched{Status: resp.Status, Header: resp.Header}
	switch {
	case readable && a.Error != nil && a.Error.Code != nil:
		m := c.refused(out, a.Error)
		if m.Reason != "" {
			m.Reason, m.Final = gateway.MediaRefused, true
		}
		return "", m
	case resp.Status == http.StatusRequestEntityTooLarge:
		return "", &gateway.MediaError{Reason: gateway.MediaTooLarge, Final: true, Code: "http_413"}
	case resp.Status < 200 || resp.Status > 299:
		return "", &gateway.MediaError{Code: "http_" + strconv.Itoa(resp.Status), After: egress.RetryAfter(resp.Header, c.now()),
			Account: resp.Status == http.StatusUnauthorized || resp.Status == http.StatusTooManyRequests}
	case !readable || a.ID == "" || len(a.ID) > maxIDBytes:
		return "", &gateway.MediaError{Code: "unreadable"}
	}
	return a.ID, nil
}

// uploadForm is what stands around the file in the form: messaging_product, type
// and the file part, whose name is ours and says nothing.
func uploadForm(mimeType string) (head, tail []byte, contentType string, err error) {
	if _, _, err := mime.ParseMediaType(mimeType); err != nil {
		return nil, nil, "", err
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range [][2]string{{"messaging_product", "whatsapp"}, {"type", mimeType}} {
		if err := w.WriteField(f[0], f[1]); err != nil {
			return nil, nil, "", err
		}
	}
	part := textproto.MIMEHeader{}
	part.Set("Content-Disposition", `form-data; name="file"; filename="file"`)
	part.Set("Content-Type", mimeType)
	if _, err := w.CreatePart(part); err != nil {
		return nil, nil, "", err
	}
	head = bytes.Clone(b.Bytes())
	if err := w.Close(); err != nil {
		return nil, nil, "", err
	}
	return head, b.Bytes()[len(head):], w.FormDataContentType(), nil
}
