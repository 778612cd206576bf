package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// botKinds begin the names of kinds that robots are told.
const botKinds = "aibot-"

// simulateBot sends callbacks of an intelligent robot.
func (c *cli) simulateBot(ctx context.Context, s *wecomSimulation, args []string) error {
	k, ok := wecomtest.BotKindNamed(args[0])
	if !ok {
		return unknownKind("wecom", args[0], wecomKinds())
	}
	e := &s.event
	if len(args) > 1 {
		e.Variant = args[1]
	}
	if e.Variant, ok = k.Variant(e.Variant); !ok {
		return usageError("%s is one of: %s", k.Name, strings.ReplaceAll(k.Variants, " ", ", "))
	}
	if err := s.check(); err != nil {
		return err
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	s.bot = true
	endpoint, account, target, err := s.target(cfg, "wecom")
	if err != nil {
		return err
	}
	bot, err := wecomtest.NewBot(wecomtest.BotOptions{BotID: account.BotID, Token: endpoint.Token.Reveal(),
		EncodingAESKey: endpoint.EncodingAESKey.Reveal(), CallbackURL: target, Now: func() time.Time { return time.Now().Add(-s.ago) }})
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("endpoint %s: %w", endpoint.Name, err)}
	}
	defer func() { _ = bot.Close() }()
	told := func(n int) wecomtest.BotEvent {
		ev := s.nth(&k, n)
		return wecomtest.BotEvent{Kind: k.Name, Variant: ev.Variant, From: ev.From, Chat: ev.Chat, ID: ev.ID, Text: ev.Text, URL: s.fileURL,
			Key: ev.Key, Task: ev.Task, Picked: ev.Picked, Response: account.APIBase + "/cgi-bin/aibot/response?response_code=made-up"}
	}
	build := func(n int) (string, []byte, error) { return bot.Make(told(n)) }
	if s.follow {
		return c.followBot(ctx, s, bot, told(0))
	}
	if s.print {
		return c.printInner(s.count, build)
	}
	return s.send(ctx, c, target, k.Name, func(n int) (simulatedCallback, error) {
		id, inner, err := build(n)
		return simulatedCallback{id: id, post: func(ctx context.Context) (int, error) {
			status, _, err := bot.Post(ctx, inner)
			return status, err
		}}, err
	})
}

// followBot plays the chat of one message: it asks for the answer until that ends.
func (c *cli) followBot(ctx context.Context, s *wecomSimulation, bot *wecomtest.Bot, e wecomtest.BotEvent) error {
	if s.count > 1 || s.copies > 0 {
		return usageError("--follow is of one callback; leave --count and --duplicates out")
	}
	stop := context.AfterFunc(ctx, func() { _ = bot.Close() }) // ends the questions
	defer stop()
	talk, err := bot.Follow(e)
	if err != nil {
		return failed(err)
	}
	return c.print(talk, func(w io.Writer) {
		fields(w, "message", talk.MsgID, "asked", strconv.Itoa(talk.Polls), "ended", strconv.FormatBool(talk.Finished), "pictures", strconv.Itoa(len(talk.Pictures)))
		_, _ = fmt.Fprintln(w, printable(talk.Text, wecom.MaxBotTextBytes))
	})
}
