package whatsapptest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// usual returns the HTTP status and the words Meta documents for a code. All
// throttles are 400. Source: Meta, "Error codes".
func usual(code int) (status int, words string) {
	switch code {
	case 0, 190:
		return http.StatusUnauthorized, "Authentication Error"
	case 3:
		return http.StatusInternalServerError, "Capability or permissions issue"
	case 10:
		return http.StatusForbidden, "Permission denied"
	case 2:
		return http.StatusServiceUnavailable, "API Service"
	case 4:
		return http.StatusBadRequest, "API Too Many Calls"
	case 33, 100:
		return http.StatusBadRequest, "Invalid parameter"
	case 368:
		return http.StatusForbidden, "Temporarily blocked for policies violations"
	case 80007:
		return http.StatusBadRequest, "Rate limit issues"
	case 130429:
		return http.StatusBadRequest, "Rate limit hit"
	case 131000:
		return http.StatusInternalServerError, "Something went wrong"
	case 131005:
		return http.StatusForbidden, "Access denied"
	case 131008:
		return http.StatusBadRequest, "Required parameter is missing"
	case 131009:
		return http.StatusBadRequest, "Parameter value is not valid"
	case 131016:
		return http.StatusInternalServerError, "Service unavailable"
	case 131021:
		return http.StatusBadRequest, "Recipient cannot be sender"
	case 131026:
		return http.StatusBadRequest, "Message undeliverable"
	case 131031:
		return http.StatusForbidden, "Account has been locked"
	case 131042:
		return http.StatusBadRequest, "Business eligibility payment issue"
	case 131045:
		return http.StatusInternalServerError, "Incorrect certificate"
	case 131047:
		return http.StatusBadRequest, "Re-engagement message"
	case 131048:
		return http.StatusBadRequest, "Spam rate limit hit"
	case 131049:
		return http.StatusBadRequest, "Meta chose not to deliver"
	case 131051:
		return http.StatusBadRequest, "Unsupported message type"
	case 131056:
		return http.StatusBadRequest, "(Business Account, Consumer Account) pair rate limit hit"
	case 131057:
		return http.StatusInternalServerError, "Account in maintenance mode"
	case 133004:
		return http.StatusServiceUnavailable, "Server temporarily unavailable"
	case 133010:
		return http.StatusBadRequest, "Phone number not registered"
	}
	return http.StatusBadRequest, "Error of the sandbox"
}

// refuse is the answer with a code, under status or, for 0, the usual one.
func refuse(code, status int) sandbox.Answer {
	standard, words := usual(code)
	if status == 0 {
		status = standard
	}
	return sandbox.Answer{Status: status, Header: jsonHeader(), Body: errorBody(code, words), Code: fmt.Sprint(code)}
}

func errorBody(code int, words string) []byte {
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"message":    fmt.Sprintf("(#%d) %s", code, words),
		"type":       "OAuthException",
		"code":       code,
		"error_data": map[string]string{"messaging_product": "whatsapp", "details": words},
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
