package wecom_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom"
)

const (
	kfID     = "wkMadeUpKf0001"
	customer = "wmMadeUpCustomer0000000000000001"
)

// kfPage is a page as the puller archives it, of an account first seen at since.
func kfPage(body string, since time.Time) *gateway.Payload {
	return &gateway.Payload{Platform: "wecom", Endpoint: wecom.PageEndpoint("desk"), Body: []byte(body), Header: http.Header{
		"Cw-Account": {corp + "/kf:" + kfID}, "Cw-Since": {since.Format(time.RFC3339Nano)},
	}}
}

func decodePage(t testing.TB, body string, since time.Time) []gateway.Item {
	t.Helper()
	p := kfPage(body, since)
	items, err := wecom.Fetched(p)(p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		checkItem(t, &items[i])
	}
	return items
}

// toldKf says in a line what an item is, without its raw part.
func toldKf(it *gateway.Item) string {
	c := &it.Content
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	fmt.Fprintf(&b, "%s %s in %s %s", it.Kind, c.Type, it.Chat.Kind, it.Chat.Identities[0].Spelling())
	if c.From != nil {
		say("from %s", c.From.Identities[0].Spelling())
	}
	if c.ID != "" {
		say("id %s", c.ID)
	}
	if c.Text != "" {
		say("%q", c.Text)
	}
	if c.Media != nil {
		say("media %s%s%s", c.Media.ID, c.Media.Format, c.Media.Filename)
	}
	if c.Choice != nil {
		say("chose %s", c.Choice.ID)
	}
	if c.Location != nil {
		say("at %v %v %s %s", c.Location.Latitude, c.Location.Longitude, c.Location.Name, c.Location.Address)
	}
	if c.Link != nil {
		say("link %s %s %s", c.Link.URL, c.Link.Description, c.Link.Image)
	}
	if c.Product != nil {
		say("product %s", c.Product.Product)
	}
	if c.Target != nil {
		say("target %s", c.Target.MessageID)
	}
	if c.Change != nil {
		say("%s %s", c.Change.Of.Kind, c.Change.What)
		if c.Change.Member != nil {
			say("member %s", c.Change.Member.Spelling())
		}
	}
	if h := c.Handle; h != nil {
		say("%s %s for %s", h.Kind, h.Code, h.Until.Sub(it.OccurredAt))
	}
	if s := c.Status; s != nil {
		say("%s of %s%s code %d", s.State, s.MessageID, strings.Repeat(" ours", len(s.Marker)/29), s.Errors[0].Code)
	}
	if e := c.Echo; e != nil {
		say("echo of %s%s to %s", e.MessageID, strings.Repeat(" ours", len(e.Marker)/29), e.To[0].Value)
	}
	if it.Observed != "" {
		say("observed %s", it.Observed)
	}
	if it.Err != "" {
		say("err %s", it.Err)
	}
	return b.String()
}

// The samples in short: six events whose ids stand inside, a type that nobody knows,
// and a page without messages. See TestFetchedSamples.
func TestKfSamples(t *testing.T) {
	for file, want := range map[string][]string{
		"kf_page_events.json": {
			"notice event.enter_session in single " + customer + " from " + customer + " welcome made-up-welcome for 20s",
			"state event.session_status_change in account " + customer + " session transferred member LinXiaoyu session made-up-code for 48h0m0s",
			"status status in single " + customer + " failed of gw_01J8ZK4Q3TSENDMARK0004 code 4",
			"change revoke in single " + customer + " from " + customer + " target kfm0001",
			"state event.servicer_status_change in account ChenHao member not_receiving member ChenHao",
			"state event.reject_customer_msg_switch_change in account " + customer + " session messages_refused member ChenHao",
		},
		"kf_page_unknown_type.json":   {"notice holo_card in single " + customer + " from " + customer + " id kfm0009"},
		"kf_page_empty_has_more.json": nil,
	} {
		var got []string
		for i, it := range decodePage(t, string(read(t, file)), time.Unix(1_700_000_000, 0)) {
			got = append(got, toldKf(&it))
			if it.AccountID != corp+"/kf:"+kfID || !strings.HasPrefix(it.Key, "k:"+kfID+":kf") || it.OccurredAt.Unix() < 1_790_000_150 {
				t.Errorf("%s %d: %s %s %s", file, i, it.AccountID, it.Key, it.OccurredAt)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
}

// written is a message of a page: origin, type, its own part.
func written(origin int, typ, part string) string {
	return fmt.Sprintf(`{"msgid":"m1","open_kfid":%q,"external_userid":%q,"send_time":1790000160,"origin":%d,"servicer_userid":"ChenHao","msgtype":%q,%q:%s}`,
		kfID, customer, origin, typ, typ, part)
}

func happened(event, fields string) string {
	return fmt.Sprintf(`{"msgid":"e1","send_time":1790000160,"origin":4,"msgtype":"event","event":{"event_type":%q,"open_kfid":%q,"external_userid":%q%s}}`,
		event, kfID, customer, fields)
}

// Every type and event of WeCom 94670, those of a colleague, and what is odd.
func TestKfKinds(t *testing.T) {
	said := func(what string) string {
		return "message " + strings.Replace(what, "|", " in single "+customer+" from "+customer+" id m1", 1)
	}
	for _, c := range []struct{ item, want string }{
		{written(3, "text", `{"content":"你好 <b>"}`), said(`text| "你好 <b>"`)},
		{written(3, "text", `{"content":"Yes","menu_id":"y"}`), said(`button_reply| "Yes" chose y`)},
		{written(3, "image", `{"media_id":"M"}`), said("image| media M")},
		{written(3, "voice", `{"media_id":"M"}`), said("voice| media Mamr")},
		{written(3, "video", `{"media_id":"M"}`), said("video| media M")},
		{written(3, "file", `{"media_id":"M"}`), said("document| media M")},
		{written(3, "location", `{"latitude":31.2,"longitude":"121.5","name":"n","address":"a"}`), said("location| at 31.2 121.5 n a")},
		{written(3, "location", `{"latitude":"north","longitude":1}`), "notice location in single " + customer + " from " + customer + " id m1"},
		{written(3, "link", `{"title":"t","desc":"d","url":"http://x.test","pic_url":"p"}`), said(`link| "t" link http://x.test d p`)},
		{written(3, "business_card", `{"userid":"u"}`), said("business_card|")},
		{written(3, "miniprogram", `{"title":"t","appid":"a"}`), said(`miniprogram| "t"`)},
		{written(3, "channels_shop_product", `{"product_id":"p9","title":"t"}`), said(`channels_shop_product| "t" product p9`)},
		{written(3, "channels_shop_order", `{"order_id":"o","product_titles":"t"}`), said(`channels_shop_order| "t"`)},
		{written(3, "merged_msg", `{"title":"t","item":[]}`), said(`merged_msg| "t"`)},
		{written(3, "channels", `{"sub_type":1,"nickname":"n","title":"t"}`), said(`channels| "t"`)},
		{written(3, "meeting", `{}`), said("meeting|")},
		{written(3, "schedule", `{}`), said("schedule|")},
		{written(3, "note", `{}`), said("note|")},
		{written(3, "text", `"flat"`), "notice text in single " + customer + " from " + customer + " id m1"},
		{written(9, "text", `{"content":"who?"}`), "notice text in single " + customer + ` id m1 "who?"`},

		{written(5, "text", `{"content":"by hand"}`), "echo text in single " + customer + ` from ChenHao id m1 "by hand" echo of m1 to ` + customer},
		{written(5, "msgmenu", `{"head_content":"h","list":[]}`), "echo msgmenu in single " + customer + ` from ChenHao id m1 "h" echo of m1 to ` + customer},
		{written(5, "hologram", `{}`), "echo hologram in single " + customer + " from ChenHao id m1 echo of m1 to " + customer},
		{strings.Replace(written(3, "text", `{"content":"x"}`), `"m1"`, `"`+marker+`"`, 1),
			"echo text in single " + customer + " from ChenHao id " + marker + ` "x" echo of ` + marker + " ours to " + customer},

		{happened("enter_session", `,"scene":"s"`), "notice event.enter_session in single " + customer + " from " + customer},
		{happened("msg_send_fail", `,"fail_msgid":"`+marker+`","fail_type":6`), "status status in single " + customer + " failed of " + marker + " ours code 6"},
		{happened("servicer_recall_msg", `,"recall_msgid":"m7","servicer_userid":"ChenHao"`), "change revoke in single " + customer + " from ChenHao target m7"},
		{happened("session_status_change", `,"change_type":1,"new_servicer_userid":"A"`), "state event.session_status_change in account " + customer + " session taken member A"},
		{happened("session_status_change", `,"change_type":3,"old_servicer_userid":"A","msg_code":"c"`),
			"state event.session_status_change in account " + customer + " session ended member A session c for 20s"},
		{happened("session_status_change", `,"change_type":4,"new_servicer_userid":"A","msg_code":"c"`),
			"state event.session_status_change in account " + customer + " session taken_again member A session c for 48h0m0s"},
		{happened("session_status_change", `,"change_type":7`), "state event.session_status_change in account " + customer + " session 7"},
		{happened("reject_customer_msg_switch_change", `,"reject_switch":0`), "state event.reject_customer_msg_switch_change in account " + customer + " session messages_accepted"},
		{happened("servicer_status_change", `,"servicer_userid":"A","status":1`), "state event.servicer_status_change in account A member receiving member A"},
		{happened("tomorrow", `,"x":1`), "notice event.tomorrow in single " + customer},
		{happened("msg_send_fail", ``), "notice event.msg_send_fail in single " + customer},
		{happened("user_recall_msg", ``), "notice event.user_recall_msg in single " + customer},
		{`{"msgid":"m2","origin":3,"msgtype":"text","text":{"content":"x"}}`, "notice text in account " + corp + "/kf:" + kfID + ` id m2 "x"`},
		{`{"msgtype":"event"}`, "notice event. in account " + corp + "/kf:" + kfID},
		{`7`, "notice unknown in account " + corp + "/kf:" + kfID + " err bad item: not a JSON object"},
		{`null`, "notice unknown in account " + corp + "/kf:" + kfID + " err bad item: not a JSON object"},
	} {
		items := decodePage(t, `{"errcode":0,"msg_list":[`+c.item+`,{"msgid":"n"}]}`, time.Unix(0, 0))
		if len(items) != 2 {
			t.Fatalf("%s: %d items", c.item, len(items))
		}
		if got := toldKf(&items[0]); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.item, got, c.want)
		}
	}
}

// What was sent before the account was first seen is history; what has no time is
// not. An account beside the one asked for keeps its own.
func TestKfHistory(t *testing.T) {
	at := time.Unix(1_790_000_160, 700_000_000)
	list := `{"msg_list":[` + written(3, "text", `{"content":"x"}`) + `,` + strings.Replace(written(3, "text", `{"content":"y"}`), "1790000160", "1790000159", 1) +
		`,{"msgid":"m3","open_kfid":"wkOther","external_userid":"c","origin":3,"msgtype":"text","text":{"content":"z"}}]}`
	items := decodePage(t, list, at)
	if items[0].Observed != "" || items[1].Observed != gateway.ObservedHistory || items[2].Observed != "" {
		t.Errorf("%q %q %q", items[0].Observed, items[1].Observed, items[2].Observed)
	}
	if items[2].AccountID != corp+"/kf:wkOther" || items[2].Key != "k:wkOther:m3" {
		t.Errorf("%s %s", items[2].AccountID, items[2].Key)
	}
}

func TestKfUndecodable(t *testing.T) {
	good := kfPage(`{"msg_list":[]}`, time.Unix(0, 0))
	for name, change := range map[string]func(*gateway.Payload){
		"no account":  func(p *gateway.Payload) { p.Header.Del("Cw-Account") },
		"bad account": func(p *gateway.Payload) { p.Header.Set("Cw-Account", corp+"/7") },
		"no time":     func(p *gateway.Payload) { p.Header.Del("Cw-Since") },
		"no JSON":     func(p *gateway.Payload) { p.Body = []byte(`{"msg_list":`) },
		"no list":     func(p *gateway.Payload) { p.Body = []byte(`{"msg_list":{}}`) },
	} {
		p := *good
		p.Header = good.Header.Clone()
		change(&p)
		if _, err := wecom.DecodePage(&p); err == nil {
			t.Errorf("%s: decoded", name)
		} else {
			wantErr(t, err, gateway.ErrUndecodable)
		}
	}
	if wecom.Fetched(&gateway.Payload{Platform: "wecom", Endpoint: "corp"}) != nil || wecom.Fetched(&gateway.Payload{Platform: "whatsapp", Endpoint: "kf:x"}) != nil {
		t.Error("a callback is taken for a page")
	}
}

// A bell names the account, and its token with the end of it.
func TestBellOf(t *testing.T) {
	it := decode(t, read(t, "event_kf_msg_or_event.xml"))
	rung := time.Unix(1_790_000_090, 0).UTC()
	got, ok := wecom.BellOf(&it, rung.Add(time.Second))
	want := wecom.Bell{AccountID: corp + "/kf:" + kfID, Token: "ENCmadeUpKfToken0001", Until: rung.Add(9*time.Minute + 45*time.Second)}
	if !ok || got != want {
		t.Errorf("%v %+v", ok, got)
	}
	other := decode(t, read(t, "event_kf_account_auth_change.xml"))
	if _, ok := wecom.BellOf(&other, rung); ok {
		t.Error("another event rings")
	}
}

// FuzzKfPage: no input panics, harms a neighbour, or makes an item that is not one.
func FuzzKfPage(f *testing.F) {
	for _, name := range []string{"kf_page_events.json", "kf_page_unknown_type.json", "kf_page_empty_has_more.json"} {
		f.Add(string(read(f, name)))
	}
	f.Add(`{"msg_list":[` + written(3, "text", `{"content":"x"}`) + `,7,{"msgid":18446744073709551615,"send_time":1e400}]}`)
	f.Add(`{"msg_list":[` + happened("session_status_change", `,"change_type":"3","msg_code":{}`) + `,null,[[]],"\ud800"]}`)
	f.Fuzz(func(t *testing.T, body string) {
		p := kfPage(body, time.Unix(1_790_000_155, 0))
		items, err := wecom.DecodePage(p)
		if err != nil {
			wantErr(t, err, gateway.ErrUndecodable)
			return
		}
		again, _ := wecom.DecodePage(p)
		if d := cmp.Diff(items, again); d != "" {
			t.Errorf("decoding is not pure:\n%s", d)
		}
		for i := range items {
			checkItem(t, &items[i])
		}
	})
}

// BenchmarkKfPage decodes the longest page there is.
func BenchmarkKfPage(b *testing.B) {
	list := make([]string, 1000)
	for i := range list {
		list[i] = strings.Replace(written(3, "text", `{"content":"Where is my order? It should have been here on Monday."}`), `"m1"`, fmt.Sprintf(`"m%d"`, i), 1)
	}
	p := kfPage(`{"errcode":0,"errmsg":"ok","next_cursor":"c","has_more":1,"msg_list":[`+strings.Join(list, ",")+`]}`, time.Unix(0, 0))
	b.SetBytes(int64(len(p.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if items, err := wecom.DecodePage(p); err != nil || len(items) != 1000 {
			b.Fatal(len(items), err)
		}
	}
}
