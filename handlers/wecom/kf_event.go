package wecom

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// How long the code of a change of session can be used. Source: WeCom 94669.
const (
	sessionLife    = 48 * time.Hour
	sessionEndLife = 20 * time.Second
)

// fillKfEvent reads an event of a page. What the customer did stays in the
// conversation; what became of the session and of its colleagues is state under a
// key of its own, since WeCom promises no order between it and what is written.
// Source: WeCom 94670, 94669.
func fillKfEvent(it *gateway.Item, e object, customer string) {
	event := e.id("event_type")
	it.Content.Type = "event." + event
	switch event {
	case "enter_session":
		byCustomer(it, customer)
		handle(it, gateway.HandleWelcome, e.id("welcome_code"), welcomeLife)
		if scene, param := e.text("scene"), e.text("scene_param"); scene != "" || param != "" {
			it.Content.Referral = &gateway.Referral{Source: scene, Ref: param}
		}
	case "msg_send_fail":
		sendFail(it, e)
	case "user_recall_msg", "servicer_recall_msg":
		recalled(it, e, event)
	case "session_status_change":
		sessionChange(it, e, customer)
	case "reject_customer_msg_switch_change":
		what := e.text("reject_switch")
		switch what {
		case "0":
			what = "messages_accepted"
		case "1":
			what = "messages_refused"
		}
		if c := state(it, plain("session", customer), what); c != nil {
			c.Member = colleague(e.id("servicer_userid"))
		}
	case "servicer_status_change":
		what := e.text("status")
		switch what {
		case "1":
			what = "receiving"
		case "2":
			what = "not_receiving"
		}
		who := e.id("servicer_userid")
		if c := state(it, folded("member", who), what); c != nil {
			c.Detail, c.Member = e.text("stop_type"), colleague(who)
		}
	}
}

// sendFail tells of a message that was taken and not delivered: ours by its msgid,
// which is our marker, or a colleague's.
func sendFail(it *gateway.Item, e object) {
	id := e.id("fail_msgid")
	if id == "" {
		return
	}
	kind := e.text("fail_type")
	it.Kind, it.Content.Type = gateway.KindStatus, "status"
	it.Content.Status = &gateway.Status{MessageID: id, State: gateway.StatusFailed,
		Errors: []gateway.Problem{{Code: number(kind), Title: failWord(kind)}}}
	if gateway.OurMarker(id) {
		it.Content.Status.Marker = id
	}
}

// recalled tells that a message was taken back by whoever wrote it.
func recalled(it *gateway.Item, e object, event string) {
	id := e.id("recall_msgid")
	if id == "" || it.Chat.Kind != gateway.ChatSingle {
		return
	}
	it.Kind, it.Content.Type = gateway.KindChange, "revoke"
	it.Content.Target = &gateway.Target{MessageID: id}
	if event == "user_recall_msg" {
		byCustomer(it, it.Chat.Identities[0].Value)
		return
	}
	byColleague(it, e.id("servicer_userid"))
}

func byCustomer(it *gateway.Item, customer string) {
	if customer != "" {
		it.Content.From = &gateway.Party{Identities: it.Chat.Identities}
	}
}

func byColleague(it *gateway.Item, userID string) {
	if who := colleague(userID); who != nil {
		it.Content.From = &gateway.Party{Identities: []gateway.Identity{*who}}
	}
}

// sessionChange tells who has the session now. The code with it lets us say one
// thing about the change.
func sessionChange(it *gateway.Item, e object, customer string) {
	what, life := e.text("change_type"), sessionLife
	member := e.id("new_servicer_userid")
	switch what {
	case "1":
		what = "taken"
	case "2":
		what = "transferred"
	case "3":
		what, life, member = "ended", sessionEndLife, e.id("old_servicer_userid")
	case "4":
		what = "taken_again"
	}
	c := state(it, plain("session", customer), what)
	if c == nil {
		return
	}
	c.Member = colleague(member)
	switch what {
	case "ended":
		it.Note = &gateway.StateNote{Session: gateway.SessionEnded}
	case "taken", "transferred", "taken_again":
		it.Note = &gateway.StateNote{Session: gateway.SessionHuman, Servicer: folded("userid", member)}
	}
	handle(it, gateway.HandleSession, e.id("msg_code"), life)
}
