package admin

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/oklog/ulid/v2"

	"github.com/causewayhq/causeway/gateway"
)

// Limits of lists.
const (
	defaultLimit = 50
	maxLimit     = 1000
)

// params reads query parameters and collects what is wrong with them.
type params struct {
	values map[string][]string
	wrong  []InvalidField
}

// query takes the parameters of a request; any that is not known, or stands
// twice, is wrong.
func query(c *gin.Context, known ...string) *params {
	p := &params{values: c.Request.URL.Query()}
	names := make([]string, 0, len(p.values))
	for name := range p.values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case !slices.Contains(known, name):
			p.bad(printable(name), "is not known here; known: "+orNone(known))
		case len(p.values[name]) > 1:
			p.bad(name, "stands more than once")
		}
	}
	return p
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// printable is a parameter's name as it may be repeated.
func printable(name string) string {
	if len(name) > 40 || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "?"
	}
	return name
}

func (p *params) bad(field, detail string) {
	p.wrong = append(p.wrong, InvalidField{Field: field, Detail: detail})
}

// err is nil when everything can be used.
func (p *params) err() error {
	if len(p.wrong) == 0 {
		return nil
	}
	return &InvalidError{Fields: p.wrong}
}

func (p *params) text(name string) string {
	if v := p.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// word reads one of several words; "" when it is not there.
func (p *params) word(name string, words ...string) string {
	s := p.text(name)
	if s != "" && !slices.Contains(words, s) {
		p.bad(name, "must be one of "+strings.Join(words, ", "))
		return ""
	}
	return s
}

// name reads the name of an endpoint, account or application.
func (p *params) name(name string) string {
	s := p.text(name)
	if s != "" && !gateway.ValidName(s) {
		p.bad(name, "must be 1 to 40 lower-case letters, digits and inner hyphens")
		return ""
	}
	return s
}

// platform reads the name of a platform.
func (p *params) platform(name string) string {
	return p.word(name, "whatsapp", "wecom", "unified")
}

// conv reads the id of a conversation.
func (p *params) conv(name string) string {
	s := p.text(name)
	if s != "" && !validConv(s) {
		p.bad(name, "must be the 26 characters of a conversation's id")
		return ""
	}
	return s
}

// reason reads a reason of a dead letter: a closed set of short words.
func (p *params) reason(name string) string {
	s := p.text(name)
	if len(s) > 64 || strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' && c != ' ' }) {
		p.bad(name, "must be a reason such as tries or no_account")
		return ""
	}
	return s
}

func (p *params) number(name string, least, most, missing int64) int64 {
	s := p.text(name)
	if s == "" {
		return missing
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < least || n > most {
		p.bad(name, "must be a whole number from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
		return missing
	}
	return n
}

func (p *params) limit() int { return int(p.number("limit", 1, maxLimit, defaultLimit)) }

func (p *params) flag(name string) bool {
	return slices.Contains([]string{"1", "true"}, p.word(name, "1", "true", "0", "false"))
}

// time reads a time of RFC 3339; zero when it is not there.
func (p *params) time(name string) time.Time {
	s := p.text(name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		p.bad(name, "must be a time such as 2026-11-29T12:00:00Z (a + must be written %2B)")
	}
	return t
}

// rangeOK notes a range that ends before it begins.
func (p *params) rangeOK(since, until time.Time) {
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		p.bad("until", "must be later than since")
	}
}

// validID says whether s is the prefix and a ULID as we write it.
func validID(s, prefix string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return false
	}
	_, err := ulid.ParseStrict(rest)
	return err == nil
}

// validConv: 26 characters of lower-case base32 (gateway.ConvID).
func validConv(s string) bool {
	if len(s) != 26 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// validRun: "run_" and 1 to 60 letters, digits, hyphens and underscores.
func validRun(s string) bool {
	rest, ok := strings.CutPrefix(s, "run_")
	if !ok || rest == "" || len(rest) > 60 {
		return false
	}
	for _, c := range []byte(rest) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// payloadRef reads "pl_…" or a place in the archive.
func payloadRef(s string) (PayloadRef, bool) {
	if validID(s, "pl_") {
		return PayloadRef{ID: s}, true
	}
	pos, ok := rowID(s)
	return PayloadRef{Pos: pos}, ok
}

func rowID(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0
}
