package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// ControlPrefix is the path below which a sandbox is controlled.
const ControlPrefix = "/_sandbox/"

// Control is the endpoint for other processes: faults, calls, callbacks.
//
//	POST   /_sandbox/faults             a Fault; answers its name
//	GET    /_sandbox/faults             the faults in force
//	DELETE /_sandbox/faults?name=NAME   ends one; without a name all
//	PUT    /_sandbox/callbacks          a Distortion
//	GET    /_sandbox/callbacks          the Distortion and what was delivered
//	GET    /_sandbox/calls?to=&limit=   the last calls, oldest first
//	DELETE /_sandbox/calls              forgets calls that have ended
//	GET    /_sandbox/summary            a Summary
//
// A platform adds its own paths. It answers loopback addresses under a
// loopback host name only, so that no page in a browser can reach it.
type Control struct {
	mux *http.ServeMux
}

// NewControl makes the endpoint.
func NewControl(d *Desk, courier *Courier) *Control {
	c := &Control{mux: http.NewServeMux()}
	c.Handle("POST faults", func(r *http.Request) (any, error) {
		var f Fault
		if err := ReadJSON(r, &f); err != nil {
			return nil, err
		}
		name, err := d.Faults.Add(f)
		return map[string]string{"name": name}, err
	})
	c.Handle("GET faults", func(*http.Request) (any, error) { return d.Faults.List(), nil })
	c.Handle("DELETE faults", func(r *http.Request) (any, error) {
		if !d.Faults.Remove(r.URL.Query().Get("name")) {
			return nil, errors.New("no fault of this name")
		}
		return d.Faults.List(), nil
	})
	c.Handle("PUT callbacks", func(r *http.Request) (any, error) {
		var way Distortion
		if err := ReadJSON(r, &way); err != nil {
			return nil, err
		}
		if way.Copies < 0 || way.Copies > 1000 || way.DelayMS < 0 || way.JitterMS < 0 {
			return nil, errors.New("copies must be 0 to 1000, delay_ms and jitter_ms not negative")
		}
		courier.Distort(way)
		return way, nil
	})
	c.Handle("GET callbacks", func(*http.Request) (any, error) {
		return map[string]any{"distortion": courier.Distortion(), "delivered": courier.Count()}, nil
	})
	c.Handle("GET calls", func(r *http.Request) (any, error) { return selectCalls(d.Calls.Calls(), r) })
	c.Handle("DELETE calls", func(*http.Request) (any, error) {
		d.Calls.Reset()
		return d.Calls.Summary(), nil
	})
	c.Handle("GET summary", func(*http.Request) (any, error) { return d.Calls.Summary(), nil })
	return c
}

// selectCalls picks by recipient and takes the last ones.
func selectCalls(all []Call, r *http.Request) ([]Call, error) {
	limit := 1000
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, errors.New("limit must be a number above 0")
		}
		limit = n
	}
	to, out := r.URL.Query().Get("to"), []Call{}
	for _, c := range all {
		if to == "" || c.To == to {
			out = append(out, c)
		}
	}
	return out[max(0, len(out)-limit):], nil
}

// Handle adds a path, given as "METHOD name". An error of do is answered 400.
func (c *Control) Handle(pattern string, do func(*http.Request) (any, error)) {
	method, name, _ := bytes.Cut([]byte(pattern), []byte(" "))
	c.mux.HandleFunc(string(method)+" "+ControlPrefix+string(name), func(w http.ResponseWriter, r *http.Request) {
		v, err := do(r)
		status := http.StatusOK
		if err != nil {
			status, v = http.StatusBadRequest, map[string]string{"error": err.Error()}
		}
		WriteJSON(w, status, v)
	})
}

// ServeHTTP answers loopback callers.
func (c *Control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !loopback(r.RemoteAddr) || (!loopback(r.Host) && hostOf(r.Host) != "localhost") {
		WriteJSON(w, http.StatusForbidden, map[string]string{"error": "loopback only"})
		return
	}
	c.mux.ServeHTTP(w, r)
}

func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return strings.Trim(addr, "[]")
}

func loopback(addr string) bool {
	ip := net.ParseIP(hostOf(addr))
	return ip != nil && ip.IsLoopback()
}

// ReadJSON reads a body of at most 1 MiB into v; unknown fields are errors.
func ReadJSON(r *http.Request, v any) error {
	dec := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// WriteJSON answers with v.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the caller may be gone
}
