package main

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// The file of a synced old message is fetched, and neither it nor its notice is
// offered to a bot or counted in the conversation's order; observers see both. The
// file in a copy of another application's traffic is not ours to fetch. Beside
// them, what a customer sends now goes its usual way, in the same conversation too.
func TestMediaOfOldAndCopiedMessages(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appFiles})
	o := w.observe()
	who := whatsapptest.Customer{Phone: customer(1)}
	old := w.wa.AddMedia("image/jpeg", []byte("an old picture"))
	w.told(whatsapptest.Event{Kind: "history-media", Customer: who, ID: "wamid.OLD", Media: old})
	w.mediaDone(20*time.Second, 1)

	foreign := w.wa.AddMedia("image/jpeg", []byte("for another application"))
	_, standby, err := w.wa.Body(whatsapptest.Event{Kind: "standby", Customer: who, ID: "wamid.COPY", Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	image := fmt.Appendf(nil, `"image":{"id":%q,"mime_type":"image/jpeg","sha256":%q},"type":"image"`, foreign.ID, foreign.SHA256)
	copied := bytes.Replace(standby, []byte(`"text":{"body":"x"},"type":"text"`), image, 1)
	if bytes.Equal(copied, standby) {
		t.Fatal("the copy has another form")
	}
	w.taken(copied)
	w.picture(customer(1), []byte("a new picture"), false)
	list := w.mediaDone(20*time.Second, 2)
	w.settled(20 * time.Second)

	if calls := w.wa.MediaCalls(); calls["download"] != 2 {
		t.Errorf("calls %v, want a download of the old and of the new one", calls)
	}
	for _, m := range list {
		if m.State != string(gateway.MediaReady) {
			t.Errorf("%+v", m)
			continue
		}
		if status, got := w.raw(http.MethodGet, "/api/v1/media/"+m.File, testToken, nil); status != http.StatusOK || got != "an old picture" && got != "a new picture" {
			t.Errorf("the bytes: %d, %q", status, got)
		}
	}
	type line struct {
		kind     gateway.Kind
		observed gateway.Observed
		seq      int64
		offered  bool
	}
	want := map[line]int{
		{gateway.KindMessage, gateway.ObservedHistory, 0, false}: 1,
		{gateway.KindNotice, gateway.ObservedHistory, 0, false}:  1,
		{gateway.KindMessage, gateway.ObservedStandby, 0, false}: 1,
		{gateway.KindMessage, "", 1, true}:                       1,
		{gateway.KindNotice, "", 2, true}:                        1,
	}
	for _, e := range w.customerConv(customer(1)).Events {
		l := line{e.Kind, e.Observed, e.Seq, len(e.States) > 0}
		if want[l]--; want[l] < 0 {
			t.Errorf("an event too many: %+v", e)
		}
	}
	for l, n := range want {
		if n > 0 {
			t.Errorf("missing in the conversation: %+v", l)
		}
	}
	if got := texts(w.calls(customer(1))); len(got) != 2 || got[0] != "caption" || got[1] != "[media]" {
		t.Errorf("answers %q, want those to the new picture and its notice", got)
	}
	w.until(20*time.Second, "the observer has all five", func() bool { return len(o.list()) == 5 })
	for _, e := range o.list() {
		m := e.Media
		switch {
		case m == nil:
			t.Errorf("%s without media", e.Event.Event)
		case e.Observed == gateway.ObservedStandby && (m.State != "" || m.ID != foreign.ID):
			t.Errorf("the copy says %+v", m)
		case e.Kind == gateway.KindNotice && (m.State != gateway.MediaReady || m.File == "" || m.Event == ""):
			t.Errorf("the notice says %+v", m)
		}
	}
}
