package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// repliesToWeCom is one reply of each kind that WeCom has, with the type and the words
// that the platform's log has of it. file is in the gateway's store.
func repliesToWeCom(file string) (replies []gateway.Reply, seen []string) {
	add := func(as string, list []gateway.Reply) {
		replies, seen = append(replies, list...), append(seen, as)
	}
	add("text look", worker.Text("look"))
	add("markdown **b**", worker.Markdown("**b**"))
	add("news Order|More", worker.News(worker.Article("Order", "sent", "https://shop.example/17", ""), worker.Article("More", "", "http://intra.example", "")))
	add("image ", worker.Image(worker.File(file, "image/png"), ""))
	add("file ", worker.Document(worker.File(file, "image/png"), "报价.png", ""))
	add("template_card Well?", worker.Card(json.RawMessage(`{"card_type":"button_interaction","main_title":{"title":"Well?"},"button_list":[{"text":"Yes","key":"y"}]}`)))
	return replies, seen
}

// A worker answers a member with every kind; the gateway dies before the platform
// can be reached, and the next one sends them all, in order, each once, with one
// upload of a file per kind. The card's press names our message, and its answer
// changes the button.
func TestEveryKindOfReplyToWeCom(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{apps: appByWorker})
	status, said := w.put("image/png", []byte("\x89PNG\r\n\x1a\n a picture"))
	var stored struct{ File string }
	if err := json.Unmarshal([]byte(said), &stored); err != nil || stored.File == "" {
		t.Fatalf("%d %s", status, said)
	}
	replies, want := repliesToWeCom(stored.File)
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if ev.Handle != nil {
			return worker.ChangeButton(ev.Handle.Code, "Done"), nil
		}
		return replies, nil
	}, 4)
	if err := wc.Refuse(); err != nil {
		t.Fatal(err)
	}
	_, inner := wc.Message("LinXiaoyu", "text", wecomtest.Field{Name: "Content", Value: "everything"})
	if code, _, err := wc.Post(t.Context(), inner); err != nil || code != http.StatusOK {
		t.Fatal(code, err)
	}
	w.until(20*time.Second, "the replies are in the ledger", func() bool { return w.sums().Messages.Taken == int64(len(want)) })
	// Killed in the middle of an attempt its outcome would be unknown.
	w.until(20*time.Second, "the first one is refused and waits", func() bool { return strings.Contains(w.said(), `"outcome":"retry"`) })
	w.kill()
	if err := wc.Listen(""); err != nil {
		t.Fatal(err)
	}
	w.start("")
	w.up()
	w.settled(time.Minute)
	marker := ""
	got := func() (list []string) {
		for _, c := range wc.Calls() {
			if !c.Accepted {
				t.Errorf("the platform refused %s with %s", c.Type, c.Code)
			}
			list = append(list, c.Type+" "+c.Text)
			if c.Marker != "" {
				marker = c.Marker
			}
		}
		return list
	}
	if d := cmp.Diff(want, got()); d != "" {
		t.Error(d)
	}
	var files []string
	for _, f := range wc.Files() {
		files = append(files, f.Kind+" "+f.Name)
	}
	if d := cmp.Diff([]string{"image image.png", "file 报价.png"}, files); d != "" {
		t.Error(d)
	}
	if !gateway.OurMarker(marker) {
		t.Fatalf("the card's task is %q", marker)
	}
	if _, err := wc.Press("linxiaoyu", marker, "y"); err != nil {
		t.Fatal(err)
	}
	w.until(20*time.Second, "the button changed", func() bool { return wc.ButtonText(marker) == "Done" })
	w.settled(20 * time.Second)
	if d := cmp.Diff(append(want, "update_template_card "), got()); d != "" {
		t.Error(d)
	}
	if s := w.sums(); s.Messages.Accepted != int64(len(want))+1 || len(w.deadLetters()) != 0 {
		t.Errorf("%+v, %d dead letters", s.Messages, len(w.deadLetters()))
	}
	for _, secret := range []string{"Well?", "报价", "LinXiaoyu", stored.File, testWCSecret, "access_token"} {
		if strings.Contains(w.said(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}
