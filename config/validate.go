package config

import (
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/causewayhq/causeway/gateway"
)

// Validate checks a Config that was built by hand and completed; the error is
// *Errors without lines. Load does it by itself.
func (c *Config) Validate() error {
	var l list
	for _, e := range c.mistakes() {
		l.add(e)
	}
	return l.result("configuration")
}

// mistakes are the rules of single fields, then those between fields.
func (c *Config) mistakes() []FieldError {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		return name
	})
	for tag, rule := range map[string]func(string) bool{
		"name":        gateway.ValidName,
		"listen":      validListen,
		"aeskey":      validAESKey,
		"headername":  validHeaderName,
		"from":        validFrom,
		"rate":        func(s string) bool { return Rate(s).valid() },
		"orderedkind": func(s string) bool { return slices.Contains(orderedKinds(), s) },
	} {
		err := v.RegisterValidation(tag, func(f validator.FieldLevel) bool { return rule(f.Field().String()) })
		if err != nil {
			return []FieldError{{Problem: "the rule " + tag + " cannot be used: " + err.Error()}}
		}
	}
	var out []FieldError
	var wrong validator.ValidationErrors
	if err := v.Struct(c); errors.As(err, &wrong) {
		for _, e := range wrong {
			_, path, _ := strings.Cut(e.Namespace(), ".")
			if e.Tag() == "excluded_unless" && !c.platformKnown(path) {
				continue // which fields belong there is not known either
			}
			out = append(out, FieldError{Field: path, Problem: sentence(path, e)})
		}
	} else if err != nil {
		out = append(out, FieldError{Problem: "cannot be checked: " + err.Error()})
	}
	return append(out, c.rules()...)
}

// platformKnown says whether the entry of a list that holds the field names a
// platform that exists.
func (c *Config) platformKnown(path string) bool {
	known := func(platform string) bool { return slices.Contains([]string{"whatsapp", "wecom", "unified"}, platform) }
	var i int
	if _, err := fmt.Sscanf(path, "endpoints[%d]", &i); err == nil && i < len(c.Endpoints) {
		return known(c.Endpoints[i].Platform)
	}
	if _, err := fmt.Sscanf(path, "accounts[%d]", &i); err == nil && i < len(c.Accounts) {
		return known(c.Accounts[i].Platform)
	}
	return true
}

// sentence says what would be right for a broken rule. It shows no value, which
// could be a secret in the wrong place.
func sentence(path string, e validator.FieldError) string {
	_, field := cutLast(path)
	switch e.Tag() {
	case "required", "required_if":
		return emptySentence(path, field)
	case "excluded_unless":
		_, platform, _ := strings.Cut(e.Param(), " ")
		return "belongs to platform " + platform + " only; leave it out"
	case "name":
		return "must be 1 to 40 lower-case letters, digits and inner hyphens: it is part of subjects, URLs and metrics"
	case "listen":
		return `must be host:port, such as "127.0.0.1:8081" or ":8080"`
	case "rate":
		return `must be a number of messages in a time, such as "80/s", "20/min" or "1000/h", or 0 for no bound`
	case "from":
		return "must be now, beginning, or a time with its zone such as 2026-11-30T08:00:00Z"
	case "headername":
		return "must be the name of an HTTP header, such as X-Signature"
	case "startswith":
		return "must begin with " + e.Param()
	case "aeskey":
		return "must be the 43 letters and digits that the console shows"
	case "orderedkind":
		return kindSentence(e.Value())
	case "oneof":
		return "must be " + alternatives(strings.Fields(e.Param()))
	case "url":
		return "must be a URL, such as " + WhatsAppAPIBase
	case "ip|cidr":
		return "must be an address or a network, such as 10.0.0.0/8"
	case "gtefield":
		return "must not be less than " + siblingName(e.Param())
	case "min", "max":
		return boundSentence(path, e)
	}
	return "breaks the rule " + e.Tag() + " " + e.Param()
}

func emptySentence(path, field string) string {
	if strings.HasPrefix(path, "endpoints[") && slices.Contains([]string{"app_secret", "verify_token", "token", "encoding_aes_key", "verify"}, field) {
		return "is empty; an endpoint without it could not tell a genuine callback from a forged one"
	}
	if field == "decode" {
		return "is empty; say where in a callback account, conversation, text and the rest stand"
	}
	if strings.HasPrefix(path, "endpoints[") && field == "kind" && !strings.Contains(path, "decode") {
		return "is empty; must be app, suite or aibot"
	}
	if field == "kind" && !strings.Contains(path, "decode") {
		return "is empty; must be app, kf, aibot or robot"
	}
	return "is empty; a value is needed"
}

func boundSentence(path string, e validator.FieldError) string {
	least := e.Tag() == "min"
	if path == "endpoints" {
		return "is empty; name at least one endpoint, or nothing can be received"
	}
	bound := e.Param()
	switch e.Value().(type) {
	case Secret, string:
		bound += " characters"
	case Bytes:
		if n, err := strconv.ParseInt(bound, 10, 64); err == nil {
			bound = Bytes(n).String()
		}
	}
	if least {
		return "must be at least " + bound
	}
	return "must be at most " + bound
}

func kindSentence(v any) string {
	if s, ok := v.(string); ok && (s == string(gateway.KindStatus) || s == string(gateway.KindEcho)) {
		return s + " has no place in an application: statuses and echoes have no seq and never wait behind messages; " +
			"observe them on the stream CW_EVENT (subjects cw.event.<platform>.<account>.<conv>." + s + ")"
	}
	return "must be " + alternatives(orderedKinds())
}

// siblingName is the name in the file of a field named by gtefield.
func siblingName(goName string) string {
	for _, t := range []reflect.Type{reflect.TypeFor[Application](), reflect.TypeFor[Limits](), reflect.TypeFor[Collect]()} {
		if f, ok := t.FieldByName(goName); ok {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			return name
		}
	}
	return goName
}

func orderedKinds() []string {
	var out []string
	for _, k := range gateway.Kinds() {
		if k.Ordered() {
			out = append(out, string(k))
		}
	}
	return out
}

func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func cutLast(path string) (before, last string) {
	i := strings.LastIndex(path, ".")
	return path[:max(i, 0)], path[i+1:]
}

func validListen(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n <= 65535
}

// validAESKey: 43 letters and digits (WeCom documentation, "callback
// configuration").
func validAESKey(s string) bool {
	if len(s) != 43 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
