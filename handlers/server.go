package handlers

import (
	"io"
	"log"
	"net/http"
)

// NewServer returns a listener's server: a connection that sends its header or
// body too slowly, or nothing, is closed within about 15 s, so that a few hundred
// slow clients cost memory for that long only. The caller serves and shuts it
// down; Shutdown waits for callbacks being archived. What net/http itself would
// report (a TLS handshake that failed, with the client's address) is dropped,
// since every scanner causes some; set ErrorLog to see it.
func NewServer(addr string, handler http.Handler, limits Limits) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: limits.Header,
		ReadTimeout:       limits.Read,
		// Counted from the end of the header: reading the body, the archive, and
		// a client that does not take its answer.
		WriteTimeout:   limits.Read + limits.AckTimeout + limits.RejectTimeout,
		IdleTimeout:    limits.Idle,
		MaxHeaderBytes: limits.HeaderBytes,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
}
