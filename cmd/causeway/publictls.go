package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers"
)

// publicTLS is what the webhooks' listener does with TLS. The zero value is plain
// HTTP, for a proxy in front.
type publicTLS struct {
	config *tls.Config
	cert   *certificate
	// client knows the certificates that endpoints with mtls want.
	client *handlers.ClientCerts
}

// loadTLS reads the files of the configuration. Those of the certificate are read
// again when they change, the authority of client certificates is not.
func loadTLS(cfg *config.TLS, now func() time.Time, log *zap.Logger) (publicTLS, error) {
	if cfg == nil {
		return publicTLS{}, nil
	}
	cert, err := newCertificate(cfg.Cert, cfg.Key, now, log)
	if err != nil {
		return publicTLS{}, fmt.Errorf("tls.cert and tls.key: %w", err)
	}
	p := publicTLS{cert: cert, config: &tls.Config{GetCertificate: cert.get, MinVersion: tls.VersionTLS12}}
	if cfg.ClientCA == "" {
		return p, nil
	}
	pem, err := os.ReadFile(cfg.ClientCA)
	if err != nil {
		return publicTLS{}, fmt.Errorf("tls.client_ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return publicTLS{}, fmt.Errorf("tls.client_ca: %s holds no certificate in PEM", cfg.ClientCA)
	}
	// Asked for and not demanded: other platforms have none, and what an
	// endpoint refuses is seen there.
	p.config.ClientAuth, p.config.ClientCAs = tls.RequestClientCert, roots
	p.client = handlers.NewClientCerts(roots, cfg.ClientCN, now)
	return p, nil
}

// clientCerts is for the front door: those of the endpoints with mtls.
func (a *app) clientCerts() func(platform, name string) *handlers.ClientCerts {
	wanted := map[string]bool{}
	for i := range a.o.Config.Endpoints {
		if e := &a.o.Config.Endpoints[i]; e.MTLS {
			wanted[e.Platform+"/"+e.Name] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return func(platform, name string) *handlers.ClientCerts {
		if !wanted[platform+"/"+name] {
			return nil
		}
		return a.tls.client
	}
}

// certWarning is how long before its end a certificate is worth a warning; those
// of 90 days are renewed 30 days before.
const certWarning = 14 * 24 * time.Hour

// check tells doctor of a certificate that ends, or that platforms do not take.
func (p publicTLS) check(now time.Time, add func(level, what, name, do string)) {
	if p.cert == nil {
		return
	}
	leaf, problem := p.cert.state()
	if problem != "" {
		add("error", "the new files of the webhooks' certificate cannot be used, the one before is shown: "+problem, "tls.cert",
			"let the gateway's user read tls.cert and tls.key; are they PEM, and do they belong together?")
	}
	end := leaf.NotAfter.UTC().Format(time.RFC3339)
	const renew = "renew it: write tls.cert and tls.key anew"
	switch {
	case now.After(leaf.NotAfter):
		add("error", "the certificate of the webhooks ended at "+end+"; platforms refuse it", "tls.cert", renew)
	case now.Before(leaf.NotBefore):
		add("error", "the certificate of the webhooks is not valid yet", "tls.cert", "is the clock of this machine right?")
	case leaf.NotAfter.Sub(now) < certWarning:
		add("warning", "the certificate of the webhooks ends at "+end, "tls.cert", renew)
	}
	if bytes.Equal(leaf.RawIssuer, leaf.RawSubject) {
		add("warning", "the certificate of the webhooks is self-signed; platforms refuse it", "tls.cert", "use one of a public authority")
	}
}
