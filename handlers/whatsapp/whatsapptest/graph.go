package whatsapptest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// read answers a question through faults: token and path are checked first. ask
// gets a request whose token is good.
func (s *Sandbox) read(w http.ResponseWriter, r *http.Request, ask func(*http.Request) sandbox.Answer) {
	call := sandbox.Call{Account: s.o.PhoneNumberID}
	s.desk.Take(w, r, sandbox.OpRead, call, func() sandbox.Answer {
		// The id is the business of ask.
		if code, status, why := s.admit(r); code >= 0 && code != 33 {
			return sandbox.Answer{Status: status, Header: jsonHeader(), Body: errorBody(code, why)}
		}
		if proof := r.URL.Query().Get("appsecret_proof"); proof != "" && proof != s.proof() {
			return sandbox.Answer{Status: http.StatusBadRequest, Header: jsonHeader(),
				Body: errorBody(100, "Invalid appsecret_proof provided in the API argument"), Code: "100"}
		}
		return ask(r)
	}, refuse)
}

// proof is what shows that a caller knows the secret of the token's app. Source:
// Meta, "Securing Graph API requests".
func (s *Sandbox) proof() string {
	m := hmac.New(sha256.New, []byte(s.o.AppSecret))
	m.Write([]byte(s.o.AccessToken))
	return hex.EncodeToString(m.Sum(nil))
}

// node answers GET /{version}/{id} for the number. Source: Meta, Graph API
// "WhatsApp Business Account Phone Number".
func (s *Sandbox) node(w http.ResponseWriter, r *http.Request) {
	s.read(w, r, func(r *http.Request) sandbox.Answer {
		if r.PathValue("id") != s.o.PhoneNumberID {
			return missing(r.PathValue("id"))
		}
		fields := r.URL.Query().Get("fields")
		if fields == "" {
			fields = "display_phone_number,verified_name,quality_rating"
		}
		st := s.Standing()
		return nodeAnswer(st.fields(&s.o, *s.callback.Load()), fields, s.o.PhoneNumberID)
	})
}

// debugToken tells a token of the app about itself.
func (s *Sandbox) debugToken(w http.ResponseWriter, r *http.Request) {
	s.read(w, r, func(r *http.Request) sandbox.Answer {
		st := s.Standing()
		if r.URL.Query().Get("input_token") != s.o.AccessToken {
			return readAnswer(map[string]any{"data": map[string]any{"is_valid": false, "scopes": []string{},
				"error": map[string]any{"code": 190, "message": "Invalid OAuth access token - Cannot parse access token"}}})
		}
		return readAnswer(st.token(s.o.Now().Unix()))
	})
}

// subscriptions lists, adds (POST) and removes (DELETE) the token's app.
func (s *Sandbox) subscriptions(w http.ResponseWriter, r *http.Request) {
	s.read(w, r, func(r *http.Request) sandbox.Answer {
		if r.PathValue("id") != s.o.WABAID {
			return missing(r.PathValue("id"))
		}
		st := s.Standing()
		if r.Method == http.MethodGet {
			return readAnswer(st.apps())
		}
		st.Subscribed = slices.DeleteFunc(slices.Clone(st.Subscribed), func(id string) bool { return id == st.AppID })
		if r.Method == http.MethodPost {
			st.Subscribed = append(st.Subscribed, st.AppID)
		}
		s.SetStanding(st)
		return readAnswer(map[string]bool{"success": true})
	})
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
			return sandbox.Answer{Status: http.StatusBadRequest, Header: jsonHeader(), Code: "100",
				Body: errorBody(100, "Tried accessing nonexisting field ("+f+")")}
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
