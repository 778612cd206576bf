package handlers

import (
	"net/http"

	"go.uber.org/zap"
)

// NewServer returns the public listener's server: a connection that sends its
// header or body too slowly, or nothing, is closed within about 15 s, so that a
// few hundred slow clients cost memory for that long only. The caller serves
// and shuts it down; Shutdown waits for callbacks being archived. What net/http
// itself reports goes to log at debug level, since every scanner causes some.
func NewServer(addr string, handler http.Handler, limits Limits, log *zap.Logger) (*http.Server, error) {
	errorLog, err := zap.NewStdLogAt(log.Named("http"), zap.DebugLevel)
	if err != nil {
		return nil, err
	}
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
		ErrorLog:       errorLog,
	}, nil
}
