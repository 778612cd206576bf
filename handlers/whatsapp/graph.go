package whatsapp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
)

// TryCredentials asks Meta for the phone number and says whether the access
// token may use it. It sends nothing, and what it learns changes no pause of the
// sends. The context bounds it. Source: Meta, Graph API "WhatsApp Business
// Account Phone Number"; the call counts as a management call (200 an hour for
// an app and account that is not active yet), so the caller should not repeat it
// without need.
func (c *Client) TryCredentials(ctx context.Context) handlers.Credentials {
	var number struct {
		ID      string `json:"id"`
		Quality string `json:"quality_rating"`
	}
	fields := url.Values{"fields": {"id,display_phone_number,verified_name,quality_rating"}}
	if failure := c.read(ctx, url.PathEscape(c.config.PhoneNumberID), fields, &number); failure != nil {
		return *failure
	}
	if number.ID != c.config.PhoneNumberID {
		return *unreadable()
	}
	ok := handlers.Credentials{State: handlers.CredentialsTaken}
	switch number.Quality {
	case "RED", "YELLOW":
		ok.Detail = "quality rating " + strings.ToLower(number.Quality)
	}
	return ok
}

// read asks the Graph API for a node or an edge, path escaped, and fills out. It
// returns nil, or why there is nothing to read. The URL is in no result.
func (c *Client) read(ctx context.Context, path string, q url.Values, out any) *handlers.Credentials {
	target := strings.TrimRight(c.config.APIBase, "/") + "/" + c.config.Version + "/" + path + "?" + q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return &handlers.Credentials{State: handlers.CredentialsRefused, Code: "bad_url",
			Detail: "api_base or version of the account is not a URL", Do: "mend api_base of the account"}
	}
	req.Header.Set("Authorization", "Bearer "+c.config.AccessToken)
	req.Header.Set("Accept", "application/json")
	resp, err := c.egress.Do(req, time.Time{})
	if err != nil {
		word := egress.WordOther
		var e *egress.Error
		if errors.As(err, &e) {
			word = e.Word
		}
		return &handlers.Credentials{State: handlers.CredentialsUntried, Code: word, Detail: "Meta could not be reached",
			Do: "let this machine reach the account's api_base by HTTPS; callbacks are taken meanwhile, and replies wait"}
	}
	var a struct {
		Error *graphError `json:"error"`
	}
	switch readable := json.Unmarshal(resp.Body, &a) == nil; {
	case readable && a.Error != nil && a.Error.Code != nil:
		return c.readRefused(resp, a.Error)
	case resp.Status != http.StatusOK || !readable:
		f := unreadable()
		f.Code = "http_" + strconv.Itoa(resp.Status)
		return f
	case json.Unmarshal(resp.Body, out) != nil:
		return unreadable()
	}
	return nil
}

func unreadable() *handlers.Credentials {
	return &handlers.Credentials{State: handlers.CredentialsUntried, Code: "unreadable", Detail: "what answered does not speak as Meta does",
		Do: "is api_base of the account right, and does no proxy answer in its place?"}
}

// readRefused makes the result of an error body. What says nothing about the
// credentials, a throttle or a fault of Meta's, leaves them untried.
func (c *Client) readRefused(resp *egress.Response, e *graphError) *handlers.Credentials {
	number := *e.Code
	if number == 100 && e.Subcode == 33 {
		number = 33 // as for a send: the object named in the path
	}
	code, known := c.codes.find(number)
	f := &handlers.Credentials{State: handlers.CredentialsRefused, Code: strconv.Itoa(number), Detail: code.Meaning, Do: readAdvice(number)}
	if !known {
		f.Detail = "not in the table of codes"
	}
	words := e.More.Details
	if words == "" {
		words = e.Message
	}
	if words = egress.Redact(words, c.config.AccessToken, c.config.PhoneNumberID); words != "" {
		f.Detail += ": " + words
	}
	switch {
	case known && (code.Class == ClassThrottle || code.Class == ClassTransient || code.Class == ClassMaintenance),
		!known && (e.Transient || faulty(resp.Status) || resp.Status == http.StatusTooManyRequests):
		f.State, f.Do = handlers.CredentialsUntried, "ask again later"
	}
	return f
}

// readAdvice says what mends an error of a read. Source: Meta, "Error codes".
func readAdvice(code int) string {
	switch {
	case code == 0, code == 190, code == 102, code == 104:
		return "make a new access token of a system user in Meta's business settings, and put it into access_token of the account"
	case code == 3, code == 10, code == 131005, code >= 200 && code <= 299:
		return "in Meta's business settings give the token's system user the WhatsApp account, and make its token with the permissions " +
			"whatsapp_business_messaging and whatsapp_business_management"
	case code == 33, code == 100:
		return "compare phone_number_id with the id (not the phone number) in Meta's dashboard, and give the token's system user the WhatsApp account it belongs to"
	case code == 2500:
		return "is api_base of the account right?"
	case code == 368, code == 131031:
		return "see the account's quality and appeals in Meta's WhatsApp manager"
	}
	return "look the code up in Meta's list of error codes"
}
