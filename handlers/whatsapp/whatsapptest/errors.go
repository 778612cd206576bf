package whatsapptest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// platformError is one code of Meta with its HTTP status and its title.
type platformError struct {
	code, status int
	title        string
}

// platformErrors are the codes that a send call can be answered with, or a failed
// status can carry. All throttles of messages are 400. Source: Meta, "Error
// codes", "Groups API error codes", "Marketing Messages API", as of December 2025;
// the titles of 130403, 131044, 131060 to 131064, 136024 and 137000 are ours.
func platformErrors() []platformError {
	return []platformError{
		{0, 401, "Authentication Error"},
		{1, 400, "Invalid request or possible server error"},
		{2, 503, "API Service"},
		{3, 500, "Capability or permissions issue"},
		{4, 400, "API Too Many Calls"},
		{10, 403, "Permission denied"},
		{33, 400, "Parameter value is not valid"},
		{100, 400, "Invalid parameter"},
		{104, 401, "Authentication Error"},
		{190, 401, "Authentication Error"},
		{368, 403, "Temporarily blocked for policies violations"},
		{613, 400, "Calls to this api have exceeded the rate limit"},
		{80007, 400, "Rate limit issues"},
		{130403, 403, "Recipient is blocked"},
		{130429, 400, "Rate limit hit"},
		{130472, 400, "User's number is part of an experiment"},
		{130497, 403, "Business account is restricted from messaging users in this country"},
		{131000, 500, "Something went wrong"},
		{131005, 403, "Access denied"},
		{131008, 400, "Required parameter is missing"},
		{131009, 400, "Parameter value is not valid"},
		{131016, 500, "Service unavailable"},
		{131020, 400, "Invalid group"},
		{131021, 400, "Recipient cannot be sender"},
		{131026, 400, "Message undeliverable"},
		{131030, 400, "Recipient phone number not in allowed list"},
		{131031, 403, "Account has been locked"},
		{131037, 400, "Display name approval is needed"},
		{131041, 400, "Unknown group"},
		{131042, 400, "Business eligibility payment issue"},
		{131044, 400, "Business eligibility payment issue"},
		{131045, 500, "Incorrect certificate"},
		{131047, 400, "Re-engagement message"},
		{131048, 400, "Spam rate limit hit"},
		{131049, 400, "Meta chose not to deliver"},
		{131050, 400, "User has stopped marketing messages"},
		{131051, 400, "Unsupported message type"},
		{131052, 400, "Media download error"},
		{131053, 400, "Media upload error"},
		{131055, 400, "Method not allowed"},
		{131056, 400, "(Business Account, Consumer Account) pair rate limit hit"},
		{131057, 500, "Account in maintenance mode"},
		{131060, 400, "Message unavailable"},
		{131062, 400, "Message type not possible for this user id"},
		{131063, 400, "Recipient not valid"},
		{131064, 400, "Templates of the account are limited"},
		{131207, 403, "Group suspended"},
		{131208, 429, "Group rate limit hit"},
		{131212, 400, "Participant not in the group"},
		{132000, 400, "Template parameter count mismatch"},
		{132001, 404, "Template does not exist"},
		{132005, 400, "Template hydrated text too long"},
		{132007, 400, "Template format character policy violated"},
		{132012, 400, "Template parameter format mismatch"},
		{132015, 400, "Template is paused"},
		{132016, 400, "Template is disabled"},
		{132068, 400, "Flow is blocked"},
		{132069, 400, "Flow is throttled"},
		{133004, 503, "Server temporarily unavailable"},
		{133006, 400, "Phone number needs to be verified again"},
		{133010, 400, "Phone number not registered"},
		{133016, 400, "Account register deregister rate limit exceeded"},
		{134011, 400, "Payments terms of service not accepted"},
		{134100, 400, "Only marketing messages supported"},
		{134101, 400, "Your template is still syncing"},
		{134102, 500, "Template unavailable for use"},
		{135000, 400, "Generic user error"},
		{136024, 400, "Display name of the phone number"},
		{137000, 400, "Identity key mismatch"},
		{2494100, 400, "Account in maintenance mode"},
	}
}

// usual returns the HTTP status and the words for a code; 200 to 299 are all
// "permission missing".
func usual(code int) (status int, words string) {
	for _, e := range platformErrors() {
		if e.code == code {
			return e.status, e.title
		}
	}
	if code >= 200 && code <= 299 {
		return http.StatusForbidden, "Permission denied"
	}
	return http.StatusBadRequest, "Error of the sandbox"
}

// object is the answer that refuses a message and says which parameter is wrong.
func object(o *objection) sandbox.Answer {
	status, title := usual(o.code)
	return sandbox.Answer{Status: status, Header: jsonHeader(), Body: errorWith(o.code, title, o.why), Code: fmt.Sprint(o.code)}
}

// refuse is the answer with a code, under status or, for 0, the usual one.
func refuse(code, status int) sandbox.Answer {
	standard, words := usual(code)
	if status == 0 {
		status = standard
	}
	return sandbox.Answer{Status: status, Header: jsonHeader(), Body: errorBody(code, words), Code: fmt.Sprint(code)}
}

func errorBody(code int, words string) []byte { return errorWith(code, words, words) }

// errorWith is Meta's error object: title in the message, why in the details.
func errorWith(code int, words, why string) []byte {
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"message":    fmt.Sprintf("(#%d) %s", code, words),
		"type":       "OAuthException",
		"code":       code,
		"error_data": map[string]string{"messaging_product": "whatsapp", "details": why},
		"fbtrace_id": "AsandboxTraceIdAAAAAAAA",
	}})
	if err != nil {
		return []byte(`{}`)
	}
	return body
}

func jsonHeader() http.Header {
	return http.Header{"Content-Type": {"application/json; charset=UTF-8"}}
}

func writeError(w http.ResponseWriter, code, status int, words string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(errorBody(code, words)) // the caller may be gone
}
