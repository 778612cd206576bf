package wecom

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// kfTransfer is the body of kf/service_state/trans. Source: WeCom 94669.
type kfTransfer struct {
	OpenKfID string `json:"open_kfid"`
	Customer string `json:"external_userid"`
	State    int    `json:"service_state"`
	Servicer string `json:"servicer_userid,omitempty"`
}

// sessionStates are the states of a session by WeCom's numbers.
func sessionStates() []gateway.SessionState {
	return []gateway.SessionState{gateway.SessionNew, gateway.SessionAssistant, gateway.SessionPool, gateway.SessionHuman, gateway.SessionEnded}
}

// transfer hands a session over. WeCom has no marker here and tells nobody of what
// came of a call, but it tells the state: when the answer is lost, or the change is
// refused, the state is asked for, and is the evidence. What is as asked for is
// accepted, whoever made it so; what is not stays unknown after a lost answer, since
// the call may still be on its way, and refused after a refusal.
func (k *KfClient) transfer(ctx context.Context, out gateway.Outgoing, call *sendCall) gateway.Outcome {
	o := k.changed(ctx, out, call)
	if o.Kind != gateway.OutcomeUnknown && o.Kind != gateway.OutcomeRejected || !k.stands(ctx, call.to, out.Message.Reply.Transfer) {
		return o
	}
	return gateway.Outcome{Kind: gateway.OutcomeAccepted, Detail: "the session is as asked for, by a question after the code " + o.Code}
}

// Left says what became of a transfer whose answer nobody heard, by the state that
// WeCom tells: as asked for, it is accepted. Anything else tells nothing: it may have
// been done and changed again. Of messages WeCom tells nothing at all.
func (k *KfClient) Left(ctx context.Context, m *gateway.Message) (o gateway.Outcome, known bool) {
	if m.Reply.Type != gateway.ReplyTransfer {
		return o, false
	}
	to, refusal := fitsKf(m)
	if refusal != nil || !k.stands(ctx, to, m.Reply.Transfer) {
		return o, false
	}
	return gateway.Outcome{Kind: gateway.OutcomeAccepted, ExternalID: m.ID, Detail: "the session is as asked for, by a question after the process had ended"}, true
}

// changed makes the call, which is given up in time for a question after it.
func (k *KfClient) changed(ctx context.Context, out gateway.Outgoing, call *sendCall) gateway.Outcome {
	if !out.VoidAfter.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, out.VoidAfter)
		defer cancel()
	}
	return k.deliver(ctx, out, call)
}

// stands says that WeCom tells that a session is as asked for.
func (k *KfClient) stands(ctx context.Context, customer string, want *gateway.TransferReply) bool {
	resp, _, err := k.post(ctx, "kf/service_state/get", &kfSession{OpenKfID: k.kf.OpenKfID, Customer: customer})
	if err != nil {
		return false
	}
	var a struct {
		Code     *int   `json:"errcode"`
		State    *int   `json:"service_state"`
		Servicer string `json:"servicer_userid"`
	}
	return json.Unmarshal(resp.Body, &a) == nil && a.Code != nil && *a.Code == 0 && a.State != nil && *a.State == numberOf(want.To) &&
		(want.To != gateway.SessionHuman || a.Servicer == want.Servicer)
}

type kfSession struct {
	OpenKfID string `json:"open_kfid"`
	Customer string `json:"external_userid"`
}

func numberOf(s gateway.SessionState) int { return slices.Index(sessionStates(), s) }
