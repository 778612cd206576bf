package whatsapptest

import (
	"maps"
	"slices"
)

// Standing is what the sandbox tells of its token, its number and its
// subscriptions when it is asked as `causeway doctor account` asks Meta.
// Everything is well to begin with.
type Standing struct {
	// The token: its app and type, when it ends and when its access to data ends
	// (unix seconds, 0 never), its permissions, and the WhatsApp accounts they
	// are limited to (none: not limited).
	AppID           string   `json:"app_id"`
	TokenType       string   `json:"token_type"`
	ExpiresAt       int64    `json:"expires_at"`
	DataAccessUntil int64    `json:"data_access_expires_at"`
	Scopes          []string `json:"scopes"`
	Targets         []string `json:"target_ids"`
	// The number.
	Status           string `json:"status"`
	PlatformType     string `json:"platform_type"`
	NameStatus       string `json:"name_status"`
	CodeVerification string `json:"code_verification_status"`
	Quality          string `json:"quality_rating"`
	Throughput       string `json:"throughput"`
	// Health of the number: AVAILABLE, LIMITED with Info, or BLOCKED with the
	// problem and its solution. WhatsApp account, business and app are well.
	Health   string `json:"can_send_message"`
	Info     string `json:"additional_info"`
	Problem  string `json:"error_description"`
	Solution string `json:"possible_solution"`
	// Where callbacks go: of the app ("" for the sandbox's callback URL), and
	// the overrides of the WhatsApp account and the number.
	AppURL    string `json:"application"`
	WABAURL   string `json:"whatsapp_business_account"`
	NumberURL string `json:"phone_number"`
	// Subscribed are the ids of the apps subscribed to the WhatsApp account.
	Subscribed []string `json:"subscribed_apps"`
}

func goodStanding() Standing {
	return Standing{
		AppID: "300000000000001", TokenType: "SYSTEM_USER", Scopes: []string{"whatsapp_business_management", "whatsapp_business_messaging"},
		Status: "CONNECTED", PlatformType: "CLOUD_API", NameStatus: "APPROVED", CodeVerification: "VERIFIED", Quality: "GREEN",
		Throughput: "STANDARD", Health: "AVAILABLE", Subscribed: []string{"300000000000001"},
	}
}

// Standing returns what the sandbox tells now.
func (s *Sandbox) Standing() Standing { return *s.standing.Load() }

// SetStanding sets what it tells from now on.
func (s *Sandbox) SetStanding(st Standing) { s.standing.Store(&st) }

// token is the answer about the token. Source: Meta, Graph API "debug_token" and
// WhatsApp "Permissions", which shows it for a token of a system user.
func (st *Standing) token(now int64) map[string]any {
	granular := []any{}
	for _, scope := range st.Scopes {
		g := map[string]any{"scope": scope}
		if len(st.Targets) > 0 {
			g["target_ids"] = st.Targets
		}
		granular = append(granular, g)
	}
	data := map[string]any{
		"app_id": st.AppID, "type": st.TokenType, "application": "Sandbox", "data_access_expires_at": st.DataAccessUntil,
		"expires_at": st.ExpiresAt, "is_valid": st.ExpiresAt == 0 || st.ExpiresAt > now, "issued_at": now - 3600,
		"scopes": slices.Clone(st.Scopes), "granular_scopes": granular, "user_id": "400000000000001",
	}
	if st.ExpiresAt != 0 && st.ExpiresAt <= now {
		data["error"] = map[string]any{"code": 190, "message": "Error validating access token: Session has expired", "subcode": 463}
	}
	return map[string]any{"data": data}
}

// fields are those of the number. Source: Meta, "About the platform" (the answer
// for a number), "Messaging health status", "Webhook overrides", "Throughput".
func (st *Standing) fields(o *Options, callback string) map[string]any {
	entity := func(kind, id string) map[string]any {
		return map[string]any{"entity_type": kind, "id": id, "can_send_message": "AVAILABLE"}
	}
	number := entity("PHONE_NUMBER", o.PhoneNumberID)
	number["can_send_message"] = st.Health
	switch st.Health {
	case "LIMITED":
		number["additional_info"] = []string{st.Info}
	case "BLOCKED":
		number["errors"] = []any{map[string]any{"error_code": 141000, "error_description": st.Problem, "possible_solution": st.Solution}}
	}
	urls := map[string]string{"application": st.AppURL, "whatsapp_business_account": st.WABAURL, "phone_number": st.NumberURL}
	if st.AppURL == "" {
		urls["application"] = callback
	}
	maps.DeleteFunc(urls, func(_, u string) bool { return u == "" })
	return map[string]any{
		"display_phone_number": "+" + o.DisplayNumber, "verified_name": "Sandbox", "quality_rating": st.Quality,
		"name_status": st.NameStatus, "code_verification_status": st.CodeVerification, "platform_type": st.PlatformType,
		"throughput": map[string]string{"level": st.Throughput}, "status": st.Status, "account_mode": "LIVE",
		"webhook_configuration": urls,
		"health_status": map[string]any{
			"can_send_message": st.Health,
			"entities":         []any{number, entity("WABA", o.WABAID), entity("BUSINESS", "500000000000001"), entity("APP", st.AppID)},
		},
	}
}

// apps is the answer about the subscriptions. Source: Meta, "Webhook overrides".
func (st *Standing) apps() map[string]any {
	data := []any{}
	for _, id := range st.Subscribed {
		app := map[string]any{"whatsapp_business_api_data": map[string]string{
			"id": id, "link": "https://www.facebook.com/games/?app_id=" + id, "name": "Sandbox"}}
		if id == st.AppID && st.WABAURL != "" {
			app["override_callback_uri"] = st.WABAURL
		}
		data = append(data, app)
	}
	return map[string]any{"data": data}
}
