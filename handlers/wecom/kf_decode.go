package wecom

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// What a page's payload says of itself, so that decoding it needs nothing else:
// the account that was asked, "<corp id>/kf:<open_kfid>", and when we first asked
// for it, which parts history from what is ours to answer.
const (
	pageAccount = "Cw-Account"
	pageSince   = "Cw-Since"
	kfMark      = "/kf:"
)

// PageEndpoint is the Endpoint of the pages of an account; no callback URL can
// have such a name.
func PageEndpoint(account string) string { return pagePrefix + account }

const pagePrefix = "kf:"

// Fetched is the decoder of a payload that no callback brought: a page that Puller
// archived, a frame of a robot's long connection, a record of the chat archive; nil
// for callbacks.
func Fetched(p *gateway.Payload) func(*gateway.Payload) ([]gateway.Item, error) {
	switch {
	case p.Platform != "wecom":
	case strings.HasPrefix(p.Endpoint, pagePrefix):
		return DecodePage
	case strings.HasPrefix(p.Endpoint, framePrefix):
		return DecodeFrame
	case strings.HasPrefix(p.Endpoint, recordPrefix):
		return DecodeRecord
	}
	return nil
}

// syncPage is what kf/sync_msg answers. Source: WeCom 94670.
type syncPage struct {
	Code    *int              `json:"errcode"`
	Message string            `json:"errmsg"`
	Next    string            `json:"next_cursor"`
	More    int               `json:"has_more"`
	List    []json.RawMessage `json:"msg_list"`
}

// page is what holds for every item of one.
type page struct {
	corp, kf string
	since    time.Time // what was sent before is history
}

// DecodePage reads a page of kf/sync_msg. It is pure, as Endpoint.Decode is; no
// item harms another, and what is not known is a notice with its raw part.
func DecodePage(p *gateway.Payload) ([]gateway.Item, error) {
	corp, kf, ok := strings.Cut(p.Header.Get(pageAccount), kfMark)
	since, err := time.Parse(time.RFC3339Nano, p.Header.Get(pageSince))
	if !ok || err != nil {
		return nil, fmt.Errorf("%w: the page does not say whose it is", gateway.ErrUndecodable)
	}
	var in syncPage
	if json.Unmarshal(p.Body, &in) != nil {
		return nil, fmt.Errorf("%w: not a page of kf/sync_msg", gateway.ErrUndecodable)
	}
	of := page{corp: corp, kf: kf, since: since.Truncate(time.Second)}
	items := make([]gateway.Item, len(in.List))
	for i, raw := range in.List {
		items[i] = of.item(raw)
	}
	return items, nil
}

func (p page) item(raw json.RawMessage) gateway.Item {
	o, isObject := toObject(raw)
	event := o.object("event") // in an event the ids stand inside
	kf := first(o.id("open_kfid"), event.id("open_kfid"), p.kf)
	it := gateway.Item{
		AccountID:  p.corp + kfMark + kf,
		Kind:       gateway.KindNotice,
		OccurredAt: unixTime(o.text("send_time")),
		Content:    gateway.Content{Type: first(o.id("msgtype"), "unknown"), Raw: validRaw(raw)},
	}
	of(&it, gateway.Identity{Kind: "account", Value: it.AccountID})
	id := o.id("msgid")
	if it.Key = "k:" + kf + ":" + id; id == "" {
		it.Key = hashKey(raw)
	}
	if !isObject {
		it.Err = "bad item: not a JSON object"
		return it
	}
	if !it.OccurredAt.IsZero() && it.OccurredAt.Before(p.since) {
		it.Observed = gateway.ObservedHistory
	}
	customer := first(o.id("external_userid"), event.id("external_userid"))
	if customer != "" {
		who := []gateway.Identity{plain("external_userid", customer)}
		it.Chat = gateway.Chat{Kind: gateway.ChatSingle, Identities: who}
	}
	if o.text("msgtype") == "event" {
		fillKfEvent(&it, event, customer)
		return it
	}
	it.Content.ID = id
	fillKfMessage(&it, o, customer)
	return it
}

// Who an item comes from. Source: WeCom 94670.
const (
	fromCustomer = "3"
	fromStaff    = "5"
)

// fillKfMessage reads what somebody wrote. A customer's is a message, a
// colleague's an echo that we did not cause. What the API sent does not come back
// (94670); should it, by its msgid, which is our marker, it is an echo as well and
// judged by the outbox, whoever it says wrote it.
func fillKfMessage(it *gateway.Item, o object, customer string) {
	known := fillKfContent(&it.Content, o)
	origin := o.text("origin")
	switch {
	case customer == "":
	case origin == fromStaff, gateway.OurMarker(it.Content.ID):
		it.Kind = gateway.KindEcho
		it.Content.Echo = &gateway.Echo{MessageID: it.Content.ID, To: it.Chat.Identities}
		if gateway.OurMarker(it.Content.ID) {
			it.Content.Echo.Marker = it.Content.ID
		}
		byColleague(it, o.id("servicer_userid"))
	case origin == fromCustomer:
		byCustomer(it, customer)
		if known {
			it.Kind = gateway.KindMessage
		}
	}
}
