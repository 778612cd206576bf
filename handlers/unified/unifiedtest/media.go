package unifiedtest

import (
	"crypto/subtle"
	"net/http"
	"sync"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// shelf is the files that the vendor has.
type shelf struct {
	mu    sync.Mutex
	files map[string]file
	asked int
}

type file struct {
	mime string
	body []byte
}

// AddFile puts a file on the vendor's side and returns its address.
func (s *Sandbox) AddFile(mime string, body []byte) (address string) {
	name := s.nextID("file")
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	s.shelf.files[name] = file{mime, body}
	return s.URL() + "/files/" + name
}

// RemoveFile lets an address end.
func (s *Sandbox) RemoveFile(address string) {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	for name := range s.shelf.files {
		if s.URL()+"/files/"+name == address {
			delete(s.shelf.files, name)
		}
	}
}

// FileCalls is how often a file was asked for, refused calls included.
func (s *Sandbox) FileCalls() int {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return s.shelf.asked
}

// handOut gives the bytes of a file to who knows the header, where there is one.
func (s *Sandbox) handOut(w http.ResponseWriter, r *http.Request) {
	s.shelf.mu.Lock()
	s.shelf.asked++
	f, known := s.shelf.files[r.PathValue("file")]
	s.shelf.mu.Unlock()
	h := s.o.MediaHeader
	s.desk.Take(w, r, sandbox.OpMedia, sandbox.Call{Account: s.o.Account.GUID, Type: "get"}, func() sandbox.Answer {
		switch {
		case h.Name != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get(h.Name)), []byte(h.Value)) != 1:
			return s.refuse(http.StatusUnauthorized, http.StatusUnauthorized)
		case !known:
			return s.refuse(http.StatusNotFound, http.StatusNotFound)
		}
		return sandbox.Answer{Status: http.StatusOK, Accepted: true, Body: f.body, Header: http.Header{"Content-Type": {f.mime}}}
	}, s.refuse)
}
