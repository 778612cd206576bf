package whatsapp

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// number looks at the phone number. Source: Meta, "About the platform" (fields of
// a number), "Throughput", OpenAPI v23 (values).
func (x *examination) number(ctx context.Context) {
	var n struct {
		Status       string `json:"status"`
		Platform     string `json:"platform_type"`
		Name         string `json:"name_status"`
		Verification string `json:"code_verification_status"`
		Quality      string `json:"quality_rating"`
		Throughput   struct {
			Level string `json:"level"`
		} `json:"throughput"`
	}
	q := url.Values{"fields": {"status,platform_type,name_status,code_verification_status,quality_rating,throughput"}}
	if !x.read(ctx, "the state of the number", url.PathEscape(x.c.config.PhoneNumberID), q, &n) {
		return
	}
	const register = "register the number: POST /PHONE_NUMBER_ID/register with messaging_product and its pin"
	connected := n.Status == "CONNECTED" || n.Status == ""
	switch n.Status {
	case "CONNECTED", "":
	case "FLAGGED", "RESTRICTED", "RATE_LIMITED":
		x.add("warning", "the number is "+lower(n.Status), "", "see the number's quality in Meta's WhatsApp manager; fewer and better messages lift it")
	case "PENDING", "DISCONNECTED", "UNVERIFIED":
		x.add("error", "the number is "+lower(n.Status)+", so nothing is sent or received", "", register)
	default: // BANNED, DELETED, MIGRATED, and what is new
		x.add("error", "the number is "+lower(n.Status), "", "see the number in Meta's WhatsApp manager")
	}
	switch n.Platform {
	case "CLOUD_API", "":
		if connected {
			x.add("info", "the number is connected to the Cloud API", "", "")
		}
	default: // NOT_APPLICABLE, ON_PREMISE
		x.add("error", "the number is not on the Cloud API", "platform type "+lower(n.Platform), register)
	}
	// A verification by code ends after a while; a connected number needs none.
	if !connected && n.Verification != "VERIFIED" {
		x.add("warning", "the number is not verified by a code", "", "verify it in Meta's WhatsApp manager, then register it")
	}
	switch n.Name {
	case "DECLINED", "EXPIRED":
		x.add("warning", "the display name is "+lower(n.Name), "", "choose another display name in Meta's WhatsApp manager")
	case "PENDING_REVIEW":
		x.add("info", "the display name waits for its review", "", "")
	}
	switch n.Quality {
	case "YELLOW", "RED":
		x.add("warning", "the number's quality is "+lower(n.Quality), "", "write less to people who did not ask; a red number is limited by Meta")
	case "GREEN":
		x.add("info", "the number's quality is green", "", "")
	}
	switch n.Throughput.Level {
	case "STANDARD":
		x.add("info", "throughput is standard: 80 messages a second, in and out together (20 for a number that is also in the WhatsApp Business app)", "", "")
	case "HIGH":
		x.add("info", "throughput is high: 1,000 messages a second, in and out together", "", "")
	}
}

func lower(s string) string {
	if len(s) > 40 {
		s = s[:40]
	}
	return strings.ToLower(strings.ReplaceAll(s, "_", " "))
}

// health asks whether each thing that takes part in a message may. Source: Meta,
// "Messaging health status".
func (x *examination) health(ctx context.Context) {
	var a struct {
		Health struct {
			CanSend  string `json:"can_send_message"`
			Entities []struct {
				Type    string   `json:"entity_type"`
				CanSend string   `json:"can_send_message"`
				Info    []string `json:"additional_info"`
				Errors  []struct {
					Code     int    `json:"error_code"`
					Problem  string `json:"error_description"`
					Solution string `json:"possible_solution"`
				} `json:"errors"`
			} `json:"entities"`
		} `json:"health_status"`
	}
	if !x.read(ctx, "the messaging health", url.PathEscape(x.c.config.PhoneNumberID), url.Values{"fields": {"health_status"}}, &a) {
		return
	}
	h := &a.Health
	if h.CanSend == "AVAILABLE" {
		x.add("info", "messages can be sent: number, WhatsApp account, business and app are well", "", "")
	}
	for _, e := range h.Entities {
		what := entityName(e.Type)
		switch e.CanSend {
		case "LIMITED":
			x.add("warning", what+" is limited", x.words(strings.Join(e.Info, " ")), "see "+what+" in Meta's WhatsApp manager")
		case "BLOCKED":
			for _, p := range e.Errors {
				do := x.words(p.Solution)
				if do == "" {
					do = "see " + what + " in Meta's WhatsApp manager"
				}
				x.add("error", what+" may not send", fmt.Sprintf("%d, %s", p.Code, x.words(p.Problem)), do)
			}
			if len(e.Errors) == 0 {
				x.add("error", what+" may not send", "", "see "+what+" in Meta's WhatsApp manager")
			}
		}
	}
}

func entityName(kind string) string {
	switch kind {
	case "PHONE_NUMBER":
		return "the number"
	case "WABA":
		return "the WhatsApp account"
	case "BUSINESS":
		return "the business"
	case "APP":
		return "the app"
	}
	return "the " + lower(kind)
}

// webhooks looks where Meta delivers callbacks of the number: to the override of
// the number, else to that of the WhatsApp account, else to the app's URL.
// Notices of accounts and templates always go to the app's. Source: Meta,
// "Webhook overrides".
func (x *examination) webhooks(ctx context.Context, cb Callbacks) {
	var a struct {
		URLs struct {
			App    string `json:"application"`
			WABA   string `json:"whatsapp_business_account"`
			Number string `json:"phone_number"`
		} `json:"webhook_configuration"`
	}
	if !x.read(ctx, "the webhook URLs", url.PathEscape(x.c.config.PhoneNumberID), url.Values{"fields": {"webhook_configuration"}}, &a) {
		return
	}
	u := &a.URLs
	const set = "in the app's dashboard, WhatsApp, Configuration, set the callback URL https://YOUR.HOST/webhooks/whatsapp/NAME with the endpoint's verify_token"
	target, whose, mend := u.App, "the app's URL", set
	if u.WABA != "" {
		target, whose, mend = u.WABA, "the WhatsApp account's override", "POST /WABA_ID/subscribed_apps without a body takes the override away"
	}
	if u.Number != "" {
		target, whose = u.Number, "the number's override"
		mend = `POST /PHONE_NUMBER_ID with {"webhook_configuration":{"override_callback_uri":""}} takes the override away`
	}
	if target == "" {
		x.add("error", "the app has no callback URL, so nothing is received", "", set)
		return
	}
	x.webhook(cb, "messages go to", whose, target, mend)
	if target != u.App {
		if u.App == "" {
			x.add("warning", "the app has no callback URL of its own, where notices about accounts and templates would go", "", set)
			return
		}
		x.webhook(cb, "notices about accounts and templates go to", "the app's URL", u.App, set)
	}
}

// webhook compares one URL with the endpoints.
func (x *examination) webhook(cb Callbacks, what, whose, target, mend string) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		x.add("error", what+" "+whose+", which is not a URL", "", mend)
		return
	}
	shown := u.Scheme + "://" + u.Host + u.EscapedPath() // a query could hold a secret
	what += " " + whose + ", " + shown
	ours := slices.ContainsFunc(cb.Names, func(name string) bool { return strings.HasSuffix(u.Path, "/webhooks/whatsapp/"+name) })
	switch {
	case u.Scheme != "https" && !loopbackHost(u.Hostname()):
		x.add("error", what, "it is not https", mend)
	case !ours:
		x.add("warning", what, "no endpoint of this gateway has that path", mend+"; ignore this if a proxy changes the path")
	default:
		x.add("info", what, "", "")
	}
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// subscriptions looks whether the token's app gets the callbacks of the WhatsApp
// account: without it the webhook is verified and silent. Source: Meta, "Webhook
// overrides", "Managing webhooks".
func (x *examination) subscriptions(ctx context.Context, app string) {
	if x.c.config.WABAID == "" {
		x.add("warning", "waba_id of the account is not set: it cannot be seen whether the app is subscribed, and notices about the WhatsApp account find no account",
			"", "copy the id of the WhatsApp account from the app's dashboard (WhatsApp, API setup) into waba_id")
		return
	}
	var a struct {
		Data []struct {
			App struct {
				ID string `json:"id"`
			} `json:"whatsapp_business_api_data"`
		} `json:"data"`
	}
	if f := x.ask(ctx, url.PathEscape(x.c.config.WABAID)+"/subscribed_apps", url.Values{}, &a); f != nil {
		if f.Code == "33" || f.Code == "100" {
			x.add("error", "the token sees no WhatsApp account of this waba_id", "",
				"compare waba_id with the id in the app's dashboard (WhatsApp, API setup), and give the token's system user that WhatsApp account")
			return
		}
		x.unread("the subscribed apps", f)
		return
	}
	subscribe := `subscribe it: curl -X POST -H "Authorization: Bearer $TOKEN" ` +
		strings.TrimRight(x.c.config.APIBase, "/") + "/" + x.c.config.Version + "/WABA_ID/subscribed_apps"
	others := 0
	ours := false
	for _, s := range a.Data {
		if s.App.ID == app && app != "" {
			ours = true
		} else {
			others++
		}
	}
	switch {
	case len(a.Data) == 0:
		x.add("error", "no app is subscribed to the WhatsApp account, so nothing is received", "", subscribe)
	case app == "":
		x.add("info", fmt.Sprintf("apps subscribed to the WhatsApp account: %d", others), "", "")
	case !ours:
		x.add("warning", "the token's app is not subscribed to the WhatsApp account; other apps are", "",
			subscribe+"; ignore this if the webhook belongs to one of those")
	case others > 0:
		x.add("info", fmt.Sprintf("the token's app is subscribed to the WhatsApp account; so are others: %d", others),
			"they get the same callbacks; statuses of what they send are foreign here", "")
	default:
		x.add("info", "the token's app is subscribed to the WhatsApp account", "", "")
	}
}
