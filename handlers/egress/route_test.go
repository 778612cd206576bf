package egress_test

import (
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/handlers/egress"
)

func meta() egress.Route {
	return egress.Route{Hosts: []string{"graph.facebook.com", "*.fbsbx.com", "*.fbcdn.net"}}
}

func sandboxed(t testing.TB) egress.Route {
	t.Helper()
	base, err := url.Parse("http://127.0.0.1:9000/api")
	if err != nil {
		t.Fatal(err)
	}
	r := meta()
	r.Base = base
	return r
}

func TestTarget(t *testing.T) {
	for raw, want := range map[string]string{
		"https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1&ext=2&hash=A-b_c": "https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1&ext=2&hash=A-b_c",
		"https://LOOKASIDE.fbsbx.COM/x":       "https://lookaside.fbsbx.com/x",
		"HTTPS://lookaside.fbsbx.com:443/x":   "https://lookaside.fbsbx.com:443/x",
		"https://a.b.fbcdn.net/v/t62.7/%2Fx":  "https://a.b.fbcdn.net/v/t62.7/%2Fx",
		"https://graph.facebook.com/v26.0/1":  "https://graph.facebook.com/v26.0/1",
		"http://127.0.0.1:9000/media/1?x=y":   "http://127.0.0.1:9000/media/1?x=y",
		"https://lookaside.fbsbx.com/x#piece": "https://lookaside.fbsbx.com/x",
	} {
		u, err := sandboxed(t).Target(raw)
		if err != nil || u.String() != want {
			t.Errorf("%s: %v %v", raw, u, err)
		}
	}
}

// The committed seeds are hostile addresses, a line each; none may be called.
func hostile(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			out = append(out, line)
		}
	}
	if len(out) < 60 {
		t.Fatalf("only %d hostile addresses", len(out))
	}
	return out
}

func TestHostileAddresses(t *testing.T) {
	more := []string{"https://lookaside.fbsbx.com\x00.evil.test/", "https://lookaside.fbsbx.com\t/x", " https://lookaside.fbsbx.com/", "https://lookaside.fbsbx.com/\r\nHost: x",
		"https://lookaside.fbsbx.com/" + strings.Repeat("a", 5000)}
	for _, raw := range append(more, hostile(t)...) {
		if u, err := sandboxed(t).Target(raw); err == nil {
			t.Errorf("%q may be called as %s", raw, u)
		}
	}
}

func TestPublic(t *testing.T) {
	for a, want := range map[string]bool{
		"157.240.1.1": true, "8.8.8.8": true, "2a03:2880:f11c:8183:face:b00c:0:25de": true, "64:ff9b::9df0:101": true,
		"127.0.0.1": false, "127.255.255.254": false, "10.0.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false, "192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false, "224.0.0.1": false,
		"240.0.0.1": false, "255.255.255.255": false, "::": false, "::1": false, "fe80::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:8.8.8.8": true, "::7f00:1": false, "64:ff9b::7f00:1": false, "64:ff9b::a00:1": false,
		"64:ff9b:1::808:808": false, "2002:7f00:1::": false, "2002:808:808::1": false, "2001::1": false, "2001:db8::1": false, "fec0::1": false, "fe80::1%eth0": false,
	} {
		if got := egress.Public(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: %v", a, got)
		}
	}
}

// Whatever may be called is https on a host of the platform, with nothing in it
// that another reader of the URL could take for a host, or the sandbox itself.
func FuzzTarget(f *testing.F) {
	for _, raw := range hostile(f) {
		f.Add(raw)
	}
	f.Add("https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=918212833543421&ext=1795900300&hash=ARmadeup")
	f.Add("https://scontent.xx.fbcdn.net:443/v/t62?x=%2e%2e")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := meta().Target(raw)
		if err != nil {
			return
		}
		host := strings.TrimSuffix(u.Host, ":443")
		ours := host == "graph.facebook.com" || strings.HasSuffix(host, ".fbsbx.com") || strings.HasSuffix(host, ".fbcdn.net")
		if u.Scheme != "https" || !ours || u.User != nil || u.Opaque != "" || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
			t.Fatalf("%q may be called as %+v", raw, u)
		}
		// Read once more, as by another program, it is the same place; and the
		// authority ends where ours ends.
		again, err := url.Parse(u.String())
		if err != nil || again.Host != u.Host || !strings.HasPrefix(u.String(), "https://"+u.Host) {
			t.Fatalf("%q becomes %q, read as %v, %v", raw, u, again, err)
		}
		if rest := strings.TrimPrefix(u.String(), "https://"+u.Host); rest != "" && !slices.Contains([]byte("/?"), rest[0]) {
			t.Fatalf("%q becomes %q: the host does not end", raw, u)
		}
	})
}
