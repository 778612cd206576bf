package whatsapp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
)

// Callbacks are the gateway's endpoints of this platform, for Examine to compare
// with what Meta has.
type Callbacks struct {
	// Names of the endpoints, as they stand in their URLs.
	Names []string
	// Secrets are their app secrets, previous ones left out.
	Secrets []string
}

// The permissions a token needs: to send and receive, and for everything else
// that is asked here. Source: Meta, WhatsApp "Permissions".
const (
	scopeMessaging  = "whatsapp_business_messaging"
	scopeManagement = "whatsapp_business_management"
)

// Times before an end at which it is worth a warning.
const (
	endsSoon     = 14 * 24 * time.Hour
	callPatience = 5 * time.Second
)

// Examine asks Meta what it knows of token, number and webhooks, and says for
// each what would mend it: about ten calls, one after another, which Meta counts
// as management calls (200 an hour for an app and account that is not active
// yet). It sends nothing and changes nothing. When Meta cannot be reached or the
// token is refused, that is the only fact. The context bounds all of it.
func (c *Client) Examine(ctx context.Context, cb Callbacks) []handlers.Fact {
	one, cancel := context.WithTimeout(ctx, callPatience)
	first := c.TryCredentials(one)
	cancel()
	x := &examination{c: c, facts: []handlers.Fact{first.Fact()}}
	if first.State != handlers.CredentialsTaken {
		return x.facts
	}
	app := x.token(ctx)
	x.appSecret(ctx, cb)
	x.number(ctx)
	x.health(ctx)
	x.webhooks(ctx, cb)
	x.subscriptions(ctx, app)
	return x.facts
}

// examination collects facts.
type examination struct {
	c     *Client
	facts []handlers.Fact
}

func (x *examination) add(level, what, detail, do string) {
	x.facts = append(x.facts, handlers.Fact{Level: level, What: what, Detail: detail, Do: do})
}

// ask is Client.read with a patience of its own.
func (x *examination) ask(ctx context.Context, path string, q url.Values, out any) *handlers.Credentials {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	return x.c.read(ctx, path, q, out)
}

// unread notes a question that was not answered: a warning, since what was to be
// seen is not known, and the account may work all the same.
func (x *examination) unread(what string, f *handlers.Credentials) {
	x.add("warning", what+" could not be read", f.Code+", "+f.Detail, f.Do)
}

// read asks, or notes why there was no answer.
func (x *examination) read(ctx context.Context, what, path string, q url.Values, out any) bool {
	f := x.ask(ctx, path, q, out)
	if f != nil {
		x.unread(what, f)
	}
	return f == nil
}

// words makes what Meta wrote fit to be shown.
func (x *examination) words(s string) string {
	return egress.Redact(s, x.c.config.AccessToken, x.c.config.PhoneNumberID, x.c.config.WABAID)
}

// token looks at the token by itself: whose it is, until when, for what. It
// returns the id of its app. Source: Meta, Graph API "debug_token"; WhatsApp
// "Permissions", where a token of a system user asks about itself.
func (x *examination) token(ctx context.Context) (app string) {
	var a struct {
		Data struct {
			AppID           string   `json:"app_id"`
			Type            string   `json:"type"`
			Valid           bool     `json:"is_valid"`
			ExpiresAt       int64    `json:"expires_at"`
			DataAccessUntil int64    `json:"data_access_expires_at"`
			Scopes          []string `json:"scopes"`
			Granular        []struct {
				Scope   string   `json:"scope"`
				Targets []string `json:"target_ids"`
			} `json:"granular_scopes"`
		} `json:"data"`
	}
	if !x.read(ctx, "the access token", "debug_token", url.Values{"input_token": {x.c.config.AccessToken}}, &a) {
		return ""
	}
	t := &a.Data
	const renew = "make a token of a system user that never expires in Meta's business settings, and put it into access_token of the account"
	switch {
	case !t.Valid:
		x.add("error", "the access token is not valid", "", renew)
		return t.AppID
	case t.Type == "SYSTEM_USER":
		x.add("info", "the access token is a system user's", "", "")
	case t.Type == "USER":
		x.add("warning", "the access token is a person's: it ends with their password, session or leave", "", renew)
	default:
		x.add("error", "the access token is none that can send", "type "+x.words(strings.ToLower(t.Type)), renew)
	}
	x.ends("the access token", t.ExpiresAt, renew)
	if t.DataAccessUntil != 0 {
		x.ends("the token's access to data", t.DataAccessUntil, renew)
	}
	const again = "make the token again with both whatsapp_business_messaging and whatsapp_business_management"
	if !slices.Contains(t.Scopes, scopeMessaging) {
		x.add("error", "the token may not send or receive messages: it lacks "+scopeMessaging, "", again)
	}
	if !slices.Contains(t.Scopes, scopeManagement) {
		x.add("warning", "the token may not see webhooks and health: it lacks "+scopeManagement, "", again)
	}
	for _, g := range t.Granular {
		// No targets: not limited.
		if waba := x.c.config.WABAID; g.Scope == scopeMessaging && waba != "" && len(g.Targets) > 0 && !slices.Contains(g.Targets, waba) {
			x.add("error", "the token is limited to other WhatsApp accounts than waba_id", "",
				"in Meta's business settings give the token's system user the WhatsApp account; is waba_id the right one?")
		}
	}
	return t.AppID
}

// ends says when something ends; 0 is never.
func (x *examination) ends(what string, unix int64, renew string) {
	at, now := time.Unix(unix, 0).UTC(), x.c.egress.Now()
	switch {
	case unix == 0:
		x.add("info", what+" never ends", "", "")
	case !at.After(now):
		x.add("error", what+" ended at "+at.Format(time.RFC3339), "", renew)
	case at.Sub(now) < endsSoon:
		x.add("warning", what+" ends at "+at.Format(time.RFC3339), "", renew)
	default:
		x.add("info", what+" ends at "+at.Format(time.RFC3339), "", "")
	}
}

// appSecret asks with a proof of each app secret whether one belongs to the
// token's app: with the wrong one every callback would be refused. Source: Meta,
// "Securing Graph API requests" (appsecret_proof).
func (x *examination) appSecret(ctx context.Context, cb Callbacks) {
	for _, secret := range cb.Secrets {
		m := hmac.New(sha256.New, []byte(secret))
		m.Write([]byte(x.c.config.AccessToken))
		q := url.Values{"fields": {"id"}, "appsecret_proof": {hex.EncodeToString(m.Sum(nil))}}
		switch f := x.ask(ctx, url.PathEscape(x.c.config.PhoneNumberID), q, &struct{}{}); {
		case f == nil:
			x.add("info", "an endpoint has the app secret of the token's app", "", "")
			return
		case f.Code != "100":
			x.add("warning", "it could not be tried whether an endpoint has the app secret of the token's app", f.Code+", "+f.Detail, f.Do)
			return
		}
	}
	if len(cb.Secrets) > 0 {
		x.add("warning", "no endpoint has the app secret of the token's app; callbacks of that app would be refused", "",
			"copy the secret of the app that owns the webhook (App settings, Basic) into app_secret of the endpoint; ignore this if that is another app")
	}
}
