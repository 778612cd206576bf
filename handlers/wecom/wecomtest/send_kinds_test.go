package wecomtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// call posts to an API path with a token.
func call(t *testing.T, s *wecomtest.Sandbox, path, access, body string) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/cgi-bin/"+path+"?access_token="+access, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return answered(t, req)
}

func answered(t *testing.T, req *http.Request) (out map[string]any) {
	t.Helper()
	status, body := do(t, req)
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	return out
}

func code(a map[string]any) int {
	n, ok := a["errcode"].(float64)
	if !ok {
		return -99
	}
	return int(n)
}

// Every kind as documented, and what is wrong with it.
func TestKindsAreChecked(t *testing.T) {
	t.Parallel()
	s := start(t, wecomtest.Options{})
	access := getToken(t, s, corpID, secret).Token
	image := s.AddFile("image", "a.png", "image/png", []byte("x"))
	video := s.AddFile("video", "a.mp4", "video/mp4", []byte("x"))
	const act = `"card_action":{"type":1,"url":"https://x.test"}`
	card := func(kind, rest string) string {
		return `"msgtype":"template_card","template_card":{"card_type":"` + kind + `",` + rest + `}`
	}
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	const title, option, submit = `"main_title":{"title":"T"}`, `{"id":"1","text":"a"}`, `"submit_button":{"text":"S","key":"k"}`
	for i, tt := range []struct {
		part string
		code int
	}{
		{`"msgtype":"text","text":{"content":"x"}`, 0},
		{`"msgtype":"text","text":{"content":"x"},"safe":1,"enable_id_trans":1,"enable_duplicate_check":1`, 0},
		{`"msgtype":"text","text":{"content":"x"},"safe":2`, 40058},
		{`"msgtype":"markdown","markdown":{"content":"x"}`, 0},
		{`"msgtype":"markdown"`, 44004},
		{`"msgtype":"image","image":{"media_id":"` + image + `"}`, 0},
		{`"msgtype":"image","image":{"media_id":"` + video + `"}`, 40007},
		{`"msgtype":"image","image":{"media_id":"nothing"}`, 40007},
		{`"msgtype":"image"`, 41006},
		{`"msgtype":"video","video":{"media_id":"` + video + `","title":"t","description":"d"}`, 0},
		{`"msgtype":"voice","voice":{"media_id":"` + image + `"}`, 40007},
		{`"msgtype":"file","file":{"media_id":"` + image + `"}`, 40007},
		{`"msgtype":"news","news":{"articles":[{"title":"t","url":"http://x.test"}]}`, 0},
		{`"msgtype":"news","news":{"articles":[` + many(8, `{"title":"t","url":"http://x.test","picurl":"https://x.test"}`) + `]}`, 0},
		{`"msgtype":"news","news":{"articles":[` + many(9, `{"title":"t","url":"http://x.test"}`) + `]}`, 45008},
		{`"msgtype":"news"`, 40063},
		{`"msgtype":"news","news":{"articles":[{"title":"t"}]}`, 40063},
		{`"msgtype":"news","news":{"articles":[{"url":"http://x.test"}]}`, 40063},
		{`"msgtype":"news","news":{"articles":[{"title":"t","url":"x.test"}]}`, 40058},
		{card("text_notice", title+","+act), 0},
		{card("text_notice", `"sub_title_text":"T",`+act), 0},
		{card("text_notice", act), 40058},
		{card("text_notice", title), 40058},
		{card("text_notice", title+`,"card_action":{"type":1}`), 40058},
		{card("text_notice", title+","+act+`,"horizontal_content_list":[`+many(7, `{}`)+`]`), 40058},
		{card("text_notice", title+","+act+`,"task_id":"a b"`), 40058},
		{card("news_notice", title+","+act+`,"card_image":{"url":"https://x.test"}`), 0},
		{card("news_notice", title+","+act), 40058},
		{card("button_interaction", title+`,"task_id":"t1","button_list":[{"text":"Yes","key":"y"}]`), 0},
		{card("button_interaction", title+`,"task_id":"t1","button_list":[{"text":"Yes","key":"y"}]`), 40058}, // the task is taken
		{card("button_interaction", title+`,"button_list":[{"text":"Yes","key":"y"}]`), 40058},
		{card("button_interaction", title+`,"task_id":"t2","button_list":[]`), 40058},
		{card("button_interaction", title+`,"task_id":"t2","button_list":[{"key":"y"}]`), 40058},
		{card("vote_interaction", title+`,"task_id":"t3",`+submit+`,"checkbox":{"question_key":"q","option_list":[`+many(20, option)+`]}`), 0},
		{card("vote_interaction", title+`,"task_id":"t4",`+submit+`,"checkbox":{"question_key":"q","option_list":[`+many(21, option)+`]}`), 40058},
		{card("vote_interaction", title+`,"task_id":"t4","checkbox":{"question_key":"q","option_list":[`+option+`]}`), 40058},
		{card("multiple_interaction", title+`,"task_id":"t5",`+submit+`,"select_list":[{"question_key":"q","option_list":[`+option+`]}]`), 0},
		{card("multiple_interaction", title+`,"task_id":"t6",`+submit+`,"select_list":[`+many(4, `{"question_key":"q","option_list":[`+option+`]}`)+`]`), 40058},
		{card("multiple_interaction", title+`,"task_id":"t6",`+submit+`,"select_list":[{"question_key":"q","option_list":[`+many(11, option)+`]}]`), 40058},
		{card("poll", title), 40058},
	} {
		a := call(t, s, "message/send", access, `{"touser":"a","agentid":1000017,`+tt.part+`}`)
		if code(a) != tt.code {
			t.Errorf("%d %.120s: %v, want %d", i, tt.part, a, tt.code)
		}
		if hasCode := a["response_code"] != nil; hasCode != (tt.code == 0 && strings.Contains(tt.part, "template_card")) {
			t.Errorf("%d: response code %v", i, a)
		}
	}
	if n := s.CallLog().Summary().Codes["40058"]; n == 0 {
		t.Error("refusals are not in the log")
	}
}

// Codes of cards are good once and for 72 hours, messages can be taken back for 24,
// files are there for three days.
func TestLives(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	move := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	s := start(t, wecomtest.Options{TokenLife: 1000 * time.Hour, Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	access := getToken(t, s, corpID, secret).Token
	card := func(task string) map[string]any {
		return call(t, s, "message/send", access, `{"touser":"a|b","agentid":1000017,"msgtype":"template_card","template_card":{"card_type":"button_interaction","task_id":"`+
			task+`","main_title":{"title":"T"},"button_list":[{"text":"Yes","key":"y"}]}}`)
	}
	update := func(code any, users, rest string) map[string]any {
		return call(t, s, "message/update_template_card", access, fmt.Sprintf(`{"userids":[%s],"agentid":1000017,"response_code":%q%s}`, users, code, rest))
	}
	const button = `,"button":{"replace_name":"Done"}`
	sent := card("t1")
	for _, wrong := range []struct {
		users, rest string
		code        int
	}{{`"a"`, ``, 40058}, {`"a"`, `,"button":{}`, 40058}, {``, button, 82001}, {`"a"`, `,"template_card":{"card_type":"x"}`, 40058}} {
		if a := update(sent["response_code"], wrong.users, wrong.rest); code(a) != wrong.code {
			t.Errorf("%s %s: %v", wrong.users, wrong.rest, a)
		}
	}
	a := update(sent["response_code"], `"a","c"`, button)
	if d := cmp.Diff([]any{"c"}, a["invaliduser"]); code(a) != 0 || d != "" || s.ButtonText("t1") != "Done" {
		t.Errorf("%v %s", a, d)
	}
	if a := update(sent["response_code"], `"a"`, button); code(a) != 40058 {
		t.Errorf("used twice: %v", a)
	}
	if _, err := s.Press("stranger", "t1", "y"); err == nil {
		t.Error("a stranger pressed")
	}
	pressed, err := s.Press("A", "t1", "y")
	if err != nil {
		t.Fatal(err)
	}
	recall := func(id any) int {
		return code(call(t, s, "message/recall", access, fmt.Sprintf(`{"msgid":%q}`, id)))
	}
	if recall(sent["msgid"]) != 0 || !s.Recalled(fmt.Sprint(sent["msgid"])) || recall(sent["msgid"]) != 0 || recall("no") != 40058 || recall("") != 40063 {
		t.Error("recall")
	}
	old := card("t2")
	file := s.AddFile("file", "a", "text/plain", []byte("x"))
	move(24*time.Hour + time.Second)
	if recall(old["msgid"]) != 40058 {
		t.Error("recalled after 24 h")
	}
	move(48 * time.Hour)
	if a := update(pressed, `"a"`, button); code(a) != 40058 {
		t.Errorf("after 72 h: %v", a)
	}
	if a := call(t, s, "message/send", access, `{"touser":"a","agentid":1000017,"msgtype":"file","file":{"media_id":"`+file+`"}}`); code(a) != 40007 {
		t.Errorf("a file after three days: %v", a)
	}
}

func TestMediaUpAndDown(t *testing.T) {
	t.Parallel()
	s := start(t, wecomtest.Options{})
	access := getToken(t, s, corpID, secret).Token
	up := func(kind, field, name, body, token string) map[string]any {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		p, err := w.CreateFormFile(field, name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = p.Write([]byte(body))
		_ = w.Close()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/cgi-bin/media/upload?access_token="+token+"&type="+kind, &b)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", w.FormDataContentType())
		return answered(t, req)
	}
	for _, tt := range []struct {
		kind, field, body, token string
		code                     int
	}{
		{"file", "media", "six666", access, 0},
		{"voice", "media", "#!AMR\nx", access, 0},
		{"file", "media", "five5", access, 40006},
		{"file", "media", strings.Repeat("x", 20<<20+1), access, 45001},
		{"voice", "media", "#!AMR\n" + strings.Repeat("x", 2<<20), access, 45001},
		{"image", "media", "six666", access, 40004},
		{"video", "media", "six666666666", access, 40004},
		{"voice", "media", "six666", access, 40004},
		{"thumb", "media", "six666", access, 40005},
		{"file", "other", "six666", access, 41005},
		{"file", "media", "six666", "stale", 40014},
		{"file", "media", "six666", "", 41001},
	} {
		a := up(tt.kind, tt.field, "报价.txt", tt.body, tt.token)
		if code(a) != tt.code || (a["media_id"] != nil) != (tt.code == 0) {
			t.Errorf("%s %s %.10q: %v, want %d", tt.kind, tt.field, tt.body, a, tt.code)
		}
	}
	get := func(id, token string) (http.Header, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/cgi-bin/media/get?access_token="+token+"&media_id="+id, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body)
		return resp.Header, b.String()
	}
	files := s.Files()
	if len(files) != 2 || files[0].Name != "报价.txt" {
		t.Fatalf("%+v", files)
	}
	if h, body := get(files[0].ID, access); body != "six666" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment; filename") {
		t.Errorf("%q %v", body, h)
	}
	for id, want := range map[string]string{"no": "40007", "": "41006"} {
		if _, body := get(id, access); !strings.Contains(body, want) {
			t.Errorf("%q: %s", id, body)
		}
	}
}

// Every code that the product knows can be had from every call, by the control
// endpoint.
func TestEveryCodeOnDemand(t *testing.T) {
	t.Parallel()
	s := start(t, wecomtest.Options{})
	access := getToken(t, s, corpID, secret).Token
	control := func(method, path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/_sandbox/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if status, said := do(t, req); status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, path, status, said)
		}
	}
	for _, c := range wecom.Codes() {
		for path, op := range map[string]string{"message/send": "send", "message/update_template_card": "send", "message/recall": "send", "media/upload": "media"} {
			control("POST", "faults", fmt.Sprintf(`{"op":%q,"code":%d,"next":1}`, op, c.Code))
			if a := call(t, s, path, access, `{}`); code(a) != c.Code || a["errmsg"] == "" {
				t.Errorf("%s: %v, want %d", path, a, c.Code)
			}
		}
	}
	control("PUT", "unseen", `{"user":"Blind","unseen":true}`)
	control("PUT", "unlicensed", `{"user":"Poor","unlicensed":true}`)
	a := call(t, s, "message/send", access, text("blind|poor|a", "x"))
	if code(a) != 0 || a["invaliduser"] != "blind" || a["unlicenseduser"] != "poor" || a["msgid"] == nil {
		t.Errorf("%v", a)
	}
	control("POST", "media", `{"kind":"file","name":"a","mime":"text/plain","body":"eHh4eHh4"}`)
	if f := s.Files(); len(f) != 1 || string(f[0].Body) != "xxxxxx" {
		t.Errorf("%+v", f)
	}
	control("DELETE", "media", "")
	a = call(t, s, "message/send", access, `{"touser":"a","agentid":1000017,"msgtype":"file","file":{"media_id":"`+s.Files()[0].ID+`"}}`)
	if code(a) != 40007 {
		t.Errorf("%v", a)
	}
	call(t, s, "message/send", access, `{"touser":"a","agentid":1000017,"msgtype":"template_card","template_card":{"card_type":"button_interaction","task_id":"t","main_title":{"title":"T"},"button_list":[{"text":"Yes","key":"y"}]}}`)
	control("POST", "press", `{"user":"a","task":"t","key":"y"}`)
}
