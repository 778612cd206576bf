package stream

import (
	"errors"
	"fmt"
	"strings"

	"github.com/causewayhq/causeway/gateway"
)

// Names of the streams.
const (
	EventStream    = "CW_EVENT"    // copies of events, for observers
	ReplyStream    = "CW_REPLY"    // answers of workers
	ResultStream   = "CW_RESULT"   // changes of messages, for observers
	AdvisoryStream = "CW_ADVISORY" // the broker's word that it gave up on an offer

	// StateBucket is the key-value bucket of states, StateStream the stream under it.
	StateBucket = "CW_STATE"
	StateStream = "KV_" + StateBucket

	readyPrefix = "CW_READY_" // one gate per application
)

// Headers of events and offers. Those named ce- are CloudEvents attributes in
// the binary mode of the CloudEvents NATS binding.
const (
	HeaderID          = "ce-id" // what an answer names
	HeaderType        = "ce-type"
	HeaderSource      = "ce-source"
	HeaderTime        = "ce-time"
	HeaderSubject     = "ce-subject"
	HeaderSpecVersion = "ce-specversion"
	HeaderContentType = "ce-datacontenttype"
	HeaderEvent       = "Cw-Event"  // the fact; the same in replays and requeues
	HeaderSeq         = "Cw-Seq"    // place in the conversation; not on replays
	HeaderConv        = "Cw-Conv"   // conversation
	HeaderOrigin      = "Cw-Origin" // live, backfill, replay
	HeaderTry         = "Cw-Try"    // offers: which try this is, from 1
	HeaderRound       = "Cw-Round"  // offers: grows with every re-offer
	// HeaderDeadline of offers is when the code ends that came with the event: an
	// answer after it counts for nothing. RFC 3339; most offers have none.
	HeaderDeadline = "Cw-Deadline"

	// HeaderTrace is the W3C trace context of this publication (gateway.Traceparent).
	HeaderTrace = "traceparent"

	headerMsgID = "Nats-Msg-Id"
)

// ErrBadToken is wrapped when a name cannot be part of a subject. Such a name is
// refused and never pasted: a dot, a wildcard or an empty token would put the
// message on another subject, and a subject over the server's control line
// (4,096 bytes) closes the connection of every account.
var ErrBadToken = errors.New("not a subject token") //nolint:gochecknoglobals // a sentinel error is a constant

const maxToken = 64

// token checks one part of a subject: 1 to 64 letters, digits, "-" and "_".
func token(what, s string) error {
	if len(s) == 0 || len(s) > maxToken {
		return fmt.Errorf("%w: %s must have 1 to %d characters", ErrBadToken, what, maxToken)
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return fmt.Errorf("%w: %s has a character that is no letter, digit, - or _", ErrBadToken, what)
		}
	}
	return nil
}

func joinSubject(prefix string, named ...string) (string, error) {
	var b strings.Builder
	b.WriteString(prefix)
	for i := 0; i+1 < len(named); i += 2 {
		if err := token(named[i], named[i+1]); err != nil {
			return "", err
		}
		b.WriteByte('.')
		b.WriteString(named[i+1])
	}
	return b.String(), nil
}

// EventSubject is where the copy of an event goes.
func EventSubject(platform, account, conv string, kind gateway.Kind) (string, error) {
	return joinSubject("cw.event", "platform", platform, "account", account, "conversation", conv, "kind", string(kind))
}

// ReadySubject is a conversation's place in the gate of an application.
func ReadySubject(app, platform, account, conv string) (string, error) {
	return joinSubject("cw.ready", "application", app, "platform", platform, "account", account, "conversation", conv)
}

// ReplySubject is where a worker answers.
func ReplySubject(app, platform, account, conv string) (string, error) {
	return joinSubject("cw.reply", "application", app, "platform", platform, "account", account, "conversation", conv)
}

// ReplySubjectFor is the ReplySubject that belongs to the subject of an offer;
// false when s is not one.
func ReplySubjectFor(s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "cw.ready.")
	if !ok || strings.Count(rest, ".") != 3 {
		return "", false
	}
	return "cw.reply." + rest, true
}

// ResultSubject is where changes of a conversation's messages go.
func ResultSubject(platform, account, conv string) (string, error) {
	return joinSubject("cw.result", "platform", platform, "account", account, "conversation", conv)
}

// StateSubject is the place of a conversation's state in the bucket; the key is the
// conversation.
func StateSubject(conv string) (string, error) {
	return joinSubject("$KV."+StateBucket, "conversation", conv)
}

// CurrentSubject is where an application asks for the state of a conversation.
func CurrentSubject(app string) string { return currentPrefix + app }

const currentPrefix = "cw.current."

// ReadyName is the stream of an application's gate. The name of the application
// must be a gateway.ValidName.
func ReadyName(app string) string { return readyPrefix + app }

// InboxPrefix is the only subject space on which a user of the embedded server
// may listen for answers of the server (nats.CustomInboxPrefix).
func InboxPrefix(user string) string { return "_INBOX_" + user }

// OfferID is the message id of an offer: unique per application, event, replay
// run, requeue and round.
func OfferID(p *gateway.Pending) string {
	return fmt.Sprintf("%s:%s:%d", p.App, p.Delivery(), p.Round)
}

// splitReply takes application and conversation from the subject of an answer.
func splitReply(subject string) (app, conv string, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 6 || parts[0] != "cw" || parts[1] != "reply" {
		return "", "", false
	}
	return parts[2], parts[5], true
}
