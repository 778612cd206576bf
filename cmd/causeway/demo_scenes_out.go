package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/store"
)

// sceneLost: a message whose fate is not known is never sent again by itself;
// what follows it waits for evidence.
func sceneLost(ctx context.Context, r *demoRig, s *sceneNotes) error {
	s.did("WhatsApp takes the bot's reply, but the connection breaks before it says so.")
	s.did("The customer writes again. (Evidence is waited for %s here; default 60 s.)", spell(demoUnknownWait))
	who, first, second := demoCustomer(23), "reply to this gets lost", "are you still there?"
	if _, err := r.wa.Faults().Add(sandbox.Fault{Stage: sandbox.After, Drop: sandbox.DropReset, NoStatuses: true, To: who, Next: 1}); err != nil {
		return err
	}
	if err := r.says(ctx, who, first); err != nil {
		return err
	}
	_, err := r.waitConversation(ctx, who, "the message to be unknown", func(c *gateway.Conversation) bool {
		return len(c.Messages) == 1 && c.Messages[0].State == gateway.MessageUnknown
	})
	if err != nil {
		return err
	}
	unknownSince := time.Now()
	if err := r.says(ctx, who, second); err != nil {
		return err
	}
	c, err := r.waitConversation(ctx, who, "the second reply to wait behind it", func(c *gateway.Conversation) bool {
		return len(c.Messages) == 2
	})
	if err != nil {
		return err
	}
	calls := r.calls(who)
	if len(calls) != 1 || c.Messages[0].State != gateway.MessageUnknown || c.Messages[1].State != gateway.MessageWaiting {
		return fmt.Errorf("%s and %s instead of unknown and waiting, after %s", c.Messages[0].State, c.Messages[1].State, amount(len(calls), "call", "calls"))
	}
	s.saw("The message is unknown: one call made, not repeated. The next reply waits.")
	lost := calls[0]
	if err := wanted200(r.wa.Post(ctx, r.wa.StatusBody(lost.MessageID, lost.Marker, who, "delivered", 0))); err != nil {
		return err
	}
	if err := r.waitReplies(ctx, who, first, second); err != nil {
		return err
	}
	waited := time.Since(unknownSince)
	if waited >= demoUnknownWait {
		return errors.New("the second reply left because the wait was over, not because of the status")
	}
	c, err = r.waitConversation(ctx, who, "both messages to be accepted", func(c *gateway.Conversation) bool {
		return len(c.Messages) == 2 && c.Messages[0].State == gateway.MessageAccepted && c.Messages[1].State == gateway.MessageAccepted
	})
	if err != nil {
		return err
	}
	if n := r.wa.CallLog().Accepted()[lost.Marker]; n != 1 || c.Messages[0].Attempts != 1 {
		return fmt.Errorf("the lost message was taken %d times in %d attempts", n, c.Messages[0].Attempts)
	}
	s.saw("Its status comes, with the mark we left on it: accepted after all.")
	s.saw("The next reply leaves. The customer got both messages once, in order.")
	return nil
}

// sceneFailing: a failing event is tried again in its place, then put aside; the
// conversation goes on.
func sceneFailing(ctx context.Context, r *demoRig, s *sceneNotes) error {
	s.did("A WeCom customer writes three messages; the bot fails for the second one.")
	s.did("The application allows %d tries, %s and %s apart.", demoTries, spell(demoDelay), spell(2*demoDelay))
	who := demoMember(24)
	texts := []string{"a good question", "the question that breaks the bot", "one more good question"}
	r.bot.fails(texts[1])
	defer r.bot.fails("")
	for _, text := range texts {
		if err := r.memberSays(ctx, who, text); err != nil {
			return err
		}
	}
	if err := r.waitReplies(ctx, who, texts[0], texts[2]); err != nil {
		return err
	}
	var dead *gateway.DeadLetter
	err := r.until(ctx, "the dead letter", func() (bool, string) {
		list, err := r.api.Dead(ctx, store.DeadQuery{App: demoApp, Kind: "event", Limit: 10})
		if err != nil || len(list) != 1 {
			return false, amount(len(list), "dead letter", "dead letters")
		}
		dead = &list[0]
		return true, ""
	})
	if err != nil {
		return err
	}
	mine := func(d *demoDelivery) bool { return slices.Contains(texts, d.Text) }
	order := r.bot.texts(mine)
	want := []string{texts[0], texts[1], texts[1], texts[1], texts[2]}
	if !slices.Equal(order, want) || dead.Reason != gateway.ReasonTries || dead.Tries != demoTries {
		return fmt.Errorf("the bot was handed %q; dead letter with reason %s after %s", order, dead.Reason, amount(dead.Tries, "try", "tries"))
	}
	s.saw("Handed to the bot: 1, 2, 2, 2, 3. 1 and 3 are answered, 2 is a dead letter.")
	r.bot.fails("")
	if err := r.api.Requeue(ctx, dead.ID, demoBy); err != nil {
		return err
	}
	if err := r.waitReplies(ctx, who, texts[0], texts[2], texts[1]); err != nil {
		return err
	}
	again, err := r.api.DeadLetter(ctx, dead.ID)
	if err != nil {
		return err
	}
	if again.State != "requeued" {
		return fmt.Errorf("the dead letter is %s, not requeued", again.State)
	}
	s.saw("The bot is mended, the dead letter requeued: handled again and answered.")
	return nil
}

// sceneReplay: an archived callback is handed out again, and nobody outside
// notices.
func sceneReplay(ctx context.Context, r *demoRig, s *sceneNotes) error {
	s.did("An operator replays the first message of a customer of scene 1.")
	who := demoCustomer(3)
	first := r.bot.deliveries(func(d *demoDelivery) bool { return d.Text == "message 1 of "+who })
	if len(first) != 1 {
		return fmt.Errorf("the message of the first scene was delivered %d times", len(first))
	}
	sent := len(r.calls(who))
	before, err := r.api.KeptSums(ctx)
	if err != nil {
		return err
	}
	run, err := r.api.StartReplay(ctx, admin.ReplayRequest{Payload: first[0].Payload}, demoBy)
	if err != nil {
		return err
	}
	replayed := func(d *demoDelivery) bool { return d.Origin == gateway.OriginReplay && d.Event == first[0].Event }
	err = r.until(ctx, "the bot to see it again", func() (bool, string) {
		n := len(r.bot.deliveries(replayed))
		return n > 0, amount(n, "delivery", "deliveries")
	})
	if err != nil {
		return err
	}
	var after gateway.Sums
	err = r.until(ctx, "the reply to be held", func() (bool, string) {
		if after, err = r.quiet(ctx); err != nil {
			return false, err.Error()
		}
		n := after.Messages.Held - before.Messages.Held
		return n == 1, fmt.Sprintf("%d held", n)
	})
	if err != nil {
		return err
	}
	d := r.bot.deliveries(replayed)
	if len(d) != 1 || len(r.calls(who)) != sent {
		return fmt.Errorf("the bot saw it %d times, and %d messages were sent", len(d), len(r.calls(who))-sent)
	}
	s.saw("The bot saw it again: the same event id, marked as replay %s…", run.Run[:min(len(run.Run), 12)])
	s.saw("Its reply is held until somebody releases it. The customer noticed nothing.")
	return nil
}
