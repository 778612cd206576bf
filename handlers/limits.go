package handlers

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// Limits bound what one callback and one connection may cost.
type Limits struct {
	// Body is the largest callback taken, in bytes. Meta documents up to 3 MB
	// per callback; WeCom's are some kilobytes.
	Body int64
	// BodyMemory bounds the bytes of all bodies being taken at one moment,
	// beyond the first 64 KiB of each; above it a body is answered 503.
	BodyMemory int64
	// AckTimeout is how long the archive may take before the platform is told
	// 503. WeCom hangs up after 5 s.
	AckTimeout time.Duration
	// RejectTimeout bounds the wait for storing a refused callback; RejectsAtOnce
	// how many may wait. Beyond both it is only counted.
	RejectTimeout time.Duration
	RejectsAtOnce int
	// Header, Read and Idle are the server's patience: for the request's header,
	// for the whole request, and between two requests of a connection.
	Header, Read, Idle time.Duration
	// HeaderBytes is the largest header taken; net/http adds 4 KiB of slack and
	// answers 431.
	HeaderBytes int
}

// DefaultLimits are the limits of a configuration that names none.
func DefaultLimits() Limits {
	return Limits{
		Body:          3<<20 + 256<<10,
		BodyMemory:    64 << 20,
		AckTimeout:    3500 * time.Millisecond,
		RejectTimeout: 250 * time.Millisecond,
		RejectsAtOnce: 16,
		Header:        5 * time.Second,
		Read:          10 * time.Second,
		Idle:          60 * time.Second,
		HeaderBytes:   32 << 10,
	}
}

// Errors of bodies.read, besides those of the connection.
var (
	errTooLarge = errors.New("body over the limit")
	errNoMemory = errors.New("too many large bodies at once")
)

// The first buffers: what a body gets without asking the budget. A length that
// is only claimed costs no more than this.
const (
	freeBytes  = 64 << 10
	firstBytes = 8 << 10 // when the length is not known
)

// bodies reads request bodies within the limit and the common budget.
type bodies struct {
	limit  int64
	memory int64
	held   atomic.Int64
}

// read returns the body whole. length is Content-Length, -1 for unknown. held
// must be given to release once the body is not needed any more, also after an
// error.
//
// Bodies are not pooled: the archive may still read one after its answer was
// given up, and one exact allocation is a small part of a request's cost.
func (b *bodies) read(r io.Reader, length int64) (body []byte, held int64, err error) {
	if length > b.limit {
		return nil, 0, errTooLarge
	}
	size := int64(firstBytes)
	if length >= 0 {
		size = min(length, freeBytes)
	}
	body = make([]byte, 0, size)
	for {
		if len(body) == cap(body) {
			if int64(len(body)) == length {
				return body, held, nil
			}
			next := min(2*int64(cap(body)), b.limit+1)
			if length >= 0 {
				next = min(next, length)
			}
			if next > freeBytes {
				more := next - max(int64(cap(body)), freeBytes)
				if b.held.Add(more) > b.memory {
					b.held.Add(-more)
					return nil, held, errNoMemory
				}
				held += more
			}
			body = append(make([]byte, 0, next), body...)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > b.limit:
			return nil, held, errTooLarge
		case err == nil:
		case errors.Is(err, io.EOF) && (length < 0 || int64(len(body)) == length):
			return body, held, nil
		case errors.Is(err, io.EOF):
			return nil, held, io.ErrUnexpectedEOF
		default:
			return nil, held, err
		}
	}
}

func (b *bodies) release(held int64) {
	if held != 0 {
		b.held.Add(-held)
	}
}
