package egress

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// ErrForbidden is an address that may not be called: not https, not a host of
// the platform, or a host that leads into our own networks.
var ErrForbidden = errors.New("address may not be called") //nolint:gochecknoglobals // a sentinel error is a constant

// Route says which addresses may be called that somebody else has named: a URL
// in a callback, an answer or a redirect.
type Route struct {
	// Hosts may be called by https on its own port: a name, or "*.name" for
	// everything below it. Lower case.
	Hosts []string
	// Base is an address that the operator has written into the configuration
	// (api_base). Its scheme, host and port may be called as they stand,
	// whatever they are; nil for none.
	Base *url.URL
}

// maxURL is longer than any URL of a platform's media, which carry a hash.
const maxURL = 4096

// Target reads an address and returns it in its plain form, or ErrForbidden. Two
// readers of one URL may see two hosts in it (user info, backslashes, odd dots,
// numbers for addresses); what is not plain is refused rather than understood.
func (r Route) Target(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, ErrForbidden
	}
	for _, c := range []byte(raw) {
		if c <= ' ' || c >= 0x7f || c == '\\' {
			return nil, ErrForbidden
		}
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.User != nil || u.Host == "" {
		return nil, ErrForbidden
	}
	host := strings.ToLower(u.Host)
	if !r.isBase(u.Scheme, host) && (u.Scheme != "https" || !r.allows(strings.TrimSuffix(host, ":443"))) {
		return nil, ErrForbidden
	}
	return &url.URL{Scheme: u.Scheme, Host: host, Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}, nil
}

// isBase says whether this is the operator's own address.
func (r Route) isBase(scheme, host string) bool {
	return r.Base != nil && scheme == r.Base.Scheme && host == strings.ToLower(r.Base.Host)
}

// allows says whether a host is one of the platform's. Only what a name of the
// platform can be made of is looked at: no port, no dot at the end, no number.
func (r Route) allows(host string) bool {
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	if top := labels[len(labels)-1]; len(labels) < 2 || strings.Trim(top, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	for _, h := range r.Hosts {
		if below, ok := strings.CutPrefix(h, "*"); host == h || ok && strings.HasSuffix(host, below) && len(host) > len(below) {
			return true
		}
	}
	return false
}

// Public says whether an address belongs to somebody on the internet: not to
// this machine, its networks, a test net, or a way around (v4 in v6).
func Public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if v4, ok := translated(a); ok {
		return Public(v4)
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false // loopback, link-local, multicast and unspecified among them
	}
	for _, p := range special() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// translated is the v4 address inside one of the well-known NAT64 prefix, by
// which networks without v4 reach the v4 internet (RFC 6052).
func translated(a netip.Addr) (netip.Addr, bool) {
	if !netip.MustParsePrefix("64:ff9b::/96").Contains(a) {
		return netip.Addr{}, false
	}
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:])), true
}

// special are the blocks of IANA's registries that are not globally reachable,
// as far as net/netip does not know them, and those that wrap a v4 address.
// Source: IANA, IPv4 and IPv6 Special-Purpose Address Registries.
func special() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}
