package whatsapptest

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// maxUpload is Meta's limit of an upload, that of documents.
const maxUpload = 100 << 20

// mediaRoutes are the paths about files:
//
//	GET  /{version}/{media_id}                  url, mime_type, sha256, file_size, id
//	GET  /whatsapp_business/attachments/?…      the bytes; Bearer, 5 minutes
//	POST /{version}/{phone_number_id}/media     upload
func (s *Sandbox) mediaRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /{version}/{id}/media", s.upload)
	mux.HandleFunc("GET /whatsapp_business/attachments/{$}", s.download)
}

// fileOrNode tells a file's id from those of other nodes.
func (s *Sandbox) fileOrNode(w http.ResponseWriter, r *http.Request) {
	if !s.shelf.has(r.PathValue("id")) {
		s.node(w, r)
		return
	}
	s.resolveMedia(w, r)
}

// knownToken says whether the caller is the account.
func (s *Sandbox) knownToken(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(token), []byte(s.o.AccessToken)) == 1
}

func (s *Sandbox) resolveMedia(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !s.knownToken(r) {
		writeError(w, 190, http.StatusUnauthorized, "Invalid OAuth access token - Cannot parse access token")
		return
	}
	fault := s.shelf.fault("resolve", id)
	if !s.spoil(w, r, &fault) {
		return
	}
	f := s.shelf.find(id, s.o.Now())
	number := r.URL.Query().Get("phone_number_id")
	if f == nil || number != "" && number != s.o.PhoneNumberID {
		gone := missing(id)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(gone.Status)
		_, _ = w.Write(gone.Body)
		return
	}
	sum := sha256.Sum256(f.body)
	at := s.mediaURL("http://"+r.Host, id)
	if fault.Address != "" {
		at = fault.Address
	}
	sandbox.WriteJSON(w, http.StatusOK, map[string]any{"messaging_product": "whatsapp", "url": at, "mime_type": f.mime,
		"sha256": hex.EncodeToString(sum[:]), "file_size": len(f.body), "id": id})
}

// download gives the bytes. As in life, a dead URL is a 404 without words.
func (s *Sandbox) download(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	id, ext := q.Get("mid"), q.Get("ext")
	if !s.knownToken(r) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fault := s.shelf.fault("download", id)
	if !s.spoil(w, r, &fault) {
		return
	}
	f := s.shelf.find(id, s.o.Now())
	until, err := strconv.ParseInt(ext, 10, 64)
	if f == nil || err != nil || q.Get("hash") != s.urlHash(id, ext) || s.o.Now().After(time.UnixMilli(until)) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	body := f.body
	if fault.Damage && len(body) > 0 {
		body = bytes.Clone(body)
		body[len(body)/2] ^= 1
	}
	w.Header().Set("Content-Type", f.mime)
	switch {
	case fault.Slow, fault.Cut:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		if fault.Slow {
			select {
			case <-r.Context().Done():
			case <-s.closed:
			}
		}
		panic(http.ErrAbortHandler)
	case fault.Longer > 0:
		_, _ = w.Write(body) // in chunks, so nothing is declared
		_ = http.NewResponseController(w).Flush()
		zeros := make([]byte, 32<<10)
		for left := fault.Longer; left > 0; left -= int64(len(zeros)) {
			if _, err := w.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
				return
			}
		}
	default:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}
}

// upload takes a file for sending.
func (s *Sandbox) upload(w http.ResponseWriter, r *http.Request) {
	if code, status, why := s.admit(r); code >= 0 {
		writeError(w, code, status, why)
		return
	}
	fault := s.shelf.fault("upload", "")
	if !s.spoil(w, r, &fault) {
		return
	}
	parts, err := r.MultipartReader()
	if err != nil {
		writeError(w, 100, http.StatusBadRequest, "Invalid parameter")
		return
	}
	form, mime, body := map[string]string{}, "", []byte(nil)
	for {
		p, err := parts.NextPart()
		if err != nil {
			break
		}
		b, err := io.ReadAll(io.LimitReader(p, maxUpload+1))
		if err != nil {
			writeError(w, 100, http.StatusBadRequest, "Invalid parameter")
			return
		}
		if p.FormName() == "file" {
			mime, body = p.Header.Get("Content-Type"), b
			continue
		}
		form[p.FormName()] = string(b)
	}
	switch {
	case form["messaging_product"] != "whatsapp" || form["type"] == "" || len(body) == 0:
		writeError(w, 100, http.StatusBadRequest, "The parameters messaging_product, type and file are required.")
	case mime != form["type"] || len(body) > maxUpload:
		writeError(w, 131053, http.StatusBadRequest, "Media upload error")
	default:
		f := s.shelf.add(mime, body, s.o.Now().Add(whatsapp.UploadLife), true)
		sandbox.WriteJSON(w, http.StatusOK, map[string]string{"id": f.id})
	}
}

// controlMedia adds the paths about files:
//
//	POST   /_sandbox/media         {"mime","text" or "bytes"}   gives Meta a file; answers an Event's media
//	GET    /_sandbox/media                                       counts of calls
//	POST   /_sandbox/media-faults  a MediaFault
//	DELETE /_sandbox/media-faults                                ends all
func (s *Sandbox) controlMedia(c *sandbox.Control) {
	c.Handle("POST media", func(r *http.Request) (any, error) {
		var in struct {
			MIME  string `json:"mime"`
			Text  string `json:"text"`
			Bytes []byte `json:"bytes"`
		}
		if err := sandbox.ReadJSON(r, &in); err != nil {
			return nil, err
		}
		if in.Bytes == nil {
			in.Bytes = []byte(in.Text)
		}
		m := s.AddMedia(in.MIME, in.Bytes)
		m.URL = s.mediaURL("http://"+r.Host, m.ID)
		return m, nil
	})
	c.Handle("GET media", func(*http.Request) (any, error) { return s.MediaCalls(), nil })
	c.Handle("POST media-faults", func(r *http.Request) (any, error) {
		var f MediaFault
		if err := sandbox.ReadJSON(r, &f); err != nil {
			return nil, err
		}
		return json.RawMessage(`{"ok":true}`), s.FailMedia(f)
	})
	c.Handle("DELETE media-faults", func(*http.Request) (any, error) {
		s.ClearMediaFaults()
		return json.RawMessage(`{"ok":true}`), nil
	})
}
