package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// benchLoad sends prepared requests over keep-alive connections. It speaks just enough
// HTTP/1.1 itself, since net/http as client would take more of a small machine
// than the server that is measured.
type benchLoad struct {
	addr     string
	conns    int
	requests [][]byte
	// rate makes it an open loop of so many requests per second: each has its
	// time, whatever became of those before. 0 is a closed loop: each connection
	// sends its next request when the last one is answered.
	rate float64
	// limit ends a closed loop; an open one ends by its requests, at the latest
	// after three times that.
	limit time.Duration
	// begun is told when a request's time came; nil for nobody. It is called by
	// many goroutines at once.
	begun func(i int, at time.Time)
}

// loadResult is what came of a load.
type loadResult struct {
	Sent    int64   `json:"sent"`
	OK      int64   `json:"ok"`
	Refused int64   `json:"refused"` // answered with another status than 200
	Failed  int64   `json:"failed"`  // not answered
	Rate    float64 `json:"per_second"`
	Latency latency `json:"latency"`

	took time.Duration
	hist *histogram
}

const (
	loadDialWait   = 10 * time.Second
	loadAnswerWait = 30 * time.Second
	loadBuffer     = 4 << 10
)

// run connects, sends and returns when every connection is done. Errors are of
// connecting; what fails later is counted.
func (l benchLoad) run(ctx context.Context) (loadResult, error) {
	lines := make([]*loadLine, 0, l.conns)
	defer func() {
		for _, c := range lines {
			c.close()
		}
	}()
	for range l.conns {
		c := &loadLine{addr: l.addr, hist: newHistogram()}
		if err := c.dial(ctx); err != nil {
			return loadResult{}, err
		}
		lines = append(lines, c)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for i, c := range lines {
		wg.Go(func() {
			if l.rate > 0 {
				l.open(ctx, c, i, start)
			} else {
				l.closed(ctx, c, &next, start)
			}
		})
	}
	wg.Wait()
	sum := loadResult{took: time.Since(start), hist: newHistogram()}
	for _, c := range lines {
		sum.add(c)
	}
	sum.Rate = float64(sum.OK) / sum.took.Seconds()
	sum.Latency = sum.hist.latency()
	return sum, ctx.Err()
}

func (r *loadResult) add(c *loadLine) {
	r.Sent += c.sent
	r.OK += c.ok
	r.Refused += c.refused
	r.Failed += c.sent - c.ok - c.refused
	r.hist.merge(c.hist)
}

func (l benchLoad) closed(ctx context.Context, c *loadLine, next *atomic.Int64, start time.Time) {
	for ctx.Err() == nil && time.Since(start) < l.limit {
		i := next.Add(1) - 1
		if i >= int64(len(l.requests)) {
			return
		}
		at := time.Now()
		if l.begun != nil {
			l.begun(int(i), at)
		}
		c.call(ctx, l.requests[i], at)
	}
}

// open sends every conns-th request at its time. Latency counts from that time
// when the connection was still busy then, so that a slow answer is not hidden by
// the requests that waited behind it; a timer that fires late is not the server's.
func (l benchLoad) open(ctx context.Context, c *loadLine, first int, start time.Time) {
	every := float64(time.Second) / l.rate
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for i := first; i < len(l.requests); i += l.conns {
		at := start.Add(time.Duration(float64(i) * every))
		if wait := time.Until(at); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			at = time.Now()
		}
		if ctx.Err() != nil || time.Since(start) > 3*l.limit {
			return
		}
		if l.begun != nil {
			l.begun(i, at)
		}
		c.call(ctx, l.requests[i], at)
	}
}

// loadLine is one connection. It belongs to one goroutine.
type loadLine struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
	hist *histogram

	sent, ok, refused int64
}

func (c *loadLine) dial(ctx context.Context) error {
	d := net.Dialer{Timeout: loadDialWait}
	conn, err := d.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return fmt.Errorf("connect to the server that is measured: %w", err)
	}
	c.conn, c.in = conn, bufio.NewReaderSize(conn, loadBuffer)
	return nil
}

func (c *loadLine) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// call sends one request and notes how it went. A connection that broke is made
// anew for the next one.
func (c *loadLine) call(ctx context.Context, request []byte, at time.Time) {
	c.sent++
	if c.conn == nil && c.dial(ctx) != nil {
		return
	}
	status, err := c.roundTrip(request)
	if err != nil {
		c.close()
		return
	}
	c.hist.add(time.Since(at))
	if status == 200 {
		c.ok++
	} else {
		c.refused++
	}
}

var errBadAnswer = errors.New("not an HTTP/1.1 answer with a length") //nolint:gochecknoglobals // a sentinel error is a constant

// roundTrip writes the request and reads the answer, whose body is thrown away.
func (c *loadLine) roundTrip(request []byte) (status int, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, err
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(loadAnswerWait)); err != nil {
		return 0, err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, errBadAnswer
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, errBadAnswer
	}
	length, closing := -1, false
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		switch name, value, _ := bytes.Cut(line, []byte(": ")); string(name) {
		case "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, errBadAnswer
			}
		case "Connection":
			closing = string(value) == "close"
		}
	}
	if length < 0 {
		return 0, errBadAnswer
	}
	if _, err := c.in.Discard(length); err != nil {
		return 0, err
	}
	if closing {
		c.close()
	}
	return status, nil
}
