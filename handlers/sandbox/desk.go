package sandbox

import (
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Answer is what a platform says to a call.
type Answer struct {
	Status   int
	Header   http.Header
	Body     []byte
	Accepted bool
	// MessageID of an accepted message; Code of a refused one.
	MessageID string
	Code      string
	// Taken is called once the message is recorded as accepted, before the
	// answer leaves: a status may overtake the answer, as in life.
	Taken func(Aftermath)
}

// Aftermath is what faults make of a message that was taken.
type Aftermath struct {
	FailCode      int
	FailAfterSent bool
	NoStatuses    bool
}

// Desk takes the send calls of a platform through log and faults.
type Desk struct {
	Calls  *CallLog
	Faults *Faults
	Now    func() time.Time
	// Closed ends waits when the sandbox closes.
	Closed <-chan struct{}
}

// Take handles one call whose body has been read. judge is the platform's own
// decision, asked once and only when no fault came before it; refuse makes the
// platform's error of a number, under status or, for 0, its usual one.
func (d *Desk) Take(w http.ResponseWriter, r *http.Request, op string, call Call,
	judge func() Answer, refuse func(code, status int) Answer,
) {
	call.Start = d.Now()
	record := func(func(*Call)) {}
	if op == OpSend {
		n := d.Calls.Begin(call)
		record = func(change func(*Call)) { d.Calls.Change(n, change) }
	}
	finish := func(status int, code string) {
		record(func(c *Call) {
			c.End = d.Now()
			c.Status = status
			if code != "" {
				c.Code = code
			}
		})
	}

	before := d.Faults.Take(Before, op, &call)
	if !d.wait(r, before) {
		finish(0, "gone")
		return
	}
	if f := last(before); f != nil && f.ends() {
		d.act(w, r, f, refuse, finish)
		return
	}

	ans := judge()
	if !ans.Accepted {
		finish(ans.Status, ans.Code)
		d.write(w, &ans)
		return
	}
	after := d.Faults.Take(After, op, &call)
	record(func(c *Call) { c.Accepted, c.MessageID, c.Code = true, ans.MessageID, ans.Code })
	if ans.Taken != nil {
		var m Aftermath
		for _, f := range after {
			m.NoStatuses = m.NoStatuses || f.NoStatuses
			if f.FailCode != 0 {
				m.FailCode, m.FailAfterSent = f.FailCode, f.FailAfterSent
			}
		}
		ans.Taken(m)
	}
	if !d.wait(r, after) {
		finish(0, "gone")
		return
	}
	if f := last(after); f != nil && f.ends() {
		d.act(w, r, f, refuse, finish)
		return
	}
	finish(ans.Status, "")
	d.write(w, &ans)
}

func last(fs []Fault) *Fault {
	if len(fs) == 0 {
		return nil
	}
	return &fs[len(fs)-1]
}

// wait carries out delays; false when caller or sandbox went away.
func (d *Desk) wait(r *http.Request, fs []Fault) bool {
	var total time.Duration
	for _, f := range fs {
		total += time.Duration(f.DelayMS) * time.Millisecond
		if f.Until != nil && !until(d, r, f.Until) {
			return false
		}
	}
	if total == 0 {
		return true
	}
	t := time.NewTimer(total)
	defer t.Stop()
	return until(d, r, t.C)
}

func until[T any](d *Desk, r *http.Request, end <-chan T) bool {
	select {
	case <-end:
		return true
	case <-r.Context().Done():
	case <-d.Closed:
	}
	return false
}

// act carries out the answer or drop of a fault.
func (d *Desk) act(w http.ResponseWriter, r *http.Request, f *Fault, refuse func(code, status int) Answer, finish func(int, string)) {
	switch f.Drop {
	case DropHang:
		select {
		case <-r.Context().Done():
		case <-d.Closed:
		}
		finish(0, string(DropHang))
		cutOff(w)
		return
	case DropReset:
		finish(0, string(DropReset))
		cutOff(w)
		return
	}
	ans := Answer{Status: f.Status, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<html>fault of the sandbox</html>")}
	if f.Code != 0 || f.Status == 0 {
		ans = refuse(f.Code, f.Status)
	}
	if f.RetryAfterS > 0 {
		if ans.Header == nil {
			ans.Header = http.Header{}
		}
		ans.Header.Set("Retry-After", strconv.Itoa(f.RetryAfterS))
	}
	code := ans.Code
	if code == "" {
		code = "http_" + strconv.Itoa(ans.Status)
	}
	finish(ans.Status, code)
	d.write(w, &ans)
}

func (d *Desk) write(w http.ResponseWriter, a *Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the caller may be gone
}

// cutOff resets the connection without an answer.
func cutOff(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	socket := c
	if t, ok := c.(*tls.Conn); ok {
		socket = t.NetConn()
	}
	if t, ok := socket.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // a reset, not an orderly end
	}
	_ = socket.Close()
}
