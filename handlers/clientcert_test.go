package handlers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

// authority signs certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue makes a certificate that a signs; a nil a signs itself.
func (a *authority) issue(t *testing.T, name string, from, until time.Time, change func(*x509.Certificate)) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if change != nil {
		change(c)
	}
	parent, signer := c, key
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return &authority{c, key}
}

func isCA(c *x509.Certificate) {
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
}

func shown(certs ...*authority) *tls.ConnectionState {
	s := &tls.ConnectionState{}
	for _, c := range certs {
		s.PeerCertificates = append(s.PeerCertificates, c.cert)
	}
	return s
}

func TestClientCerts(t *testing.T) {
	t.Parallel()
	const name = "client.webhooks.fbclientcerts.com"
	now := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	from, until := now.Add(-time.Hour), now.Add(time.Hour)
	root := (*authority)(nil).issue(t, "root", from, now.Add(24*time.Hour), isCA)
	other := (*authority)(nil).issue(t, "root", from, now.Add(24*time.Hour), isCA)
	middle := root.issue(t, "middle", from, until, isCA)
	deep := middle.issue(t, "deep", from, until, isCA)
	good := root.issue(t, name, from, until, nil)
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	for _, c := range []struct {
		name string
		conn *tls.ConnectionState
		want string // part of the error; "" for good
	}{
		{"good", shown(good), ""},
		{"good, other case", shown(root.issue(t, strings.ToUpper(name), from, until, nil)), ""},
		{"good, by two between", shown(deep.issue(t, name, from, until, nil), deep, middle), ""},
		{"no TLS", nil, "no client certificate"},
		{"none", shown(), "no client certificate"},
		{"one between is missing", shown(deep.issue(t, name, from, until, nil), deep), "not vouched for"},
		{"other authority of the same name", shown(other.issue(t, name, from, until, nil)), "not vouched for"},
		{"by itself", shown((*authority)(nil).issue(t, name, from, until, nil)), "not vouched for"},
		{"by one that is no authority", shown(good.issue(t, name, from, until, nil), good), "not vouched for"},
		{"ended", shown(root.issue(t, name, from, now.Add(-time.Second), nil)), "not now"},
		{"not begun", shown(root.issue(t, name, now.Add(time.Second), until, nil)), "not now"},
		{"a server's", shown(root.issue(t, name, from, until, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		})), "not vouched for"},
		{"other name", shown(root.issue(t, "evil.test", from, until, nil)), "another name"},
		{"name as DNS name only", shown(root.issue(t, "", from, until, func(c *x509.Certificate) { c.DNSNames = []string{name} })), "another name"},
		{"good one behind a bad one", shown(other.issue(t, name, from, until, nil), good), "not vouched for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			certs := handlers.NewClientCerts(pool, name, func() time.Time { return now })
			for range 2 { // what was found is remembered
				err := certs.Check(c.conn)
				if c.want == "" {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				if !errors.Is(err, gateway.ErrUnverified) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "evil") {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

// A good certificate is believed for a while and never beyond its end, and what
// is remembered is bounded.
func TestClientCertsForget(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	root := (*authority)(nil).issue(t, "root", now.Add(-time.Hour), now.Add(24*time.Hour), isCA)
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	clock := now
	certs := handlers.NewClientCerts(pool, "client", func() time.Time { return clock })
	short := shown(root.issue(t, "client", now.Add(-time.Hour), now.Add(5*time.Minute), nil))
	if err := certs.Check(short); err != nil {
		t.Fatal(err)
	}
	clock = now.Add(5*time.Minute + time.Second)
	if err := certs.Check(short); err == nil {
		t.Error("a certificate is believed beyond its end")
	}
	clock = now
	for i := range 200 {
		if err := certs.Check(shown(root.issue(t, "client", now.Add(-time.Hour), now.Add(time.Duration(i+1)*time.Hour/10), nil))); err != nil {
			t.Fatal(fmt.Errorf("certificate %d: %w", i, err))
		}
	}
}
