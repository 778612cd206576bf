package handlers

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// ClientCerts knows which client certificates prove a platform, beside its
// signature (Meta's mTLS for webhooks, off by default there too). The listener
// only asks for a certificate (tls.RequestClientCert), so that a caller without
// one, or with one of an authority that moved, is refused by an endpoint that
// wants it, where it is counted, logged and kept, and not in a handshake that
// nobody sees. Safe for concurrent use.
//
// Source: Meta, "Create a webhook endpoint": the common name is
// client.webhooks.fbclientcerts.com; the authority was DigiCert's until 31 March
// 2026, since then Meta's own, whose file the page offers.
type ClientCerts struct {
	roots *x509.CertPool
	name  string
	now   func() time.Time

	mu sync.Mutex
	// good are certificates found good, by their hash, and until when that is
	// believed: a platform opens many connections with one certificate.
	good map[[sha256.Size]byte]time.Time
}

// Bounds of what is remembered.
const (
	certsKept   = 64
	certsTrust  = 10 * time.Minute
	certsInHand = 10 // certificates looked at of one caller
)

// NewClientCerts takes certificates of these authorities with this common name.
func NewClientCerts(roots *x509.CertPool, commonName string, now func() time.Time) *ClientCerts {
	return &ClientCerts{roots: roots, name: commonName, now: now, good: map[[sha256.Size]byte]time.Time{}}
}

// Check says whether the caller of a connection showed a certificate that is
// good now; that it holds the key was proved in the handshake. The error wraps
// gateway.ErrUnverified and holds nothing of the certificate.
func (c *ClientCerts) Check(conn *tls.ConnectionState) error {
	if conn == nil || len(conn.PeerCertificates) == 0 {
		return fmt.Errorf("no client certificate: %w", gateway.ErrUnverified)
	}
	leaf, now := conn.PeerCertificates[0], c.now()
	hash := sha256.Sum256(leaf.Raw)
	c.mu.Lock()
	until := c.good[hash]
	c.mu.Unlock()
	if now.Before(until) {
		return nil
	}
	between := x509.NewCertPool()
	for _, cert := range conn.PeerCertificates[1:min(len(conn.PeerCertificates), certsInHand)] {
		between.AddCert(cert)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: c.roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	switch {
	case err != nil:
		// Its own words could repeat names of the certificate.
		return fmt.Errorf("client certificate is not vouched for by tls.client_ca, or not now: %w", gateway.ErrUnverified)
	case !strings.EqualFold(leaf.Subject.CommonName, c.name):
		return fmt.Errorf("client certificate is of another name than tls.client_cn: %w", gateway.ErrUnverified)
	}
	until = now.Add(certsTrust)
	if leaf.NotAfter.Before(until) {
		until = leaf.NotAfter
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.good) >= certsKept {
		clear(c.good)
	}
	c.good[hash] = until
	return nil
}
