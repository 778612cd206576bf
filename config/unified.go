package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/causewayhq/causeway/handlers/unified"
)

// Verification says what proves a callback of an endpoint of platform unified. All
// that stands here must hold; at least one must stand here.
type Verification struct {
	// Token is a secret that the vendor sends in a header.
	Token *HeaderToken `yaml:"token,omitempty"`
	// HMAC is a signature over the raw body in a header.
	HMAC *HeaderHMAC `yaml:"hmac,omitempty"`
	// Addresses are those that callbacks come from, or networks. Behind a proxy
	// name it in trusted_proxies, or every callback comes from the proxy's.
	Addresses []string `yaml:"addresses,omitempty" validate:"dive,ip|cidr"`
}

// HeaderToken is a secret in a header. The previous one stays valid beside the
// current one until it is removed.
type HeaderToken struct {
	Header string `yaml:"header" validate:"required,headername"`
	// Prefix stands before the secret, such as "Bearer ". [none]
	Prefix         string `yaml:"prefix,omitempty"`
	Secret         Secret `yaml:"secret" validate:"required,min=8"`
	SecretPrevious Secret `yaml:"secret_previous,omitempty" validate:"omitempty,min=8"`
}

// HeaderHMAC is a signature in a header.
type HeaderHMAC struct {
	Header string `yaml:"header" validate:"required,headername"`
	// Prefix stands before the signature, such as "sha256=". [none]
	Prefix string `yaml:"prefix,omitempty"`
	// Algorithm is sha256 or sha1, Encoding hex or base64. [sha256, hex]
	Algorithm      string `yaml:"algorithm,omitempty" validate:"omitempty,oneof=sha256 sha1"`
	Encoding       string `yaml:"encoding,omitempty" validate:"omitempty,oneof=hex base64"`
	Secret         Secret `yaml:"secret" validate:"required,min=8"`
	SecretPrevious Secret `yaml:"secret_previous,omitempty" validate:"omitempty,min=8"`
}

// Header is a header of every call to a vendor.
type Header struct {
	Name  string `yaml:"name" validate:"required,headername"`
	Value Secret `yaml:"value" validate:"required"`
}

// Unified is an endpoint of platform unified in that platform's words.
func (e *Endpoint) Unified() unified.EndpointConfig {
	c := unified.EndpointConfig{Answer: e.Answer}
	if e.Decode != nil {
		c.Decoding = *e.Decode
	}
	if e.Verify == nil {
		return c
	}
	if t := e.Verify.Token; t != nil {
		c.Verification.Token = &unified.TokenProof{Header: t.Header, Prefix: t.Prefix, Secrets: ring(t.Secret, t.SecretPrevious)}
	}
	if h := e.Verify.HMAC; h != nil {
		c.Verification.HMAC = &unified.HMACProof{Header: h.Header, Prefix: h.Prefix, SHA1: h.Algorithm == "sha1",
			Base64: h.Encoding == "base64", Secrets: ring(h.Secret, h.SecretPrevious)}
	}
	for _, a := range e.Verify.Addresses {
		if p, err := netip.ParsePrefix(a); err == nil {
			c.Verification.Addresses = append(c.Verification.Addresses, p.Masked())
		} else if one, err := netip.ParseAddr(a); err == nil { // validated before
			one = one.Unmap()
			c.Verification.Addresses = append(c.Verification.Addresses, netip.PrefixFrom(one, one.BitLen()))
		}
	}
	return c
}

// Unified is an account of platform unified in that platform's words.
func (a *Account) Unified() unified.ClientConfig {
	c := unified.ClientConfig{GUID: a.GUID, APIBase: a.APIBase, Sending: a.Send}
	for _, h := range a.Headers {
		c.Headers = append(c.Headers, unified.Header{Name: h.Name, Value: h.Value.Reveal()})
	}
	return c
}

func ring(current, previous Secret) []string {
	secrets := []string{current.Reveal()}
	if previous != "" {
		secrets = append(secrets, previous.Reveal())
	}
	return secrets
}

// validHeaderName: the letters, digits and signs of a token (RFC 9110, 5.6.2).
func validHeaderName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

// unifiedEndpoint checks what an endpoint of platform unified needs.
func (r *rules) unifiedEndpoint(i int, e *Endpoint) {
	if e.Platform != "unified" {
		return
	}
	at := fmt.Sprintf("endpoints[%d]", i)
	if v := e.Verify; v != nil && v.Token == nil && v.HMAC == nil && len(v.Addresses) == 0 {
		r.wrong(at+".verify", "is empty; name token, hmac or addresses: without one a genuine callback cannot be told from a forged one")
	}
	if e.Decode != nil {
		for _, p := range e.Decode.Problems() {
			r.wrong(at+".decode."+p.Field, "%s", p.Text)
		}
	}
}

// unifiedAccount checks what an account of platform unified needs.
func (r *rules) unifiedAccount(at string, a *Account) {
	if a.Platform != "unified" {
		return
	}
	for i, host := range a.MediaHosts {
		if !unified.ValidMediaHost(a.APIBase, host) {
			r.wrong(fmt.Sprintf("%s.media_hosts[%d]", at, i), `must be a host's name in lower case such as files.vendor.example, "*." and a name for all below it, or the host and port of api_base`)
		}
	}
	if a.MediaHeader != nil && len(a.MediaHosts) == 0 {
		r.wrong(at+".media_header", "goes with calls to media_hosts, and there are none; name them, or leave this out")
	}
	if a.Send == nil {
		if len(a.Headers) > 0 {
			r.wrong(at+".headers", "are for calls, of which send tells; name it, or leave this out")
		}
		return
	}
	if a.APIBase == "" {
		r.wrong(at+".api_base", "is empty; name the address of the vendor's API, such as https://api.vendor.example")
	}
	for _, p := range a.Send.Problems() {
		r.wrong(at+".send."+p.Field, "%s", p.Text)
	}
}
