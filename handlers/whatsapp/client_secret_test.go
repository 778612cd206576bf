package whatsapp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/handlers/egress"
)

// However a call fails, nothing of the outcome tells the token, the text or the
// number, nor the path of a base URL.
func TestNoSecretInOutcomes(t *testing.T) {
	t.Parallel()
	const text, number = "PRIVATE-WORDS of a customer", "15550100038"
	played := fmt.Sprintf(`{"error":{"message":"Malformed access token %s","code":190,"error_data":{"details":"%s wrote %s, see https://x.test/?access_token=%s"},"fbtrace_id":"%s"}}`,
		accessToken, number, text, accessToken, accessToken)
	answers := map[string]http.HandlerFunc{
		"401": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401); _, _ = fmt.Fprint(w, played) },
		"500": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = fmt.Fprint(w, strings.Replace(played, "190", "131000", 1))
		},
		"100": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			_, _ = fmt.Fprint(w, strings.Replace(played, "190", "100", 1))
		},
		"unknown": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			_, _ = fmt.Fprint(w, strings.Replace(played, "190", "98765432", 1))
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/?t="+accessToken, http.StatusTemporaryRedirect)
		},
		"reset": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, h := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(h)
			defer s.Close()
			o := newSender(t, s.URL, egress.Options{}).Send(t.Context(), outgoing(toPhone(number), text, 1))
			checkQuiet(t, o, "PRIVATE", number)
		})
	}
	for _, base := range []string{"http://127.0.0.1:1/" + accessToken, "://" + accessToken, "http://" + accessToken + ".invalid:99999"} {
		o := newSender(t, base, egress.Options{}).Send(t.Context(), outgoing(toPhone(number), text, 1))
		if strings.Contains(o.Detail, "PRIVATE") || strings.Contains(o.Detail, number) || (!strings.Contains(base, "invalid") && strings.Contains(o.Detail, accessToken)) {
			t.Errorf("%+v", o)
		}
	}
}
