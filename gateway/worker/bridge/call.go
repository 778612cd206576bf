package bridge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

const (
	dialTimeout = 5 * time.Second
	tlsTimeout  = 5 * time.Second
	// idleTimeout is below the patience of common servers (gunicorn 2 s, node and
	// uvicorn 5 s), so that we close first: a request on a connection that the other
	// side closes at that moment is a failed try.
	idleTimeout = time.Second
	// maxResponse bounds a response in bytes, header and body each on its own.
	maxResponse       = 1 << 20
	maxResponseHeader = 64 << 10
)

// transport is the way to one endpoint. It is used without http.Client, so that no
// redirect is followed and no cookie kept; HTTP/1 only.
func transport(o *Options) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:        o.TLS,
		TLSHandshakeTimeout:    tlsTimeout,
		Protocols:              &protocols,
		MaxIdleConnsPerHost:    o.Concurrency,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true, // a small body could become a large one
		MaxResponseHeaderBytes: maxResponseHeader,
	}
}

// call makes one try. The error is ctx's, when that ended before there was anything
// to say of the endpoint.
func (b *Bridge) call(ctx context.Context, ev *gateway.Event, info worker.Delivery) (result, error) {
	limited, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	var connected atomic.Bool
	req, err := b.request(httptrace.WithClientTrace(limited, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}), ev, info)
	if err != nil { // the configuration was checked, so this is a fault of ours
		return failedTry(Failed, "the request cannot be made"), nil
	}
	b.o.Boundary("bridge.calling")
	resp, err := b.roundTrip(req)
	if err == nil {
		b.o.Boundary("bridge.called")
		return judge(info.ID, resp, b.o.Now()), nil
	}
	switch {
	case errors.Is(err, errTooLarge):
		return failedTry(Unreadable, "the endpoint's answer is larger than %d bytes", maxResponse), nil
	case ctx.Err() != nil:
		return result{}, ctx.Err()
	case !connected.Load():
		return result{word: Unreachable, fault: away, why: reason(err), err: worker.Handback(awayFor)}, nil
	case limited.Err() != nil:
		// It may still be at it, so it gets the same time again, or the
		// application's own delay when that is longer.
		late := fmt.Errorf("the endpoint did not answer within %s", b.o.Timeout)
		return result{word: Timeout, fault: fails, why: late.Error(), err: worker.Retry(late, max(b.o.Timeout, b.o.App.Delay(info.Try)))}, nil
	}
	return failedTry(Broken, "the connection ended before the endpoint had answered"), nil
}

var errTooLarge = errors.New("response too large") //nolint:gochecknoglobals // a sentinel error is a constant

// response is one that was read to its end.
type response struct {
	code   int
	header http.Header
	body   []byte
}

func (b *Bridge) roundTrip(req *http.Request) (response, error) {
	resp, err := b.transport.RoundTrip(req)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // what counts was read
	if resp.ContentLength > maxResponse {
		return response{}, errTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err == nil && len(body) > maxResponse {
		err = errTooLarge
	}
	return response{resp.StatusCode, resp.Header, body}, err
}

// reason says why an endpoint was not reached, in words of ours: the texts of
// net/http hold the URL.
func reason(err error) string {
	var (
		dns     *net.DNSError
		netErr  net.Error
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		record  tls.RecordHeaderError
		alert   tls.AlertError
	)
	switch {
	case errors.As(err, &dns):
		return "its name does not resolve"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens there"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to it"
	case errors.As(err, &cert), errors.As(err, &unknown), errors.As(err, &name):
		return "its certificate is not trusted"
	case errors.As(err, &record), errors.As(err, &alert):
		return "it does not speak TLS"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return "no connection in time"
	}
	return "no connection"
}

// Reach connects to an endpoint and sends nothing: the port answers, and for https
// the certificate is right. The error is for the operator and shows no URL.
func Reach(ctx context.Context, o Options) error {
	u, err := o.address()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dial := (&net.Dialer{}).DialContext
	if u.Scheme == "https" {
		dial = (&tls.Dialer{Config: o.TLS}).DialContext
	}
	conn, err := dial(ctx, "tcp", u.Host)
	if err != nil {
		return errors.New(reason(err))
	}
	return conn.Close()
}
