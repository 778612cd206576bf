package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

const (
	devLook   = 50 * time.Millisecond // how often it looks what became of everything
	devNobody = 2 * time.Second       // a message waits so long before the missing bot is spoken of
	// devPatience is how long a bot may be missing when the lines have ended.
	devPatience = 10 * time.Second
)

// devRoom is the chat of dev: what is typed goes in as a customer's callback, and
// what the ledger then tells of the conversations comes out. It shows nothing that
// it only assumes. It belongs to one goroutine.
type devRoom struct {
	r        *demoRig
	platform string
	tell     transcript
	who      *devCustomer
	people   []*devCustomer // in order of appearance
	// again delivers the last callback once more; nil before the first.
	again func(ctx context.Context) error
	since time.Time // something waits and no bot is attached; zero when not
	told  bool      // of that
}

// devCustomer is one whom the reader plays.
type devCustomer struct {
	name string
	id   string         // number or userid
	seen map[string]int // how much was told of a message, see devSteps; 1 of events
}

func newDevRoom(r *demoRig, platform string, tell transcript) *devRoom {
	room := &devRoom{r: r, platform: platform, tell: tell}
	room.is("Maya")
	return room
}

func (d *devRoom) say(what, who, format string, args ...any) {
	d.tell(devLine{What: what, Who: who, Text: fmt.Sprintf(format, args...)}, d.who.name)
}

func (d *devRoom) note(format string, args ...any) { d.say("note", "", format, args...) }

// run is the chat until /quit, the end of the lines, or ctx ends.
func (d *devRoom) run(ctx context.Context, lines <-chan string) error {
	look := time.NewTicker(devLook)
	defer look.Stop()
	d.tell(devLine{}, d.who.name) // the first prompt
	typed := false
	for {
		select {
		case <-ctx.Done():
			d.tell(devLine{What: devEnd}, "")
			return nil
		case <-d.r.gone:
			return d.r.why
		case line, ok := <-lines:
			switch {
			case ok:
				typed = true
				if quit, err := d.typed(ctx, line); quit || err != nil {
					return err
				}
			case typed:
				return d.finish(ctx)
			default: // nobody can type here: a gateway to be used from elsewhere
				lines = nil
			}
		case <-look.C:
			if err := d.look(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// finish waits until nothing is on its way any more, as long as a bot is there.
func (d *devRoom) finish(ctx context.Context) error {
	look := time.NewTicker(devLook)
	defer look.Stop()
	for {
		if err := d.look(ctx); err != nil {
			return err
		}
		left, err := d.left(ctx)
		switch {
		case err != nil:
			return err
		case left.all == 0:
			return d.look(ctx)
		case !d.since.IsZero() && time.Since(d.since) >= devPatience:
			return &exitError{exitFailed, fmt.Errorf("%s for a bot, and none is attached", amount(left.bot, "message waits", "messages wait"))}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.r.gone:
			return d.r.why
		case <-look.C:
		}
	}
}

// devLeft counts what is on its way: all of it, and what is the bot's.
type devLeft struct{ all, bot int64 }

func (d *devRoom) left(ctx context.Context) (devLeft, error) {
	s, err := d.r.api.KeptSums(ctx)
	if err != nil {
		return devLeft{}, err
	}
	counters, err := d.r.api.Counters(ctx)
	if err != nil {
		return devLeft{}, err
	}
	bot := s.Apps[devApp].Pending
	on := d.r.wa.Courier().Count().Waiting + d.r.wc.Courier().Count().Waiting // statuses and echoes
	return devLeft{bot: bot, all: bot + s.Payloads.Pending + s.Messages.Waiting + counters["parked"] + int64(on)}, nil
}

// attached says whether a worker takes events, or has one.
func (d *devRoom) attached(ctx context.Context) bool {
	s, err := d.r.app.broker.GateState(ctx, devApp)
	return err == nil && (s.Pulls > 0 || s.Unacked > 0)
}

// look tells what happened since the last look.
func (d *devRoom) look(ctx context.Context) error {
	for _, c := range d.people {
		conv, err := d.r.conversationOn(ctx, d.platform, c.id)
		if err != nil {
			continue // nothing of theirs has come through yet
		}
		d.events(c, conv)
		if err := d.messages(ctx, c, conv); err != nil {
			return err
		}
	}
	return d.nobody(ctx)
}

// nobody tells once that a message waits and no bot is attached.
func (d *devRoom) nobody(ctx context.Context) error {
	left, err := d.left(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	switch {
	case left.bot == 0 || d.attached(ctx):
		d.since, d.told = time.Time{}, false
	case d.since.IsZero():
		d.since = now
	case !d.told && now.Sub(d.since) >= devNobody:
		d.told = true
		d.note("no bot is attached to application %q; the message waits for one", devApp)
	}
	return nil
}

// events tells of those that the bot gave up and of colleagues.
func (d *devRoom) events(c *devCustomer, conv *gateway.Conversation) {
	for i := range conv.Events {
		e := &conv.Events[i]
		if c.seen[e.Event] > 0 {
			continue
		}
		switch {
		case e.States[devApp] == gateway.EventDead:
			d.note("the bot gave a message of %s up: a dead letter, see dead ls", c.name)
		case e.Echo == gateway.JudgedHuman:
			d.note("recorded as a colleague's, not the bot's")
		default:
			continue
		}
		c.seen[e.Event] = 1
	}
}

// messages tells how far the replies are, the oldest first.
func (d *devRoom) messages(ctx context.Context, c *devCustomer, conv *gateway.Conversation) error {
	list := slices.Clone(conv.Messages)
	slices.SortFunc(list, func(a, b gateway.ConversationMessage) int {
		if n := a.DueAt.Compare(b.DueAt); n != 0 {
			return n
		}
		return a.Part - b.Part
	})
	for i := range list {
		m := &list[i]
		if c.seen[m.Message] == 0 && m.State != gateway.MessageAccepted {
			if problem := devProblem(m); problem != "" && c.seen["! "+m.Message] == 0 {
				c.seen["! "+m.Message] = 1
				d.note("a reply to %s %s", c.name, problem)
			}
			continue
		}
		if c.seen[m.Message] == 0 {
			full, _, err := d.r.app.ledger.Message(ctx, m.Message)
			if err != nil {
				return err
			}
			c.seen[m.Message] = 1
			d.say("reply", c.name, "%s", devReply(&full.Reply))
		}
		steps := devSteps()
		for n := slices.Index(steps, m.Delivery) + 1; c.seen[m.Message] <= n; c.seen[m.Message]++ {
			step := steps[c.seen[m.Message]-1]
			d.say("tick", c.name, "%s", devTick(step))
		}
		if m.Failed != nil && c.seen["! "+m.Message] == 0 {
			c.seen["! "+m.Message] = 1
			d.note("it did not arrive: code %d", m.Failed.Code)
		}
	}
	return nil
}

// devSteps are the ticks in order; one that was passed over is shown with the next.
func devSteps() []gateway.StatusState {
	return []gateway.StatusState{gateway.StatusSent, gateway.StatusDelivered, gateway.StatusRead, gateway.StatusPlayed}
}

func devTick(step gateway.StatusState) string {
	if step == gateway.StatusSent {
		return "✓ " + string(step)
	}
	return "✓✓ " + string(step)
}

// devProblem says what keeps a message; "" while it is on its way.
func devProblem(m *gateway.ConversationMessage) string {
	switch m.State {
	case gateway.MessageUnknown:
		return "is unknown: the platform's answer was lost, it is not sent again"
	case gateway.MessageRejected, gateway.MessageExpired, gateway.MessageCancelled, gateway.MessageHeld:
		if m.Reason != "" {
			return fmt.Sprintf("is %s: %s", m.State, m.Reason)
		}
		return "is " + string(m.State)
	case gateway.MessageWaiting, gateway.MessageSending, gateway.MessageAccepted, gateway.TaskPartial:
	}
	return ""
}

// devReply is a reply in one line.
func devReply(r *gateway.Reply) string {
	switch {
	case r.Type == gateway.ReplyText:
		return r.Text
	case r.Text != "":
		return "[" + string(r.Type) + "] " + r.Text
	case r.Emoji != "":
		return "[" + string(r.Type) + "] " + r.Emoji
	}
	return "[" + string(r.Type) + "]"
}
