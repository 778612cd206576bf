package tail_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/tail"
)

func listen(t *testing.T, h *tail.Hub, f gateway.TailFilter) *tail.Reader {
	t.Helper()
	r, err := h.Listen(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func next(t *testing.T, r *tail.Reader) []gateway.TailLine {
	t.Helper()
	lines, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Each reader gets what it selects, in order, and text only when it asked.
func TestReadersSelect(t *testing.T) {
	h := tail.New()
	if h.Listening() {
		t.Error("somebody listens before anybody does")
	}
	h.Tell(gateway.TailLine{Event: "before"})
	readers := map[string]*tail.Reader{
		"all":  listen(t, h, gateway.TailFilter{}),
		"text": listen(t, h, gateway.TailFilter{App: "bot", Text: true}),
		"kind": listen(t, h, gateway.TailFilter{Kind: gateway.KindStatus, Account: "shop", Conv: "c"}),
	}
	h.Tell(gateway.TailLine{Event: "1", Apps: []string{"faq", "bot"}, Text: "hello"}, gateway.TailLine{Event: "2", Kind: gateway.KindStatus, Account: "shop", Conv: "c"})
	h.Tell(gateway.TailLine{Event: "3", Kind: gateway.KindStatus, Account: "other", Conv: "c"})
	for name, want := range map[string]string{"all": "[1: 2: 3:]", "text": "[1:hello]", "kind": "[2:]"} {
		var got []string
		for _, l := range next(t, readers[name]) {
			got = append(got, l.Event+":"+l.Text)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s got %v, want %s", name, got, want)
		}
		readers[name].Close()
		readers[name].Close()
	}
	if h.Listening() {
		t.Error("somebody listens after all have gone")
	}
}

// A reader that is too slow holds up nobody, and is told how much it missed.
func TestSlowReader(t *testing.T) {
	h := tail.New()
	slow, quick := listen(t, h, gateway.TailFilter{}), listen(t, h, gateway.TailFilter{})
	const told = 3000
	got := 0
	for i := range told {
		h.Tell(gateway.TailLine{Seq: int64(i)})
		got += len(next(t, quick))
	}
	if got != told {
		t.Errorf("the quick reader got %d of %d lines", got, told)
	}
	lines := next(t, slow)
	kept := len(lines) - 1
	if diff := cmp.Diff(gateway.TailLine{What: gateway.TailMissed, Missed: int64(told - kept)}, lines[kept]); diff != "" || kept < 1000 {
		t.Errorf("kept %d, then (-want +got):\n%s", kept, diff)
	}
	h.Tell(gateway.TailLine{Seq: told})
	if lines := next(t, slow); len(lines) != 1 || lines[0].Seq != told {
		t.Errorf("afterwards: %+v", lines)
	}
}

// The end of the process lets go of readers that wait, and of those to come.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := tail.New()
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- h.Run(ctx) }()
		ended := make(chan error, 1)
		r := listen(t, h, gateway.TailFilter{})
		go func() {
			_, err := r.Next(t.Context())
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("a reader ended with %v", err)
		}
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
		if _, err := h.Listen(gateway.TailFilter{}); !errors.Is(err, gateway.ErrUnavailable) {
			t.Errorf("a reader after the end: %v", err)
		}
		r.Close()
	})
	h := tail.New()
	r := listen(t, h, gateway.TailFilter{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a reader whose context ended: %v", err)
	}
}
