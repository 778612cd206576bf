package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// sceneLimit is how long one scene may take before it has failed.
const sceneLimit = 60 * time.Second

// errSceneLimit is the cause when a scene took too long.
var errSceneLimit = errors.New("the scene took too long") //nolint:gochecknoglobals // a sentinel error is a constant

// demoScene is one promise, shown: it does something and tells what was seen.
type demoScene struct {
	Title string
	play  func(ctx context.Context, r *demoRig, s *sceneNotes) error
}

func demoScenes() []demoScene {
	return []demoScene{
		{"Twenty conversations at once, each in order", sceneMany},
		{"The same callback, again and again", sceneDuplicates},
		{"Two messages that arrive in the wrong order", sceneWrongOrder},
		{"An echo of a message of ours", sceneEcho},
		{"A colleague writes by hand", sceneColleague},
		{"An answer of the platform is lost", sceneLost},
		{"An event that makes the bot fail", sceneFailing},
		{"A callback is replayed from the archive", sceneReplay},
	}
}

// sceneNotes are what a scene did and saw. They hold observations, no promises.
type sceneNotes struct{ Did, Saw []string }

func (s *sceneNotes) did(format string, args ...any) {
	s.Did = append(s.Did, fmt.Sprintf(format, args...))
}
func (s *sceneNotes) saw(format string, args ...any) {
	s.Saw = append(s.Saw, fmt.Sprintf(format, args...))
}

// sceneResult is one scene as --json prints it.
type sceneResult struct {
	N       int      `json:"n"`
	Title   string   `json:"title"`
	OK      bool     `json:"ok"`
	Did     []string `json:"did"`
	Saw     []string `json:"saw"`
	Error   string   `json:"error,omitempty"`
	Seconds float64  `json:"seconds"`
}

// perform plays one scene within its limit.
func (r *demoRig) perform(ctx context.Context, n int, sc demoScene) sceneResult {
	ctx, cancel := context.WithTimeoutCause(ctx, sceneLimit, errSceneLimit)
	defer cancel()
	var notes sceneNotes
	started := time.Now()
	err := sc.play(ctx, r, &notes)
	out := sceneResult{N: n, Title: sc.Title, OK: err == nil, Did: notes.Did, Saw: notes.Saw, Seconds: time.Since(started).Seconds()}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// A customer of the fake platforms, by number.
func demoCustomer(n int) string { return fmt.Sprintf("155502001%02d", n) }
func demoMember(n int) string   { return fmt.Sprintf("Member%02d", n) }

// post delivers one callback and wants 200 for it.
func wanted200(status int, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("a callback got no answer: %w", err)
	case status != 200:
		return fmt.Errorf("a callback was answered %d instead of 200", status)
	}
	return nil
}

// says lets a WhatsApp customer write; it returns when the callback is answered.
func (r *demoRig) says(ctx context.Context, customer, text string) error {
	_, body := r.wa.CustomerBody(customer, text)
	return wanted200(r.wa.Post(ctx, body))
}

// memberSays is says for WeCom.
func (r *demoRig) memberSays(ctx context.Context, member, text string) error {
	_, inner := r.wc.Message(member, "text", wecomtest.Field{Name: "Content", Value: text})
	status, _, err := r.wc.Post(ctx, inner)
	return wanted200(status, err)
}

// got are the texts that a customer received, in order: what the fake platforms
// took for them.
func (r *demoRig) got(to string) []string {
	var out []string
	for _, call := range r.calls(to) {
		if call.Accepted {
			out = append(out, call.Text)
		}
	}
	return out
}

// calls are the send calls for a recipient on either platform.
func (r *demoRig) calls(to string) []sandbox.Call {
	all := slices.Concat(r.wa.Calls(), r.wc.Calls())
	return slices.DeleteFunc(all, func(c sandbox.Call) bool { return c.To != to })
}

// waitReplies waits until a customer received the bot's reply to each text.
func (r *demoRig) waitReplies(ctx context.Context, to string, texts ...string) error {
	want := make([]string, len(texts))
	for i, t := range texts {
		want[i] = demoReply(t)
	}
	err := r.until(ctx, amount(len(texts), "reply", "replies")+" to one customer", func() (bool, string) {
		n := len(r.got(to))
		return n >= len(want), fmt.Sprintf("%d arrived", n)
	})
	if err != nil {
		return err
	}
	if got := r.got(to); !slices.Equal(got, want) {
		return fmt.Errorf("a customer received %q, not %q", got, want)
	}
	return nil
}

// quiet waits until nothing is on its way any more: no payload, no event for the
// bot, no message to a customer, no status or echo to be judged.
func (r *demoRig) quiet(ctx context.Context) (gateway.Sums, error) {
	var s gateway.Sums
	err := r.until(ctx, "everything to be settled", func() (bool, string) {
		var err error
		if s, err = r.api.KeptSums(ctx); err != nil {
			return false, err.Error()
		}
		// Statuses come a moment after the call that they speak of.
		waiting := r.wa.Courier().Count().Waiting + r.wc.Courier().Count().Waiting
		counters, err := r.api.Counters(ctx)
		if err != nil {
			return false, err.Error()
		}
		left := s.Payloads.Pending + s.Apps[demoApp].Pending + s.Messages.Waiting + counters["parked"] + int64(waiting)
		return left == 0, fmt.Sprintf("%d payloads, %d events, %d messages, %d statuses and echoes, %d callbacks on their way",
			s.Payloads.Pending, s.Apps[demoApp].Pending, s.Messages.Waiting, counters["parked"], waiting)
	})
	return s, err
}

// conversation finds the conversation of a WhatsApp customer or WeCom member.
func (r *demoRig) conversation(ctx context.Context, customer string) (*gateway.Conversation, error) {
	platform := "whatsapp"
	if customer[0] == 'M' {
		platform = "wecom"
	}
	return r.conversationOn(ctx, platform, customer)
}

// conversationOn is that of a customer's number or a member's userid.
func (r *demoRig) conversationOn(ctx context.Context, platform, customer string) (*gateway.Conversation, error) {
	account, id := r.cred.WhatsApp.Account, gateway.Identity{Kind: "phone", Value: customer}
	if platform == "wecom" {
		account, id = r.cred.WeCom.Account, gateway.Identity{Kind: "userid", Value: strings.ToLower(customer)}
	}
	conv, err := r.api.FindConversation(ctx, platform, account, id)
	if err != nil {
		return nil, err
	}
	return r.api.Conversation(ctx, conv, 100)
}

// waitConversation waits until the conversation of a customer looks as wanted.
func (r *demoRig) waitConversation(ctx context.Context, customer, what string, look func(*gateway.Conversation) bool) (*gateway.Conversation, error) {
	var last *gateway.Conversation
	err := r.until(ctx, what, func() (bool, string) {
		c, err := r.conversation(ctx, customer)
		if err != nil {
			return false, err.Error()
		}
		last = c
		return look(c), conversationWords(c)
	})
	return last, err
}

// conversationWords says where a conversation stands, for a scene that failed.
func conversationWords(c *gateway.Conversation) string {
	var parts []string
	for _, e := range c.Events {
		word := string(e.Kind)
		if e.Echo != "" {
			word += " " + string(e.Echo)
		}
		parts = append(parts, word)
	}
	for _, m := range c.Messages {
		parts = append(parts, "message "+string(m.State))
	}
	return fmt.Sprintf("%q", parts)
}
