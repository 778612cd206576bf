package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// issued is a certificate of a test with its key.
type issued struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue makes a certificate; a nil parent signs itself and is an authority.
func issue(t *testing.T, parent *issued, name string, until time.Time, usage x509.ExtKeyUsage) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{usage}}
	signer, by := c, key
	if parent == nil {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	} else {
		signer, by = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, signer, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return &issued{c, key}
}

// write puts certificate and key into files and returns their paths.
func (i *issued) write(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: i.cert.Raw},
		key:  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func (i *issued) pair() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{i.cert.Raw}, PrivateKey: i.key}
}

// secureClient trusts an authority and shows a certificate, or none, whatever
// the server asks for.
func secureClient(t *testing.T, trust *issued, shows *tls.Certificate) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(trust.cert)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if shows == nil {
				return &tls.Certificate{}, nil
			}
			return shows, nil
		}}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// The webhooks' listener speaks TLS; an endpoint with mtls takes only callbacks
// of Meta's certificate and right signature, its neighbour does not mind, and
// what was refused for its certificate is counted, logged, kept, and can be
// readmitted by a person.
func TestMutualTLS(t *testing.T) {
	begin(t)
	dir := t.TempDir()
	hour := time.Now().Add(time.Hour)
	public, platform, stranger := issue(t, nil, "public", hour, 0), issue(t, nil, "platform", hour, 0), issue(t, nil, "platform", hour, 0)
	cert, key := issue(t, public, "localhost", hour, x509.ExtKeyUsageServerAuth).write(t, dir, "server")
	ca, _ := platform.write(t, dir, "ca")
	w := newWorld(t, worldOptions{dir: dir,
		endpoints: fmt.Sprintf("  - {name: strict, platform: whatsapp, app_secret: %q, verify_token: verify-me, mtls: true}\n", testSecret),
		extra:     fmt.Sprintf("tls: {cert: %q, key: %q, client_ca: %q}\n", cert, key, ca)})
	w.start("")
	w.up()
	base := strings.Replace(strings.TrimSuffix(w.url, "/webhooks/whatsapp/meta"), "http://", "https://", 1)
	meta := issue(t, platform, config.MetaClientCN, hour, x509.ExtKeyUsageClientAuth).pair()
	post := func(c *http.Client, endpoint, secret string) int {
		t.Helper()
		_, body := w.wa.CustomerBody(customer(1), "hello")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/webhooks/whatsapp/"+endpoint, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(whatsapp.SignatureHeader, whatsapp.Sign(secret, body))
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.Proto != "HTTP/1.1" {
			t.Errorf("spoke %s", resp.Proto)
		}
		return resp.StatusCode
	}
	for _, c := range []struct {
		name     string
		shows    *tls.Certificate
		endpoint string
		secret   string
		want     int
	}{
		{"Meta's certificate", meta, "strict", testSecret, 200},
		{"and again on another connection", meta, "strict", testSecret, 200},
		{"Meta's certificate, wrong signature", meta, "strict", "wrong", 401},
		{"no certificate", nil, "strict", testSecret, 401},
		{"other authority", issue(t, stranger, config.MetaClientCN, hour, x509.ExtKeyUsageClientAuth).pair(), "strict", testSecret, 401},
		{"other name", issue(t, platform, "client.test", hour, x509.ExtKeyUsageClientAuth).pair(), "strict", testSecret, 401},
		{"ended", issue(t, platform, config.MetaClientCN, time.Now().Add(-time.Hour), x509.ExtKeyUsageClientAuth).pair(), "strict", testSecret, 401},
		{"no certificate at an endpoint without mtls", nil, "meta", testSecret, 200},
		{"a stranger's at an endpoint without mtls", issue(t, stranger, "x", hour, x509.ExtKeyUsageClientAuth).pair(), "meta", testSecret, 200},
	} {
		if got := post(secureClient(t, public, c.shows), c.endpoint, c.secret); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	// Meta's GET is answered by its verify token alone.
	resp, err := secureClient(t, public, nil).Get(base + "/webhooks/whatsapp/strict?hub.mode=subscribe&hub.verify_token=verify-me&hub.challenge=1158201444") //nolint:noctx // a test on loopback
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the verification was answered %d", resp.StatusCode)
	}
	// Somebody who speaks no TLS.
	if status, err := w.wa.Post(t.Context(), []byte(`{}`)); err == nil && status == http.StatusOK {
		t.Error("a callback without TLS was taken")
	}
	if out, _ := w.cli("rejects", "ls", "--token", testToken, "--admin", w.api); strings.Count(out, "client certificate") != 4 {
		t.Errorf("the rejects do not tell of the certificates:\n%s", out)
	}
	if !strings.Contains(w.said(), "no client certificate") {
		t.Error("the refusals are not logged")
	}
	if out, code := w.cli("rejects", "readmit", "--all", "--endpoint", "strict", "--json"); code != exitOK || !strings.Contains(out, `"readmitted": 4`) {
		t.Errorf("readmit: %d %s", code, out)
	}
	if out, _ := w.cli("doctor"); !strings.Contains(out, "the certificate of the webhooks ends at") {
		t.Errorf("doctor does not tell that the certificate ends in an hour:\n%s", out)
	}
}

// Files of tls that are missing, do not belong together, or hold nothing, are the
// operator's to mend, named before anything runs.
func TestTLSFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hour := time.Now().Add(time.Hour)
	root := issue(t, nil, "root", hour, 0)
	cert, key := issue(t, root, "localhost", hour, x509.ExtKeyUsageServerAuth).write(t, dir, "one")
	_, otherKey := issue(t, root, "localhost", hour, x509.ExtKeyUsageServerAuth).write(t, dir, "two")
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tls  config.TLS
		want string
	}{
		"missing":      {config.TLS{Cert: filepath.Join(dir, "none.pem"), Key: key}, "none.pem"},
		"other key":    {config.TLS{Cert: cert, Key: otherKey}, "tls.cert and tls.key"},
		"no authority": {config.TLS{Cert: cert, Key: key, ClientCA: empty}, "holds no certificate"},
		"missing ca":   {config.TLS{Cert: cert, Key: key, ClientCA: filepath.Join(dir, "none-ca.pem")}, "none-ca.pem"},
	} {
		if _, err := loadTLS(&c.tls, time.Now, zap.NewNop()); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "tls.") {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(dir, "causeway.yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\nstore: \"sqlite:%s\"\ntls: {cert: %q, key: %q}\n%s",
		filepath.Join(dir, "data"), cert, otherKey, sampleEndpoint)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve"}, {"config", "check"}} {
		var out bytes.Buffer
		if code := run(t.Context(), stdio{in: strings.NewReader(""), out: &out, err: &out}, append(args, "-c", path)); code != exitUsage || !strings.Contains(out.String(), "tls.cert") {
			t.Errorf("%v: %d %s", args, code, out.String())
		}
	}
}

// shows is a listener with a certificate that came of no file.
func shows(leaf *x509.Certificate) publicTLS {
	return publicTLS{cert: &certificate{inUse: &tls.Certificate{Leaf: leaf}}}
}

// What doctor says of a certificate.
func TestCertificateFindings(t *testing.T) {
	t.Parallel()
	now := time.Now()
	root := issue(t, nil, "root", now.Add(1000*time.Hour), 0)
	for name, c := range map[string]struct {
		p    publicTLS
		want string
	}{
		"no TLS":      {publicTLS{}, ""},
		"fine":        {shows(issue(t, root, "a", now.Add(90*24*time.Hour), 0).cert), ""},
		"ends":        {shows(issue(t, root, "a", now.Add(13*24*time.Hour), 0).cert), "warning: the certificate of the webhooks ends at"},
		"ended":       {shows(issue(t, root, "a", now.Add(-time.Minute), 0).cert), "error: the certificate of the webhooks ended at"},
		"self-signed": {shows(root.cert), "warning: the certificate of the webhooks is self-signed"},
	} {
		var got []string
		c.p.check(now, func(level, what, _, _ string) { got = append(got, level+": "+what) })
		if all := strings.Join(got, "\n"); (c.want == "") != (all == "") || !strings.Contains(all, c.want) || len(got) > 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
