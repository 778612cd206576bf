package wecom

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

// TryCredentials asks WeCom for the app and says whether corp id, secret, agent
// id and this machine's address are taken. It sends nothing. It uses the access
// token that the sends use, fetched by the same single flight and with the same
// pauses, since WeCom blocks an address that goes on with a wrong secret; a token
// that the platform refuses is replaced once, as a send would. The context bounds
// it. Source: WeCom, agent/get (90227), global error codes (90455). gettoken
// alone would not do: an untrusted address (60020), a foreign agent id (301002)
// and a stopped app show only in a call with the token.
func (c *Client) TryCredentials(ctx context.Context) handlers.Credentials {
	for n := 0; ; n++ {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return c.untried(err)
		}
		code, out := c.askAgent(ctx, token)
		if c.codes[code].Class != ClassToken || n > 0 {
			return out
		}
		c.tokens.drop(token)
	}
}

// askAgent makes one call; code is the errcode, 0 when there was none.
func (c *Client) askAgent(ctx context.Context, token string) (code int, out handlers.Credentials) {
	q := url.Values{"access_token": {token}, "agentid": {strconv.FormatInt(c.config.AgentID, 10)}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, apiURL(c.config.APIBase, "agent/get", q), nil)
	if err != nil {
		return 0, refusedURL() // the parser's error would hold the token
	}
	resp, err := c.egress.Do(req, time.Time{})
	if err != nil {
		return 0, unreached(err)
	}
	var a struct {
		Code    *int   `json:"errcode"`
		Message string `json:"errmsg"`
		AgentID int64  `json:"agentid"`
		Close   int    `json:"close"`
	}
	switch {
	case json.Unmarshal(resp.Body, &a) != nil || a.Code == nil:
		return 0, strange(resp.Status)
	case *a.Code != 0:
		meaning := c.codes[*a.Code].Meaning
		if meaning == "" {
			meaning = "not in the table of codes"
		}
		if words := egress.Redact(a.Message, c.config.Secret, token); words != "" {
			meaning += ": " + words
		}
		return *a.Code, c.judge(*a.Code, meaning, egressAddress(*a.Code, a.Message))
	case a.AgentID != c.config.AgentID:
		return 0, strange(resp.Status)
	case a.Close != 0:
		return 0, handlers.Credentials{State: handlers.CredentialsRefused, Code: "closed", Detail: "the app is stopped", Do: tryAdvice(50003)}
	}
	return 0, handlers.Credentials{State: handlers.CredentialsTaken}
}

// untried makes the result of a token that could not be had.
func (c *Client) untried(err error) handlers.Credentials {
	var e *tokenError
	switch {
	case !errors.As(err, &e):
		return unreached(err)
	case e.Errcode != 0:
		return c.judge(e.Errcode, e.Text, e.Address)
	case e.Code == "bad_url":
		return refusedURL()
	case e.Code == "unreadable", strings.HasPrefix(e.Code, "http_"):
		out := strange(0)
		out.Code = e.Code
		return out
	}
	out := unreached(err)
	out.Code = e.Code
	return out
}

// judge makes the result of an errcode. A fault of the moment and a throttle say
// nothing about the credentials. address is the one that WeCom saw, if it told.
func (c *Client) judge(code int, detail, address string) handlers.Credentials {
	out := handlers.Credentials{State: handlers.CredentialsRefused, Code: strconv.Itoa(code), Detail: detail, Do: tryAdvice(code)}
	if address != "" {
		out.Do = addressAdvice(address)
	}
	switch c.codes[code].Class {
	case ClassBusy, ClassRate:
		out.State, out.Do = handlers.CredentialsUntried, "ask again later"
	case ClassToken, ClassCredential, ClassPolicy, ClassNotNow, ClassPermanent:
	}
	return out
}

func refusedURL() handlers.Credentials {
	return handlers.Credentials{State: handlers.CredentialsRefused, Code: "bad_url",
		Detail: "api_base of the account is not a URL", Do: "mend api_base of the account"}
}

// strange is an answer that WeCom does not give.
func strange(status int) handlers.Credentials {
	out := handlers.Credentials{State: handlers.CredentialsUntried, Code: "unreadable", Detail: "what answered does not speak as WeCom does",
		Do: "is api_base of the account right, and does no proxy answer in its place?"}
	if status != 0 && status != http.StatusOK {
		out.Code = "http_" + strconv.Itoa(status)
	}
	return out
}

func unreached(err error) handlers.Credentials {
	out := handlers.Credentials{State: handlers.CredentialsUntried, Code: egress.WordOther, Detail: "WeCom could not be reached",
		Do: "let this machine reach the account's api_base by HTTPS; callbacks are taken meanwhile, and replies wait"}
	var e *egress.Error
	switch {
	case errors.As(err, &e):
		out.Code = e.Word
	case errors.Is(err, context.DeadlineExceeded):
		out.Code = egress.WordTimeout
	case errors.Is(err, context.Canceled):
		out.Code = egress.WordCanceled
	}
	return out
}

// tryAdvice says what mends an errcode. Source: WeCom, "global error codes"
// (90455).
func tryAdvice(code int) string {
	switch code {
	case 40001, 40091, 40014, 41001, 42001:
		return "copy the app's Secret from WeCom's console (app management, the app) into secret of the account; each app has its own"
	case 40013:
		return "copy the corp id from WeCom's console (my company) into corp_id of the account"
	case 40056, 301002:
		return "agent_id and secret of the account must be those of one app; compare both with WeCom's console"
	case codeAddress:
		return "add the address of this machine to the app's trusted addresses in WeCom's console; it takes about a minute"
	case 45031, 50003, 301007, 48001, 48002, 48004, 48006:
		return "enable the app, and the API it needs, in WeCom's console"
	}
	return "look the code up in WeCom's list of global error codes"
}
