package admin_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// oneLine is a reader with one line, then the end of the process.
type oneLine struct{ told bool }

func (o *oneLine) Next(context.Context) ([]gateway.TailLine, error) {
	if o.told {
		return nil, io.EOF
	}
	o.told = true
	return []gateway.TailLine{{At: at(1), What: gateway.TailSettled, Apps: []string{"bot"}, Conv: conv, Event: "ev_x", State: "settled"}}, nil
}

func (o *oneLine) Close() {}

func (a *api) Tail(f gateway.TailFilter) (admin.TailReader, error) {
	return &oneLine{}, a.called("tail %q %q %q %q %v", f.App, f.Account, f.Conv, f.Kind, f.Text)
}

// What is streamed, to whom, and what a client that comes back is told.
func TestTail(t *testing.T) {
	s := open(t)
	const line = "id: 1\nevent: settled\ndata: {\"at\":\"2026-11-29T01:00:00Z\",\"what\":\"settled\",\"apps\":[\"bot\"],\"conv\":\"" + conv +
		"\",\"event\":\"ev_x\",\"state\":\"settled\"}\n\n"
	for _, c := range []struct {
		name, token, query, calls string
		status                    int
		body                      string
	}{
		{"nobody", "", "", "", 401, ""},
		{"viewer", viewer, "?app=bot&account=shop-a&conv=" + conv + "&kind=message", `tail "bot" "shop-a" "` + conv + `" "message" false`, 200, ": listening\n\n" + line},
		{"text is not for viewers", viewer, "?text=1", "", 403, ""},
		{"text", operator, "?text=1&app=bot", `audit tail with text everything app=bot by otto; tail "bot" "" "" "" true`, 200, ": listening\n\n" + line},
		{"bad", viewer, "?kind=x&conv=y&limit=1", "", 400, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, header, text := s.send(t, c.token, "GET /api/v1/tail"+c.query, "")
			if status != c.status || status == 200 && (text != c.body || header.Get("Content-Type") != "text/event-stream") {
				t.Errorf("%d %s\n%s", status, header.Get("Content-Type"), text)
			}
			if calls := s.taken(); calls != c.calls {
				t.Errorf("asked %s, want %s", calls, c.calls)
			}
		})
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/tail", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+viewer)
	req.Header.Set("Last-Event-ID", "17")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var types []string
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if what, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			types = append(types, what)
		}
	}
	if got := strings.Join(types, " "); got != "missed settled" {
		t.Errorf("a client that comes back gets %q", got)
	}
}
