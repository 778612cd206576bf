package wecomtest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// kfSend is the body of kf/send_msg and kf/send_msg_on_event. Sources: WeCom
// 94677, 95122.
type kfSend struct {
	ToUser string `json:"touser"`
	Kf     string `json:"open_kfid"`
	Code   string `json:"code"`
	MsgID  string `json:"msgid"`
	Type   string `json:"msgtype"`
	Text   struct {
		Content string `json:"content"`
	} `json:"text"`
	Image, Voice, Video, File struct {
		ID string `json:"media_id"`
	}
	Link struct {
		Title string `json:"title"`
		URL   string `json:"url"`
		Thumb string `json:"thumb_media_id"`
	} `json:"link"`
	Menu struct {
		Head string `json:"head_content"`
		List []struct {
			Type  string `json:"type"`
			Click struct {
				ID      string `json:"id"`
				Content string `json:"content"`
			} `json:"click"`
			View struct {
				URL     string `json:"url"`
				Content string `json:"content"`
			} `json:"view"`
			Text struct {
				Content string `json:"content"`
			} `json:"text"`
		} `json:"list"`
		Tail string `json:"tail_content"`
	} `json:"msgmenu"`
	Location *struct {
		Latitude  float64 `json:"latitude"`
		Longitude float64 `json:"longitude"`
		Name      string  `json:"name"`
	} `json:"location"`
}

// words are what the customer reads.
func (b *kfSend) words() string {
	switch b.Type {
	case "msgmenu":
		all := []string{b.Menu.Head}
		for _, item := range b.Menu.List {
			all = append(all, item.Click.Content+item.View.Content+item.Text.Content)
		}
		return strings.Join(append(all, b.Menu.Tail), "|")
	case "link":
		return b.Link.Title
	case "location":
		if b.Location != nil {
			return b.Location.Name
		}
	}
	return b.Text.Content
}

func (s *Sandbox) kfSendNote(raw []byte) sandbox.Call {
	var b kfSend
	_ = json.Unmarshal(raw, &b) // what cannot be read is refused later
	to := b.ToUser
	if b.Code != "" {
		s.kf.mu.Lock()
		if c := s.kf.codes[b.Code]; c != nil {
			to = c.customer
		}
		s.kf.mu.Unlock()
	}
	return sandbox.Call{Account: s.o.CorpID + "/kf:" + b.Kf, Type: b.Type, To: to, Text: b.words(), Marker: b.MsgID}
}

// sendKf is kf/send_msg.
func (s *Sandbox) sendKf(raw []byte) sandbox.Answer {
	var b kfSend
	if json.Unmarshal(raw, &b) != nil {
		return refuse(47001, 0)
	}
	k, now := s.kf, s.o.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if code := k.refusal(b.Kf); code != 0 {
		return refuse(code, 0)
	}
	if a, done := k.repeat(&b); done {
		return a
	}
	if code := s.kfCheck(&b, now); code != 0 {
		return refuse(code, 0)
	}
	session := k.session(b.Kf, b.ToUser)
	switch {
	case b.ToUser == "":
		return refuse(40063, 0)
	case session.wrote.IsZero():
		return refuse(40096, 0)
	case session.state == KfHuman, session.state == KfPool:
		return refuse(95018, 0)
	case session.state == KfEnded:
		return refuse(95013, 0)
	case now.Sub(session.wrote) > kfWindow:
		return refuse(95002, 0)
	case session.sends >= kfMostSends:
		return refuse(95001, 0)
	}
	session.sends++
	return k.took(&b, s.nextID)
}

// sendKfOnEvent is kf/send_msg_on_event. The codes with which a code is refused
// are those of send_welcome_msg, since its own are not documented.
func (s *Sandbox) sendKfOnEvent(raw []byte) sandbox.Answer {
	var b kfSend
	if json.Unmarshal(raw, &b) != nil {
		return refuse(47001, 0)
	}
	k, now := s.kf, s.o.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.codes[b.Code]
	switch {
	case c == nil:
		return refuse(40058, 0)
	case b.Type != "text" && b.Type != "msgmenu":
		return refuse(40008, 0)
	}
	if code := k.refusal(c.kf); code != 0 {
		return refuse(code, 0)
	}
	if b.Kf = c.kf; !now.Before(c.until) {
		return refuse(41050, 0)
	}
	if a, done := k.repeat(&b); done {
		return a
	}
	if c.used {
		return refuse(41051, 0)
	}
	if code := s.kfCheck(&b, now); code != 0 {
		return refuse(code, 0)
	}
	c.used = true
	k.session(c.kf, c.customer).spoken = true
	return k.took(&b, s.nextID)
}

func (k *kfDesk) took(b *kfSend, nextID func(string) string) sandbox.Answer {
	id := b.MsgID
	if id == "" {
		id = nextID("kfmsg")
	}
	k.msgids[b.Kf+"\n"+id] = id
	a := taken(map[string]any{"msgid": id})
	a.MessageID = id
	return a
}

// repeat answers a msgid that was taken before.
func (k *kfDesk) repeat(b *kfSend) (a sandbox.Answer, done bool) {
	id, known := k.msgids[b.Kf+"\n"+b.MsgID]
	switch {
	case b.MsgID == "" || !known:
		return a, false
	case k.repeated != 0:
		return refuse(k.repeated, 0), true
	}
	a = answer(map[string]any{"errcode": 0, "errmsg": "ok", "msgid": id})
	a.Code = "repeated" // not delivered a second time
	return a, true
}

// kfCheck checks the parts of a message.
func (s *Sandbox) kfCheck(b *kfSend, now time.Time) int {
	if len(b.MsgID) > 32 || strings.Trim(b.MsgID, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") != "" {
		return 40058
	}
	switch b.Type {
	case "text":
		switch {
		case b.Text.Content == "":
			return 44004
		case len(b.Text.Content) > 2048:
			return 45002
		}
	case "image":
		return s.shelf.has(b.Image.ID, b.Type, now)
	case "voice":
		return s.shelf.has(b.Voice.ID, b.Type, now)
	case "video":
		return s.shelf.has(b.Video.ID, b.Type, now)
	case "file":
		return s.shelf.has(b.File.ID, b.Type, now)
	case "link":
		if b.Link.Title == "" || !page(b.Link.URL) {
			return 40063
		}
		return s.shelf.has(b.Link.Thumb, "image", now)
	case "location":
		if b.Location == nil {
			return 40063
		}
	case "msgmenu":
		return b.checkMenu()
	default:
		return 40008
	}
	return 0
}

func (b *kfSend) checkMenu() int {
	if len(b.Menu.Head) > 1024 || len(b.Menu.Tail) > 1024 {
		return 45002
	}
	if len(b.Menu.List) > 10 {
		return 95008
	}
	for _, item := range b.Menu.List {
		switch item.Type {
		case "click":
			if item.Click.Content == "" || len(item.Click.Content) > 128 || len(item.Click.ID) > 128 {
				return 40058
			}
		case "view":
			if item.View.Content == "" || len(item.View.Content) > 1024 || !page(item.View.URL) {
				return 40058
			}
		case "text":
			if item.Text.Content == "" || len(item.Text.Content) > 256 {
				return 40058
			}
		default:
			return 95009
		}
	}
	return 0
}
