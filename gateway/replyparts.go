package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// The checks of the parts that only some types have; see CheckReply.

func (c *checker) location(l *Location) {
	if l == nil {
		c.fail("location", "must say which place")
		return
	}
	// Written so that what is no number is refused too.
	if !(l.Latitude >= -90 && l.Latitude <= 90) {
		c.fail("location.latitude", "must be -90 to 90")
	}
	if !(l.Longitude >= -180 && l.Longitude <= 180) {
		c.fail("location.longitude", "must be -180 to 180")
	}
	c.chars("location.name", l.Name, 0, maxNameChars)
	c.chars("location.address", l.Address, 0, MaxCaptionChars)
	if l.URL != "" {
		c.fail("location.url", "must be empty in a reply")
	}
}

func (c *checker) contacts(cards []ContactCard) {
	if n := len(cards); n == 0 || n > MaxContacts {
		c.fail("contacts", fmt.Sprintf("must be 1 to %d cards", MaxContacts))
	}
	for i := range cards {
		card, at := &cards[i], fmt.Sprintf("contacts[%d].", i)
		c.chars(at+"name", card.Name, 1, maxNameChars)
		c.chars(at+"org", card.Org, 0, maxNameChars)
		for j, p := range card.Phones {
			c.chars(fmt.Sprintf("%sphones[%d]", at, j), p, 1, 40)
		}
		for j, e := range card.Emails {
			c.word(fmt.Sprintf("%semails[%d]", at, j), e, 254)
		}
		if card.Requested {
			c.fail(at+"requested", "must be empty in a reply")
		}
	}
}

// emoji is not compared with a list of emojis, which would age: what cannot be
// one is refused, the rest is for the platform.
func (c *checker) emoji(s string) {
	if s == "" {
		return // takes a reaction back
	}
	plain := strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("#*0123456789", r) || unicode.IsSpace(r) || unicode.IsLetter(r)
	})
	if plain {
		c.fail("emoji", "must be one emoji, or empty to take the reaction back")
	}
	c.chars("emoji", s, 0, maxEmojiChars)
}

func (c *checker) template(t *TemplateReply) {
	if t == nil {
		c.fail("template", "must say which template")
		return
	}
	c.word("template.name", t.Name, MaxIDChars)
	if len(t.Language) < 2 || len(t.Language) > 16 || strings.ContainsFunc(t.Language, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		c.fail("template.language", "must be a language code, for example en_US")
	}
	if t.Components == nil {
		return
	}
	c.jsonOf("template.components", t.Components, '[', "a JSON array of the platform's component objects")
	var parts []map[string]json.RawMessage
	if c.err == nil && json.Unmarshal(t.Components, &parts) != nil {
		c.fail("template.components", "must be an array of objects")
	}
}

// frame is the text around buttons, list, link and flow.
func (c *checker) frame(r *Reply, mostBody int) {
	c.chars("text", r.Text, 1, mostBody)
	c.chars("header", r.Header, 0, MaxHeaderChars)
	c.chars("footer", r.Footer, 0, MaxHeaderChars)
}

func (c *checker) buttons(buttons []Choice) {
	if n := len(buttons); n == 0 || n > MaxButtons {
		c.fail("buttons", fmt.Sprintf("must be 1 to %d buttons", MaxButtons))
	}
	ids, titles := map[string]bool{}, map[string]bool{}
	for i, b := range buttons {
		at := fmt.Sprintf("buttons[%d].", i)
		c.chars(at+"id", b.ID, 1, MaxButtonIDChars)
		c.chars(at+"title", b.Title, 1, MaxTitleChars)
		if b.Description != "" {
			c.fail(at+"description", "must be empty")
		}
		if ids[b.ID] {
			c.fail(at+"id", "must differ from that of the other buttons")
		}
		if titles[b.Title] {
			c.fail(at+"title", "must differ from that of the other buttons")
		}
		ids[b.ID], titles[b.Title] = true, true
	}
}

func (c *checker) list(l *MenuReply) {
	if l == nil {
		c.fail("list", "must say which rows")
		return
	}
	c.chars("list.button", l.Button, 1, MaxTitleChars)
	rows, ids := 0, map[string]bool{}
	for i := range l.Sections {
		s, at := &l.Sections[i], fmt.Sprintf("list.sections[%d]", i)
		if len(l.Sections) > 1 {
			c.chars(at+".title", s.Title, 1, MaxRowTitleChars)
		} else {
			c.chars(at+".title", s.Title, 0, MaxRowTitleChars)
		}
		if len(s.Rows) == 0 {
			c.fail(at+".rows", "must have a row")
		}
		for j, r := range s.Rows {
			row := fmt.Sprintf("%s.rows[%d].", at, j)
			c.chars(row+"id", r.ID, 1, MaxRowIDChars)
			c.chars(row+"title", r.Title, 1, MaxRowTitleChars)
			c.chars(row+"description", r.Description, 0, MaxRowTextChars)
			if ids[r.ID] {
				c.fail(row+"id", "must differ from that of the other rows")
			}
			ids[r.ID] = true
			rows++
		}
	}
	if rows == 0 || rows > MaxRows {
		c.fail("list.sections", fmt.Sprintf("must have 1 to %d rows in all", MaxRows))
	}
}

func (c *checker) link(l *LinkReply) {
	if l == nil {
		c.fail("link", "must say where it leads")
		return
	}
	c.chars("link.title", l.Title, 1, MaxTitleChars)
	c.https("link.url", l.URL)
}

func (c *checker) flow(f *FormReply) {
	if f == nil {
		c.fail("flow", "must say which form")
		return
	}
	c.word("flow.id", f.ID, MaxIDChars)
	c.chars("flow.title", f.Title, 1, MaxFlowTitleChars)
	c.chars("flow.token", f.Token, 0, MaxIDChars)
	if f.Screen != "" {
		c.word("flow.screen", f.Screen, maxNameChars)
	}
	switch {
	case f.Action != "" && f.Action != "navigate" && f.Action != "data_exchange":
		c.fail("flow.action", "must be navigate or data_exchange")
	case f.Action == "data_exchange" && f.Screen != "":
		c.fail("flow.screen", "must be empty with the action data_exchange")
	case f.Action == "data_exchange" && f.Data != nil:
		c.fail("flow.data", "must be empty with the action data_exchange")
	case f.Data != nil:
		if f.Screen == "" {
			c.fail("flow.screen", "must be set together with flow.data")
		}
		c.jsonOf("flow.data", f.Data, '{', "a JSON object with at least one field")
		var fields map[string]json.RawMessage
		if c.err == nil && (json.Unmarshal(f.Data, &fields) != nil || len(fields) == 0) {
			c.fail("flow.data", "must be a JSON object with at least one field")
		}
	}
}

func (c *checker) news(articles []Article) {
	if n := len(articles); n == 0 || n > MaxArticles {
		c.fail("news", fmt.Sprintf("must be 1 to %d articles", MaxArticles))
	}
	for i := range articles {
		c.article(fmt.Sprintf("news[%d].", i), &articles[i])
	}
}

func (c *checker) article(at string, a *Article) {
	c.chars(at+"title", a.Title, 1, MaxArticleChars)
	c.chars(at+"description", a.Description, 0, MaxArticleText)
	c.page(at+"url", a.URL)
	if a.Picture != "" {
		c.page(at+"picture", a.Picture)
	}
}

// card checks what is the same on every platform; the fields of a card are for
// the platform's client.
func (c *checker) card(card *CardReply) {
	switch {
	case card == nil:
		c.fail("card", "must say which card")
		return
	case (card.Content == nil) == (card.Button == ""):
		c.fail("card", "must have exactly one of content and button")
	case card.Button != "" && card.Code == "":
		c.fail("card.code", "must be set together with card.button")
	case card.Content != nil:
		c.jsonOf("card.content", card.Content, '{', "a JSON object, the platform's card,")
	}
	c.chars("card.button", card.Button, 0, MaxArticleChars)
	if card.Code != "" {
		c.word("card.code", card.Code, MaxCardCodeChars)
	}
}

func (c *checker) transfer(t *TransferReply) {
	if t == nil {
		c.fail("transfer", "must say to whom")
		return
	}
	switch t.To {
	case SessionHuman:
		c.word("transfer.servicer", t.Servicer, MaxIDChars)
	case SessionAssistant, SessionPool, SessionEnded:
		if t.Servicer != "" {
			c.fail("transfer.servicer", "must be empty but with human")
		}
	default: // nobody can make a session new
		c.fail("transfer.to", "must be assistant, pool, human or ended")
	}
}
