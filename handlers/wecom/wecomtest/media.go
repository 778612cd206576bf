package wecomtest

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// mediaLife is how long a media id lives. Source: WeCom 90389.
const mediaLife = 3 * 24 * time.Hour

// madeUpMedia is the id of the file of callbacks that name none. It never ends.
const madeUpMedia = "made-up-media-0001"

// File is a file that the platform has.
type File struct {
	ID   string
	Kind string // image, voice, video, file
	Name string
	MIME string
	Body []byte
}

// shelf holds the files.
type shelf struct {
	mu     sync.Mutex
	files  []File
	until  map[string]time.Time
	faults []*MediaFault
	got    int // calls of media/get
}

// has says what is wrong with a media id in a message of its kind; 0 for nothing.
// That an id of one kind is refused in a message of another is not documented, and
// the stricter way here.
func (h *shelf) has(id, kind string, now time.Time) int {
	if id == "" {
		return 41006
	}
	f, ok := h.find(id, now)
	if !ok || f.Kind != kind {
		return 40007
	}
	return 0
}

func (h *shelf) find(id string, now time.Time) (File, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.files {
		if f.ID == id && now.Before(h.until[id]) {
			return f, true
		}
	}
	if id == madeUpMedia { // of callbacks that name no file
		return File{ID: id, Kind: "file", Name: "made-up.txt", MIME: "text/plain", Body: []byte(madeUpMedia)}, true
	}
	return File{}, false
}

func (h *shelf) put(f File, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files = append(h.files, f)
	h.until[f.ID] = now.Add(mediaLife)
}

// AddFile puts a file on the platform's side, as if it had been uploaded, and
// returns its media id.
func (s *Sandbox) AddFile(kind, name, mimeType string, body []byte) (mediaID string) {
	f := File{ID: s.nextID("media"), Kind: kind, Name: name, MIME: mimeType, Body: bytes.Clone(body)}
	s.shelf.put(f, s.o.Now())
	return f.ID
}

// Files are all files that were uploaded or added, oldest first.
func (s *Sandbox) Files() []File {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return append([]File(nil), s.shelf.files...)
}

// ForgetFiles lets all media ids end now.
func (s *Sandbox) ForgetFiles() {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	clear(s.shelf.until)
}

// limits by kind, in bytes. Source: WeCom 90389.
func mediaLimit(kind string) int64 {
	switch kind {
	case "image", "video":
		return 10 << 20
	case "voice":
		return 2 << 20
	case "file":
		return 20 << 20
	}
	return 0
}

// looks says whether bytes are of a format that WeCom takes as this kind.
func looks(kind string, b []byte) bool {
	switch kind {
	case "image":
		t := http.DetectContentType(b)
		return t == "image/jpeg" || t == "image/png"
	case "voice":
		return bytes.HasPrefix(b, []byte("#!AMR"))
	case "video":
		return len(b) > 8 && string(b[4:8]) == "ftyp"
	}
	return true
}

func (s *Sandbox) upload(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f, code := readUpload(r, q.Get("type"))
	s.desk.Take(w, r, sandbox.OpMedia, sandbox.Call{Account: s.account, Type: "upload"}, func() sandbox.Answer {
		if bad := s.tokens.check(q.Get("access_token")); bad != 0 {
			return refuse(bad, 0)
		}
		if code != 0 {
			return refuse(code, 0)
		}
		id, now := s.AddFile(f.Kind, f.Name, f.MIME, f.Body), s.o.Now()
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok", "type": f.Kind, "media_id": id, "created_at": strconv.FormatInt(now.Unix(), 10)})
		a.Accepted = true
		return a
	}, refuse)
}

// readUpload reads the form of an upload; code is what WeCom says to a wrong one.
func readUpload(r *http.Request, kind string) (f File, code int) {
	limit := mediaLimit(kind)
	if limit == 0 {
		return f, 40005
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return f, 41005
	}
	for {
		p, err := parts.NextPart()
		if err != nil {
			return f, 41005
		}
		if p.FormName() != "media" || p.FileName() == "" {
			continue
		}
		body, err := io.ReadAll(io.LimitReader(p, limit+1))
		f = File{Kind: kind, Name: p.FileName(), MIME: p.Header.Get("Content-Type"), Body: body}
		switch {
		case err != nil:
			return f, 41005
		case int64(len(body)) > limit:
			return f, 45001
		case len(body) <= 5:
			return f, 40006
		case !looks(kind, body):
			return f, 40004
		}
		return f, 0
	}
}
