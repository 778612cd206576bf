package admin_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// ExportEvents fails for an endpoint nowhere before the first byte, for a payload after it.
func (a *api) ExportEvents(_ context.Context, q admin.ReplayRequest, w io.Writer) error {
	if err := a.called("export %s", q.Target()); err != nil {
		return err
	}
	if q.Endpoint == "nowhere" {
		return gateway.ErrNotFound
	}
	if _, err := io.WriteString(w, `{"event":"ev_1"}`+"\n"); err != nil {
		return err
	}
	if q.Payload != "" {
		return errors.New("disk")
	}
	return nil
}

func TestExport(t *testing.T) {
	s := open(t)
	status, h, text := s.send(t, operator, "GET /api/v1/events?conv="+conv, "")
	if want := "audit export events conversation " + conv + " by otto; export conversation " + conv; status != 200 || s.taken() != want ||
		text != `{"event":"ev_1"}`+"\n" || h.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%d %q %v", status, text, h)
	}
	const span = "since=2026-11-30T00:00:00Z&until=2026-12-01T00:00:00Z"
	if status, _, text := s.send(t, operator, "GET /api/v1/events?endpoint=nowhere&"+span, ""); status != 404 {
		t.Errorf("nothing there: %d %s", status, text)
	}
	s.taken()
	if status, _, _ := s.send(t, viewer, "GET /api/v1/events?conv="+conv, ""); status != 403 || s.taken() != "" {
		t.Errorf("a viewer: %d", status)
	}
	for _, bad := range []string{"", "?conv=x", "?payload=1", "?since=now", "?" + span + "&conv=" + conv, "?since=2026-11-30T00:00:00Z", "?sealed=1", "?conv=" + conv + "&endpoint=meta"} {
		if status, _, text := s.send(t, operator, "GET /api/v1/events"+bad, ""); status != 400 || s.taken() != "" {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
}

// What cannot be finished is cut off, so that nobody takes the half for the whole.
func TestExportCutOff(t *testing.T) {
	s := open(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/events?payload="+payloadID, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+operator)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		_, err = io.ReadAll(res.Body)
	}
	if err == nil {
		t.Error("the answer came to an end")
	}
	if logs := s.logs.FilterMessage("export.cut_off").All(); len(logs) != 1 || strings.Contains(logs[0].Message, "ev_1") {
		t.Errorf("logs: %v", logs)
	}
}
