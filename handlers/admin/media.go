package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// Media is an API that has files: those that customers sent and those to be sent.
// It is optional.
type Media interface {
	// Media lists files of events, newest event first.
	Media(ctx context.Context, q store.MediaQuery) ([]gateway.MediaRow, error)
	// OpenFile returns a stored file; the caller closes it. gateway.ErrNotFound.
	OpenFile(ctx context.Context, file string) (gateway.File, io.ReadSeekCloser, error)
	// PutFile stores a file under its SHA-256; the same bytes twice are one file.
	// It reads body to its end. MaxFile is the most bytes taken.
	PutFile(ctx context.Context, mime string, body io.Reader, by string) (gateway.File, error)
	MaxFile() int64
}

// mediaRoutes are there where API is a Media.
func (r *router) mediaRoutes(m Media, viewer, files, uploads *gin.RouterGroup) {
	viewer.GET("/media", func(c *gin.Context) { r.mediaList(c, m) })
	files.GET("/media/:file", func(c *gin.Context) { r.mediaFile(c, m) })
	files.HEAD("/media/:file", func(c *gin.Context) { r.mediaFile(c, m) })
	uploads.POST("/media", func(c *gin.Context) { r.mediaPut(c, m) })
}

// mediaView is a file without ids and names of the platform.
type mediaView struct {
	N          int64              `json:"n"`
	Event      string             `json:"event"`
	Platform   string             `json:"platform"`
	Account    string             `json:"account"`
	Conv       string             `json:"conv"`
	ReceivedAt time.Time          `json:"received_at"`
	State      gateway.MediaState `json:"state"`
	File       string             `json:"file,omitempty"`
	Size       int64              `json:"size,omitempty"`
	MIME       string             `json:"mime,omitempty"`
	Reason     string             `json:"reason,omitempty"`
	Tries      int                `json:"tries,omitempty"`
	// NextAt is the next try, Until when the platform forgets the file; both of
	// pending ones.
	NextAt  *time.Time `json:"next_at,omitempty"`
	Until   *time.Time `json:"until,omitempty"`
	EndedAt *time.Time `json:"ended_at,omitempty"`
}

func viewMedia(m *gateway.MediaRow) mediaView {
	v := mediaView{N: m.N, Event: m.Event, Platform: m.Platform, Account: m.Account, Conv: m.Conv, ReceivedAt: m.ReceivedAt, State: m.Media.State,
		File: m.Media.File, Size: m.Media.Size, MIME: m.Media.MIME, Reason: m.Media.Reason, Tries: m.Tries}
	if m.Media.State == gateway.MediaPending {
		v.NextAt, v.Until = &m.NextAt, &m.Until
	} else {
		v.EndedAt = &m.EndedAt
	}
	return v
}

func (r *router) mediaList(c *gin.Context, m Media) {
	p := query(c, "event", "account", "state", "before", "limit")
	q := store.MediaQuery{Event: p.text("event"), Account: p.name("account"), Before: p.number("before", 1, 1<<62, 0), Limit: p.limit(),
		State: gateway.MediaState(p.word("state", string(gateway.MediaPending), string(gateway.MediaReady), string(gateway.MediaUnavailable)))}
	if rest, ok := strings.CutPrefix(q.Event, "ev_"); q.Event != "" && (!ok || !validConv(rest)) {
		p.bad("event", `must be an event's id: "ev_" and 26 characters`)
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	rows, err := m.Media(c.Request.Context(), q)
	if err != nil {
		r.fail(c, err)
		return
	}
	out := struct {
		Media []mediaView `json:"media"`
		Next  int64       `json:"next,omitempty"`
	}{Media: make([]mediaView, 0, len(rows))}
	for i := range rows {
		out.Media = append(out.Media, viewMedia(&rows[i]))
	}
	if len(rows) == q.Limit {
		out.Next = rows[len(rows)-1].N
	}
	c.JSON(http.StatusOK, out)
}

// mediaFile gives the bytes. What a customer sent may be a page with a script in
// it: it is to be saved under our name for it, and a browser that shows it all the
// same runs nothing.
func (r *router) mediaFile(c *gin.Context, m Media) {
	p, file := query(c), c.Param("file")
	if !gateway.ValidFile(file) {
		p.bad("file", "must be the name of a file: 64 hexadecimal digits in lower case")
	}
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	f, body, err := m.OpenFile(c.Request.Context(), file)
	if err != nil {
		r.fail(c, err)
		return
	}
	defer func() { _ = body.Close() }()
	h := c.Writer.Header()
	h.Set("Content-Type", f.MIME)
	h.Set("Content-Disposition", "attachment; filename="+file)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("ETag", `"`+file+`"`)
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, body)
}

// mediaPut stores the body. Nothing of it is looked into.
func (r *router) mediaPut(c *gin.Context, m Media) {
	if err := query(c).err(); err != nil {
		r.fail(c, err)
		return
	}
	most := m.MaxFile()
	if c.Request.ContentLength > most {
		tooLarge(c)
		return
	}
	f, err := m.PutFile(c.Request.Context(), c.GetHeader("Content-Type"), http.MaxBytesReader(c.Writer, c.Request.Body, most), by(c))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		tooLarge(c)
		return
	}
	if err != nil {
		r.fail(c, err)
		return
	}
	c.JSON(http.StatusCreated, f)
}

func tooLarge(c *gin.Context) {
	problem(c, http.StatusRequestEntityTooLarge, "the file is larger than media.max_size", nil)
}

// patient lifts the listener's patience with a connection: files are large.
func patient(c *gin.Context) {
	conn := http.NewResponseController(c.Writer)
	// A writer without deadlines, as in tests, has none to lift.
	_ = conn.SetReadDeadline(time.Time{})
	_ = conn.SetWriteDeadline(time.Time{})
}
