package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

const (
	// heartbeat keeps a silent stream open through proxies.
	heartbeat = 15 * time.Second
	// tailPatience is how long a client may take none of what is written for it.
	tailPatience = 10 * time.Second
)

// tail streams what happens as server-sent events: each has the word of what
// happened as its type and a gateway.TailLine as its data. Lines are not kept: who
// comes back with a Last-Event-ID gets a line "missed" first, since what happened in
// between is not told, and goes on from now. The stream ends with the process.
func (r *router) tail(a Tails) gin.HandlerFunc {
	return func(c *gin.Context) {
		p := query(c, "app", "account", "conv", "kind", "text")
		f := gateway.TailFilter{App: p.name("app"), Account: p.name("account"), Conv: p.conv("conv"), Text: p.flag("text")}
		kinds := make([]string, 0, len(gateway.Kinds()))
		for _, k := range gateway.Kinds() {
			kinds = append(kinds, string(k))
		}
		f.Kind = gateway.Kind(p.word("kind", kinds...))
		if err := p.err(); err != nil {
			r.fail(c, err)
			return
		}
		if f.Text && (!r.mayReadBody(c) || !r.audited(c, "tail with text", tailTarget(&f))) {
			return
		}
		reader, err := a.Tail(f)
		if err != nil {
			r.fail(c, err)
			return
		}
		defer reader.Close()
		c.Header("Content-Type", "text/event-stream")
		c.Header("X-Accel-Buffering", "no")
		c.Status(http.StatusOK)
		w := &tailWriter{c: c, conn: http.NewResponseController(c.Writer)}
		w.comment("listening")
		if c.GetHeader("Last-Event-ID") != "" {
			w.line(&gateway.TailLine{At: r.Now().UTC(), What: gateway.TailMissed, Reason: "not kept while nobody listened"})
		}
		w.follow(c.Request.Context(), reader)
	}
}

func tailTarget(f *gateway.TailFilter) string {
	text := "everything"
	for _, part := range [][2]string{{"app", f.App}, {"account", f.Account}, {"conv", f.Conv}, {"kind", string(f.Kind)}} {
		if part[1] != "" {
			text += " " + part[0] + "=" + part[1]
		}
	}
	return text
}

// tailWriter writes events until the client takes no more.
type tailWriter struct {
	c    *gin.Context
	conn *http.ResponseController
	n    int64
	err  error
}

func (w *tailWriter) follow(ctx context.Context, reader TailReader) {
	w.flush()
	for w.err == nil {
		wait, cancel := context.WithTimeout(ctx, heartbeat)
		lines, err := reader.Next(wait)
		cancel()
		switch {
		case err == nil:
			for i := range lines {
				w.line(&lines[i])
			}
			w.flush()
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			w.comment("still here")
		default:
			return
		}
	}
}

func (w *tailWriter) line(l *gateway.TailLine) {
	b, err := json.Marshal(l)
	if err != nil {
		w.err = err
		return
	}
	w.n++
	w.write(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", w.n, l.What, b))
}

func (w *tailWriter) comment(text string) {
	w.write(": " + text + "\n\n")
	w.flush()
}

func (w *tailWriter) write(text string) {
	if w.err != nil {
		return
	}
	_ = w.conn.SetWriteDeadline(time.Now().Add(tailPatience)) // a writer of a test has none
	_, w.err = w.c.Writer.WriteString(text)
}

func (w *tailWriter) flush() {
	if w.err == nil {
		w.err = w.conn.Flush()
	}
}
