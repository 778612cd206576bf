package whatsapp

import (
	"mime"
	"slices"
	"unicode/utf8"

	"github.com/causewayhq/causeway/gateway"
)

// MaxTextChars is the longest text of one message, in characters. What is longer
// is refused, never cut.
const MaxTextChars = 4096

// Fits says whether the message may be taken as far as can be told without a call:
// nil, or a *gateway.FieldError. Files of our store and what the platform alone
// knows are found out by sending.
func (c *Client) Fits(m *gateway.Message) error {
	_, refusal := fits(m)
	return gateway.Misfit(refusal)
}

// fits chooses whom a message goes to, or makes the outcome of one that is not fit.
// Marking read goes to nobody.
func fits(m *gateway.Message) (to gateway.Identity, refusal *gateway.Outcome) {
	if refusal = unfit(&m.Reply); refusal != nil || m.Reply.Type == gateway.ReplyRead {
		return to, refusal
	}
	to, ok := recipient(m.To)
	switch {
	case !ok:
		return to, rejected("no_recipient", "the conversation has no phone number, BSUID or group")
	case to.Kind == "group" && !forGroups(m.Reply.Type):
		return to, rejected("unsupported_in_group", "groups take text, files and templates only")
	}
	return to, nil
}

// unfit is the outcome of a reply that WhatsApp would not take; nil for one that
// it may. What every platform would refuse was refused by gateway.ParseAnswer,
// but rows of a ledger can be older than the rules.
func unfit(r *gateway.Reply) *gateway.Outcome {
	switch r.Type {
	case "", gateway.ReplyText:
		switch {
		case r.Text == "":
			return rejected("empty", "the text is empty")
		case utf8.RuneCountInString(r.Text) > MaxTextChars:
			return rejected("too_long", "the text has more than 4096 characters")
		}
	case gateway.ReplyImage, gateway.ReplyAudio, gateway.ReplyVoice, gateway.ReplyVideo, gateway.ReplyDocument, gateway.ReplySticker,
		gateway.ReplyLocation, gateway.ReplyContacts, gateway.ReplyReaction, gateway.ReplyTemplate,
		gateway.ReplyButtons, gateway.ReplyList, gateway.ReplyLink, gateway.ReplyFlow, gateway.ReplyRead:
	default:
		return rejected("unsupported", "WhatsApp has no message of this type")
	}
	if r.Type == gateway.ReplyLink && r.File != nil {
		return rejected("unsupported", "WhatsApp shows no picture of ours with a link; leave file out")
	}
	if r.Handle != nil {
		return rejected("unsupported", "WhatsApp has no codes to send by")
	}
	if err := gateway.CheckReply(r); err != nil {
		return rejected("bad_reply", err.Error()) // names the field, not what is in it
	}
	if r.File != nil && !fileFits(r.Type, r.File.MIME) {
		return rejected("unsupported_file", "WhatsApp does not take a file of this type as "+string(r.Type))
	}
	return nil
}

// fileFits says whether a kind of message takes files of this type; a type that
// was not told is left to the platform, as is every document. Source: Meta,
// "Supported media types".
func fileFits(kind gateway.ReplyType, typ string) bool {
	if typ == "" {
		return true
	}
	typ, _, err := mime.ParseMediaType(typ)
	if err != nil {
		return false
	}
	var good []string
	switch kind {
	case gateway.ReplyImage:
		good = []string{"image/jpeg", "image/png"}
	case gateway.ReplyVideo:
		good = []string{"video/mp4", "video/3gpp", "video/3gp"}
	case gateway.ReplyAudio:
		good = []string{"audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"}
	case gateway.ReplyVoice:
		good = []string{"audio/ogg"}
	case gateway.ReplySticker:
		good = []string{"image/webp"}
	default:
		return true
	}
	return slices.Contains(good, typ)
}

// forGroups says whether groups take messages of this kind. Source: Meta, "Group
// messaging".
func forGroups(t gateway.ReplyType) bool {
	switch t {
	case "", gateway.ReplyText, gateway.ReplyTemplate, gateway.ReplyImage, gateway.ReplyVideo, gateway.ReplyAudio, gateway.ReplyVoice,
		gateway.ReplyDocument, gateway.ReplySticker:
		return true
	case gateway.ReplyLocation, gateway.ReplyContacts, gateway.ReplyReaction, gateway.ReplyButtons, gateway.ReplyList, gateway.ReplyLink,
		gateway.ReplyFlow, gateway.ReplyRead, gateway.ReplyMarkdown, gateway.ReplyNews, gateway.ReplyCard, gateway.ReplyRecall,
		gateway.ReplyWelcome, gateway.ReplyTransfer:
	}
	return false
}
