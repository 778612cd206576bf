package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
)

// certificate is the one that the webhooks' listener shows. Certificates are
// renewed by writing the files anew: they are looked at with a handshake, at most
// once in certLook, and read when one of them changed. Connections that are open
// stay. Files that cannot be read or do not belong together, as while one is written
// and the other is not yet, change nothing: the one in use stays, the log says so
// once, and doctor until they do.
type certificate struct {
	certFile, keyFile string
	now               func() time.Time
	log               *zap.Logger

	mu      sync.Mutex
	inUse   *tls.Certificate
	read    [2]stamp // of the files when they were read last
	looked  time.Time
	problem string // of the files that are there now; "" for none
}

// stamp is what is seen of a file without reading it.
type stamp struct {
	size int64
	at   time.Time
}

const certLook = time.Second

// newCertificate reads the files for the first time.
func newCertificate(certFile, keyFile string, now func() time.Time, log *zap.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, now: now, log: log, looked: now()}
	c.read = c.stamps()
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	c.inUse = &cert
	return c, err
}

func (c *certificate) stamps() (out [2]stamp) {
	for i, path := range []string{c.certFile, c.keyFile} {
		if st, err := os.Stat(path); err == nil {
			out[i] = stamp{st.Size(), st.ModTime()}
		}
	}
	return out
}

// get is for tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= certLook || now.Before(c.looked) {
		c.looked = now
		c.look()
	}
	return c.inUse, nil
}

// look reads the files when one of them changed. The stamps are taken before, so
// that what is written meanwhile is read the next time.
func (c *certificate) look() {
	stamps := c.stamps()
	if stamps == c.read {
		return
	}
	c.read = stamps
	cert, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		c.problem = err.Error()
		c.log.Warn("tls.kept", zap.String("why", "the new files of tls.cert and tls.key cannot be used"), zap.Error(err))
		return
	}
	c.inUse, c.problem = &cert, ""
	c.log.Info("tls.renewed", zap.Time("until", cert.Leaf.NotAfter))
}

// state is the certificate in use and what is wrong with the files, as of now.
func (c *certificate) state() (leaf *x509.Certificate, problem string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.inUse.Leaf, c.problem
}
