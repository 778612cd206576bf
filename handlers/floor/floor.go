package floor

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// File is what the floor writes; *os.File is one.
type File interface {
	io.Writer
	Sync() error
}

// Limits of one group.
const (
	groupBodies = 512
	groupBytes  = 4 << 20
)

// Floor is the handler with its file.
type Floor struct {
	secret []byte
	file   File
	queue  chan *entry
	ended  chan struct{}
}

// entry is a body that waits for its group.
type entry struct {
	body []byte
	done chan error
}

// New makes a floor for callbacks signed with secret. Nothing is written before
// Run.
func New(secret string, file File) *Floor {
	return &Floor{secret: []byte(secret), file: file, queue: make(chan *entry, 4*groupBodies), ended: make(chan struct{})}
}

// Handler takes POST on every path of two elements under /webhooks, as the
// gateway does: 200 on disk, 401 wrong signature, 400 unreadable body.
func (f *Floor) Handler() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.POST("/webhooks/:platform/:endpoint", f.callback)
	return e
}

func (f *Floor) callback(c *gin.Context) {
	body, err := io.ReadAll(c.Request.Body)
	if err != nil {
		c.Status(http.StatusBadRequest)
		return
	}
	if !f.genuine(c.Request.Header.Get("X-Hub-Signature-256"), body) {
		c.Status(http.StatusUnauthorized)
		return
	}
	e := &entry{body: body, done: make(chan error, 1)}
	select {
	case f.queue <- e:
	case <-f.ended:
		c.Status(http.StatusServiceUnavailable)
		return
	}
	select {
	case err = <-e.done:
	case <-f.ended:
		select {
		case err = <-e.done: // both were ready
		default:
			c.Status(http.StatusServiceUnavailable)
			return
		}
	}
	if err != nil {
		c.Status(http.StatusInternalServerError)
		return
	}
	c.Status(http.StatusOK)
}

func (f *Floor) genuine(header string, body []byte) bool {
	text, ok := strings.CutPrefix(header, "sha256=")
	if !ok {
		return false
	}
	got, err := hex.DecodeString(text)
	if err != nil {
		return false
	}
	m := hmac.New(sha256.New, f.secret)
	m.Write(body)
	return hmac.Equal(m.Sum(nil), got)
}

// Run writes groups until ctx ends (nil) or the file fails (its error). It is
// called once.
func (f *Floor) Run(ctx context.Context) error {
	defer close(f.ended)
	group := make([]*entry, 0, groupBodies)
	var buffer []byte
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-f.queue:
			group = f.gather(append(group[:0], e))
		}
		var err error
		if buffer, err = f.write(buffer[:0], group); err != nil {
			return err
		}
		clear(group)
	}
}

// gather adds what waits at this moment.
func (f *Floor) gather(group []*entry) []*entry {
	bytes := len(group[0].body)
	for len(group) < groupBodies && bytes < groupBytes {
		select {
		case e := <-f.queue:
			group = append(group, e)
			bytes += len(e.body)
		default:
			return group
		}
	}
	return group
}

// write appends the group, each body behind its length, syncs and answers.
func (f *Floor) write(buffer []byte, group []*entry) ([]byte, error) {
	for _, e := range group {
		buffer = binary.BigEndian.AppendUint32(buffer, uint32(len(e.body))) //nolint:gosec // a body in memory
		buffer = append(buffer, e.body...)
	}
	_, err := f.file.Write(buffer)
	if err == nil {
		err = f.file.Sync()
	}
	for _, e := range group {
		e.done <- err
	}
	return buffer, err
}
