package sqlite

import (
	"context"
	"encoding/json"

	"github.com/causewayhq/causeway/gateway"
)

// ConversationTexts fills in the texts of the events and messages of a conversation;
// what is not there any more stays empty.
func (l *Ledger) ConversationTexts(ctx context.Context, conv *gateway.Conversation) error {
	return l.r.snapshot(ctx, func(c *conn) error {
		for i := range conv.Events {
			e := &conv.Events[i]
			_, err := c.one("SELECT content FROM event WHERE id = ? AND run = ?", func(r row) {
				var says struct {
					Text string `json:"text"`
				}
				if json.Unmarshal(r.blob(0), &says) == nil {
					e.Text = says.Text
				}
			}, eventKey(e.Event), e.Run)
			if err != nil {
				return err
			}
		}
		for i := range conv.Messages {
			m := &conv.Messages[i]
			if _, err := c.one("SELECT text FROM message WHERE id = ?", func(r row) { m.Text = string(r.blob(0)) }, m.Message); err != nil {
				return err
			}
		}
		return nil
	})
}
