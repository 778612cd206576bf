package whatsapp_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

const goodMessage = `{"from":"15550100001","id":"wamid.GOOD","timestamp":"1760000000","type":"text","text":{"body":"fine"}}`

// TestBrokenItems: one odd element is one dead item, and the good ones before
// and after it are as ever.
func TestBrokenItems(t *testing.T) {
	deep := strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100)
	for name, tt := range map[string]struct{ odd, want string }{
		"number":                {`17`, "message is no object"},
		"null":                  {`null`, "message is no object"},
		"text":                  {`"wamid"`, "message is no object"},
		"list":                  {`[]`, "message is no object"},
		"empty":                 {`{}`, "message without id"},
		"no id":                 {`{"from":"15550100002","type":"text","text":{"body":"x"}}`, "message without id"},
		"id is an object":       {`{"from":"15550100002","id":{},"type":"text","text":{"body":"x"}}`, "message without id"},
		"nobody":                {`{"id":"wamid.ODD","type":"text","text":{"body":"x"}}`, "message without sender"},
		"sender is a list":      {`{"from":["15550100002"],"id":"wamid.ODD","type":"text","text":{"body":"x"}}`, "message without sender"},
		"text without body":     {`{"from":"15550100002","id":"wamid.ODD","type":"text"}`, "text without body"},
		"body is a number":      {`{"from":"15550100002","id":"wamid.ODD","type":"text","text":{"body":5}}`, "text without body"},
		"image is text":         {`{"from":"15550100002","id":"wamid.ODD","type":"image","image":"x"}`, "image is no object"},
		"interactive is a list": {`{"from":"15550100002","id":"wamid.ODD","type":"interactive","interactive":[]}`, "interactive is no object"},
		"reply is missing":      {`{"from":"15550100002","id":"wamid.ODD","type":"interactive","interactive":{"type":"list_reply"}}`, "list_reply is no object"},
		"reaction to nothing":   {`{"from":"15550100002","id":"wamid.ODD","type":"reaction","reaction":{"emoji":"x"}}`, "reaction without the message it is about"},
		"edit of nothing":       {`{"from":"15550100002","id":"wamid.ODD","type":"edit","edit":[]}`, "edit without the message it is about"},
		"edit to nothing":       {`{"from":"15550100002","id":"wamid.ODD","type":"edit","edit":{"original_message_id":"m","message":{"type":"text"}}}`, "edit: text without body"},
		"revoke is text":        {`{"from":"15550100002","id":"wamid.ODD","type":"revoke","revoke":"wamid.X"}`, "revoke without the message it is about"},
		"place off the earth":   {`{"from":"15550100002","id":"wamid.ODD","type":"location","location":{"latitude":91,"longitude":0}}`, "location without coordinates"},
		"place is not a number": {`{"from":"15550100002","id":"wamid.ODD","type":"location","location":{"latitude":"NaN","longitude":0}}`, "location without coordinates"},
		"cards are an object":   {`{"from":"15550100002","id":"wamid.ODD","type":"contacts","contacts":{}}`, "contacts is no list"},
		"order is a list":       {`{"from":"15550100002","id":"wamid.ODD","type":"order","order":[]}`, "order is no object"},
		"form is text":          {`{"from":"15550100002","id":"wamid.ODD","type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":"x"}}`, "nfm_reply is no object"},
		"id is too long":        {`{"from":"15550100002","id":"` + strings.Repeat("x", 1025) + `","type":"text","text":{"body":"x"}}`, "message with an id that is too long"},
		"button is text":        {`{"from":"15550100002","id":"wamid.ODD","type":"button","button":"yes"}`, "button is no object"},
		"too deep":              {`{"from":"15550100002","id":"wamid.ODD","type":"new","new":` + deep + `}`, "nested too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			items := decode(t, inValue(`"messages":[`+goodMessage+`,`+tt.odd+`,`+goodMessage+`]`))
			if len(items) != 3 {
				t.Fatalf("%d items", len(items))
			}
			for _, i := range []int{0, 2} {
				if items[i].Err != "" || items[i].Content.Text != "fine" || items[i].Kind != gateway.KindMessage {
					t.Errorf("item %d: %q", i, items[i].Err)
				}
			}
			odd := items[1]
			if odd.Err != "bad item: "+tt.want {
				t.Errorf("Err %q, want %q", odd.Err, tt.want)
			}
			if odd.AccountID != "901" || odd.AccountNumber != "15550100099" {
				t.Errorf("account %q %q", odd.AccountID, odd.AccountNumber)
			}
			if strings.Contains(tt.odd, `"from":"15550100002"`) && odd.Chat.Identities[0].Value != "15550100002" {
				t.Errorf("the sender is known and not kept: %v", odd.Chat)
			}
		})
	}
}

func TestBrokenStatusesAndEchoes(t *testing.T) {
	for odd, want := range map[string]string{
		`7`:                            "status is no object",
		`{"status":"sent"}`:            "status without id",
		`{"id":"wamid.S"}`:             "status without state",
		`{"id":"wamid.S","status":[]}`: "status without state",
	} {
		items := decode(t, inValue(`"statuses":[`+odd+`,{"id":"wamid.S2","status":"sent","recipient_id":"15550100001"}],"messages":[`+goodMessage+`]`))
		if len(items) != 3 || items[0].Err != "bad item: "+want || items[1].Err != "" || items[2].Err != "" {
			t.Errorf("%s: %d items, Err %q", odd, len(items), items[0].Err)
		}
	}
	for odd, want := range map[string]string{
		`7`:                             "echo is no object",
		`{"to":"1"}`:                    "echo without id",
		`{"id":"wamid.E","from":"901"}`: "echo without recipient",
	} {
		items := decode(t, inField("smb_message_echoes", `"message_echoes":[`+odd+`,{"id":"wamid.E2","to":"15550100001","type":"text"}]`))
		if len(items) != 2 || items[0].Err != "bad item: "+want || items[1].Err != "" || items[1].Kind != gateway.KindEcho {
			t.Errorf("%s: %d items, Err %q", odd, len(items), items[0].Err)
		}
	}
}

// TestBrokenPlaces: entries, changes and values of the wrong kind.
func TestBrokenPlaces(t *testing.T) {
	good := string(texts(t, "15550100001", "wamid.GOOD"))
	good = good[strings.Index(good, `{"id":"900"`):strings.LastIndex(good, `]}`)]
	for odd, want := range map[string]string{
		`null`:                     "entry is no object",
		`"x"`:                      "entry is no object",
		`{"id":"9"}`:               "entry without a list of changes",
		`{"id":"9","changes":{}}`:  "entry without a list of changes",
		`{"id":"9","changes":[3]}`: "change is no object",
		`{"id":"9","changes":[{"field":"messages"}]}`:                                                              "value is no object",
		`{"id":"9","changes":[{"field":"messages","value":[]}]}`:                                                   "value is no object",
		`{"id":"9","changes":[{"field":"messages","value":{"messages":{}}}]}`:                                      "messages is no list",
		`{"id":"9","changes":[{"field":"new","value":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}]}`: "nested too deep",
	} {
		items := decode(t, []byte(`{"entry":[`+odd+`,`+good+`],"object":"whatsapp_business_account"}`))
		if len(items) != 2 || items[0].Err != "bad item: "+want || items[1].Content.ID != "wamid.GOOD" {
			t.Errorf("%s: %d items, Err %q", odd, len(items), items[0].Err)
		}
	}
}

func TestNoEnvelope(t *testing.T) {
	for _, body := range []string{
		``, ` `, `x`, `null`, `[]`, `"x"`, `5`, `{}`, `{"object":5}`, `{"object":"whatsapp_business_account"}`,
		`{"object":"whatsapp_business_account","entry":{}}`, `{"object":"whatsapp_business_account","entry":[]`,
		`{"Object":"whatsapp_business_account","entry":[]}`, `{"object":"whatsapp_business_account","entry":[]} {}`,
		"\ufeff" + `{"object":"whatsapp_business_account","entry":[]}`,
		strings.Repeat(`{"a":`, 11_000) + `1` + strings.Repeat(`}`, 11_000),
	} {
		items, err := tryDecode(t, []byte(body))
		wantErr(t, err, gateway.ErrUndecodable)
		if len(items) != 0 {
			t.Errorf("%.40s: items beside an error", body)
		}
	}
	for _, body := range []string{
		`{"object":"page","entry":[{"id":"1","messaging":[{}]}]}`,
		`{"object":"Whatsapp_Business_Account","entry":5}`,
		"\n\t" + `{"object":"whatsapp_business_account","entry":[]}` + "\n",
	} {
		if items := decode(t, []byte(body)); len(items) != 0 {
			t.Errorf("%s: %d items", body, len(items))
		}
	}
}

func TestAbsurdNumberOfItems(t *testing.T) {
	many := strings.Repeat(`0,`, 60_000) + `0]`
	for _, c := range [][2]string{
		{"messages", `"messages":[` + many},
		{"messages", `"errors":[` + many},
		{"messages", strings.Repeat(`"messages":0,`, 60_000) + `"statuses":[]`},
		{"history", `"history":[` + many},
		{"history", `"history":[{"threads":[` + many + `}]`},
		{"history", `"history":[{"threads":[{"messages":[` + many + `}]}]`},
		{"history", `"messages":[` + many},
		{"standby", `"standby":{"message_echoes":[` + many + `}`},
	} {
		items, _, err := endpoint().Decode(&gateway.Payload{Body: inField(c[0], c[1])})
		wantErr(t, err, gateway.ErrUndecodable)
		if len(items) > 0 {
			t.Errorf("%d items beside an error", len(items))
		}
	}
	// A thousand is a usual POST.
	if items := decode(t, inValue(`"errors":[`+strings.Repeat(`{"code":1},`, 999)+`{"code":1}]`)); len(items) != 1000 {
		t.Errorf("%d items", len(items))
	}
}

// TestDoubledAndOddlySpelledNames: of equal names the last counts, and another
// spelling is another name; both every time.
func TestDoubledAndOddlySpelledNames(t *testing.T) {
	it := decode(t, inValue(`"messages":[{"from":"1","from":"15550100001","FROM":"2","id":"a","ID":"b","id":"wamid.X",
		"\u0074ype":"text","text":{"body":"first"},"text":{"body":"last","BODY":"loud"},"timestamp":"1"}]`))[0]
	if it.Content.Text != "last" || it.Content.ID != "wamid.X" || it.Chat.Identities[0].Value != "15550100001" {
		t.Errorf("%+v", it)
	}
	items := decode(t, inValue(`"MESSAGES":[{"from":"1"}],"messages":[`+goodMessage+`]`))
	if len(items) != 2 || items[0].Kind != gateway.KindNotice || items[0].Content.Type != "MESSAGES" || items[1].Content.ID != "wamid.GOOD" {
		t.Errorf("%+v", items)
	}
}

func TestTimestamps(t *testing.T) {
	at := time.Date(2025, 10, 9, 8, 53, 20, 0, time.UTC)
	for stamp, want := range map[string]time.Time{
		`"1760000000"`:         at,
		`1760000000`:           at,
		`"1760000000123"`:      at.Add(123 * time.Millisecond),
		`1760000000123`:        at.Add(123 * time.Millisecond),
		`" 1760000000 "`:       at,
		`"0"`:                  {},
		`"-5"`:                 {},
		`"soon"`:               {},
		`1.5`:                  {},
		`null`:                 {},
		`{}`:                   {},
		`99999999999999999999`: {},
		`"9999999999999999"`:   {},
	} {
		it := decode(t, inValue(`"messages":[{"from":"1","id":"i","type":"text","text":{"body":"x"},"timestamp":`+stamp+`}]`))[0]
		if !it.OccurredAt.Equal(want) || it.Err != "" {
			t.Errorf("%s: %v, Err %q", stamp, it.OccurredAt, it.Err)
		}
	}
}

// TestContactsAreJoinedByID: never by place, user id before number.
func TestContactsAreJoinedByID(t *testing.T) {
	contacts := `"contacts":[
		{"profile":{"name":"Nobody here"},"wa_id":"9"},
		{"profile":{"name":"Number"},"wa_id":"15550100001"},
		{"profile":{"username":"@user"},"user_id":"US.1"},
		7, {"profile":[]}, null],`
	for _, tt := range []struct{ ids, name string }{
		{`"from":"15550100001"`, "Number"},
		{`"from_user_id":"US.1"`, "@user"},
		{`"from":"US.1"`, "@user"},
		{`"from":"15550100001","from_user_id":"US.1"`, "@user"},
		{`"from":"15550100001","from_user_id":"US.2"`, "Number"},
		{`"from":"15550100002"`, ""},
	} {
		it := decode(t, inValue(contacts+`"messages":[{`+tt.ids+`,"id":"i","type":"text","text":{"body":"x"}}]`))[0]
		name, username := tt.name, ""
		if u, ok := strings.CutPrefix(tt.name, "@"); ok {
			name, username = "", u
		}
		if it.Content.From == nil || it.Content.From.Name != name || it.Content.From.Username != username {
			t.Errorf("%s: %+v", tt.ids, it.Content.From)
		}
	}
}

// TestNumbersKeepTheirDigits: ids above 2^53 come through as they are.
func TestNumbersKeepTheirDigits(t *testing.T) {
	it := decode(t, []byte(`{"object":"whatsapp_business_account","entry":[{"id":900719925474099301,"time":1760000000,"changes":[
		{"field":"message_template_status_update","value":{"message_template_id":900719925474099311,"event":"APPROVED"}}]}]}`))[0]
	if it.AccountID != "waba:900719925474099301" || !bytes.Contains(it.Content.Raw, []byte("900719925474099311")) {
		t.Errorf("%s %s", it.AccountID, it.Content.Raw)
	}
}

// TestRawIsTheSameValue: also with escapes no store likes and bytes that are no
// UTF-8.
func TestRawIsTheSameValue(t *testing.T) {
	items := decode(t, read(t, "text_nul_and_lone_surrogate.json"))
	if !bytes.Contains(items[0].Content.Raw, []byte(`A\u0000B \ud83d C`)) {
		t.Errorf("raw %s", items[0].Content.Raw)
	}
	items = decode(t, inValue(`"messages":[{"from":"1","id":"i","type":"text","text":{"body":"a`+"\xff\xfe"+`b<&>"}}]`))
	content, err := gateway.EncodeContent(&items[0].Content)
	if err != nil || !json.Valid(content) || !bytes.Contains(content, []byte("b<&>")) || items[0].Err != "" {
		t.Errorf("%v: %s", err, content)
	}
}

// TestMediaThatCouldNotBeFetched: the object is missing, the message is not.
func TestMediaThatCouldNotBeFetched(t *testing.T) {
	it := decode(t, inValue(`"messages":[{"from":"1","id":"i","type":"image","errors":[{"code":131052}]}]`))[0]
	if it.Kind != gateway.KindMessage || it.Content.Media != nil || it.Err != "" {
		t.Errorf("%+v", it)
	}
}

// TestOldNewsIsNotFresh: messages under history and standby are never offered,
// and cannot be taken for, or swallow, the message itself; nor can a call's state
// be taken for what became of a message.
func TestOldNewsIsNotFresh(t *testing.T) {
	fresh := decode(t, inValue(`"messages":[`+goodMessage+`]`))[0]
	seen := map[string]string{gateway.EventID("whatsapp", &fresh): "fresh"}
	for _, c := range []struct {
		field, members string
		want           gateway.Observed
	}{
		{"history", `"messages":[` + goodMessage + `]`, gateway.ObservedHistory},
		{"history", `"history":[{"threads":[{"id":"15550100001","messages":[` + goodMessage + `]}]}]`, gateway.ObservedHistory},
		{"standby", `"standby":{"messages":[` + goodMessage + `]}`, gateway.ObservedStandby},
		{"standby", `"messages":[` + goodMessage + `]`, gateway.ObservedStandby},
		{"history", `"conversations":[` + goodMessage + `]`, gateway.ObservedHistory},
	} {
		items := decode(t, inField(c.field, c.members))
		if len(items) != 1 || items[0].Observed != c.want || items[0].Err != "" {
			t.Errorf("%s: %+v", c.field, items)
			continue
		}
		id := gateway.EventID("whatsapp", &items[0])
		if other := seen[id]; other != "" {
			t.Errorf("%s %s is the same event as %s", c.field, c.members, other)
		}
		seen[id] = c.field + " " + c.members
	}
	// The same mistake one level up: messages under the field of echoes.
	for _, it := range decode(t, inField("smb_message_echoes", `"messages":[`+goodMessage+`]`)) {
		if it.Kind != gateway.KindNotice {
			t.Errorf("messages under echoes are %s", it.Kind)
		}
	}
	for _, field := range []string{"calls", "messages"} {
		it := decode(t, inField(field, `"statuses":[{"id":"wacid.1","status":"RINGING","type":"call","recipient_id":"15550100001"}]`))[0]
		if it.Kind != gateway.KindNotice || it.Content.Status != nil || it.Key != "c:wacid.1:RINGING" || it.Content.Call.Event != "ringing" {
			t.Errorf("under %s: %+v", field, it)
		}
	}
	// Under calls even without the type.
	it := decode(t, inField("calls", `"statuses":[{"id":"wacid.1","status":"ACCEPTED","recipient_id":"15550100001"}]`))[0]
	if it.Content.Status != nil || it.Key != "c:wacid.1:ACCEPTED" {
		t.Errorf("%+v", it)
	}
}

func TestStatusContent(t *testing.T) {
	it := decode(t, inValue(`"statuses":[{"id":"wamid.S","status":"failed","timestamp":"1760000000","recipient_id":"15550100001",
		"recipient_user_id":"US.7","biz_opaque_callback_data":"ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA","errors":[
		{"code":131026,"title":"T","message":"M","error_data":{"details":"D"}},{"code":"131047","message":"M2"},5]}]`))[0]
	want := &gateway.Status{
		MessageID: "wamid.S", State: gateway.StatusFailed, Marker: "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA",
		Errors: []gateway.Problem{{Code: 131026, Title: "T", Detail: "D"}, {Code: 131047, Detail: "M2"}, {}},
	}
	if diff := cmp.Diff(want, it.Content.Status); diff != "" {
		t.Error(diff)
	}
	if !gateway.OurMarker(it.Content.Status.Marker) {
		t.Error("the marker is not ours")
	}
	// Two participants of a group are two facts, the alias field is the same one.
	ids := map[string]bool{}
	for _, who := range []string{`"recipient_participant_id":"1"`, `"participant_recipient_id":"1"`, `"recipient_participant_id":"2"`, `"recipient_participant_user_id":"US.1"`} {
		it := decode(t, inValue(`"statuses":[{"id":"wamid.G","status":"read","recipient_id":"Z3JvdXA=","recipient_type":"group",`+who+`}]`))[0]
		if it.Chat.Kind != gateway.ChatGroup || it.Content.Status.Participant == nil {
			t.Errorf("%s: %+v", who, it)
		}
		ids[gateway.EventID("whatsapp", &it)] = true
	}
	if len(ids) != 3 {
		t.Errorf("%d facts, want 3", len(ids))
	}
	// A status that names nobody still speaks of a message.
	it = decode(t, inValue(`"statuses":[{"id":"wamid.S","status":"sent"}]`))[0]
	if it.Err != "" || it.Chat.Kind != gateway.ChatAccount {
		t.Errorf("%+v", it)
	}
}

// TestNoticeKeys: a retry with other white space and order of names is the same
// fact; another time, entry or value is another one.
func TestNoticeKeys(t *testing.T) {
	notice := func(entry, value string) string {
		it := decode(t, []byte(`{"object":"whatsapp_business_account","entry":[{`+entry+`,"changes":[{"field":"account_update","value":`+value+`}]}]}`))[0]
		return gateway.EventID("whatsapp", &it)
	}
	base := notice(`"id":"1","time":5`, `{"event":"X","n":1.0,"s":"\ud83d"}`)
	if notice(`"time":5, "id":"1"`, ` { "s":"\ud83d", "n":1.0 , "event" : "X"}`) != base {
		t.Error("a retry became another fact")
	}
	for name, other := range map[string]string{
		"time":      notice(`"id":"1","time":6`, `{"event":"X","n":1.0,"s":"\ud83d"}`),
		"entry":     notice(`"id":"2","time":5`, `{"event":"X","n":1.0,"s":"\ud83d"}`),
		"number":    notice(`"id":"1","time":5`, `{"event":"X","n":1,"s":"\ud83d"}`),
		"surrogate": notice(`"id":"1","time":5`, `{"event":"X","n":1.0,"s":"\ud83e"}`),
		"nesting":   notice(`"id":"1","time":5`, `{"event":"X","n":[1.0],"s":"\ud83d"}`),
	} {
		if other == base {
			t.Errorf("another %s is the same fact", name)
		}
	}
	errs := decode(t, inValue(`"errors":[{"code":1},{"code":1}],"messages":[`+goodMessage+`]`))
	if errs[0].Key == errs[1].Key {
		t.Error("two errors of one value are one fact")
	}
}

// TestCustomerOfANotice: what is about one customer is in their conversation,
// each element in its own; what names nobody, or two, is in the account's.
func TestCustomerOfANotice(t *testing.T) {
	for _, tt := range []struct{ field, members, want string }{
		{"calls", `"contacts":[{"wa_id":"1","user_id":"US.1"}],"calls":[{"id":"wacid.1","event":"connect"}]`, "notice single bsuid:US.1"},
		{"calls", `"calls":[{"id":"wacid.1","event":"connect","from":"1","to":"901","direction":"USER_INITIATED"}]`, "notice single phone:1"},
		{"calls", `"calls":[{"id":"wacid.1","event":"connect","from":"901","to":"1","direction":"BUSINESS_INITIATED"}]`, "notice single phone:1"},
		{"calls", `"calls":[{"id":"wacid.1","event":"connect","from":"15550100099","to":"1"}]`, "notice single phone:1"},
		{"calls", `"calls":[{"id":"wacid.1","event":"connect","from":"1","to":"15550100099"}]`, "notice single phone:1"},
		{"user_preferences", `"user_preferences":[{"user_id":"US.1"},{"user_id":"US.2"}]`, "state single bsuid:US.1"},
		{"user_preferences", `"user_preferences":[{"value":"stop"}]`, "state account account:901"},
		{"standby", `"standby":{"message_echoes":[{"id":"e","message":{"to":"+1","type":"text"}}]}`, "echo single phone:1"},
		{"standby", `"standby":{"statuses":[{"id":"e","status":"sent","recipient_user_id":"US.1"}]}`, "status single bsuid:US.1"},
		{"group_lifecycle_update", `"groups":[{"group_id":"G=","type":"group_create"},{"group_id":"H="}]`, "state group group:G="},
		{"group_lifecycle_update", `"groups":[{"type":"group_create","errors":[{"code":131207}]}]`, "notice account account:901"},
		{"history", `"contacts":[{"wa_id":"1"}],"history":[{}]`, "notice account account:901"},
		{"orders_v2", `"x":1`, "notice account account:901"},
		{"orders_v2", `"contacts":[{"wa_id":"1"}],"x":1`, "notice single phone:1"},
		{"orders_v2", `"contacts":[{"wa_id":"1"},{"wa_id":"2"}],"x":1`, "notice account account:901"},
	} {
		it := decode(t, inField(tt.field, tt.members))[0]
		got := string(it.Kind) + " " + string(it.Chat.Kind) + " " + it.Chat.Identities[0].Kind + ":" + it.Chat.Identities[0].Value
		if got != tt.want || it.Err != "" {
			t.Errorf("%s %s: %s %s", tt.field, tt.members, got, it.Err)
		}
	}
	it := decode(t, []byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messaging_handovers","value":
		{"sender":{"phone_number":"15550100001"},"recipient":{"phone_number_id":"901","display_phone_number":"+1 555"}}}]}]}`))[0]
	if it.AccountID != "901" || it.AccountNumber != "1555" || it.Chat.Identities[0].Value != "15550100001" {
		t.Errorf("%+v", it)
	}
	it = decode(t, []byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"account_update","value":
		{"event":"PARTNER_ADDED","waba_info":{"waba_id":"77"}}}]}]}`))[0]
	if it.AccountID != "waba:77" {
		t.Errorf("account %s", it.AccountID)
	}
	it = decode(t, []byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"security","value":
		{"display_phone_number":"+1 555-010-0099","event":"PIN_CHANGED"}}]}]}`))[0]
	if it.AccountID != "waba:1" || it.AccountNumber != "15550100099" {
		t.Errorf("account %s, number %s", it.AccountID, it.AccountNumber)
	}
}

func TestSmallPrint(t *testing.T) {
	// An echo to a group is the group's.
	it := decode(t, inField("smb_message_echoes", `"message_echoes":[{"id":"e","from":"901","to":"R3JvdXA=","recipient_type":"group","type":"text","text":5}]`))[0]
	if it.Chat.Kind != gateway.ChatGroup || it.Chat.Identities[0].Value != "R3JvdXA=" || it.Err != "" {
		t.Errorf("%+v", it)
	}
	// A call's state between message statuses says nothing about a message.
	it = decode(t, inValue(`"statuses":[{"id":"wacid.1","type":"call","status":"RINGING","recipient_id":"1"}]`))[0]
	if it.Kind != gateway.KindNotice || it.Content.Status != nil {
		t.Errorf("%+v", it)
	}
	// An action beside two contacts is nobody's in particular.
	it = decode(t, inValue(`"contacts":[{"wa_id":"1"},{"wa_id":"2"}],"user_actions":[{"timestamp":"1760000000"}]`))[0]
	if it.Chat.Kind != gateway.ChatAccount || it.Content.Type != "user_actions" || it.OccurredAt.IsZero() {
		t.Errorf("%+v", it)
	}
	// Each call of one change is its own; one without id or step has a key all
	// the same.
	items := decode(t, inField("calls", `"calls":[{"id":"wacid.1","event":"connect"},{"id":"wacid.2","event":"connect"},{"id":"wacid.3"},{"event":"connect"}]`))
	if items[0].Key != "c:wacid.1:connect" || items[1].Key != "c:wacid.2:connect" || !strings.HasPrefix(items[2].Key, "h:") ||
		!strings.HasPrefix(items[3].Key, "h:") || items[2].Key == items[3].Key {
		t.Errorf("keys %s %s %s %s", items[0].Key, items[1].Key, items[2].Key, items[3].Key)
	}
}
