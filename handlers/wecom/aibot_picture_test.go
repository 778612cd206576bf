package wecom_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/store/files"
)

// keptFiles are the real files of our store.
type keptFiles struct{ *files.Store }

func (k keptFiles) OpenFile(file string) (io.ReadCloser, int64, error) { return k.Open(file) }

// picture keeps bytes and makes the reply that sends them.
func (r *botRig) picture(body string) gateway.Reply {
	r.Helper()
	d, err := r.files.Create()
	if err != nil {
		r.Fatal(err)
	}
	defer d.Drop()
	if _, err := io.WriteString(d, body); err != nil {
		r.Fatal(err)
	}
	file, err := d.Keep()
	if err != nil {
		r.Fatal(err)
	}
	return gateway.Reply{Type: gateway.ReplyImage, File: &gateway.FileReply{File: file, MIME: "image/png"}}
}

const png = "\x89PNG\r\n\x1a\n"

// asked asks for the stream once, as it is shown.
func (r *botRig) asked() (a struct {
	Stream struct {
		Finish  bool
		Content string
		Items   []struct {
			Type  string `json:"msgtype"`
			Image struct{ Base64, MD5 string }
		} `json:"msg_item"`
	}
}) {
	r.Helper()
	body := `{"msgid":"` + r.msgID + `","aibotid":"aib1","chattype":"single","from":{"userid":"LinXiaoyu"},"msgtype":"stream","stream":{"id":"` + wecom.StreamID(r.event) + `"}}`
	answer, _ := r.end.Poll(r.Context(), told(r.T, []byte(body), "n"))
	if err := json.Unmarshal([]byte(opened(r.T, answer, "n")), &a); err != nil {
		r.Fatal(err)
	}
	return a
}

// Pictures of an answer come with its end, and with that alone; asked again, they come
// again.
func TestBotPictures(t *testing.T) {
	r := newBotRig(t, time.Minute, botText())
	r.poll()
	r.answer(say("look"), r.picture(png+"one"), r.picture("\xff\xd8\xfftwo"))
	r.same("the words", r.send(time.Minute).Kind, gateway.OutcomeAccepted)
	r.same("the first picture", r.send(time.Minute).Kind, gateway.OutcomeAccepted)
	r.clock.move(3 * time.Second)
	if a := r.asked(); a.Stream.Finish || a.Stream.Content != "look" || len(a.Stream.Items) != 0 {
		t.Errorf("before the end: %+v", a)
	}
	var wg sync.WaitGroup
	var o gateway.Outcome
	wg.Go(func() { o = r.send(time.Minute) })
	a := r.asked()
	for end := time.Now().Add(time.Minute); !a.Stream.Finish && time.Now().Before(end); {
		a = r.asked()
	}
	wg.Wait()
	r.same("the last", o.Kind, gateway.OutcomeAccepted)
	for range 2 {
		if len(a.Stream.Items) != 2 || a.Stream.Items[0].Type != "image" || a.Stream.Items[0].Image.Base64 != "iVBORw0KGgpvbmU=" ||
			a.Stream.Items[1].Image.MD5 != "234307f83c5e0229badb80716e95eefe" {
			t.Errorf("the end: %+v", a.Stream.Items)
		}
		a = r.asked()
	}
	r.same("states", r.states(), []string{"accepted delivered", "accepted delivered", "accepted delivered"})
	r.same("late", r.late(), "")
}

// Nobody comes for the answer: its words go late, and its pictures are marked failed.
func TestBotPicturesLate(t *testing.T) {
	for name, c := range map[string]struct {
		replies func(*botRig) []gateway.Reply
		states  []string
		late    string
	}{
		"behind the words":  {func(r *botRig) []gateway.Reply { return []gateway.Reply{say("look"), r.picture(png)} }, []string{"accepted", "rejected picture_late"}, "look"},
		"before the words":  {func(r *botRig) []gateway.Reply { return []gateway.Reply{r.picture(png), say("look")} }, []string{"accepted failed picture_late", "accepted"}, "look"},
		"alone":             {func(r *botRig) []gateway.Reply { return []gateway.Reply{r.picture(png)} }, []string{"rejected picture_late"}, ""},
		"two, and no words": {func(r *botRig) []gateway.Reply { return []gateway.Reply{r.picture(png), r.picture(png + "2")} }, []string{"accepted failed picture_late", "rejected picture_late"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newBotRig(t, 10*time.Second, botText())
			r.clock.move(time.Minute)
			replies := c.replies(r)
			r.answer(replies...)
			for range replies {
				r.send(time.Minute)
			}
			r.same("states", r.states(), c.states)
			r.same("late", r.late(), c.late)
		})
	}
}

// A picture that cannot go says why, before anything of it is promised.
func TestBotPictureRefusals(t *testing.T) {
	r := newBotRig(t, time.Minute, botText())
	big := strings.Repeat("x", wecom.MaxBotPictureBytes/2)
	many := []gateway.Reply{}
	for i := range wecom.MaxBotPictures + 1 {
		many = append(many, r.picture(png+string(rune('a'+i))))
	}
	none := r.picture(png)
	none.File.File = strings.Repeat("0", 64)
	captioned := r.picture(png)
	captioned.Text = "a caption"
	for name, c := range map[string]struct {
		replies []gateway.Reply
		code    string
	}{
		"a GIF": {[]gateway.Reply{r.picture("GIF89a")}, "unsupported_file"}, "nothing in it": {[]gateway.Reply{r.picture("")}, "unsupported_file"},
		"too large": {[]gateway.Reply{r.picture(png + big), r.picture(png + big + "2")}, "too_large"}, "too many": {many, "too_many"},
		"not there": {[]gateway.Reply{none}, "no_file"}, "a caption": {[]gateway.Reply{captioned}, "unsupported"},
		"an address": {[]gateway.Reply{{Type: gateway.ReplyImage, File: &gateway.FileReply{URL: "https://x.example/a.png"}}}, "unsupported"},
	} {
		t.Run(name, func(t *testing.T) {
			q := newBotRig(t, 10*time.Second, botText())
			for i := range c.replies {
				if f := c.replies[i].File; f.File != "" && f.File != none.File.File {
					q.keep(r, f.File)
				}
			}
			q.clock.move(time.Minute)
			q.answer(c.replies...)
			var o gateway.Outcome
			for range c.replies {
				o = q.send(time.Minute)
			}
			if o.Kind != gateway.OutcomeRejected || o.Code != c.code {
				t.Errorf("%s %s, want %s", o.Kind, o.Code, c.code)
			}
		})
	}
	m := &gateway.Message{ID: "ms_1", Event: "ev_1", Reply: captioned, Parts: 1}
	if err := r.client.Fits(m); err == nil {
		t.Error("a caption fits")
	}
	if m.Reply = none; r.client.Fits(m) != nil {
		t.Error("a picture does not fit")
	}
}

// keep copies a file of another rig.
func (r *botRig) keep(from *botRig, file string) {
	r.Helper()
	f, _, err := from.files.Open(file)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var b bytes.Buffer
	if _, err := io.Copy(&b, f); err != nil {
		r.Fatal(err)
	}
	r.picture(b.String())
}

// A picture that is gone when the end is asked for: the end is not handed out without
// it, and the words go late.
func TestBotPictureGone(t *testing.T) {
	r := newBotRig(t, 10*time.Second, botText())
	r.poll()
	picture := r.picture(png)
	r.answer(picture, say("look"))
	r.same("the picture", r.send(time.Minute).Kind, gateway.OutcomeAccepted)
	if err := os.Remove(r.files.Path(picture.File.File)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { r.send(time.Minute) })
	for end := time.Now().Add(time.Minute); r.unsent() && time.Now().Before(end); { // until the answer is there
	}
	if a := r.asked(); a.Stream.Finish {
		t.Errorf("%+v", a)
	}
	r.clock.move(11 * time.Second)
	wg.Wait()
	r.same("states", r.states(), []string{"accepted failed picture_late", "accepted"})
	r.same("late", r.late(), "look")
}
