package config

import (
	"net"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// Defaults of an application behind a URL.
const (
	bridgeConcurrency = 16
	bridgeTimeout     = 30 * time.Second
	bridgeAnswerBy    = 5 * time.Minute
)

// completeBridge fills what belongs to an application behind a URL.
func (a *Application) completeBridge() {
	if a.URL == "" {
		return
	}
	if a.ContentType == "" {
		a.ContentType = "application/cloudevents+json"
	}
	if a.Concurrency == 0 {
		a.Concurrency = bridgeConcurrency
	}
	if a.Timeout == 0 {
		a.Timeout = min(bridgeTimeout, a.HandlerMax)
	}
	if a.AnswerBy == 0 {
		a.AnswerBy = min(max(bridgeAnswerBy, a.Timeout), a.HandlerMax)
	}
}

// bridge checks what belongs to an application behind a URL.
func (r *rules) bridge(at string, a *Application) {
	if a.URL == "" {
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"secret", a.Secret != ""}, {"secret_previous", a.SecretPrevious != ""}, {"headers", len(a.Headers) > 0}, {"insecure", a.Insecure},
			{"content_type", a.ContentType != ""},
			{"concurrency", a.Concurrency != 0}, {"timeout", a.Timeout != 0}, {"answer_by", a.AnswerBy != 0},
		} {
			if f.set {
				r.wrong(at+"."+f.name, "is for an application behind a URL; name url, or leave it out")
			}
		}
		return
	}
	if a.Builtin != "" {
		r.wrong(at+".url", "excludes builtin; keep one of the two")
	}
	r.bridgeURL(at+".url", a)
	if _, err := gateway.ParseWebhookKeys(a.Secret.Reveal()); err != nil {
		r.wrong(at+".secret", `%s; this makes one: echo "whsec_$(openssl rand -base64 32)"`, err)
	}
	if _, err := gateway.ParseWebhookKeys(a.SecretPrevious.Reveal()); err != nil && a.SecretPrevious != "" {
		r.wrong(at+".secret_previous", "%s", err)
	}
	if a.Timeout > a.AnswerBy {
		r.wrong(at+".answer_by", "must not be less than timeout")
	}
	if a.AnswerBy > a.HandlerMax {
		r.wrong(at+".answer_by", "must not be more than handler_max, after which the event is given away")
	}
	for j, h := range a.Headers {
		if reservedHeader(h.Name) {
			r.wrong(at+".headers["+strconv.Itoa(j)+"].name", "is set by the gateway itself; leave it out")
		}
	}
}

// bridgeURL demands https where others could read along. Private addresses are
// allowed, since bots are mostly inside: the operator names the URL, no customer
// has a say in it.
func (r *rules) bridgeURL(field string, a *Application) {
	u, err := url.Parse(a.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		r.wrong(field, "must be a URL, such as https://bot.internal/hook")
	case u.User != nil:
		r.wrong(field, "must not hold credentials, since addresses are shown; use headers")
	case u.Fragment != "":
		r.wrong(field, "must not have a fragment, which is never sent")
	case u.Scheme == "http" && !a.Insecure && !loopback(net.JoinHostPort(u.Hostname(), "80")):
		r.wrong(field, "must begin with https://: customers' messages travel there; http:// is for this machine, or with insecure: true")
	}
}

// reservedHeader names what a configured header must not replace: the signature,
// what says which event it is, the form of the request, and what makes a client
// repeat it by itself.
func reservedHeader(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	for _, prefix := range []string{"Webhook-", "Cw-", "Ce-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "Host", "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Expect", "Upgrade",
		"Idempotency-Key", "X-Idempotency-Key", "User-Agent", "Accept-Encoding", "Trailer", "Te":
		return true
	}
	return false
}

// AnswersURL is where bots that were called give answers of later, "" when
// nobody can know: the admin listener listens on every address and admin.url is not
// named.
func (c *Config) AnswersURL(listening net.Addr) string {
	const path = "/api/v1/answers"
	if c.Admin.URL != "" {
		return strings.TrimSuffix(c.Admin.URL, "/") + path
	}
	host, port, err := net.SplitHostPort(listening.String())
	if ip := net.ParseIP(host); err != nil || ip == nil || ip.IsUnspecified() {
		return ""
	}
	return "http://" + net.JoinHostPort(host, port) + path
}

// adminURL checks where others find the admin listener.
func (r *rules) adminURL(c *Config) {
	if c.Admin.URL == "" {
		return
	}
	u, err := url.Parse(c.Admin.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		r.wrong("admin.url", "must be scheme, host and path only, such as http://gateway.internal:8081")
	}
}
