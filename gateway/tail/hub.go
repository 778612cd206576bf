// Package tail hands what happens to those who watch, while they watch.
//
// Promise: whoever tells is never held up; a reader gets the lines it selects in
// the order they were told. One that is too slow for its buffer misses lines and is
// told how many, in the place where they are missing. Nothing is kept for later:
// who was not listening has missed it.
//
// Owner: cmd, which makes one Hub, runs it, and lets the stages' hooks tell it. While
// nobody listens nothing is made: ask Listening first. Failure: there is none; when
// the process ends readers are let go at once.
package tail

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/causewayhq/causeway/gateway"
)

// Bounds: lines a reader may be behind, and readers at once.
const (
	behindMost  = 1024
	readersMost = 64
)

// Hub is where lines are told and read.
type Hub struct {
	listening atomic.Int32
	mu        sync.Mutex
	readers   map[*Reader]struct{}
	closed    bool
}

// New makes a hub; it takes readers at once.
func New() *Hub { return &Hub{readers: map[*Reader]struct{}{}} }

// Run lets go of all readers when ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	<-ctx.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for r := range h.readers {
		r.end()
	}
	return ctx.Err()
}

// Listening says whether anybody reads.
func (h *Hub) Listening() bool { return h.listening.Load() > 0 }

// Tell hands lines to every reader that selects them. It never blocks.
func (h *Hub) Tell(lines ...gateway.TailLine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.readers {
		r.take(lines)
	}
}

// Listen begins to read; the caller must Close the reader. Errors:
// gateway.ErrUnavailable when the process ends or too many read already.
func (h *Hub) Listen(f gateway.TailFilter) (*Reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.readers) >= readersMost {
		return nil, gateway.ErrUnavailable
	}
	r := &Reader{hub: h, filter: f, signal: make(chan struct{}, 1)}
	h.readers[r] = struct{}{}
	h.listening.Add(1)
	return r, nil
}

// Reader is one who listens. Its methods are for one goroutine.
type Reader struct {
	hub    *Hub
	filter gateway.TailFilter
	signal chan struct{}

	mu     sync.Mutex
	lines  []gateway.TailLine
	missed int64
	ended  bool
}

func (r *Reader) take(lines []gateway.TailLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range lines {
		switch l := lines[i]; {
		case !r.filter.Selects(&l):
			continue
		case len(r.lines) >= behindMost:
			r.missed++
		default:
			if !r.filter.Text {
				l.Text = ""
			}
			r.lines = append(r.lines, l)
		}
	}
	r.wake()
}

func (r *Reader) wake() {
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

func (r *Reader) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.wake()
}

// Next waits for lines and returns all there are. Errors: io.EOF when the process
// ends, that of ctx.
func (r *Reader) Next(ctx context.Context) ([]gateway.TailLine, error) {
	for {
		r.mu.Lock()
		lines, missed, ended := r.lines, r.missed, r.ended
		r.lines, r.missed = nil, 0
		r.mu.Unlock()
		if missed > 0 {
			lines = append(lines, gateway.TailLine{At: lines[len(lines)-1].At, What: gateway.TailMissed, Missed: missed})
		}
		switch {
		case len(lines) > 0:
			return lines, nil
		case ended:
			return nil, io.EOF
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-r.signal:
		}
	}
}

// Close ends the reading.
func (r *Reader) Close() {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	if _, ok := r.hub.readers[r]; ok {
		delete(r.hub.readers, r)
		r.hub.listening.Add(-1)
	}
}
