package wecom_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

func kfHands(to gateway.SessionState, servicer string) gateway.Reply {
	return gateway.Reply{Type: gateway.ReplyTransfer, Transfer: &gateway.TransferReply{To: to, Servicer: servicer}}
}

// From every state to every other: what WeCom allows is done, what it does not is
// refused with its code and changes nothing, and what stands already as asked for is
// accepted.
func TestKfTransfer(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{Kf: []string{kfID}})
	s.SetKfAway("LiSi", true)
	c := newKfClient(t, s.URL())
	const done, no, off = "accepted ", "rejected 95016", "rejected 95014"
	// to:                         bot  pool  ChenHao WangWu LiSi(off) end
	for from, want := range [][]string{
		wecomtest.KfNew:       {done, done, done, done, off, done},
		wecomtest.KfAssistant: {done, done, done, done, off, done},
		wecomtest.KfPool:      {no, done, done, done, off, done},
		wecomtest.KfHuman:     {no, no, done, done, off, done}, // ChenHao has it
		wecomtest.KfEnded:     {no, no, no, no, no, done},
	} {
		for i, r := range []gateway.Reply{
			kfHands(gateway.SessionAssistant, ""), kfHands(gateway.SessionPool, ""), kfHands(gateway.SessionHuman, "ChenHao"),
			kfHands(gateway.SessionHuman, "WangWu"), kfHands(gateway.SessionHuman, "LiSi"), kfHands(gateway.SessionEnded, ""),
		} {
			if _, err := s.Kf(wecomtest.KfItem{Kf: kfID, Customer: customer, Text: "x", Silent: true}); err != nil {
				t.Fatal(err)
			}
			staff := ""
			if from == wecomtest.KfHuman {
				staff = "ChenHao"
			}
			s.SetKfState(kfID, customer, from, staff)
			o := c.Send(t.Context(), kfMessage(r, 1))
			if got := string(o.Kind) + " " + o.Code; got != want[i] {
				t.Errorf("from %d to %s %s: %s, want %s", from, r.Transfer.To, r.Transfer.Servicer, got, want[i])
			}
			number, who := []int{1, 2, 3, 3, 3, 4}[i], r.Transfer.Servicer
			if o.Kind != gateway.OutcomeAccepted {
				number, who = from, staff
			} else if o.ExternalID != marker {
				t.Errorf("external id %q", o.ExternalID)
			}
			if state, has := s.KfState(kfID, customer); state != number || has != who {
				t.Errorf("from %d to %s %s: stands at %d %q", from, r.Transfer.To, r.Transfer.Servicer, state, has)
			}
			for _, private := range []string{customer, kfID, "ChenHao", "WangWu", "LiSi"} {
				if strings.Contains(o.Detail, private) {
					t.Errorf("detail %q", o.Detail)
				}
			}
		}
	}
	if o := c.Send(t.Context(), func() gateway.Outgoing {
		out := kfMessage(kfHands(gateway.SessionPool, ""), 1)
		out.Message.To[0].Value = "wmNeverWrote"
		return out
	}()); o.Kind != gateway.OutcomeRejected || o.Code != "40096" {
		t.Errorf("who never wrote: %+v", o)
	}
}

// After an answer that was lost the state is the evidence: never is the call made
// twice, and what cannot be known is unknown.
func TestKfTransferLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		faults []sandbox.Fault
		want   gateway.OutcomeKind
	}{
		{"done", []sandbox.Fault{{Stage: sandbox.After, Drop: sandbox.DropReset, Next: 1}}, gateway.OutcomeAccepted},
		{"not done", []sandbox.Fault{{Stage: sandbox.Before, Drop: sandbox.DropReset, Next: 1}}, gateway.OutcomeUnknown},
		{"done, and a 500", []sandbox.Fault{{Stage: sandbox.After, Status: 500, Next: 1}}, gateway.OutcomeAccepted},
		{"done, and the question is lost", []sandbox.Fault{{Stage: sandbox.After, Drop: sandbox.DropReset, Next: 1},
			{Op: sandbox.OpRead, Stage: sandbox.Before, Drop: sandbox.DropReset, Next: 1}}, gateway.OutcomeUnknown},
		{"done, and the question is refused", []sandbox.Fault{{Stage: sandbox.After, Drop: sandbox.DropReset, Next: 1},
			{Op: sandbox.OpRead, Stage: sandbox.Before, Code: 45009, Next: 1}}, gateway.OutcomeUnknown},
		{"busy", []sandbox.Fault{{Stage: sandbox.Before, Code: -1, Next: 1}}, gateway.OutcomeRetry},
		{"token over", []sandbox.Fault{{Stage: sandbox.Before, Code: 42001, Next: 1}}, gateway.OutcomeAccepted},
		{"a code of its own", []sandbox.Fault{{Stage: sandbox.Before, Code: 95999, Next: 1}}, gateway.OutcomeRetry},
	} {
		s := startSandbox(t, wecomtest.Options{Kf: []string{kfID}})
		if _, err := s.Kf(wecomtest.KfItem{Kf: kfID, Customer: customer, Text: "x", Silent: true}); err != nil {
			t.Fatal(err)
		}
		for _, f := range c.faults {
			if _, err := s.Faults().Add(f); err != nil {
				t.Fatal(err)
			}
		}
		o := newKfClient(t, s.URL()).Send(t.Context(), kfMessage(kfHands(gateway.SessionPool, ""), 1))
		if o.Kind != c.want {
			t.Errorf("%s: %+v", c.name, o)
		}
		moved := 0
		for _, call := range s.Calls() {
			if call.Type == "transfer" && call.Accepted {
				moved++
			}
		}
		if state, _ := s.KfState(kfID, customer); (state == wecomtest.KfPool) != (moved == 1) || moved > 1 {
			t.Errorf("%s: stands at %d after %d calls", c.name, state, moved)
		}
	}
	// An answer that does not come in time leaves the time for the question.
	slow := startSandbox(t, wecomtest.Options{Kf: []string{kfID}})
	if _, err := slow.Kf(wecomtest.KfItem{Kf: kfID, Customer: customer, Text: "x", Silent: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Faults().Add(sandbox.Fault{Stage: sandbox.After, DelayMS: 600_000}); err != nil {
		t.Fatal(err)
	}
	out := kfMessage(kfHands(gateway.SessionPool, ""), 1)
	out.VoidAfter = time.Now().Add(2 * time.Second)
	if o := newKfClient(t, slow.URL()).Send(t.Context(), out); o.Kind != gateway.OutcomeAccepted || o.ExternalID != marker {
		t.Errorf("slow: %+v", o)
	}
	// A second try that is refused with a code of its own is no message that may have
	// arrived: the state says that it did not.
	s := startSandbox(t, wecomtest.Options{Kf: []string{kfID}})
	if _, err := s.Faults().Add(sandbox.Fault{Stage: sandbox.Before, Code: 95999}); err != nil {
		t.Fatal(err)
	}
	if o := newKfClient(t, s.URL()).Send(t.Context(), kfMessage(kfHands(gateway.SessionPool, ""), 2)); fmt.Sprint(o.Kind, o.Code) != "rejectedother" {
		t.Errorf("%+v", o)
	}
}

// What a process left open is told by the state, and only where it is as asked for.
func TestKfTransferLeft(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, wecomtest.Options{Kf: []string{kfID}})
	if _, err := s.Kf(wecomtest.KfItem{Kf: kfID, Customer: customer, Text: "x", Silent: true}); err != nil {
		t.Fatal(err)
	}
	k := newKfClient(t, s.URL())
	m := kfMessage(kfHands(gateway.SessionPool, ""), 1).Message
	if o, known := k.Left(t.Context(), &m); known {
		t.Errorf("not done: %+v", o)
	}
	if o := k.Send(t.Context(), kfMessage(kfHands(gateway.SessionPool, ""), 1)); o.Kind != gateway.OutcomeAccepted {
		t.Fatal(o)
	}
	if o, known := k.Left(t.Context(), &m); !known || o.Kind != gateway.OutcomeAccepted || o.ExternalID != m.ID {
		t.Errorf("done: %v %+v", known, o)
	}
	other := kfMessage(kfHands(gateway.SessionHuman, "ChenHao"), 1).Message
	text := kfMessage(gateway.Reply{Type: gateway.ReplyText, Text: "x"}, 1).Message
	for _, m := range []*gateway.Message{&other, &text} {
		if o, known := k.Left(t.Context(), m); known {
			t.Errorf("%s: %+v", m.Reply.Type, o)
		}
	}
	if calls := len(s.Calls()); calls != 1 {
		t.Errorf("%d calls that change something", calls)
	}
}
