package bridge

import (
	"strings"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// sealed keeps the seals of tickets apart from others under the same secret.
const sealed = "causeway answer"

// ticket is what a reply token stands for: the answer of one delivery. Its text is
// the parts with dots between, which only the delivery may hold, and the seal.
type ticket struct {
	app, platform, account, conv, delivery string
}

func (t ticket) text() string {
	return strings.Join([]string{t.app, t.platform, t.account, t.conv, t.delivery}, ".")
}

func (t ticket) token(keys gateway.WebhookKeys) string {
	text := t.text()
	return text + "." + keys.Seal(sealed, text)
}

// readTicket takes a token apart; it does not say whether the seal is ours.
func readTicket(token string) (t ticket, seal string, ok bool) {
	end := strings.LastIndexByte(token, '.')
	if end < 0 || len(token) > 512 {
		return ticket{}, "", false
	}
	parts := strings.SplitN(token[:end], ".", 5)
	if len(parts) != 5 || parts[4] == "" {
		return ticket{}, "", false
	}
	return ticket{parts[0], parts[1], parts[2], parts[3], parts[4]}, token[end+1:], true
}

// TokenApp is the application whose Bridge can read a reply token; "" for what is
// none.
func TokenApp(token string) string {
	t, _, _ := readTicket(token)
	return t.app
}

// open reads a token of ours.
func (b *Bridge) open(token string) (ticket, bool) {
	t, seal, ok := readTicket(token)
	return t, ok && t.app == b.o.App.Name && b.o.Keys.Sealed(sealed, t.text(), seal)
}

// subject is where the ticket's answer goes.
func (t ticket) subject() (string, error) {
	return stream.ReplySubject(t.app, t.platform, t.account, t.conv)
}
