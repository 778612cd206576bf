package wecomtest

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strconv"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// MediaFault is one thing that goes wrong with the bytes of a file; what WeCom
// itself may answer comes with Faults of sandbox.OpMedia.
type MediaFault struct {
	// Media is the id it hits; empty means every one.
	Media string `json:"media,omitempty"`
	// Code answers with WeCom's error of that number.
	Code int `json:"code,omitempty"`
	// Redirect answers 302 to this address, with the query of the call.
	Redirect string `json:"redirect,omitempty"`
	// Page answers 200 with a page of HTML, as proxies do.
	Page bool `json:"page,omitempty"`
	// Slow stops in the middle and says nothing more; Cut closes the connection
	// there.
	Slow bool `json:"slow,omitempty"`
	Cut  bool `json:"cut,omitempty"`
	// Longer adds so many bytes that were not declared; less than 0 never ends.
	Longer int64 `json:"longer,omitempty"`
	// Next hits so many calls; 0 until ClearMediaFaults.
	Next int `json:"next,omitempty"`
}

// FailMedia puts a fault in force.
func (s *Sandbox) FailMedia(f MediaFault) error {
	if f.Next < 0 {
		return errors.New("next must not be negative")
	}
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	s.shelf.faults = append(s.shelf.faults, &f)
	return nil
}

// ClearMediaFaults ends them all.
func (s *Sandbox) ClearMediaFaults() {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	s.shelf.faults = nil
}

// MediaCalls is how often media/get was called, refused calls included.
func (s *Sandbox) MediaCalls() int {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return s.shelf.got
}

// take counts a call and returns the first fault that hits it.
func (h *shelf) take(id string) MediaFault {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got++
	for i, f := range h.faults {
		if f.Media != "" && f.Media != id {
			continue
		}
		out := *f
		if f.Next > 0 {
			if f.Next--; f.Next == 0 {
				h.faults = append(h.faults[:i:i], h.faults[i+1:]...)
			}
		}
		return out
	}
	return MediaFault{}
}

// getMedia gives the bytes of a file. Source: WeCom, media/get (90254): an
// attachment with its name, or JSON with an errcode under the same 200.
func (s *Sandbox) getMedia(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	fault := s.shelf.take(q.Get("media_id"))
	switch {
	case fault.Redirect != "":
		w.Header().Set("Location", fault.Redirect+"?"+r.URL.RawQuery)
		w.WriteHeader(http.StatusFound)
		return
	case fault.Page:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>sign in to this network</html>"))
		return
	case fault.Code != 0:
		writeAnswer(w, refuse(fault.Code, 0))
		return
	}
	if f, ok := s.shelf.find(q.Get("media_id"), s.o.Now()); ok && (fault.Slow || fault.Cut || fault.Longer != 0) && s.tokens.check(q.Get("access_token")) == 0 {
		s.spoilt(w, r, &fault, &f)
		return
	}
	s.desk.Take(w, r, sandbox.OpMedia, sandbox.Call{Account: s.account, Type: "get"}, func() sandbox.Answer {
		if bad := s.tokens.check(q.Get("access_token")); bad != 0 {
			return refuse(bad, 0)
		}
		if q.Get("media_id") == "" {
			return refuse(41006, 0)
		}
		f, ok := s.shelf.find(q.Get("media_id"), s.o.Now())
		if !ok {
			return refuse(40007, 0)
		}
		header := f.header()
		header.Set("Content-Length", strconv.Itoa(len(f.Body)))
		return sandbox.Answer{Status: http.StatusOK, Accepted: true, Body: f.Body, Header: header}
	}, refuse)
}

// header is what WeCom says of a file, but for its length.
func (f *File) header() http.Header {
	return http.Header{
		"Content-Type":        {f.MIME},
		"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": f.Name})},
	}
}

// spoilt writes the bytes of a file as a fault wants them.
func (s *Sandbox) spoilt(w http.ResponseWriter, r *http.Request, f *MediaFault, file *File) {
	for name, values := range file.header() {
		w.Header()[name] = values
	}
	body := file.Body
	if f.Longer == 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:len(body)/2]
	}
	_, _ = w.Write(body)                      //nolint:gosec // the file of a test, as an attachment
	_ = http.NewResponseController(w).Flush() // in chunks, so nothing more is declared
	if f.Slow {
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
	if f.Longer == 0 {
		panic(http.ErrAbortHandler)
	}
	zeros := bytes.Repeat([]byte{0}, 32<<10)
	for left := f.Longer; left != 0; {
		n := int64(len(zeros))
		if left > 0 {
			n = min(left, n)
			left -= n
		}
		if _, err := w.Write(zeros[:n]); err != nil {
			return
		}
	}
}
