package whatsapptest

import "strconv"

// What Meta tells about templates, numbers and accounts comes without metadata:
// by the WABA of the entry, which also has the time.

const madeUpTemplate = 1689000000000042

func template() obj {
	return obj{}.with("message_template_id", madeUpTemplate).with("message_template_name", "order_update_v3").
		with("message_template_language", "pt_BR")
}

func (c *Callback) templateStatus(e *Event) {
	v := append(obj{}.with("event", e.Variant), template()...)
	switch e.Variant {
	case "REJECTED":
		v = v.with("reason", "INCORRECT_CATEGORY").with("message_template_category", "UTILITY").
			with("rejection_info", obj{}.with("reason", "INCORRECT_CATEGORY").with("recommendation", "Choose another category."))
	case "DISABLED":
		v = v.with("reason", "NONE").with("message_template_category", "UTILITY").
			with("disable_info", obj{}.with("disable_date", strconv.FormatInt(c.at(e).Unix(), 10))).
			with("other_info", obj{}.with("title", "DISABLED").with("description", "The template was disabled."))
	case "PAUSED":
		v = v.with("reason", nil).with("message_template_category", "UTILITY").
			with("other_info", obj{}.with("title", "FIRST_PAUSE").with("description", "The template is paused for 3 hours."))
	default:
		v = v.with("reason", nil).with("message_template_category", "UTILITY")
	}
	c.account(e, "message_template_status_update", v)
}

func (c *Callback) templateQuality(e *Event) {
	c.account(e, "message_template_quality_update",
		append(obj{}.with("previous_quality_score", "GREEN").with("new_quality_score", e.Variant), template()...))
}

// templateCategory: announced names the present category "new" and the future
// one "correct".
func (c *Callback) templateCategory(e *Event) {
	v := template()
	if e.Variant == "announced" {
		v = v.with("new_category", "UTILITY").with("correct_category", "MARKETING").
			with("category_update_timestamp", c.at(e).Unix()+24*3600)
	} else {
		v = v.with("previous_category", "UTILITY").with("new_category", "MARKETING")
	}
	c.account(e, "template_category_update", v)
}

func (c *Callback) templateComponents(e *Event) {
	c.account(e, "message_template_components_update", template().
		with("message_template_element", or(e.Text, "Your order {{1}} has left.")).
		with("message_template_footer", "Example Boots"))
}

func (c *Callback) accountUpdate(e *Event) {
	v, at := obj{}, c.at(e)
	switch e.Variant {
	case "DISABLED_UPDATE", "REINSTATE":
		state := "DISABLE"
		if e.Variant == "REINSTATE" { // the event has the same name
			state = "REINSTATE"
		}
		v = v.with("event", "DISABLED_UPDATE").with("ban_info", obj{}.with("waba_ban_state", state).with("waba_ban_date", at.UTC().Format("January 2, 2006")))
	case "ACCOUNT_RESTRICTION":
		until := at.Unix() + 7*24*3600
		v = v.with("event", e.Variant).with("restriction_info", []obj{
			obj{}.with("restriction_type", "RESTRICTED_BIZ_INITIATED_MESSAGING").with("expiration", until),
			obj{}.with("restriction_type", "RESTRICTED_ADD_PHONE_NUMBER_ACTION").with("expiration", until)})
	case "ACCOUNT_VIOLATION":
		v = v.with("event", e.Variant).with("violation_info", obj{}.with("violation_type", "SCAM"))
	case "PARTNER_ADDED", "PARTNER_APP_INSTALLED", "PARTNER_APP_UNINSTALLED":
		v = v.with("event", e.Variant).with("waba_info", obj{}.with("waba_id", c.b.WABAID).with("owner_business_id", "559000000000077"))
	case "PARTNER_REMOVED", "ACCOUNT_OFFBOARDED", "ACCOUNT_RECONNECTED":
		v = v.with("phone_number", c.b.Number).with("event", e.Variant).
			with("disconnection_info", obj{}.with("reason", "PRIMARY_INACTIVITY").with("initiated_by", "SYSTEM"))
	case "BUSINESS_PRIMARY_LOCATION_COUNTRY_UPDATE":
		v = v.with("event", e.Variant).with("country", "GB")
	default:
		v = v.with("event", e.Variant)
	}
	c.account(e, "account_update", v)
}

func (c *Callback) accountAlert(e *Event) {
	c.account(e, "account_alerts", obj{}.with("entity_type", "BUSINESS").with("entity_id", "559000000000077").
		with("alert_info", obj{}.with("alert_severity", "WARNING").with("alert_status", "ACTIVE").
			with("alert_type", "INCREASED_CAPABILITIES_ELIGIBILITY_DEFERRED").
			with("alert_description", or(e.Text, "Limits cannot be increased at this time."))))
}

func (c *Callback) accountReview(e *Event) {
	c.account(e, "account_review_update", obj{}.with("decision", e.Variant))
}

// phoneQuality: the limit of the number, by the name of its tier.
func (c *Callback) phoneQuality(e *Event) {
	v := obj{}.with("display_phone_number", c.b.Number).with("event", e.Variant)
	switch e.Variant {
	case "THROUGHPUT_UPGRADE":
		v = v.with("current_limit", "TIER_UNLIMITED").with("max_daily_conversations_per_business", "TIER_UNLIMITED")
	case "ONBOARDING":
		v = v.with("current_limit", "TIER_250").with("max_daily_conversations_per_business", "TIER_250")
	default:
		v = v.with("old_limit", "TIER_1K").with("current_limit", "TIER_10K").with("max_daily_conversations_per_business", "TIER_10K")
	}
	c.account(e, "phone_number_quality_update", v)
}

func (c *Callback) phoneName(e *Event) {
	var reason any // null when approved
	if e.Variant == "REJECTED" {
		reason = "NAME_EMPLOYEE_ISSUE"
	}
	c.account(e, "phone_number_name_update", obj{}.with("display_phone_number", c.b.Number).with("decision", e.Variant).
		with("requested_verified_name", or(e.Text, "Example Boots")).with("rejection_reason", reason))
}

// capability has the limit as a number, other than phoneQuality.
func (c *Callback) capability(e *Event) {
	c.account(e, "business_capability_update", obj{}.with("max_daily_conversations_per_business", 2000).with("max_phone_numbers_per_waba", 25))
}

func (c *Callback) security(e *Event) {
	v := obj{}.with("display_phone_number", c.b.Number).with("event", e.Variant)
	if e.Variant == "PIN_RESET_REQUEST" {
		v = v.with("requester", "61550000000077")
	}
	c.account(e, "security", v)
}

func (c *Callback) flows(e *Event) {
	v := obj{}.with("event", e.Variant)
	switch e.Variant {
	case "FLOW_STATUS_CHANGE":
		v = v.with("message", "Flow Booking changed status from PUBLISHED to BLOCKED").with("flow_id", "6600000000000011").
			with("old_status", "PUBLISHED").with("new_status", "BLOCKED")
	case "FLOW_VERSION_EXPIRY_WARNING":
		v = v.with("warning", "Version 5.0 expires soon").with("flow_id", "6600000000000011")
	default:
		v = v.with("message", "The flow fails more often than its threshold").with("flow_id", "6600000000000011").
			with("error_rate", raw("14.28")).with("threshold", 10).with("alert_state", "ACTIVATED")
	}
	c.account(e, "flows", v)
}

func (c *Callback) usernameUpdate(e *Event) {
	c.account(e, "business_username_updates", obj{}.with("display_phone_number", c.b.Number).
		with("username", or(e.Text, "example_boots")).with("status", e.Variant))
}

// What is about a number or a customer and is no message.

func (c *Callback) userAction(e *Event) {
	c.put(change{field: "messages", people: []Customer{e.Customer}, list: "user_actions", items: []obj{
		obj{}.with("action_type", "marketing_messages_link_click").with("timestamp", c.stamp(e)).
			with("marketing_messages_link_click_data", obj{}.with("click_component", "cta").
				with("click_id", or(e.ID, "clk_"+c.stamp(e))).with("tracking_token", "trk_made_up"))}})
}

func (c *Callback) automaticEvent(e *Event) {
	v := obj{}.with("id", c.id(e, false)).with("event_name", e.Variant).with("timestamp", c.at(e).Unix()).with("ctwa_clid", "ARAx0k3yFQ_made_up")
	if e.Variant == "Purchase" {
		v = v.with("custom_data", obj{}.with("currency", "USD").with("value", raw("25.50")))
	}
	c.put(change{field: "automatic_events", list: "automatic_events", items: []obj{v}})
}

func (c *Callback) valueError(e *Event) {
	code := e.Code
	if code == 0 {
		code = 130429
	}
	_, words := usual(code)
	c.put(change{field: "messages", list: "errors", items: []obj{problem(code, words, e.Text)}})
}

// encrypted is a guess at what a number with payload encryption sends; no
// documentation shows one.
func (c *Callback) encrypted(e *Event) {
	c.put(change{field: "messages", tail: obj{}.with("encrypted_contents",
		or(e.Text, "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.bWFkZS11cA.bWFkZS11cA.bWFkZS11cA.bWFkZS11cA"))})
}

func (c *Callback) unknownField(e *Event) {
	c.put(change{field: "orders_v2", people: []Customer{e.Customer}, list: "orders_v2",
		items: []obj{obj{}.with("id", or(e.ID, "ord_1")).with("state", "placed")}})
}
