package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// receiver takes callbacks, verifies and decodes them as the gateway does, and
// answers with a status of its own.
type receiver struct {
	*httptest.Server
	dir    *directory
	status int

	mu     sync.Mutex
	items  []gateway.Item
	bodies [][]byte
	paths  []string
}

// newReceiver listens, and writes a configuration whose credentials and address
// fit; it returns the file's path.
func newReceiver(t *testing.T, status int) (*receiver, string) {
	t.Helper()
	r := &receiver{status: status}
	r.Server = httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(r.Close)
	cred := newSandboxCredentials()
	cred.WhatsApp.APIBase, cred.WeCom.APIBase = "http://127.0.0.1:1", "http://127.0.0.1:2"
	text := "listen: \"" + r.Listener.Addr().String() + "\"\n" + cred.yaml()
	path := filepath.Join(t.TempDir(), "causeway.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if r.dir, err = newDirectory(cfg, time.Now); err != nil {
		t.Fatal(err)
	}
	return r, path
}

func (r *receiver) take(w http.ResponseWriter, req *http.Request) {
	var b bytes.Buffer
	_, _ = b.ReadFrom(req.Body)
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	e, ok := r.dir.endpoint(parts[1], parts[2])
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if _, err := e.Verify(&handlers.Request{RawQuery: req.URL.RawQuery, Header: req.Header, Body: b.Bytes()}); err != nil {
		w.WriteHeader(e.RefusalStatus())
		return
	}
	items, _, _ := e.Decode(&gateway.Payload{Platform: parts[1], Endpoint: parts[2], Body: b.Bytes()})
	r.mu.Lock()
	r.items, r.bodies, r.paths = append(r.items, items...), append(r.bodies, b.Bytes()), append(r.paths, req.URL.Path)
	r.mu.Unlock()
	w.WriteHeader(r.status)
}

func TestSimulate(t *testing.T) {
	tests := map[string]struct {
		args []string
		kind gateway.Kind
		look func(*gateway.Item) bool
	}{
		"text": {[]string{"whatsapp", "--text", "größer 😀 a/b", "--from", "+15550100007", "--id", "wamid.x"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return it.Content.Text == "größer 😀 a/b" && it.Content.ID == "wamid.x" && it.Chat.Identities[1].Value == "15550100007"
		}},
		"image":  {[]string{"whatsapp", "image", "--text", "caption"}, gateway.KindMessage, func(it *gateway.Item) bool { return it.Content.Media != nil && it.Content.Text == "caption" }},
		"button": {[]string{"whatsapp", "button", "--choice", "yes"}, gateway.KindMessage, func(it *gateway.Item) bool { return it.Content.Type == "button_reply" && it.Content.Choice.ID == "yes" }},
		"list":   {[]string{"whatsapp", "list", "--choice", "row-2"}, gateway.KindMessage, func(it *gateway.Item) bool { return it.Content.Type == "list_reply" && it.Content.Choice.ID == "row-2" }},
		"echo":   {[]string{"whatsapp", "echo", "--id", "wamid.y"}, gateway.KindEcho, func(it *gateway.Item) bool { return it.Content.Echo.MessageID == "wamid.y" }},
		"status": {[]string{"whatsapp", "status", "--id", "wamid.z", "--state", "read", "--marker", "ms_1"}, gateway.KindStatus, func(it *gateway.Item) bool {
			return it.Content.Status.State == gateway.StatusRead && it.Content.Status.Marker == "ms_1"
		}},
		"failed status": {[]string{"whatsapp", "status", "--id", "wamid.z", "--state", "failed", "--code", "131047"}, gateway.KindStatus, func(it *gateway.Item) bool {
			return len(it.Content.Status.Errors) == 1 && it.Content.Status.Errors[0].Code == 131047
		}},
		"state by flag": {[]string{"whatsapp", "status", "--marker", "ms_1", "--state", "sent"}, gateway.KindStatus, func(it *gateway.Item) bool {
			return it.Content.Status.State == gateway.StatusSent
		}},
		"no number": {[]string{"whatsapp", "--no-phone", "--username", "maya.l", "--user-id", "GB.8fQ2"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return len(it.Chat.Identities) == 1 && it.Chat.Identities[0].Value == "GB.8fQ2"
		}},
		"before user ids": {[]string{"whatsapp", "image", "--no-user-id", "--media-id", "55"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return len(it.Chat.Identities) == 1 && it.Chat.Identities[0].Value == simulatedCustomer && it.Content.Media.ID == "55" && it.Content.Text == ""
		}},
		"answer": {[]string{"whatsapp", "--quote", "wamid.q"}, gateway.KindMessage, func(it *gateway.Item) bool { return it.Content.QuotedID == "wamid.q" }},
		"at a time": {[]string{"whatsapp", "--at", "2026-11-30T12:00:00Z", "--plain"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return it.OccurredAt.Equal(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
		}},
		"group": {[]string{"whatsapp", "group-text", "--group", "Zm9v"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return it.Chat.Kind == gateway.ChatGroup && it.Chat.Identities[0].Value == "Zm9v"
		}},
		"wecom text": {[]string{"wecom", "--text", "你好 ]]> <b>", "--from", "ChenHao"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return it.Content.Text == "你好 ]]> <b>" && it.Chat.Identities[0].As == "ChenHao"
		}},
		"ago": {[]string{"whatsapp", "--ago", "1h"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return time.Since(it.OccurredAt) > 59*time.Minute
		}},
		"wecom ago":   {[]string{"wecom", "--ago", "1h"}, gateway.KindMessage, func(it *gateway.Item) bool { return time.Since(it.OccurredAt) > 59*time.Minute }},
		"wecom image": {[]string{"wecom", "image"}, gateway.KindMessage, func(it *gateway.Item) bool { return it.Content.Media.ID != "" }},
		"wecom voice": {[]string{"wecom", "voice"}, gateway.KindMessage, func(it *gateway.Item) bool { return it.Content.Media.Format == "amr" }},
		"wecom click": {[]string{"wecom", "click", "--key", "MENU"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return it.Content.Type == "button" && it.Content.Choice.ID == "MENU"
		}},
		"wecom card": {[]string{"wecom", "card", "text_notice", "--task", "ms_1", "--code", "RC"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return it.Content.QuotedID == "ms_1" && it.Content.Handle.Code == "RC"
		}},
		"wecom form": {[]string{"wecom", "card-form", "--picked", "a,b"}, gateway.KindMessage, func(it *gateway.Item) bool {
			return strings.Contains(string(it.Content.Form.Response), `["a","b"]`)
		}},
		"wecom customer": {[]string{"wecom", "customer", "transferred", "--external-user", "wmX", "--from", "ChenHao"}, gateway.KindState, func(it *gateway.Item) bool {
			return it.Chat.Identities[0] == gateway.Identity{Kind: "customer", Value: "wmX"} && it.Content.Change.Member.As == "ChenHao"
		}},
		"wecom chat": {[]string{"wecom", "chat", "add_member", "--chat", "wrX", "--people", "p,q", "--before", "1", "--version", "2"}, gateway.KindState, func(it *gateway.Item) bool {
			return it.Chat.Identities[0].Value == "wrX" && len(it.Content.Change.People) == 2 && it.Content.Change.Before == "1" && it.Content.Change.Version == "2"
		}},
		"wecom renamed": {[]string{"wecom", "member", "renamed", "--new-user", "Neu"}, gateway.KindState, func(it *gateway.Item) bool {
			return it.Chat.Identities[0].As == "Neu" && it.Chat.Identities[1].As == simulatedMember // and the app's conversation
		}},
		"wecom unknown event": {[]string{"wecom", "event", "brand_new"}, gateway.KindNotice, func(it *gateway.Item) bool { return it.Content.Type == "event.brand_new" }},
		"wecom event":         {[]string{"wecom", "event", "--event", "view"}, gateway.KindNotice, func(it *gateway.Item) bool { return it.Content.Type == "event.view" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, path := newReceiver(t, http.StatusOK)
			code, out, errs := execute(t.Context(), "", append([]string{"simulate", "-c", path}, tc.args...)...)
			if code != exitOK {
				t.Fatalf("exit code %d\n%s%s", code, out, errs)
			}
			want := 1
			if name == "wecom renamed" {
				want = 2
			}
			if len(r.items) != want || r.items[0].Err != "" || r.items[0].Kind != tc.kind || !tc.look(&r.items[0]) {
				t.Fatalf("the gateway reads %+v", r.items)
			}
			if !strings.Contains(out, "1 of 1 answered 200") {
				t.Errorf("printed %q", out)
			}
		})
	}
}

// TestSimulateMany: different callbacks differ, duplicates do not, customers are
// spread.
func TestSimulateMany(t *testing.T) {
	r, path := newReceiver(t, http.StatusOK)
	code, out, errs := execute(t.Context(), "", "simulate", "whatsapp", "-c", path, "--json", "--count", "6", "--customers", "3", "--duplicates", "2", "--parallel", "4")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var result simulationResult
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	keys, customers := map[string]int{}, map[string]bool{}
	for _, it := range r.items {
		keys[it.Key]++
		customers[it.Chat.Identities[1].Value] = true
	}
	if result.Sent != 18 || result.OK != 18 || len(keys) != 6 || len(customers) != 3 {
		t.Errorf("sent %d, ok %d, %d keys, %d customers", result.Sent, result.OK, len(keys), len(customers))
	}
	for key, n := range keys {
		if n != 3 {
			t.Errorf("%s delivered %d times", key, n)
		}
	}
	// Every delivery of a WeCom message is encrypted anew.
	if code, _, errs := execute(t.Context(), "", "simulate", "wecom", "-c", path, "--duplicates", "1"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	n := len(r.bodies)
	if bytes.Equal(r.bodies[n-1], r.bodies[n-2]) || r.items[len(r.items)-1].Key != r.items[len(r.items)-2].Key {
		t.Error("the two deliveries are not the same message in two ciphertexts")
	}
}

func TestSimulateFile(t *testing.T) {
	r, path := newReceiver(t, http.StatusOK)
	body := " {\"object\":  \"whatsapp_business_account\", \"entry\": []}\n"
	if code, _, errs := execute(t.Context(), body, "simulate", "whatsapp", "-c", path, "--file", "-"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if string(r.bodies[0]) != body {
		t.Errorf("sent %q", r.bodies[0])
	}
	inner := filepath.Join(t.TempDir(), "inner.xml")
	text := "<xml><ToUserName>ww</ToUserName><FromUserName>A</FromUserName><MsgType>text</MsgType><Content>in a file</Content><MsgId>5</MsgId><AgentID>1</AgentID></xml>"
	if err := os.WriteFile(inner, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := execute(t.Context(), "", "simulate", "wecom", "-c", path, "--file", inner); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if it := r.items[len(r.items)-1]; it.Content.Text != "in a file" {
		t.Errorf("read %+v", it)
	}
	// What came as an envelope goes out as the same bytes, with a new signature.
	envelope := r.bodies[len(r.bodies)-1]
	if code, _, errs := execute(t.Context(), string(envelope), "simulate", "wecom", "-c", path, "--file", "-"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if !bytes.Equal(r.bodies[len(r.bodies)-1], envelope) {
		t.Error("the envelope was changed")
	}
}

// TestSimulateManyInOne: one callback with many messages of many customers.
func TestSimulateManyInOne(t *testing.T) {
	r, path := newReceiver(t, http.StatusOK)
	if code, _, errs := execute(t.Context(), "", "simulate", "whatsapp", "batch", "text", "-c", path, "--messages", "60", "--customers", "20"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	customers := map[string]bool{}
	for i := range r.items {
		customers[r.items[i].Chat.Identities[1].Value] = true
	}
	if len(r.bodies) != 1 || len(r.items) != 60 || len(customers) != 20 {
		t.Errorf("%d callbacks, %d items, %d customers", len(r.bodies), len(r.items), len(customers))
	}
}

// TestSimulatePrint: the exact body on standard output, and a curl line whose
// signature is that of the body; --file sends it again as it is.
func TestSimulatePrint(t *testing.T) {
	r, path := newReceiver(t, http.StatusOK)
	code, out, errs := execute(t.Context(), "", "simulate", "whatsapp", "-c", path, "--print", "--text", "it's größer")
	if code != exitOK || !strings.HasPrefix(out, `{"object":"whatsapp_business_account"`) || !strings.HasSuffix(out, "}") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	if len(r.bodies) != 0 {
		t.Error("it was sent")
	}
	secret := r.secret(t, path)
	if !strings.Contains(errs, whatsapp.Sign(secret, []byte(out))) || !strings.Contains(errs, `it'\''s gr\u00f6`) ||
		!strings.Contains(errs, "curl -sS -X POST 'http://127.0.0.1:") || strings.Contains(errs, secret) {
		t.Errorf("said %s", errs)
	}
	if code, _, errs := execute(t.Context(), out, "simulate", "whatsapp", "-c", path, "--file", "-"); code != exitOK || string(r.bodies[0]) != out {
		t.Errorf("exit code %d: %s", code, errs)
	}
	code, out, _ = execute(t.Context(), "", "simulate", "whatsapp", "-c", path, "--print", "--json", "--count", "2")
	var list []printedCallback
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitOK || len(list) != 2 || list[0].Body == list[1].Body ||
		list[1].Signature != whatsapp.Sign(secret, []byte(list[1].Body)) {
		t.Errorf("%v: %s", err, out)
	}
}

func (r *receiver) secret(t *testing.T, path string) string {
	t.Helper()
	cfg, err := config.Load(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Endpoints[0].AppSecret.Reveal()
}

func TestSimulateList(t *testing.T) {
	code, out, _ := execute(t.Context(), "", "simulate", "whatsapp", "--list")
	if n := strings.Count(out, "\n"); code != exitOK || n != len(whatsapptest.Kinds())+1 || !strings.Contains(out, "reaction-removed") {
		t.Errorf("exit code %d, %d lines:\n%s", code, n, out)
	}
	code, out, _ = execute(t.Context(), "", "simulate", "whatsapp", "--list", "--json")
	var list []listedKind
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitOK || len(list) != len(whatsapptest.Kinds()) {
		t.Errorf("%v: %s", err, out)
	}
	code, out, _ = execute(t.Context(), "", "__complete", "simulate", "whatsapp", "status", "")
	if code != exitOK || !strings.Contains(out, "delivered\nsent\n") {
		t.Errorf("completion: %s", out)
	}
}

// TestSimulateWeComList: the list names every kind, and what is printed can be
// sent as a file.
func TestSimulateWeComList(t *testing.T) {
	code, out, _ := execute(t.Context(), "", "simulate", "wecom", "--list")
	if n := strings.Count(out, "\n"); code != exitOK || n != len(wecomtest.Kinds())+len(wecomtest.KfKinds())+len(wecomtest.BotKinds())+1 || !strings.Contains(out, "card-form") {
		t.Errorf("exit code %d, %d lines:\n%s", code, n, out)
	}
	code, out, _ = execute(t.Context(), "", "__complete", "simulate", "wecom", "tag", "")
	if code != exitOK || !strings.Contains(out, "create\nupdate\n") {
		t.Errorf("completion: %s", out)
	}
	r, path := newReceiver(t, http.StatusOK)
	code, inner, errs := execute(t.Context(), "", "simulate", "wecom", "approval", "-c", path, "--id", "no-7", "--print")
	if code != exitOK || !strings.HasPrefix(inner, "<xml>") {
		t.Fatalf("exit code %d: %s%s", code, inner, errs)
	}
	if code, _, errs := execute(t.Context(), inner, "simulate", "wecom", "-c", path, "--file", "-"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if it := r.items[0]; it.Chat.Identities[0] != (gateway.Identity{Kind: "approval", Value: "no-7"}) {
		t.Errorf("read %+v", it)
	}
	// Several of one kind in one second differ.
	if code, _, errs := execute(t.Context(), "", "simulate", "wecom", "card", "-c", path, "--count", "4", "--customers", "2"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	keys := map[string]bool{}
	for _, it := range r.items[1:] {
		keys[it.Key] = true
	}
	if len(keys) != 4 {
		t.Errorf("%d facts in 4 callbacks", len(keys))
	}
}

func TestSimulateErrors(t *testing.T) {
	_, busy := newReceiver(t, http.StatusServiceUnavailable)
	gone, away := newReceiver(t, http.StatusOK)
	gone.Close()
	edited := func(edit func(*sandboxCredentials)) string {
		cred := newSandboxCredentials()
		cred.WeCom.APIBase = "http://127.0.0.1:2"
		edit(&cred)
		path := filepath.Join(t.TempDir(), "causeway.yaml")
		if err := os.WriteFile(path, []byte(cred.yaml()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	realKf := edited(func(s *sandboxCredentials) { s.WeCom.APIBase = config.WeComAPIBase })
	noKf := edited(func(s *sandboxCredentials) { s.WeCom.Kf = nil })
	tests := map[string]struct {
		args []string
		code int
		says string
	}{
		"not 200":         {[]string{"whatsapp", "-c", busy}, exitFailed, "1 of 1 deliveries were not answered 200"},
		"wecom not 200":   {[]string{"wecom", "-c", busy}, exitFailed, "not answered 200"},
		"nothing there":   {[]string{"whatsapp", "-c", away}, exitUnreachable, "nothing answers at"},
		"no file":         {[]string{"whatsapp", "-c", busy, "--file", filepath.Join(t.TempDir(), "x")}, exitUsage, "--file:"},
		"unknown kind":    {[]string{"whatsapp", "-c", busy, "fax"}, exitUsage, "--list"},
		"wecom kind":      {[]string{"wecom", "-c", busy, "custmer"}, exitUsage, "perhaps customer"},
		"wecom variant":   {[]string{"wecom", "-c", busy, "customer", "sold"}, exitUsage, "customer is one of: add_external_contact"},
		"wecom no choice": {[]string{"wecom", "-c", busy, "text", "sold"}, exitUsage, "text has no variants"},
		"wecom event of":  {[]string{"wecom", "-c", busy, "click", "--event", "view"}, exitUsage, "--event names"},
		"wecom two":       {[]string{"wecom", "-c", busy, "event", "a", "--event", "b"}, exitUsage, "two things"},
		"wecom print":     {[]string{"wecom", "-c", busy, "--print", "--duplicates", "1"}, exitUsage, "sends nothing"},
		"wecom file":      {[]string{"wecom", "-c", busy, "text", "--file", "x"}, exitUsage, "takes the place"},
		"near kind":       {[]string{"whatsapp", "-c", busy, "reactoin"}, exitUsage, "perhaps reaction"},
		"half a kind":     {[]string{"whatsapp", "-c", busy, "template"}, exitUsage, "template-status, template-quality"},
		"near nothing":    {[]string{"whatsapp", "-c", busy, "xyzzy"}, exitUsage, "no kind of callback; see"},
		"unknown variant": {[]string{"whatsapp", "-c", busy, "sticker", "moving"}, exitUsage, "still, animated"},
		"no variants":     {[]string{"whatsapp", "-c", busy, "text", "loud"}, exitUsage, "text has no variants"},
		"two variants":    {[]string{"whatsapp", "-c", busy, "status", "read", "--state", "sent", "--id", "x"}, exitUsage, "two things"},
		"two times":       {[]string{"whatsapp", "-c", busy, "--at", "2026-11-30T12:00:00Z", "--ago", "1h"}, exitUsage, "two things"},
		"what time":       {[]string{"whatsapp", "-c", busy, "--at", "noon"}, exitUsage, "--at must be like"},
		"nobody":          {[]string{"whatsapp", "-c", busy, "--no-phone", "--no-user-id"}, exitUsage, "nobody is left"},
		"one of many":     {[]string{"whatsapp", "-c", busy, "--user-id", "US.1", "--customers", "2"}, exitUsage, "one customer"},
		"too large":       {[]string{"whatsapp", "-c", busy, "batch", "--messages", "0"}, exitUsage, "--messages must be"},
		"too many":        {[]string{"whatsapp", "-c", busy, "group-status", "--id", "x", "--participants", "9"}, exitUsage, "--participants must be"},
		"print twice":     {[]string{"whatsapp", "-c", busy, "--print", "--duplicates", "1"}, exitUsage, "--print sends nothing"},
		"file and kind":   {[]string{"wecom", "-c", busy, "image", "--file", "-"}, exitUsage, "--file takes the place"},
		"status of what":  {[]string{"whatsapp", "-c", busy, "status"}, exitUsage, "--id or --marker"},
		"id of many":      {[]string{"whatsapp", "-c", busy, "--id", "x", "--count", "2"}, exitUsage, "--duplicates"},
		"no endpoint":     {[]string{"whatsapp", "-c", busy, "--endpoint", "corp"}, exitUsage, "no whatsapp endpoint named corp"},
		"no account":      {[]string{"wecom", "-c", busy, "--account", "x"}, exitUsage, "no wecom account named x"},
		"bad url":         {[]string{"whatsapp", "-c", busy, "--url", "ftp://x"}, exitUsage, "--url must be"},
		"bad count":       {[]string{"whatsapp", "-c", busy, "--count", "0"}, exitUsage, "--count must be"},
		"future":          {[]string{"whatsapp", "-c", busy, "--ago", "-1h"}, exitUsage, "--ago"},
		"no config":       {[]string{"whatsapp", "-c", filepath.Join(t.TempDir(), "x.yaml")}, exitUsage, "causeway config init"},
		"no platform":     {nil, exitUsage, "needs one of"},
		"kf kind":         {[]string{"wecom", "-c", busy, "kf-txt"}, exitUsage, "of customer service there are kf-bell, kf-accounts, kf-text, kf-menu"},
		"kf variant":      {[]string{"wecom", "-c", busy, "kf-session", "sold"}, exitUsage, "kf-session is one of: taken, transferred"},
		"kf account":      {[]string{"wecom", "-c", busy, "kf-text", "--account", "corp"}, exitUsage, "account corp is none of customer service (kind: kf); those are: desk"},
		"kf no account":   {[]string{"wecom", "-c", busy, "kf-text", "--kf", "wkOther"}, exitUsage, "by that name or open_kfid; it has: desk"},
		"kf no sandbox":   {[]string{"wecom", "-c", busy, "kf-text"}, exitUnreachable, "no fake platform answers at 127.0.0.1:2; start it with `causeway sandbox"},
		"kf print":        {[]string{"wecom", "-c", busy, "kf-text", "--print"}, exitUsage, "leave --print"},
		"kf real":         {[]string{"wecom", "-c", realKf, "kf-text"}, exitUsage, "account desk is that of the real WeCom"},
		"kf none":         {[]string{"wecom", "-c", noKf, "kf-text"}, exitUsage, "`causeway sandbox` prints one"},
		"unknown command": {[]string{"telegram"}, exitUsage, "telegram"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, errs := execute(t.Context(), "", append([]string{"simulate"}, tc.args...)...)
			if code != tc.code || !strings.Contains(errs, tc.says) {
				t.Errorf("exit code %d, said %q", code, errs)
			}
		})
	}
}

func FuzzEncryptedPart(f *testing.F) {
	f.Add([]byte("<xml><Encrypt>abc</Encrypt></xml>"))
	f.Add([]byte("<Encrypt><![CDATA[abc]]></Encrypt>"))
	f.Add([]byte("</Encrypt><Encrypt>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		text, ok := encryptedPart(body)
		if ok && !bytes.Contains(body, []byte(text)) || !ok && text != "" {
			t.Fatalf("%q of %q", text, body)
		}
	})
}

func TestEncryptedPart(t *testing.T) {
	text, ok := encryptedPart(wecom.Envelope("ww", "1", "c2VhbGVk"))
	if !ok || text != "c2VhbGVk" {
		t.Errorf("%q, %v", text, ok)
	}
	if _, ok := encryptedPart([]byte("<xml><Content>Encrypt</Content></xml>")); ok {
		t.Error("found one where there is none")
	}
}

func TestNth(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{nthNumber("+0099", 1), "+0100"}, {nthNumber("15550100001", 0), "15550100001"}, {nthNumber("US.123", 4), "US.123"},
		{strings.Join(nearKinds("butten", whatsappKinds()), " "), "button"}, {strings.Join(nearKinds("STATUS", whatsappKinds()), " "), "status call-status group-status standby-status template-status app-state-sync"},
		{nthName("Lin", 0), "Lin"}, {nthName("Lin", 2), "Lin-3"}, {nthText("a", 1, 1), "a"}, {nthText("a", 2, 3), "a 2"},
	} {
		if tc.got != tc.want {
			t.Errorf("%q instead of %q", tc.got, tc.want)
		}
	}
}
