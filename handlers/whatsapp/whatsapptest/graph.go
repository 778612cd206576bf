package whatsapptest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// number answers what Meta tells of the phone number: the fields asked for, and
// always its id. Source: Meta, Graph API "WhatsApp Business Account Phone
// Number".
func (s *Sandbox) number(w http.ResponseWriter, r *http.Request) {
	call := sandbox.Call{Account: s.o.PhoneNumberID}
	s.desk.Take(w, r, sandbox.OpRead, call, func() sandbox.Answer {
		switch code, status, why := s.admit(r); {
		case code == 33:
			return missing(r.PathValue("id"))
		case code >= 0:
			return sandbox.Answer{Status: status, Header: jsonHeader(), Body: errorBody(code, why)}
		}
		known := map[string]any{
			"display_phone_number": "+" + s.o.DisplayNumber, "verified_name": "Sandbox", "quality_rating": "GREEN",
		}
		fields := r.URL.Query().Get("fields")
		if fields == "" {
			fields = "display_phone_number,verified_name,quality_rating"
		}
		return nodeAnswer(known, fields, s.o.PhoneNumberID)
	}, refuse)
}

// nodeAnswer picks fields of a node; one that does not exist is error 100.
func nodeAnswer(known map[string]any, fields, id string) sandbox.Answer {
	out := map[string]any{"id": id}
	for f := range strings.SplitSeq(fields, ",") {
		f = strings.TrimSpace(f)
		v, ok := known[f]
		switch {
		case ok:
			out[f] = v
		case f != "id":
			return refuse(100, 0)
		}
	}
	return readAnswer(out)
}

func readAnswer(v any) sandbox.Answer {
	body, err := json.Marshal(v)
	if err != nil {
		return refuse(131000, 0)
	}
	return sandbox.Answer{Status: http.StatusOK, Header: jsonHeader(), Body: body, Accepted: true}
}

// missing is the answer for an object that is not there or not visible to the
// token.
func missing(id string) sandbox.Answer {
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": "Unsupported get request. Object with ID '" + id + "' does not exist, cannot be loaded due to missing permissions, " +
			"or does not support this operation. Please read the Graph API documentation",
		"type": "GraphMethodException", "code": 100, "error_subcode": 33, "fbtrace_id": "AsandboxTraceIdAAAAAAAA",
	}})
	if err != nil {
		return refuse(33, 0)
	}
	return sandbox.Answer{Status: http.StatusBadRequest, Header: jsonHeader(), Body: body, Code: "100"}
}
