package storetest

import (
	"errors"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// A source begins when it is first asked for and keeps that time; a page and its
// cursor are stored together or not at all.
func archivePulled(w *world) {
	const source = "wecom/ww1/kf:wk1"
	first, err := w.a.Pulled(w.ctx, source, w.now)
	w.must(err)
	w.same("a new source", first, gateway.Pulled{Source: source, Since: w.now})
	page := w.callback(0)
	w.must(w.a.AppendPulled(w.ctx, first, "c1", page))
	w.same("position of the page", page.Pos, int64(1))
	next := w.append(1)
	w.same("position of what came next", next.Pos, int64(2))

	later := w.callback(2)
	if err := w.a.AppendPulled(w.ctx, first, "c9", later); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("a page from behind a cursor that moved: %v", err)
	}
	if err := w.a.AppendPulled(w.ctx, gateway.Pulled{Source: "nobody"}, "c1", nil); !errors.Is(err, gateway.ErrConflict) {
		w.Errorf("a source that nobody asked for: %v", err)
	}
	now, err := w.a.Pulled(w.ctx, source, w.now.Add(time.Hour))
	w.must(err)
	w.same("the source", now, gateway.Pulled{Source: source, Cursor: "c1", Since: w.now})
	w.must(w.a.AppendPulled(w.ctx, now, "c2", nil))
	now, err = w.a.Pulled(w.ctx, source, w.now.Add(time.Hour))
	w.must(err)
	w.same("a cursor without a page", now.Cursor, "c2")
	got, err := w.a.Read(w.ctx, 0, 100, 1<<20)
	w.must(err)
	w.same("payloads", got, []gateway.Payload{*page, *next})

	bad := w.callback(3)
	bad.RequestLine = "no\nline"
	if w.a.AppendPulled(w.ctx, now, "c3", bad) == nil {
		w.Error("a page that cannot be kept is taken")
	}
	now, err = w.a.Pulled(w.ctx, source, w.now)
	w.must(err)
	w.same("the cursor after a page that was not kept", now.Cursor, "c2")
}
