package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

const devHelp = `what you type is a message of %s to the bot; besides:
/as NAME         be another customer
/dup             the platform delivers the last callback again
/photo FILE      send a picture (JPEG or PNG, 5 MiB at most)
/colleague TEXT  a colleague answers by hand (WhatsApp)
//text           a message that begins with a slash
/quit            stop`

// typed does what a line says.
func (d *devRoom) typed(ctx context.Context, line string) (quit bool, err error) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case line == "":
		d.tell(devLine{}, d.who.name)
	case strings.HasPrefix(line, "//"):
		d.writes(ctx, line[1:])
	case word == "/quit":
		return true, nil
	case word == "/help":
		for l := range strings.Lines(fmt.Sprintf(devHelp, d.who.name)) {
			d.note("%s", strings.TrimSuffix(l, "\n"))
		}
	case word == "/as":
		if !d.is(rest) {
			d.note("a name has 1 to 30 letters, digits, - or _")
			break
		}
		d.note("you are %s", d.who.name)
	case word == "/dup":
		d.dup(ctx)
	case word == "/photo":
		d.photo(ctx, rest)
	case word == "/colleague":
		d.colleague(ctx, rest)
	case strings.HasPrefix(word, "/"):
		d.note("%s is not known; /help lists what is", printable(word, 30))
	default:
		d.writes(ctx, line)
	}
	return false, nil
}

// is makes the reader a customer; false for what is no name. The number is made of
// the name, so that it is the same next time.
func (d *devRoom) is(name string) bool {
	if len(name) < 1 || len(name) > 30 || strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	}) {
		return false
	}
	if i := slices.IndexFunc(d.people, func(c *devCustomer) bool { return strings.EqualFold(c.name, name) }); i >= 0 {
		d.who = d.people[i]
		return true
	}
	d.who = &devCustomer{name: name, id: name, seen: map[string]int{}}
	if d.platform == "whatsapp" {
		h := fnv.New32a()
		_, _ = h.Write([]byte(strings.ToLower(name)))
		d.who.id = fmt.Sprintf("1555%07d", h.Sum32()%10_000_000)
	}
	d.people = append(d.people, d.who)
	return true
}

// post delivers a callback and says when it was not taken; again is kept for /dup.
func (d *devRoom) post(ctx context.Context, again func(context.Context) error) {
	d.again = again
	if err := again(ctx); err != nil && ctx.Err() == nil {
		d.note("%s", err)
	}
}

func (d *devRoom) postWhatsApp(ctx context.Context, e whatsapptest.Event) {
	e.Customer = whatsapptest.Customer{Phone: d.who.id, Name: d.who.name}
	_, body, err := d.r.wa.Body(e)
	if err != nil {
		d.note("%s", err)
		return
	}
	d.post(ctx, func(ctx context.Context) error { return wanted200(d.r.wa.Post(ctx, body)) })
}

func (d *devRoom) postWeCom(ctx context.Context, kind string, fields ...wecomtest.Field) {
	_, inner := d.r.wc.Message(d.who.id, kind, fields...)
	d.post(ctx, func(ctx context.Context) error {
		status, _, err := d.r.wc.Post(ctx, inner)
		return wanted200(status, err)
	})
}

// writes lets the customer write a text.
func (d *devRoom) writes(ctx context.Context, text string) {
	d.say("says", d.who.name, "%s", text)
	if d.platform == "wecom" {
		d.postWeCom(ctx, "text", wecomtest.Field{Name: "Content", Value: text})
		return
	}
	d.postWhatsApp(ctx, whatsapptest.Event{Kind: "text", Text: text})
}

// photo lets the customer send a picture.
func (d *devRoom) photo(ctx context.Context, path string) {
	body, kind, err := readPhoto(path)
	if err != nil {
		d.note("%s", err)
		return
	}
	name := filepath.Base(path)
	d.say("says", d.who.name, "[image] %s", name)
	if d.platform == "wecom" {
		id := d.r.wc.AddFile("image", name, kind, body)
		d.postWeCom(ctx, "image", wecomtest.Field{Name: "PicUrl", Value: "https://wework.qpic.example.invalid/" + id},
			wecomtest.Field{Name: "MediaId", Value: id})
		return
	}
	d.postWhatsApp(ctx, whatsapptest.Event{Kind: "image", Media: d.r.wa.AddMedia(kind, body)})
}

func readPhoto(path string) (body []byte, kind string, err error) {
	const most = 5 << 20
	st, err := os.Stat(path)
	switch {
	case path == "":
		return nil, "", errors.New("/photo wants the path of a picture")
	case err != nil || !st.Mode().IsRegular():
		return nil, "", fmt.Errorf("%s is not a file that can be read", printable(path, 100))
	case st.Size() > most:
		return nil, "", errors.New("a picture has 5 MiB at most")
	}
	if body, err = os.ReadFile(path); err != nil { //nolint:gosec // the reader's own choice
		return nil, "", fmt.Errorf("%s is not a file that can be read", printable(path, 100))
	}
	if kind = http.DetectContentType(body); kind != "image/jpeg" && kind != "image/png" {
		return nil, "", fmt.Errorf("%s is neither JPEG nor PNG", printable(filepath.Base(path), 60))
	}
	return body, kind, nil
}

// dup lets the platform deliver the last callback again, and waits until it is
// recorded as known.
func (d *devRoom) dup(ctx context.Context) {
	if d.again == nil {
		d.note("nothing was delivered yet")
		return
	}
	before, err := d.r.api.KeptSums(ctx)
	if err == nil {
		err = d.again(ctx)
	}
	if err == nil {
		ctx, cancel := context.WithTimeoutCause(ctx, sceneLimit, errSceneLimit)
		defer cancel()
		err = d.r.until(ctx, "it to be recorded", func() (bool, string) {
			now, err := d.r.api.KeptSums(ctx)
			return err == nil && now.Payloads.Duplicate > before.Payloads.Duplicate, "no duplicate"
		})
	}
	if err != nil {
		d.note("%s", err)
		return
	}
	d.note("delivered again: answered 200, recorded as a duplicate, not given to the bot")
}

// colleague lets somebody answer by hand; the platform tells of it by an echo.
func (d *devRoom) colleague(ctx context.Context, text string) {
	switch {
	case d.platform == "wecom":
		d.note("of a WeCom app nobody hears what colleagues write")
	case text == "":
		d.note("/colleague wants a text")
	default:
		d.say("says", "a colleague to "+d.who.name, "%s", text)
		_, body := d.r.wa.ColleagueBody(d.who.id, text)
		d.post(ctx, func(ctx context.Context) error { return wanted200(d.r.wa.Post(ctx, body)) })
	}
}
