package main

import (
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// A member is renamed: what they write afterwards, and what was under way under the
// old id, stands in the conversation that was there, and is answered under the new
// id. It is told once, however often WeCom tells it.
func TestRenamedMemberGoesOn(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{})
	say := func(from, text string) {
		_, inner := wc.Message(from, "text", wecomtest.Field{Name: "Content", Value: text})
		wecomTaken(t, wc, inner)
	}
	say("WangFang", "one")
	w.settled(30 * time.Second)
	_, renamed, err := wc.Make(wecomtest.Event{Kind: "member", Variant: "renamed", From: "WangFang", Renamed: "WangFang2", At: time.Now().Add(5 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	wecomTaken(t, wc, renamed)
	wecomTaken(t, wc, renamed)
	say("WangFang2", "two")
	say("WangFang", "three") // was under way
	w.settled(30 * time.Second)
	c := w.conversation("wecom", "corp-a", "userid", "wangfang2")
	var types []string
	for i, e := range c.Events {
		types = append(types, e.Type)
		if e.Seq != int64(i+1) {
			t.Errorf("%s has seq %d", e.Type, e.Seq)
		}
	}
	if !slices.Equal(types, []string{"text", "system", "text", "text"}) || c.Events[1].Kind != gateway.KindState {
		t.Errorf("the conversation: %+v", c.Events)
	}
	if old := w.conversation("wecom", "corp-a", "userid", "wangfang"); old.Conv != c.Conv {
		t.Errorf("the old id leads to %s, the new one to %s", old.Conv, c.Conv)
	}
	var to []string
	for _, call := range wc.Calls() {
		to = append(to, call.To+" "+call.Text)
	}
	if !slices.Equal(to, []string{"WangFang one", "WangFang2 two", "WangFang2 three"}) {
		t.Errorf("answered %q", to)
	}
	if other := w.conversation("wecom", "approvals", "userid", "wangfang2"); len(other.Events) != 1 || other.Events[0].Type != "system" {
		t.Errorf("the other app's conversation: %+v", other.Events)
	}
}
