package worker

import (
	"encoding/json"

	"github.com/causewayhq/causeway/gateway"
)

// The constructors below make what a handler returns. Each gives a list, mostly
// of one reply, so that they can be returned as they are or put together by Join.
// They check nothing: Run does, by gateway.CheckReply, whose limits hold. Headers
// and footers of Buttons, List, Link and Flow are set on the reply:
//
//	menu := worker.List("What would you like?", "Open", worker.Section("", rows...))
//	menu[0].Footer = "Prices include tax"

// Join puts lists of replies together; they are sent in this order, one after
// another. An answer may have gateway.MaxReplies.
func Join(lists ...[]gateway.Reply) []gateway.Reply {
	var out []gateway.Reply
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func one(r gateway.Reply) []gateway.Reply { return []gateway.Reply{r} }

// Quote makes the first of replies an answer to the message with this id (the
// event's ID), shown above it. The list given is not changed.
func Quote(messageID string, replies []gateway.Reply) []gateway.Reply {
	out := append([]gateway.Reply(nil), replies...)
	if len(out) > 0 {
		out[0].Quote = messageID
	}
	return out
}

// Text makes one reply per text; they are sent one after another.
func Text(texts ...string) []gateway.Reply {
	out := make([]gateway.Reply, len(texts))
	for i, t := range texts {
		out[i] = gateway.Reply{Type: gateway.ReplyText, Text: t}
	}
	return out
}

// URL is a file that the platform fetches; https only.
func URL(url string) gateway.FileReply { return gateway.FileReply{URL: url} }

// ID is a file that the platform has already, by the id of an upload.
func ID(id string) gateway.FileReply { return gateway.FileReply{ID: id} }

// File is a file in the gateway's store, by its name there (Media.File); the
// gateway uploads it. mime is its type, as "image/jpeg".
func File(name, mime string) gateway.FileReply { return gateway.FileReply{File: name, MIME: mime} }

// Image is a picture, with a caption or "".
func Image(file gateway.FileReply, caption string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyImage, File: &file, Text: caption})
}

// Video is a film, with a caption or "".
func Video(file gateway.FileReply, caption string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyVideo, File: &file, Text: caption})
}

// Document is a file, with the name shown to the customer and a caption, or "".
func Document(file gateway.FileReply, name, caption string) []gateway.Reply {
	file.Name = name
	return one(gateway.Reply{Type: gateway.ReplyDocument, File: &file, Text: caption})
}

// Audio is a sound file.
func Audio(file gateway.FileReply) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyAudio, File: &file})
}

// Voice is a voice message; WhatsApp wants Opus in Ogg.
func Voice(file gateway.FileReply) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyVoice, File: &file})
}

// Sticker is a WebP picture without a frame.
func Sticker(file gateway.FileReply) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplySticker, File: &file})
}

// Location is a place in degrees, with a name and an address, or "".
func Location(latitude, longitude float64, name, address string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyLocation, Location: &gateway.Location{
		Latitude: latitude, Longitude: longitude, Name: name, Address: address,
	}})
}

// Contacts are cards of people.
func Contacts(cards ...gateway.ContactCard) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyContacts, Contacts: cards})
}

// React puts an emoji on the message with this id; "" takes ours back.
func React(messageID, emoji string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyReaction, Quote: messageID, Emoji: emoji})
}

// Template is an approved template, the one thing WhatsApp lets through when the
// customer has not written for 24 hours. components are its parts in the
// platform's JSON; nil for none.
func Template(name, language string, components json.RawMessage) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyTemplate, Template: &gateway.TemplateReply{Name: name, Language: language, Components: components}})
}

// Buttons is a text with up to three buttons; the one pressed comes as an event
// of type "button_reply" whose Choice has its id.
func Buttons(body string, buttons ...gateway.Choice) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyButtons, Text: body, Buttons: buttons})
}

// Button is one of Buttons.
func Button(id, title string) gateway.Choice { return gateway.Choice{ID: id, Title: title} }

// List is a text with a button that opens a menu of up to ten rows; the one chosen
// comes as an event of type "list_reply".
func List(body, button string, sections ...gateway.MenuSection) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyList, Text: body, List: &gateway.MenuReply{Button: button, Sections: sections}})
}

// Section is a part of a List; its title may be "" when it is the only one.
func Section(title string, rows ...gateway.Choice) gateway.MenuSection {
	return gateway.MenuSection{Title: title, Rows: rows}
}

// Row is a row of a Section, with a description or "".
func Row(id, title, description string) gateway.Choice {
	return gateway.Choice{ID: id, Title: title, Description: description}
}

// Link is a text with a button that opens a URL; https only.
func Link(body, title, url string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyLink, Text: body, Link: &gateway.LinkReply{Title: title, URL: url}})
}

// Flow is a text with a button that opens a form; what was filled in comes as an
// event of type "form".
func Flow(body string, form gateway.FormReply) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyFlow, Text: body, Flow: &form})
}

// Markdown makes one reply per text, in the platform's kind of Markdown (WeCom).
func Markdown(texts ...string) []gateway.Reply {
	out := make([]gateway.Reply, len(texts))
	for i, t := range texts {
		out[i] = gateway.Reply{Type: gateway.ReplyMarkdown, Text: t}
	}
	return out
}

// News is one to eight cards, each of which opens a page (WeCom).
func News(articles ...gateway.Article) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyNews, News: articles})
}

// Article is a card of News; description and picture (a URL) may be "".
func Article(title, description, url, picture string) gateway.Article {
	return gateway.Article{Title: title, Description: description, URL: url, Picture: picture}
}

// Card is a card in the platform's own JSON; WeCom's template cards. Without a
// task_id it gets the message's own id as one, which comes back when it is
// pressed.
func Card(content json.RawMessage) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyCard, Card: &gateway.CardReply{Content: content}})
}

// ChangeCard puts another card in the place of the one that was pressed. code is
// the event's Handle.Code; WeCom takes it once, within 72 hours.
func ChangeCard(code string, content json.RawMessage) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyCard, Card: &gateway.CardReply{Content: content, Code: code}})
}

// ChangeButton changes the text of the button that was pressed, which can then not
// be pressed again; code as for ChangeCard.
func ChangeButton(code, text string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyCard, Card: &gateway.CardReply{Button: text, Code: code}})
}

// With answers by the code of an event, its Handle, in place of writing to the
// customer: the first of replies, a text, buttons, a list or a link, since a code is
// good for one. WeCom's customer service takes it at the start of a session and
// upon its changes. The list given is not changed.
func With(handle *gateway.Handle, replies []gateway.Reply) []gateway.Reply {
	out := append([]gateway.Reply(nil), replies...)
	if len(out) > 0 {
		out[0].Handle = handle
	}
	return out
}

// Welcome greets a new customer, once: a text, or attachments, or both. handle is
// the event's Handle, of kind welcome; WeCom takes it for 20 seconds.
func Welcome(handle *gateway.Handle, text string, attachments ...gateway.Attachment) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyWelcome, Handle: handle, Text: text, Attachments: attachments})
}

// AttachImage puts a picture to a Welcome.
func AttachImage(file gateway.FileReply) gateway.Attachment {
	return gateway.Attachment{Type: gateway.AttachImage, File: &file}
}

// AttachVideo puts a film to a Welcome.
func AttachVideo(file gateway.FileReply) gateway.Attachment {
	return gateway.Attachment{Type: gateway.AttachVideo, File: &file}
}

// AttachFile puts a file to a Welcome, with the name shown to the customer or "".
func AttachFile(file gateway.FileReply, name string) gateway.Attachment {
	file.Name = name
	return gateway.Attachment{Type: gateway.AttachFile, File: &file}
}

// AttachPage puts a card that opens a page to a Welcome.
func AttachPage(page gateway.Article) gateway.Attachment {
	return gateway.Attachment{Type: gateway.AttachPage, Page: &page}
}

// AttachMini puts a card that opens a mini program to a Welcome; cover is its
// picture.
func AttachMini(mini gateway.MiniProgram, cover gateway.FileReply) gateway.Attachment {
	return gateway.Attachment{Type: gateway.AttachMini, Mini: &mini, File: &cover}
}

// Recall takes back a message of ours by the platform's id of it, external_id of
// its result (WeCom: within 24 hours).
func Recall(messageID string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyRecall, Quote: messageID})
}

// Transfer hands the session of a customer over: to gateway.SessionAssistant (us),
// SessionPool (whoever is free), SessionHuman with the userid of a colleague, or
// SessionEnded; servicer is "" but for a colleague. It comes last in an answer: once
// a colleague has the session or it has ended, nothing more of ours is taken (WeCom's
// customer service).
func Transfer(to gateway.SessionState, servicer string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyTransfer, Transfer: &gateway.TransferReply{To: to, Servicer: servicer}})
}

// Read marks the customer's message with this id (the event's ID) read. It is no
// message: it holds up no other reply, and it does no harm when it comes twice or
// is lost.
func Read(messageID string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyRead, Quote: messageID})
}

// Typing marks it read and shows that we write, until the next reply or for some
// seconds (WhatsApp: 25). It is sent with the answer: to show it while a handler
// still works, the handler must answer first.
func Typing(messageID string) []gateway.Reply {
	return one(gateway.Reply{Type: gateway.ReplyRead, Quote: messageID, Typing: true})
}
