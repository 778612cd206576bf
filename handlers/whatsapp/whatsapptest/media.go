package whatsapptest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// MediaFault is one thing that goes wrong with a file. Source of the healthy
// shapes: Meta, Cloud API "Media".
type MediaFault struct {
	// On is what it hits: "resolve" (GET of the id), "download" or "upload".
	On string `json:"on"`
	// Media is the id it hits; empty means every one.
	Media string `json:"media,omitempty"`
	// Status answers with it; Code with the platform's error of that number.
	Status int `json:"status,omitempty"`
	Code   int `json:"code,omitempty"`
	// Redirect answers 302 to this address.
	Redirect string `json:"redirect,omitempty"`
	// Address is told by resolve instead of the file's own.
	Address string `json:"address,omitempty"`
	// Slow stops in the middle and says nothing more; Cut closes the connection
	// there.
	Slow bool `json:"slow,omitempty"`
	Cut  bool `json:"cut,omitempty"`
	// Damage changes a byte. Longer adds so many bytes that were not declared.
	Damage bool  `json:"damage,omitempty"`
	Longer int64 `json:"longer,omitempty"`
	// DelayMS waits before the answer.
	DelayMS int64 `json:"delay_ms,omitempty"`
	// Next hits so many calls; 0 until ClearMediaFaults.
	Next int `json:"next,omitempty"`
}

// shelf holds the files that Meta has.
type shelf struct {
	mu     sync.Mutex
	files  map[string]*shelved
	faults []*MediaFault
	counts map[string]int // calls by what they hit
	next   int
}

// shelved is one file.
type shelved struct {
	id       string
	mime     string
	body     []byte
	until    time.Time // its id ends
	uploaded bool
}

// has says whether an id is a file's; made-up ones of callbacks are.
func (h *shelf) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.files[id] != nil || id == madeUpMedia
}

// forgot says whether an id was given out here and is not known any more.
func (h *shelf) forgot(id string) bool {
	n, err := strconv.Atoi(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	return err == nil && n > firstMedia && n <= firstMedia+h.next && h.files[id] == nil
}

// firstMedia is below the ids that are given out.
const firstMedia = 880000000000000

// find returns a file whose id lives at now.
func (h *shelf) find(id string, now time.Time) *shelved {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.files[id]; f != nil {
		if now.After(f.until) {
			return nil
		}
		return f
	}
	if id == madeUpMedia { // its hash in callbacks is that of these bytes
		return &shelved{id: id, mime: "application/octet-stream", body: []byte(madeUpMedia), until: now.Add(time.Hour)}
	}
	return nil
}

func (h *shelf) add(mime string, body []byte, until time.Time, uploaded bool) *shelved {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files == nil {
		h.files = map[string]*shelved{}
	}
	h.next++
	f := &shelved{id: strconv.Itoa(firstMedia + h.next), mime: mime, body: body, until: until, uploaded: uploaded}
	h.files[f.id] = f
	return f
}

// fault takes the first fault that hits; it counts the call.
func (h *shelf) fault(on, id string) MediaFault {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.counts == nil {
		h.counts = map[string]int{}
	}
	h.counts[on]++
	for i, f := range h.faults {
		if f.On != on || f.Media != "" && f.Media != id {
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

// AddMedia gives Meta a file as if a customer had sent it, and returns how a
// callback refers to it, to be put into Event.Media. It has no URL; see
// MediaURL. The id lives for 7 days.
func (s *Sandbox) AddMedia(mime string, body []byte) Media {
	f := s.shelf.add(mime, body, s.o.Now().Add(whatsapp.MediaLife), false)
	sum := sha256.Sum256(body)
	return Media{ID: f.id, MIME: mime, SHA256: base64.StdEncoding.EncodeToString(sum[:])}
}

// MediaURL is the address of a file from now on; it works for 5 minutes.
func (s *Sandbox) MediaURL(id string) string { return s.mediaURL(s.URL(), id) }

func (s *Sandbox) mediaURL(base, id string) string {
	ext := strconv.FormatInt(s.o.Now().Add(whatsapp.MediaURLLife).UnixMilli(), 10)
	q := url.Values{"mid": {id}, "ext": {ext}, "hash": {s.urlHash(id, ext)}}
	return base + "/whatsapp_business/attachments/?" + q.Encode()
}

// urlHash makes an address one that was given out.
func (s *Sandbox) urlHash(id, ext string) string {
	sum := sha256.Sum256([]byte(s.origin + id + ext))
	return hex.EncodeToString(sum[:12])
}

// FailMedia puts a fault in force.
func (s *Sandbox) FailMedia(f MediaFault) error {
	switch {
	case f.On != "resolve" && f.On != "download" && f.On != "upload":
		return fmt.Errorf("on must be resolve, download or upload")
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("status must be 200 to 599")
	case f.Next < 0 || f.DelayMS < 0 || f.Longer < 0:
		return fmt.Errorf("next, delay_ms and longer must not be negative")
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

// MediaCalls counts the calls so far: "resolve", "download", "upload".
func (s *Sandbox) MediaCalls() map[string]int {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	out := map[string]int{}
	for k, v := range s.shelf.counts {
		out[k] = v
	}
	return out
}

// Uploaded returns a file that was uploaded, by its id.
func (s *Sandbox) Uploaded(id string) (mime string, body []byte, ok bool) {
	f := s.shelf.find(id, s.o.Now())
	if f == nil || !f.uploaded {
		return "", nil, false
	}
	return f.mime, f.body, true
}

// ForgetMedia lets a file be gone, as Meta does with uploads after 30 days.
func (s *Sandbox) ForgetMedia(id string) {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	delete(s.shelf.files, id)
}

// spoil does what a fault does before the healthy answer; false when it is the
// whole answer.
func (s *Sandbox) spoil(w http.ResponseWriter, r *http.Request, f *MediaFault) bool {
	if f.DelayMS > 0 {
		t := time.NewTimer(time.Duration(f.DelayMS) * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return false
		case <-s.closed:
			return false
		}
	}
	switch {
	case f.Redirect != "":
		w.Header().Set("Location", f.Redirect)
		w.WriteHeader(http.StatusFound)
	case f.Code != 0:
		status, words := usual(f.Code)
		if f.Status != 0 {
			status = f.Status
		}
		writeError(w, f.Code, status, words)
	case f.Status != 0:
		w.WriteHeader(f.Status)
		_, _ = fmt.Fprint(w, "<html>fault of the sandbox</html>")
	default:
		return true
	}
	return false
}
