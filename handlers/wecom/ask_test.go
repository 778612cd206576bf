package wecom_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

func asked(kind, id string) gateway.Identity { return gateway.Identity{Kind: kind, Value: id} }

// The sandbox as the platform: the owner is who began last, through a hand-over, a
// token that ended, and a customer whom nobody has.
func TestAskForOwners(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	a := wecom.NewAsker(newSender(t, s.URL(), egress.Options{}, nil), "")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	happens := func(e wecomtest.Event) {
		t.Helper()
		if _, _, err := s.Make(e); err != nil {
			t.Fatal(err)
		}
	}
	owner := func(kind, id string) string {
		t.Helper()
		got, err := a.Ask(t.Context(), asked(kind, id))
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		return fmt.Sprint(got.Owner, " of ", len(got.Members))
	}
	happens(wecomtest.Event{Kind: "customer", From: "Xu", Customer: "wm1", At: at})
	happens(wecomtest.Event{Kind: "customer", From: "An", Customer: "wm1", At: at.Add(-time.Hour)})
	if got := owner("customer", "wm1"); got != "Xu of 2" {
		t.Errorf("two have the customer: %s", got)
	}
	happens(wecomtest.Event{Kind: "customer", Variant: "transferred", From: "Xu", Customer: "wm1", At: at.Add(time.Hour)})
	s.RevokeToken()
	if got := owner("customer", "wm1"); got != "An of 1" || s.TokenCalls() != 2 {
		t.Errorf("after one left: %s by %d tokens", got, s.TokenCalls())
	}
	if got := owner("customer", "wm-nobody's"); got != " of 0" {
		t.Errorf("nobody: %s", got)
	}
	happens(wecomtest.Event{Kind: "chat", From: "Xu", Chat: "wr1"})
	happens(wecomtest.Event{Kind: "chat", Variant: "change_owner", From: "An", Chat: "wr1"})
	if got := owner("chat", "wr1"); got != "An of 0" {
		t.Errorf("a chat: %s", got)
	}
	if _, err := a.Ask(t.Context(), asked("member", "Xu")); !errors.Is(err, gateway.ErrNotFound) {
		t.Errorf("another kind of key: %v", err)
	}
}

func TestAskForSessions(t *testing.T) {
	t.Parallel()
	for state, want := range []gateway.SessionState{"new", "assistant", "pool", "human", "ended"} {
		api := newAPI(t, says(200, nil, fmt.Sprintf(`{"errcode":0,"errmsg":"ok","service_state":%d,"servicer_userid":"Xu"}`, state)))
		got, err := wecom.NewAsker(newSender(t, api.URL, egress.Options{}, nil), "wk1").Ask(t.Context(), asked("session", "wm1"))
		if err != nil || got.Session != want || got.Servicer != "Xu" {
			t.Errorf("%d: %+v, %v", state, got, err)
		}
		if d := cmp.Diff(readJSON(t, `{"open_kfid":"wk1","external_userid":"wm1"}`), readJSON(t, api.bodies[0])); d != "" || !strings.HasPrefix(api.urls[0], "POST /cgi-bin/kf/service_state/get?access_token=") {
			t.Errorf("%s %s", api.urls[0], d)
		}
	}
}

// An answer that is none is a word without an id; after "too often" and "not
// allowed" WeCom is left alone for a while, and sends go on.
func TestAskRefused(t *testing.T) {
	t.Parallel()
	const secretID = "wmSECRETCUSTOMER"
	for body, word := range map[string]string{
		`{"errcode":-1}`: "-1", `{"errcode":40096,"errmsg":"` + secretID + `"}`: "40096", `{}`: "http_200", `<html>`: "http_200",
		`{"errcode":0,"service_state":9}`: "unreadable",
	} {
		kfid, kind := "", "customer"
		if word == "unreadable" {
			kfid, kind = "wk1", "session"
		}
		api := newAPI(t, says(200, nil, body))
		_, err := wecom.NewAsker(newSender(t, api.URL, egress.Options{}, nil), kfid).Ask(t.Context(), asked(kind, secretID))
		if err == nil || err.Error() != "wecom: no answer: "+word {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, code := range []int{45009, 48002} {
		clock := &movable{t: time.Now()}
		s := startSandbox(t, wecomtest.Options{Now: clock.now})
		c := newSender(t, s.URL(), egress.Options{Now: clock.now}, nil)
		a := wecom.NewAsker(c, "")
		s.SetOwner("wm1", "Xu")
		if _, err := s.Faults().Add(sandbox.Fault{Op: sandbox.OpRead, Code: code, Next: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Ask(t.Context(), asked("customer", "wm1")); err == nil || !strings.HasSuffix(err.Error(), fmt.Sprint(code)) {
			t.Errorf("%d: %v", code, err)
		}
		if _, err := a.Ask(t.Context(), asked("customer", "wm1")); err == nil || !strings.HasSuffix(err.Error(), "resting") {
			t.Errorf("%d, at once again: %v", code, err)
		}
		if o := c.Send(t.Context(), outgoing(toMember("a"), "x", 1)); o.Kind != gateway.OutcomeAccepted {
			t.Errorf("a send meanwhile: %+v", o)
		}
		clock.move(2 * time.Minute)
		if got, err := a.Ask(t.Context(), asked("customer", "wm1")); err != nil || got.Owner != "Xu" {
			t.Errorf("%d, later: %+v, %v", code, got, err)
		}
	}
	api := newAPI(t, says(200, nil, ``))
	api.Close()
	if _, err := wecom.NewAsker(newSender(t, api.URL, egress.Options{}, nil), "").Ask(t.Context(), asked("customer", secretID)); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("away: %v", err)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{})
	for variant, want := range map[string]gateway.NoteWord{
		"add_external_contact": gateway.NoteHas, "add_half_external_contact": gateway.NoteHas, "edit_external_contact": gateway.NoteSeen,
		"msg_audit_approved": gateway.NoteSeen, "del_external_contact": gateway.NoteGone, "transferred": gateway.NoteGone, "del_follow_user": gateway.NoteGone, "transfer_fail": "",
	} {
		_, inner, err := s.Make(wecomtest.Event{Kind: "customer", Variant: variant, From: "XuAn"})
		if err != nil {
			t.Fatal(err)
		}
		items, err := deliver(t, corp, inner, "n")
		if err != nil {
			t.Fatal(err)
		}
		switch n := items[0].Note; {
		case want == "" && n != nil:
			t.Errorf("%s: %+v", variant, n)
		case want != "" && (n == nil || n.Word != want || n.Member.Value != "xuan" || n.Member.Spelling() != "XuAn"):
			t.Errorf("%s: %+v, want %s", variant, n, want)
		}
	}
	for variant, moved := range map[string]bool{"create": true, "change_owner": true, "dismiss": true, "add_member": false, "change_name": false} {
		_, inner, err := s.Make(wecomtest.Event{Kind: "chat", Variant: variant})
		if err != nil {
			t.Fatal(err)
		}
		items, err := deliver(t, corp, inner, "n")
		if err != nil {
			t.Fatal(err)
		}
		if n := items[0].Note; (n != nil && n.Word == gateway.NoteMoved) != moved {
			t.Errorf("%s: %+v", variant, n)
		}
	}
}

func TestSessionNotes(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]*gateway.StateNote{
		`1,"new_servicer_userid":"ChenHao"`: {Session: gateway.SessionHuman, Servicer: gateway.Identity{Kind: "userid", Value: "chenhao", As: "ChenHao"}},
		`2,"new_servicer_userid":"ChenHao"`: {Session: gateway.SessionHuman, Servicer: gateway.Identity{Kind: "userid", Value: "chenhao", As: "ChenHao"}},
		`3,"old_servicer_userid":"ChenHao"`: {Session: gateway.SessionEnded},
		`7`:                                 nil,
	} {
		items := decodePage(t, `{"errcode":0,"msg_list":[`+happened("session_status_change", `,"change_type":`+change)+`]}`, time.Unix(0, 0))
		if d := cmp.Diff(want, items[0].Note); d != "" {
			t.Errorf("%s: %s", change, d)
		}
	}
}
