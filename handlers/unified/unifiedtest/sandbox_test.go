package unifiedtest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/unified"
	"github.com/causewayhq/causeway/handlers/unified/unifiedtest"
)

const marker = "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA"

// gateway1 takes callbacks as the front door does, and decodes them.
type gateway1 struct {
	t        *testing.T
	endpoint *unified.Endpoint
	mu       sync.Mutex
	seen     []string
}

func (g *gateway1) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if _, err := g.endpoint.Verify(&handlers.Request{Header: r.Header, Body: body}); err != nil {
		g.t.Errorf("a callback is refused: %v", err)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	items, _, err := g.endpoint.Decode(&gateway.Payload{ID: "pl_1", ReceivedAt: time.Now(), Body: body})
	if err != nil {
		g.t.Errorf("a callback cannot be decoded: %v", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range items {
		it := &items[i]
		s := string(it.Kind) + " " + it.Chat.Identities[0].Value + " " + it.Content.Text
		if e := it.Content.Echo; e != nil {
			s += " " + string(e.Otherwise) + "marker=" + e.Marker + " id=" + e.MessageID[:4]
		}
		if st := it.Content.Status; st != nil {
			s += " " + st.Marker
		}
		g.seen = append(g.seen, s+it.Err)
	}
}

// The vendor takes what its description says and nothing else, and plays it back in
// every way.
func TestSandbox(t *testing.T) {
	c, err := config.Load(filepath.Join("..", "..", "..", "testdata", "unified", "causeway.yaml"),
		func(name string) (string, bool) { return "secret-of-" + name, !strings.HasPrefix(name, "CAUSEWAY_") })
	if err != nil {
		t.Fatal(err)
	}
	e, err := unified.NewEndpoint(c.Endpoints[0].Unified())
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway1{t: t, endpoint: e}
	door := httptest.NewServer(g)
	defer door.Close()
	s, err := unifiedtest.New(unifiedtest.Options{Endpoint: c.Endpoints[0].Unified(), Account: c.Accounts[0].Unified(), CallbackURL: door.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Listen(""); err != nil {
		t.Fatal(err)
	}
	send := func(token, path, body string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Hub-Token", token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	const token, path = "secret-of-HUB_API_TOKEN", "/message/sendText"
	body := `{"guid":"guid-made-up-0001","toId":"S:1_2","content":"x","marker":"` + marker + `"}`
	for name, answer := range map[string]string{
		"wrong token": send("no", path, body), "wrong path": send(token, "/message/send", body), "no JSON": send(token, path, "x"),
		"a field too many":  send(token, path, strings.Replace(body, "{", `{"a":1,`, 1)),
		"another's account": send(token, path, strings.Replace(body, "guid-made-up-0001", "g", 1)), "nobody": send(token, path, strings.Replace(body, "S:1_2", "", 1)),
	} {
		if !strings.Contains(answer, "refused") || strings.Contains(answer, `"code":"0"`) {
			t.Errorf("%s: %s", name, answer)
		}
	}
	flush := func() {
		t.Helper()
		if err := s.Courier().Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, plays := range []unifiedtest.Plays{unifiedtest.PlaysMarker, unifiedtest.PlaysID, unifiedtest.PlaysManual, unifiedtest.PlaysNothing} {
		s.SetPlays(plays)
		if answer := send(token, path, body); !strings.Contains(answer, `"msgId":"sent-`) {
			t.Errorf("%s: %s", plays, answer)
		}
		flush()
	}
	s.SetPlays(unifiedtest.PlaysMarker)
	if _, err := s.Faults().Add(sandbox.Fault{Stage: sandbox.After, FailCode: 301, Next: 1}); err != nil {
		t.Fatal(err)
	}
	send(token, path, body)
	flush()
	s.Customer("S:1_3", "hello")
	flush()
	s.Colleague("S:1_3", "by hand")
	flush()
	for _, k := range unifiedtest.Kinds() {
		if k.Name == "room" { // the description has no word for it
			continue
		}
		_, made, err := s.Make(unifiedtest.Event{Kind: k.Name, From: "S:9", Text: "t"})
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		if status, _, err := s.Post(t.Context(), made); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d %v", k.Name, status, err)
		}
		g.mu.Lock()
		if last := g.seen[len(g.seen)-1]; !strings.HasPrefix(last, k.Becomes) {
			t.Errorf("%s became %s", k.Name, last)
		}
		g.mu.Unlock()
	}
	want := []string{
		"echo S:1_2 x marker=" + marker + " id=sent", "echo S:1_2 x marker= id=sent", "echo S:1_2 x marker= id=m-" + g.seen[2][len(g.seen[2])-2:],
		"status S:1_2  " + marker, "message S:1_3 hello", "echo S:1_3 by hand marker= id=m-" + g.seen[5][len(g.seen[5])-2:],
	}
	if d := cmp.Diff(want, g.seen[:6]); d != "" {
		t.Error(d)
	}
	if n := s.CallLog().Summary(); n.Accepted != 5 || n.Calls != 11 {
		t.Errorf("%+v", n)
	}
}
