package wecomtest

import (
	"crypto/md5" //nolint:gosec // WeCom asks for it as a checksum
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// GroupOptions of a Group. Key must be set.
type GroupOptions struct {
	Key string
	// Desk is that of a sandbox whose log of calls and faults it shares. Nil means
	// one of its own.
	Desk *sandbox.Desk
	Now  func() time.Time
	Log  *zap.Logger
}

// Group is a sandbox of the webhook of one group: messages are checked as WeCom
// documents it, the 21st in a minute is refused (45009), and files are taken for
// voices and documents. Every other errcode (93004, 93008) comes by a fault. Source:
// WeCom 91770.
type Group struct {
	*sandbox.Server
	o      GroupOptions
	desk   *sandbox.Desk
	shared *sandbox.Courier // of the shared control paths; it carries nothing
	shelf  *shelf
	closed chan struct{}
	ids    int

	mu   sync.Mutex
	went []time.Time // messages taken in the last minute
	gone bool        // the robot was removed
}

// NewGroup makes a sandbox of a group's webhook.
func NewGroup(o GroupOptions) (*Group, error) {
	if o.Key == "" {
		return nil, errors.New("wecomtest: Key must be set")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	g := &Group{o: o, closed: make(chan struct{}), shelf: &shelf{until: map[string]time.Time{}}}
	if g.desk = o.Desk; g.desk == nil {
		g.desk = &sandbox.Desk{Calls: sandbox.NewCallLog(0), Faults: &sandbox.Faults{}, Now: o.Now, Closed: g.closed}
	}
	g.shared = sandbox.NewCourier(sandbox.CourierOptions{Retry: func(int) (time.Duration, bool) { return 0, false }, Log: o.Log})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /cgi-bin/webhook/send", g.send)
	mux.HandleFunc("POST /cgi-bin/webhook/upload_media", g.upload)
	mux.Handle(sandbox.ControlPrefix, sandbox.NewControl(g.desk, g.shared))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeAnswer(w, refuse(40066, 0)) })
	g.Server = sandbox.NewServer(mux, o.Log)
	return g, nil
}

// Calls is the log of messages, oldest first.
func (g *Group) Calls() []sandbox.Call { return g.desk.Calls.Calls() }

// Faults are the faults in force.
func (g *Group) Faults() *sandbox.Faults { return g.desk.Faults }

// Files are all files that were uploaded, oldest first.
func (g *Group) Files() []File {
	g.shelf.mu.Lock()
	defer g.shelf.mu.Unlock()
	return append([]File(nil), g.shelf.files...)
}

// ForgetFiles lets all media ids end now.
func (g *Group) ForgetFiles() {
	g.shelf.mu.Lock()
	defer g.shelf.mu.Unlock()
	clear(g.shelf.until)
}

// Remove takes the robot out of the group: its key is not valid any more.
func (g *Group) Remove() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
}

// Close ends the sandbox.
func (g *Group) Close() error {
	close(g.closed)
	g.shared.Close()
	return g.Server.Close()
}

func (g *Group) knows(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.gone && subtle.ConstantTimeCompare([]byte(key), []byte(g.o.Key)) == 1
}

// groupBody is the body of webhook/send.
type groupBody struct {
	Type     string `json:"msgtype"`
	Text     struct{ Content string }
	Markdown struct{ Content string }
	Image    struct{ Base64, MD5 string }
	Voice    struct {
		ID string `json:"media_id"`
	}
	File struct {
		ID string `json:"media_id"`
	}
	News struct {
		Articles []struct{ Title, URL string }
	}
	Card json.RawMessage `json:"template_card"`
}

func (g *Group) send(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	if err != nil {
		return
	}
	var b groupBody
	readable := json.Unmarshal(raw, &b) == nil
	key := r.URL.Query().Get("key")
	text := b.Text.Content + b.Markdown.Content
	if len(b.News.Articles) > 0 {
		text = b.News.Articles[0].Title
	}
	g.desk.Take(w, r, sandbox.OpSend, sandbox.Call{Type: b.Type, Text: text}, func() sandbox.Answer {
		switch {
		case !g.knows(key):
			return refuse(93000, 0)
		case !readable:
			return refuse(47001, 0)
		case !g.room():
			return refuse(45009, 0)
		}
		if code := g.check(&b); code != 0 {
			return refuse(code, 0)
		}
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok"})
		a.Accepted = true
		return a
	}, refuse)
}

// room counts a message, and says whether the minute has room for it.
func (g *Group) room() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.o.Now()
	for len(g.went) > 0 && now.Sub(g.went[0]) >= time.Minute {
		g.went = g.went[1:]
	}
	if len(g.went) >= 20 {
		return false
	}
	g.went = append(g.went, now)
	return true
}

// check says what is wrong with a message; 0 for nothing. Which code a wrong checksum
// has is not documented; here 40058.
func (g *Group) check(b *groupBody) int {
	switch b.Type {
	case "text", "markdown":
		text, most := b.Text.Content, wecom.MaxRobotTextBytes
		if b.Type == "markdown" {
			text, most = b.Markdown.Content, wecom.MaxRobotMarkdownBytes
		}
		switch {
		case text == "":
			return 44004
		case len(text) > most:
			return 45002
		}
	case "image":
		picture, err := base64.StdEncoding.DecodeString(b.Image.Base64)
		sum := md5.Sum(picture) //nolint:gosec // see the import
		switch {
		case err != nil, hex.EncodeToString(sum[:]) != b.Image.MD5:
			return 40058
		case len(picture) > wecom.MaxRobotImageBytes:
			return 40009
		}
	case "voice":
		return g.shelf.has(b.Voice.ID, "voice", g.o.Now())
	case "file":
		return g.shelf.has(b.File.ID, "file", g.o.Now())
	case "news":
		if n := len(b.News.Articles); n == 0 || n > 8 {
			return 45008
		}
	case "template_card":
		var card struct {
			Type string `json:"card_type"`
		}
		if json.Unmarshal(b.Card, &card) != nil || card.Type != "text_notice" && card.Type != "news_notice" {
			return 40058
		}
	default:
		return 40008
	}
	return 0
}

func (g *Group) upload(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f, code := readUpload(r, q.Get("type"))
	g.desk.Take(w, r, sandbox.OpMedia, sandbox.Call{Type: "upload"}, func() sandbox.Answer {
		switch {
		case !g.knows(q.Get("key")):
			return refuse(93000, 0)
		case f.Kind != "file" && f.Kind != "voice":
			return refuse(40004, 0)
		case code != 0:
			return refuse(code, 0)
		}
		g.mu.Lock()
		g.ids++
		f.ID = "group-media-" + strconv.Itoa(g.ids)
		g.mu.Unlock()
		g.shelf.put(f, g.o.Now())
		a := answer(map[string]any{"errcode": 0, "errmsg": "ok", "type": f.Kind, "media_id": f.ID, "created_at": "1"})
		a.Accepted = true
		return a
	}, refuse)
}
