package wecom

import (
	"fmt"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// RecordEndpoint is the Endpoint of records of the chat archive that an account
// fetched; no callback URL can have such a name. Their header Cw-Account names the
// corp, "<corp id>/".
func RecordEndpoint(account string) string { return recordPrefix + account }

const recordPrefix = "audit:"

// DecodeRecord reads one record of the chat archive (msgaudit), decrypted. It is
// pure, as Endpoint.Decode is. A record is a notice: who wrote it wrote to somebody
// else, perhaps minutes ago, and what reached us of it came by a lane of its own,
// under an id that has nothing to do with this one. So it stands under a key of its
// own, the two who talk or the room, is in no conversation, and is offered to none
// but those who ask for such notices. Source: WeCom 91774.
func DecodeRecord(p *gateway.Payload) ([]gateway.Item, error) {
	corp, rest, ok := strings.Cut(p.Header.Get(pageAccount), "/")
	if !ok || corp == "" || rest != "" {
		return nil, fmt.Errorf("%w: the record does not say whose it is", gateway.ErrUndecodable)
	}
	raw := plainDocument(p.Body)
	if err := checkJSON(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", gateway.ErrUndecodable, err)
	}
	o, _ := toObject(raw)
	typ := first(o.id("msgtype"), o.id("action"), "unknown") // switch has no msgtype
	it := gateway.Item{
		AccountID:  corp + "/",
		Kind:       gateway.KindNotice,
		Key:        hashKey(raw),
		OccurredAt: unixTime(first(o.text("msgtime"), o.text("time"))), // milliseconds
		Content:    gateway.Content{Type: "record." + typ, Raw: raw},
	}
	if id := o.id("msgid"); id != "" {
		it.Key, it.Content.ID = "a:"+id, id
	}
	from := first(o.id("from"), o.id("user"))
	if from != "" {
		it.Content.From = &gateway.Party{Identities: []gateway.Identity{recorded(from)}}
	}
	it.Content.Text = o.object(typ).text("content")
	if revoked := o.object("revoke").id("pre_msgid"); revoked != "" {
		it.Content.Target = &gateway.Target{MessageID: revoked}
	}
	of(&it, gateway.Identity{Kind: "account", Value: it.AccountID})
	if talk := talkOf(o, from); talk != "" && len(talk) <= maxIDBytes {
		of(&it, plain("audit", talk))
	}
	return []gateway.Item{it}, nil
}

// talkOf names a room or the two who talk, whoever of them writes; "" where the
// record tells neither.
func talkOf(o object, from string) string {
	if room := o.id("roomid"); room != "" {
		return "room|" + room
	}
	to := o.texts("tolist")
	switch {
	case from == "" || len(to) != 1 || to[0] == "":
		return ""
	case to[0] < from:
		return to[0] + "|" + from
	}
	return from + "|" + to[0]
}

// recorded is somebody of a record: ids of customers and of robots are told from
// members' by how they begin.
func recorded(id string) gateway.Identity {
	if len(id) >= 32 && (strings.HasPrefix(id, "wm") || strings.HasPrefix(id, "wo") || strings.HasPrefix(id, "wb")) {
		return plain("external_userid", id)
	}
	return folded("userid", id)
}
