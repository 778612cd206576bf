package handlers

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// Large bodies share a budget; a length that is only claimed takes none of it,
// and what was held is given back.
func TestBodyMemory(t *testing.T) {
	b := &bodies{limit: 1 << 20, memory: 1 << 20}
	large := bytes.Repeat([]byte("a"), 1<<20)

	body, held, err := b.read(bytes.NewReader(large), int64(len(large)))
	if err != nil || !bytes.Equal(body, large) {
		t.Fatalf("%d bytes, %v", len(body), err)
	}
	if held != 1<<20-freeBytes || b.held.Load() != held {
		t.Errorf("held %d, all %d", held, b.held.Load())
	}

	_, second, err := b.read(bytes.NewReader(large), -1)
	if !errors.Is(err, errNoMemory) {
		t.Errorf("second large body: %v", err)
	}
	if _, n, err := b.read(bytes.NewReader(large[:freeBytes]), freeBytes); err != nil || n != 0 {
		t.Errorf("a small body beside it: held %d, %v", n, err)
	}
	_, claimed, err := b.read(iotest.ErrReader(io.ErrUnexpectedEOF), 1<<20)
	if !errors.Is(err, io.ErrUnexpectedEOF) || claimed != 0 {
		t.Errorf("a claimed length: held %d, %v", claimed, err)
	}

	b.release(held)
	b.release(second)
	if b.held.Load() != 0 {
		t.Errorf("%d bytes never given back", b.held.Load())
	}
	if _, _, err := b.read(iotest.OneByteReader(bytes.NewReader(large)), -1); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
