package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// The words of an Error, a closed set, safe as metric label.
const (
	WordRefused     = "refused"     // nobody listens
	WordUnreachable = "unreachable" // no route
	WordDNS         = "dns"         // the name did not resolve
	WordTLS         = "tls"         // handshake or certificate
	WordProxy       = "proxy"       // the proxy refused
	WordTimeout     = "timeout"     // no connection or no answer in time
	WordReset       = "reset"       // the connection ended before a whole answer
	WordVoid        = "void"        // voidAfter passed
	WordCanceled    = "canceled"    // the caller's context ended
	WordTooLarge    = "too_large"   // the answer is longer than MaxBody
	WordProtocol    = "protocol"    // what came is not HTTP
	WordOther       = "other"
)

// Error is the only error of Do. Its text is made of method, host and word;
// it wraps nothing but the context errors, since the texts of net/http hold
// whole URLs (case: WeCom's access_token in the query).
type Error struct {
	// Written is false only when certainly no byte of the request left.
	Written bool
	// Word is one of the Word constants.
	Word string

	method, host string
	cause        error // a context error, or nil
}

func (e *Error) Error() string {
	sent := "not sent"
	if e.Written {
		sent = "may have been sent"
	}
	return "egress: " + e.method + " " + e.host + ": " + e.Word + " (" + sent + ")"
}

// Unwrap returns context.Canceled or context.DeadlineExceeded, or nil.
func (e *Error) Unwrap() error { return e.cause }

// contextError keeps what callers may compare with errors.Is.
func contextError(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	}
	return nil
}

// wordOf sorts an error of the transport.
func wordOf(err error) string {
	var (
		dns     *net.DNSError
		netErr  net.Error
		op      *net.OpError
		cert    *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.Is(err, errVoid):
		return WordVoid
	case errors.Is(err, context.Canceled):
		return WordCanceled
	case errors.As(err, &dns):
		return WordDNS
	case errors.As(err, &op) && (op.Op == "proxyconnect" || op.Op == "socks connect"):
		return WordProxy
	case errors.Is(err, errProxy):
		return WordProxy
	case errors.Is(err, syscall.ECONNREFUSED):
		return WordRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return WordUnreachable
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return WordTimeout
	case errors.As(err, &cert), errors.As(err, &record), errors.As(err, &alert),
		errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		return WordTLS
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, errStale):
		return WordReset
	}
	return wordOfText(err.Error())
}

// wordOfText sorts the errors that net/http and crypto/tls make without a type.
func wordOfText(text string) string {
	switch {
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "malformed MIME"):
		return WordProtocol
	case strings.Contains(text, "server closed idle connection"), strings.Contains(text, "connection broken"):
		return WordReset
	case strings.Contains(text, "handshake timeout"):
		return WordTimeout
	case strings.Contains(text, "tls:"), strings.Contains(text, "x509:"), strings.Contains(text, "HTTP response to HTTPS client"):
		return WordTLS
	}
	return WordOther
}
