package main

import (
	"net/http"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/store"
)

//nolint:gochecknoglobals // fixed values of the tests
var (
	sampleTime      = time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)
	samplePayloadID = store.PayloadID(sampleTime, 42)
	sampleSealedID  = store.PayloadID(sampleTime.Add(time.Second), 43)
)

const (
	sampleConv    = "abcdefghijklmnopqrstuvwxyz"
	sampleEvent   = "ev_234567abcdefghijklmnopqrst"
	sampleDead    = "dl_01K2F0000000000000000000AA"
	sampleDead2   = "dl_01K2F0000000000000000000AB"
	sampleMessage = "ms_01K2F0000000000000000000AC"
	// sampleBody has bytes that no text has, to see that they come out as they are.
	sampleBody = "{\"object\":\"whatsapp_business_account\"}\r\n\x00\xff"
)

// sampleAPI is a small gateway with one of everything.
func sampleAPI() *memoryAPI {
	later := func(d time.Duration) time.Time { return sampleTime.Add(d) }
	paused, oldest, human, probe := later(time.Minute), later(-5*time.Minute), later(-time.Hour), later(2*time.Minute)
	api := &memoryAPI{
		runs: map[string]admin.ReplayRequest{},
		payloads: []gateway.Payload{
			{
				Pos: 43, ID: sampleSealedID, Platform: "wecom", Endpoint: "corp", ReceivedAt: later(time.Second),
				RequestLine: "POST /webhooks/wecom/corp?msg_signature=0&timestamp=1 HTTP/1.1",
				Header:      http.Header{"Content-Type": {"text/xml"}}, Body: []byte("<xml/>"), KeyFP: "abcabcabcabc",
			},
			{
				Pos: 42, ID: samplePayloadID, Platform: "whatsapp", Endpoint: "meta", ReceivedAt: sampleTime,
				RequestLine: "POST /webhooks/whatsapp/meta HTTP/1.1",
				Header:      http.Header{"Content-Type": {"application/json"}, "User-Agent": {"curl \x1b[31mred"}},
				Body:        []byte(sampleBody), KeyFP: "defdefdefdef",
			},
		},
		status: map[int64]store.PayloadStatus{
			42: {
				State: gateway.PayloadRelayed, KeyFP: "defdefdefdef",
				Items: []store.ItemStatus{
					{Index: 0, State: gateway.ItemEvent, Event: sampleEvent, Conv: sampleConv, Seq: 7, Kind: gateway.KindMessage},
					{Index: 1, State: gateway.ItemIgnored, Reason: "not wanted", Event: sampleEvent, Conv: sampleConv, Kind: gateway.KindStatus},
					{Index: 2, State: gateway.ItemDead, Reason: "no_account", Kind: gateway.KindMessage},
				},
			},
			43: {State: gateway.PayloadSealed, Reason: "no key opens it"},
		},
		rejects: []gateway.Reject{
			{ID: 18, At: later(2 * time.Second), Reason: "wrong signature", Payload: gateway.Payload{
				Platform: "whatsapp", Endpoint: "meta", ReceivedAt: later(2 * time.Second), RequestLine: "POST /webhooks/whatsapp/meta HTTP/1.1",
				Header: http.Header{"X-Hub-Signature-256": {"sha256=00"}}, Body: []byte(sampleBody),
			}},
			{ID: 17, At: sampleTime, Reason: "no signature", Payload: gateway.Payload{
				Platform: "whatsapp", Endpoint: "meta", ReceivedAt: sampleTime, RequestLine: "POST /webhooks/whatsapp/meta HTTP/1.1", Body: []byte(sampleBody),
			}},
		},
		dead: []gateway.DeadLetter{
			{
				ID: sampleDead, Kind: "event", At: sampleTime, Reason: "tries", Detail: "the model was not reachable\x1b[0m", App: "support",
				Platform: "whatsapp", Account: "shop-a", Conv: sampleConv, Event: sampleEvent, Payload: samplePayloadID, Tries: 4, State: "open",
			},
			{
				ID: sampleDead2, Kind: "item", At: later(-time.Minute), Reason: "no_account", Platform: "whatsapp",
				Payload: samplePayloadID, Item: 2, State: "dropped", By: "root",
			},
		},
		apps: []admin.ApplicationState{
			{Name: "support", Kinds: []string{"message"}, Accounts: []string{"shop-a", "corp-a"}, Replies: true,
				Pending: 12, Offered: 3, Ready: 1, Unacked: 2, Waiting: 9, Workers: 4, Oldest: &oldest,
				Rate: 11.25, Retrying: 1, Dead: 3, Tries: 1234567, Late: 2, Overrun: 1, Builds: []string{"1.4.2", "1.4.1"}},
			{Name: "faq", Kinds: []string{"message", "change"}, Replies: true, Paused: true, PausedBy: "ops", PausedAt: &paused, Pending: 120, Waiting: 120},
			{Name: "watch", Kinds: []string{"message"}, Pending: 1},
			{Name: "echo", Builtin: "echo", Kinds: []string{"message"}, Replies: true, Tripped: true, TrippedAt: &paused, ProbeAt: &probe, Blocked: 2, Pending: 31},
		},
		unanswered: []gateway.Unanswered{{N: 4, App: "support", At: sampleTime, Event: sampleEvent, Conv: sampleConv, Account: "shop-a",
			Payload: samplePayloadID, ReceivedAt: sampleTime, OccurredAt: oldest}},
		brakes: []gateway.Brake{{Scope: gateway.BrakeApp, Name: "faq", At: paused, By: "ops"},
			{Scope: gateway.BrakeConversation, Name: sampleConv, At: paused, By: "gateway", Reason: "loop"}},
		conv: &gateway.Conversation{
			Conv: sampleConv, Platform: "whatsapp", Account: "shop-a", Chat: gateway.ChatSingle,
			Identities: []gateway.Identity{{Kind: "bsuid", Value: "DE.1234567890"}, {Kind: "phone", Value: "491510000000"}},
			LastSeq:    7, LastHumanAt: &human,
			State: &gateway.State{Takeover: &gateway.Taken{By: "ChenHao\x1b[0m", Since: human, Until: later(-30 * time.Minute)}, At: &human},
			Events: []gateway.ConversationEvent{
				{Event: sampleEvent, Seq: 7, Kind: gateway.KindMessage, Type: "text", Origin: gateway.OriginLive, ReceivedAt: sampleTime,
					States: map[string]gateway.EventState{"support": "settled", "watch": "dead"}},
				{Event: sampleEvent, Kind: gateway.KindEcho, Type: "text", Origin: gateway.OriginLive, ReceivedAt: later(time.Second), Echo: gateway.JudgedHuman},
			},
			Messages: []gateway.ConversationMessage{
				{Message: "ms_01K2F0000000000000000000AA", Event: sampleEvent, State: gateway.MessageAccepted, Delivery: gateway.StatusRead, Attempts: 1, DueAt: sampleTime},
				{Message: "ms_01K2F0000000000000000000AB", Event: sampleEvent, Part: 1, State: gateway.MessageRejected, Reason: "131047",
					Failed: &gateway.Problem{Code: 131047}, Attempts: 2, DueAt: later(time.Second)},
			},
		},
		messages: []gateway.Message{{
			ID: sampleMessage, Task: sampleMessage, Parts: 1, App: "support", Platform: "whatsapp", Account: "shop-a", Conv: sampleConv, Event: sampleEvent,
			State: gateway.MessageUnknown, TaskState: gateway.MessageUnknown, Reason: "timeout", Attempts: 1, DueAt: sampleTime, Reply: gateway.Reply{Type: "text", Text: "SECRET TEXT"},
		}},
		attempts: []gateway.Attempt{{N: 1, StartedAt: sampleTime, EndedAt: later(time.Second),
			Outcome: &gateway.Outcome{Kind: gateway.OutcomeUnknown, Code: "timeout", Detail: "the platform did not answer\x1b[0m"}}},
		receipts: gateway.Receipts{Statuses: []gateway.SeenStatus{{State: gateway.StatusSent, At: sampleTime}, {State: gateway.StatusDelivered, At: later(time.Second)}},
			Members: []gateway.MemberReceipt{{Member: gateway.Identity{Kind: "phone", Value: "491510000001"}, Delivery: gateway.StatusRead, At: sampleTime},
				{Member: gateway.Identity{Kind: "phone", Value: "491510000002"}, Failed: &gateway.Problem{Code: 131026}, At: sampleTime}}},
		report: admin.Report{OK: false, Findings: []admin.Finding{
			{Level: "error", What: "events wait and no worker asks for them", Name: "watch", Count: 1, Since: &oldest, Do: "start a worker for watch"},
			{Level: "warning", What: "callbacks did not verify", Name: "rejects", Count: 2,
				Do: "causeway rejects ls; after mending the secret, which must be the app secret of the Meta app that owns the webhook: causeway rejects readmit --all"},
			{Level: "info", What: "pending", Name: "support", Count: 12, Since: &oldest},
		}},
	}
	api.account = admin.Report{OK: false, Findings: []admin.Finding{
		{Level: "info", What: "the access token never ends", Name: "shop-a"},
		{Level: "error", What: "the business may not send", Name: "shop-a", Detail: "141006, There is an error with your payment method.",
			Do: "Add a payment method in the business settings."},
	}}
	api.kept = sampleSums()
	api.recounted = sampleSums()
	return api
}

func sampleSums() gateway.Sums {
	var s gateway.Sums
	s.Payloads.Archived, s.Payloads.Relayed, s.Payloads.Sealed, s.Payloads.Duplicate, s.Payloads.Pending = 43, 38, 1, 3, 1
	s.Items.Decoded, s.Items.Events, s.Items.Duplicate, s.Items.Dead = 60, 55, 4, 1
	s.Apps = map[string]gateway.AppSums{
		"support": {Wanted: 30, Settled: 17, Dead: 1, Pending: 12},
		"faq":     {Wanted: 120, Pending: 120},
	}
	s.Messages.Taken, s.Messages.Accepted, s.Messages.Rejected, s.Messages.Unknown = 17, 15, 1, 1
	return s
}
