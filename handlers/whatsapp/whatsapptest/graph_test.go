package whatsapptest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// graph makes a call with a token and returns status and JSON.
func graph(t *testing.T, s *whatsapptest.Sandbox, method, path, bearer string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return resp.StatusCode, v
}

// at walks into decoded JSON.
func at(v any, path ...string) any {
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func TestGraphReads(t *testing.T) {
	t.Parallel()
	s := start(t, whatsapptest.Options{WABAID: "200000000000001", CallbackURL: "https://gw.test/webhooks/whatsapp/meta"})
	get := func(path string) (int, map[string]any) { return graph(t, s, http.MethodGet, path, token) }
	if status, v := get("/v26.0/" + number); status != 200 || v["id"] != number || v["quality_rating"] != "GREEN" || v["status"] != nil {
		t.Errorf("%d %v", status, v)
	}
	_, v := get("/v26.0/" + number + "?fields=" + url.QueryEscape("throughput,health_status,webhook_configuration"))
	if at(v, "throughput", "level") != "STANDARD" || at(v, "health_status", "can_send_message") != "AVAILABLE" ||
		at(v, "webhook_configuration", "application") != "https://gw.test/webhooks/whatsapp/meta" || at(v, "webhook_configuration", "phone_number") != nil {
		t.Errorf("%v", v)
	}
	for _, c := range []struct {
		path, bearer string
		status       int
		code         float64
		words        string
	}{
		{"/v26.0/" + number, "other", 401, 190, "access token"},
		{"/v26.0/1", token, 400, 100, "does not exist"},
		{"/v26.0/1/subscribed_apps", token, 400, 100, "does not exist"},
		{"/v26.0/" + number + "?fields=colour", token, 400, 100, "colour"},
		{"/v26.0/" + number + "?appsecret_proof=00", token, 400, 100, "appsecret_proof"},
		{"/latest/" + number, token, 400, 2500, "path"},
	} {
		status, v := graph(t, s, http.MethodGet, c.path, c.bearer)
		words, _ := at(v, "error", "message").(string)
		if status != c.status || at(v, "error", "code") != c.code || !strings.Contains(words, c.words) {
			t.Errorf("%s: %d %v", c.path, status, v)
		}
	}
	_, v = get("/v26.0/debug_token?input_token=" + token)
	if at(v, "data", "is_valid") != true || at(v, "data", "type") != "SYSTEM_USER" || at(v, "data", "expires_at") != 0.0 {
		t.Errorf("%v", v)
	}
	if _, v = get("/v26.0/debug_token?input_token=other"); at(v, "data", "is_valid") != false {
		t.Errorf("%v", v)
	}
	subscribed := func(want int) {
		t.Helper()
		_, v := get("/v26.0/200000000000001/subscribed_apps")
		if list, _ := v["data"].([]any); len(list) != want {
			t.Errorf("%v", v)
		}
	}
	subscribed(1)
	for method, want := range map[string]int{http.MethodDelete: 0, http.MethodPost: 1} {
		if status, v := graph(t, s, method, "/v26.0/200000000000001/subscribed_apps", token); status != 200 || v["success"] != true {
			t.Errorf("%d %v", status, v)
		}
		subscribed(want)
	}
}

// What is told can be changed, in part, by the control endpoint.
func TestStandingByControl(t *testing.T) {
	t.Parallel()
	s := start(t, whatsapptest.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL()+"/_sandbox/standing",
		strings.NewReader(`{"can_send_message":"BLOCKED","error_description":"d","possible_solution":"s","expires_at":1}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if st := s.Standing(); resp.StatusCode != 200 || st.Health != "BLOCKED" || st.Status != "CONNECTED" || st.ExpiresAt != 1 {
		t.Errorf("%d %+v", resp.StatusCode, s.Standing())
	}
	_, v := graph(t, s, http.MethodGet, "/v26.0/debug_token?input_token="+token, token)
	if at(v, "data", "is_valid") != false || at(v, "data", "error", "code") != 190.0 {
		t.Errorf("%v", v)
	}
}
