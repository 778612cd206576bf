package wecomtest_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

const (
	deskKf  = "wkDesk"
	deskWho = "wmCustomer"
)

// desk is a sandbox with one kf account and a clock that is moved.
type desk struct {
	*testing.T
	s     *wecomtest.Sandbox
	moved atomic.Int64
}

func newDesk(t *testing.T) *desk {
	d, at := &desk{T: t}, time.Now()
	d.s = start(t, wecomtest.Options{Kf: []string{deskKf}, Now: func() time.Time { return at.Add(time.Duration(d.moved.Load())) }})
	return d
}

func (d *desk) move(by time.Duration) { d.moved.Add(int64(by)) }

// writes lets the customer write, at the desk's time.
func (d *desk) writes() {
	d.Helper()
	if _, err := d.s.Kf(wecomtest.KfItem{Kf: deskKf, Customer: deskWho, Text: "x", Silent: true}); err != nil {
		d.Fatal(err)
	}
}

// want makes a call with a token that is good now and compares the errcode.
func (d *desk) want(what string, code int, path string, body map[string]any) map[string]any {
	d.Helper()
	body["open_kfid"] = deskKf
	raw, err := json.Marshal(body)
	if err != nil {
		d.Fatal(err)
	}
	out := call(d.T, d.s, "kf/"+path, getToken(d.T, d.s, corpID, secret).Token, string(raw))
	if out["errcode"] != float64(code) {
		d.Errorf("%s: %v, want %d", what, out, code)
	}
	return out
}

func (d *desk) sends(what string, code int, msgid string) map[string]any {
	d.Helper()
	return d.want(what, code, "send_msg", map[string]any{"touser": deskWho, "msgid": msgid, "msgtype": "text", "text": map[string]any{"content": "a"}})
}

// Ten calls a minute without a bell's token, then 45009 until the first of them is a
// minute old; a call that is refused is not counted, and one with a token never.
func TestKfCallsWithoutAToken(t *testing.T) {
	d := newDesk(t)
	sync := func(what string, code int, token string) {
		t.Helper()
		d.want(what, code, "sync_msg", map[string]any{"token": token, "limit": 10})
	}
	for i := range 10 {
		sync(fmt.Sprint("call ", i), 0, "")
		d.move(time.Second)
	}
	sync("the eleventh", 45009, "")
	sync("a token that never was", 95007, "ENCnone")
	d.move(49 * time.Second)
	sync("59 s after the first", 45009, "")
	d.move(time.Second)
	sync("a minute after the first", 0, "")
	sync("and the second is 59 s old", 45009, "")
	d.move(time.Minute)
	sync("a minute later", 0, "")
}

// Five messages upon each of the customer's, within 48 hours of it.
func TestKfMessagesUponOne(t *testing.T) {
	d := newDesk(t)
	d.sends("before they wrote", 40096, "n0")
	d.writes()
	for i := range 5 {
		d.sends(fmt.Sprint("message ", i), 0, fmt.Sprint("a", i))
	}
	d.sends("the sixth", 95001, "a5")
	d.writes()
	d.sends("they wrote", 0, "a6")
	d.move(48 * time.Hour)
	d.sends("48 hours after", 0, "a7")
	d.move(time.Second)
	d.sends("and a second", 95002, "a8")
	d.writes()
	d.sends("they wrote again", 0, "a9")
}

// Who has the session says whether we may write.
func TestKfMessagesByState(t *testing.T) {
	d := newDesk(t)
	for state, code := range []int{wecomtest.KfNew: 0, wecomtest.KfAssistant: 0, wecomtest.KfPool: 95018, wecomtest.KfHuman: 95018, wecomtest.KfEnded: 95013} {
		d.writes()
		d.s.SetKfState(deskKf, deskWho, state, "ChenHao")
		d.sends(fmt.Sprint("in state ", state), code, fmt.Sprint("s", state))
	}
	d.writes()
	d.sends("they wrote after the end", 0, "s9")
}

// A msgid that was taken is refused, or answered as before: it is neither delivered
// nor counted again either way. One that was refused may come again.
func TestKfMsgIDTwice(t *testing.T) {
	for _, code := range []int{wecomtest.KfRepeated, 0} {
		d := newDesk(t)
		d.s.SetKfRepeated(code)
		d.writes()
		for i := range 5 {
			d.sends("first", 0, fmt.Sprint("m", i))
			if out := d.sends("again", code, fmt.Sprint("m", i)); code == 0 && out["msgid"] != fmt.Sprint("m", i) {
				t.Errorf("%v", out)
			}
		}
		d.sends("the sixth", 95001, "m5")
		d.writes()
		d.sends("the sixth, later", 0, "m5")
		fresh := 0
		for _, c := range d.s.Calls() {
			if c.Accepted && c.Code == "" {
				fresh++
			}
		}
		if fresh != 6 {
			t.Errorf("%d were delivered", fresh)
		}
	}
}

// A change of a session gives a code for one message where it has one.
func TestKfTransferCodes(t *testing.T) {
	d := newDesk(t)
	for state, life := range map[int]time.Duration{wecomtest.KfAssistant: 0, wecomtest.KfPool: 48 * time.Hour, wecomtest.KfHuman: 48 * time.Hour, wecomtest.KfEnded: 20 * time.Second} {
		d.writes()
		d.s.SetKfState(deskKf, deskWho, wecomtest.KfNew, "")
		out := d.want("change", 0, "service_state/trans", map[string]any{"external_userid": deskWho, "service_state": state, "servicer_userid": "ChenHao"})
		code, _ := out["msg_code"].(string)
		if (code != "") != (life > 0) {
			t.Errorf("to %d: %v", state, out)
		}
		if code == "" {
			continue
		}
		by := func(what string, want int, id string) {
			d.want(what, want, "send_msg_on_event", map[string]any{"code": code, "msgid": id, "msgtype": "text", "text": map[string]any{"content": "a"}})
		}
		by("in time", 0, fmt.Sprint("c", state))
		by("used", 41051, fmt.Sprint("d", state))
		d.move(life)
		by("over", 41050, fmt.Sprint("e", state))
	}
}
