package wecom_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// sealedWith finds a ciphertext that holds all of the characters.
func sealedWith(t *testing.T, c *wecom.Crypt, plain, receiveID, characters string) string {
	t.Helper()
	for i := range 10_000 {
		var random [16]byte
		copy(random[:], fmt.Sprint(i))
		encrypted := c.Seal([]byte(plain), receiveID, random)
		found := true
		for _, r := range characters {
			found = found && strings.ContainsRune(encrypted, r)
		}
		if found {
			return encrypted
		}
	}
	t.Fatal("no such ciphertext")
	return ""
}

// TestCase04Echostr: the plaintext and nothing else, also when a hop turned the
// "+" of the base64 into a space.
func TestCase04Echostr(t *testing.T) {
	plain := string(read(t, "case-04-echostr.txt"))
	c := crypt(t, token, aesKey)
	encrypted := sealedWith(t, c, plain, corp, "+/=")
	sig := c.Sign("1760000000", "4", encrypted)
	q := "msg_signature=" + sig + "&timestamp=1760000000&nonce=4"
	e := corpEndpoint(t)
	foreign := c.Seal([]byte(plain), "wwffffffffffffffff", [16]byte{})
	for _, tt := range []struct {
		name, query string
		err         error
	}{
		{"percent-encoded", q + "&echostr=" + url.QueryEscape(encrypted), nil},
		{"raw plus", q + "&echostr=" + strings.ReplaceAll(encrypted, "=", "%3D"), nil},
		{"spaces encoded", q + "&echostr=" + url.QueryEscape(strings.ReplaceAll(encrypted, "+", " ")), nil},
		{"more parameters", "a=1&a=2;&" + q + "&echostr=" + url.QueryEscape(encrypted) + "&%zz", nil},
		{"wrong signature", "msg_signature=" + strings.Repeat("0", 40) + "&timestamp=1760000000&nonce=4&echostr=" + url.QueryEscape(encrypted), gateway.ErrUnverified},
		{"upper-case signature", "msg_signature=" + strings.ToUpper(sig) + "&timestamp=1760000000&nonce=4&echostr=" + url.QueryEscape(encrypted), gateway.ErrUnverified},
		{"another time", strings.Replace(q, "1760000000", "1760000001", 1) + "&echostr=" + url.QueryEscape(encrypted), gateway.ErrUnverified},
		{"foreign receive id", "msg_signature=" + c.Sign("1", "4", foreign) + "&timestamp=1&nonce=4&echostr=" + url.QueryEscape(foreign), gateway.ErrUnverified},
		{"no echostr", q, gateway.ErrHostile},
		{"no signature", "timestamp=1760000000&nonce=4&echostr=" + url.QueryEscape(encrypted), gateway.ErrHostile},
		{"signature twice", q + "&msg_signature=" + sig + "&echostr=" + url.QueryEscape(encrypted), gateway.ErrHostile},
		{"echostr twice", q + strings.Repeat("&echostr="+url.QueryEscape(encrypted), 2), gateway.ErrHostile},
		{"nothing", "", gateway.ErrHostile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := e.Challenge(&handlers.Request{RawQuery: tt.query})
			if tt.err != nil {
				wantErr(t, err, tt.err)
				if got != nil {
					t.Error("a body beside an error")
				}
				return
			}
			if err != nil || string(got) != plain {
				t.Errorf("= %q, %v; want %q", got, err, plain)
			}
		})
	}
}

func TestVerifyQuery(t *testing.T) {
	c := crypt(t, token, aesKey)
	r := signed(c, "n", c.Seal([]byte("<xml/>"), corp, [16]byte{}))
	e := corpEndpoint(t)
	if _, err := e.Verify(r); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"", "x=1", r.RawQuery + "&nonce=n", r.RawQuery + "&timestamp=1", strings.Replace(r.RawQuery, "nonce=n", "nonce=m", 1),
		strings.Replace(r.RawQuery, "msg_signature", "signature", 1), r.RawQuery + "&" + r.RawQuery,
	} {
		_, err := e.Verify(&handlers.Request{RawQuery: q, Body: r.Body})
		wantErr(t, err, gateway.ErrUnverified)
	}
	other := crypt(t, "another token", aesKey)
	_, err := e.Verify(signed(other, "n", c.Seal([]byte("<xml/>"), corp, [16]byte{})))
	wantErr(t, err, gateway.ErrUnverified)
}

// TestEnvelopes: what the body may look like, once it is signed.
func TestEnvelopes(t *testing.T) {
	c := crypt(t, token, aesKey)
	encrypted := sealedWith(t, c, "<xml/>", corp, "+/")
	good := "<Encrypt><![CDATA[" + encrypted + "]]></Encrypt>"
	for name, tt := range map[string]struct {
		body string
		ok   bool
	}{
		"app":                      {string(wecom.Envelope(corp, "1000002", encrypted)), true},
		"robot":                    {"<xml>" + good + "</xml>", true},
		"other order, white space": {"\n<?xml version=\"1.0\"?>\n<xml>\n <AgentID/>\n " + good + "\n</xml>\n", true},
		"byte order mark":          {"\ufeff<xml>" + good + "</xml>", true},
		"no CDATA, spaces around":  {"<xml><Encrypt> " + encrypted + "\n</Encrypt></xml>", true},
		"bytes after the root":     {"<xml>" + good + "</xml>junk<a>", true},
		"JSON":                     {`{"encrypt":"` + encrypted + `"}`, true},
		"JSON of an app":           {` {"ToUserName":"x","AgentID":218,"Encrypt":"` + strings.ReplaceAll(encrypted, "/", `\/`) + `","a":null}`, true},
		"empty":                    {"", false},
		"blank":                    {" \n", false},
		"text":                     {"hello", false},
		"form":                     {"Encrypt=" + url.QueryEscape(encrypted), false},
		"no Encrypt":               {"<xml><ToUserName>x</ToUserName></xml>", false},
		"Encrypt twice":            {"<xml>" + good + good + "</xml>", false},
		"Encrypt too low":          {"<xml><a>" + good + "</a></xml>", false},
		"not closed":               {"<xml>" + good, false},
		"closed wrongly":           {"<xml>" + good + "</yml>", false},
		"only a root":              {"<Encrypt>" + encrypted + "</Encrypt>", false},
		"unused DOCTYPE":           {"<!DOCTYPE xml><xml>" + good + "</xml>", false},
		"entity":                   {"<xml>" + good + "<a>&b;</a></xml>", false},
		"other encoding":           {`<?xml version="1.0" encoding="GBK"?><xml>` + good + "</xml>", false},
		"control character":        {"<xml>" + good + "<a>\x01</a></xml>", false},
		"deep":                     {"<xml>" + good + strings.Repeat("<a>", 40) + strings.Repeat("</a>", 40) + "</xml>", false},
		"200,000 levels":           {"<xml>" + strings.Repeat("<a>", 200_000) + strings.Repeat("</a>", 200_000) + good + "</xml>", false},
		"many elements":            {"<xml>" + good + strings.Repeat("<a/>", 100) + "</xml>", false},
		"JSON without encrypt":     {`{"a":"b"}`, false},
		"JSON twice":               {`{"encrypt":"` + encrypted + `","Encrypt":"` + encrypted + `"}`, false},
		"JSON number":              {`{"encrypt":5}`, false},
		"JSON nested":              {`{"encrypt":"` + encrypted + `","a":{"b":1}}`, false},
		"JSON list":                {`[{"encrypt":"` + encrypted + `"}]`, false},
		"JSON cut":                 {`{"encrypt":"` + encrypted + `"`, false},
		"JSON and more":            {`{"encrypt":"` + encrypted + `"} {}`, false},
		"JSON bomb":                {`{"a":` + strings.Repeat(`[`, 200_000), false},
		"JSON of many":             {`{` + strings.Repeat(`"a":1,`, 100) + `"encrypt":"` + encrypted + `"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := signed(c, "n", encrypted)
			r.Body = []byte(tt.body)
			e := corpEndpoint(t)
			_, err := e.Verify(r)
			_, _, derr := e.Decode(&gateway.Payload{Body: r.Body})
			wantErr(t, derr, gateway.ErrUndecodable) // the inner <xml/> says nothing
			if tt.ok {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			wantErr(t, err, gateway.ErrHostile)
		})
	}
}

// TestEnvelopeIsNotBelieved: account and receiver come from the decrypted part.
func TestEnvelopeIsNotBelieved(t *testing.T) {
	it := decode(t, read(t, "app_text.xml")) // sent with AgentID 999 outside
	if it.AccountID != corp+"/1000017" {
		t.Errorf("account %s", it.AccountID)
	}
}

func TestEnvelopeRoundTrip(t *testing.T) {
	c := crypt(t, token, aesKey, corp)
	encrypted := "a]]>b" // not base64, but the envelope does not care
	r := signed(c, "n", encrypted)
	if _, err := corpEndpoint(t).Verify(r); err != nil {
		t.Error(err)
	}
}

// TestRing: during a change of credentials both pairs are taken, and each
// payload names the key that opened it, also after the order changed.
func TestRing(t *testing.T) {
	current := wecom.Credential{Token: "currentToken1", EncodingAESKey: aesKey}
	old := wecom.Credential{Token: "oldToken12345", EncodingAESKey: oldKey}
	both := endpoint(t, []string{corp}, current, old)
	for _, cred := range []wecom.Credential{current, old} {
		c := crypt(t, cred.Token, cred.EncodingAESKey)
		r := signed(c, "n", c.Seal(read(t, "app_text.xml"), corp, [16]byte{1}))
		fp, err := both.Verify(r)
		if err != nil || fp != gateway.Fingerprint(cred.EncodingAESKey) {
			t.Errorf("Verify = %q, %v", fp, err)
		}
		items, keyFP, err := both.Decode(&gateway.Payload{Body: r.Body, KeyFP: fp})
		if err != nil || len(items) != 1 || keyFP != fp {
			t.Errorf("Decode = %d items, %q, %v", len(items), keyFP, err)
		}
	}
	// The old key left: what it sealed is sealed, until it is put back.
	c := crypt(t, old.Token, old.EncodingAESKey)
	body := signed(c, "n", c.Seal(read(t, "app_text.xml"), corp, [16]byte{1})).Body
	_, _, err := endpoint(t, []string{corp}, current).Decode(&gateway.Payload{Body: body})
	wantErr(t, err, gateway.ErrSealed)
	// Only the Token was right, the key was mistyped: verified, then sealed.
	mistyped := endpoint(t, []string{corp}, wecom.Credential{Token: old.Token, EncodingAESKey: aesKey})
	r := signed(c, "n", c.Seal(read(t, "app_text.xml"), corp, [16]byte{1}))
	if _, err := mistyped.Verify(r); err != nil {
		t.Errorf("Verify: %v", err)
	}
	_, _, err = mistyped.Decode(&gateway.Payload{Body: r.Body})
	wantErr(t, err, gateway.ErrSealed)
	// Of several keys the one that fits tells best what is wrong.
	r = signed(c, "n", c.Seal(read(t, "app_text.xml"), "wwffffffffffffffff", [16]byte{1}))
	_, _, err = both.Decode(&gateway.Payload{Body: r.Body})
	wantErr(t, err, gateway.ErrSealed)
	if err == nil || !strings.HasSuffix(err.Error(), "foreign receive id") {
		t.Errorf("error %v", err)
	}
}

// TestSuiteAnswer: a suite's command URL hears "success", an app's nothing.
func TestSuiteAnswer(t *testing.T) {
	for _, suite := range []bool{true, false} {
		e, err := wecom.NewEndpoint(wecom.EndpointConfig{
			Ring: []wecom.Credential{{Token: token, EncodingAESKey: aesKey}}, ReceiveIDs: []string{"ww9f8e7d6c5b4a3210"}, Suite: suite})
		if err != nil {
			t.Fatal(err)
		}
		r := signed(crypt(t, token, aesKey), "n", crypt(t, token, aesKey).Seal(read(t, "suite_ticket.xml"), "ww9f8e7d6c5b4a3210", [16]byte{}))
		if _, err := e.Verify(r); err != nil {
			t.Fatal(err)
		}
		if got := string(e.Answer(r)); (got == "success") != suite || !suite && got != "" {
			t.Errorf("suite %v is answered %q", suite, got)
		}
		items, _, err := e.Decode(&gateway.Payload{Body: r.Body})
		if err != nil || len(items) != 1 || items[0].AccountID != "ww9f8e7d6c5b4a3210/" {
			t.Errorf("%+v, %v", items, err)
		}
	}
}
