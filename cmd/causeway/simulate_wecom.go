package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// simulatedMember is the made-up member of the corp.
const simulatedMember = "LinXiaoyu"

// wecomSimulation are the flags of one call.
type wecomSimulation struct {
	simulation
	event       wecomtest.Event
	list, print bool
	texted      bool // --text was given
	fileURL     string
	follow      bool
}

const wecomHelp = `Send WeCom callbacks of a self-built app, of an intelligent robot (the kinds that begin with
aibot-), or to a suite, to a running gateway, encrypted
and signed as WeCom does it (default: a text). What comes to WeChat customer service (kf-text,
kf-staff, …) a gateway fetches: it is told to the running fake WeCom, causeway sandbox, at the
api_base of the account, which rings. KIND is what happened, VARIANT one of its
forms; --list names all of them. What is not said by a flag is made up. Every delivery
has its own nonce and ciphertext, also of the same message. Events have no id at WeCom:
two that are equal in every field within one second are one and the same. --file is the
inner XML; an envelope with Encrypt in it is only signed.`

func (c *cli) simulateWeComCommand() *cobra.Command {
	var s wecomSimulation
	cmd := &cobra.Command{
		Use:   "wecom [KIND [VARIANT]]",
		Short: "Send WeCom callbacks, encrypted and signed as WeCom does it",
		Long:  wecomHelp + simulateHelp,
		Example: `  causeway simulate wecom --list
  causeway simulate wecom --text "你好"
  causeway simulate wecom --count 30 --customers 10
  causeway simulate wecom click --key MENU_ORDERS
  causeway simulate wecom card --key accept --task ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA
  causeway simulate wecom card-form multiple_interaction --picked a,c
  causeway simulate wecom location --from ChenHao
  causeway simulate wecom customer transferred --external-user wm1 --from ChenHao
  causeway simulate wecom chat add_member --chat wr1 --people wm1,wm2 --before v1 --version v2
  causeway simulate wecom event --event quantum_sync_done
  causeway simulate wecom aibot-text --text "hello, robot"
  causeway simulate wecom kf-text --customer wm1 --text "hello, desk"
  causeway simulate wecom kf-session taken --customer wm1 --from ChenHao
  causeway simulate wecom approval --print > inner.xml
  causeway simulate wecom --file inner.xml`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeKinds(wecomKinds()),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.texted = cmd.Flags().Changed("text")
			return c.simulateWeCom(cmd.Context(), &s, args)
		},
	}
	s.flags(cmd, simulatedMember)
	f, e := cmd.Flags(), &s.event
	f.Lookup("from").Usage = "userid of the member who writes, or whom it is about"
	f.Lookup("id").Usage = "MsgId of a message (default: a new one each); number of a batch, approval, broadcast"
	f.BoolVar(&s.list, "list", false, "list the kinds and their variants, send nothing")
	f.BoolVar(&s.print, "print", false, "write the inner XML instead of sending it")
	f.StringVar(&e.Variant, "event", "", "event: the same as its VARIANT, the name of an event")
	f.StringVar(&e.Key, "key", "", "click, card, view, scan: the EventKey")
	f.StringVar(&e.Task, "task", "", "card…: the task_id that we gave the card")
	f.StringVar(&e.Code, "code", "", "card…, customer, suite…: the one-time code that comes with it")
	f.StringSliceVar(&e.Picked, "picked", nil, "card-form: the options ticked")
	f.StringVar(&e.Customer, "customer", "", "customer, acquisition, kf-…: the external_userid")
	f.StringVar(&e.Customer, "external-user", "", "the same as --customer")
	f.StringVar(&e.Target, "target", "", "kf-recall, kf-send-fail: the message that it is about")
	f.StringVar(&e.Chat, "chat", "", "chat: the ChatId; aibot-…: the group")
	f.StringVar(&e.Tag, "tag", "", "tag: its id")
	f.StringVar(&e.Kf, "kf", "", "kf-…: the open_kfid")
	f.StringVar(&e.Renamed, "new-user", "", "member renamed: the userid from now on")
	f.StringSliceVar(&e.People, "people", nil, "chat: who joined or left")
	f.StringVar(&e.Before, "before", "", "chat: the version of its members before")
	f.StringVar(&e.Version, "version", "", "chat: the version of its members from now on")
	f.BoolVar(&s.follow, "follow", false, "aibot-…: ask for the answer each second, as WeCom does, until it ends, and write it")
	f.StringVar(&s.fileURL, "file-url", "", "aibot-…: the address of a file")
	f.StringVar(&e.Media, "media-id", "", "the file's media id")
	f.Float64Var(&e.Latitude, "latitude", 0, "location, where: degrees")
	f.Float64Var(&e.Longitude, "longitude", 0, "location, where: degrees")
	return cmd
}

// kindOf reads KIND and VARIANT.
func (s *wecomSimulation) kindOf(args []string) (wecomtest.Kind, error) {
	name := "text"
	if len(args) > 0 {
		name = args[0]
	}
	if s.file != "" {
		if len(args) > 0 {
			return wecomtest.Kind{}, usageError("--file takes the place of a kind; leave %q out", printable(name, 40))
		}
		return wecomtest.Kind{Name: "file"}, nil
	}
	k, ok := wecomtest.KindNamed(name)
	if !ok && strings.HasPrefix(name, kfKinds) {
		return k, unknownKfKind(name)
	}
	if !ok {
		return k, unknownKind("wecom", name, wecomKinds())
	}
	if s.event.Variant != "" && name != "event" {
		return k, usageError("--event names an event of the kind event, not of %s", name)
	}
	if len(args) > 1 {
		if s.event.Variant != "" && s.event.Variant != args[1] {
			return k, usageError("--event and %q say two things; leave one out", printable(args[1], 40))
		}
		s.event.Variant = args[1]
	}
	if s.event.Variant, ok = k.Variant(s.event.Variant); !ok {
		if k.Variants == "" {
			return k, usageError("%s has no variants", name)
		}
		return k, usageError("%s is one of: %s", name, strings.ReplaceAll(k.Variants, " ", ", "))
	}
	return k, nil
}

func (c *cli) simulateWeCom(ctx context.Context, s *wecomSimulation, args []string) error {
	if s.list {
		return c.printKinds(wecomKinds())
	}
	if len(args) > 0 && strings.HasPrefix(args[0], botKinds) && s.file == "" {
		return c.simulateBot(ctx, s, args)
	}
	if len(args) > 0 && s.file == "" {
		if k, ok := wecomtest.KfKindNamed(args[0]); ok {
			return c.simulateKf(ctx, s, &k, args)
		}
	}
	k, err := s.kindOf(args)
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	if s.print && s.copies > 0 {
		return usageError("--print sends nothing; leave --duplicates out")
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	endpoint, account, target, err := s.target(cfg, "wecom")
	if err != nil {
		return err
	}
	receiveID := account.CorpID
	if !slices.Contains(endpoint.ReceiveIDs, receiveID) {
		receiveID = endpoint.ReceiveIDs[0] // of a suite, which is told about many corps
	}
	platform, err := wecomtest.New(wecomtest.Options{
		CorpID: account.CorpID, AgentID: account.AgentID, Secret: "unused", ReceiveID: receiveID, CallbackURL: target,
		Token: endpoint.Token.Reveal(), EncodingAESKey: endpoint.EncodingAESKey.Reveal(), LogSize: 1,
		Now: func() time.Time { return time.Now().Add(-s.ago) },
	})
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("endpoint %s: %w", endpoint.Name, err)}
	}
	defer func() { _ = platform.Close() }()
	build := func(n int) (string, []byte, error) { return platform.Make(s.nth(&k, n)) }
	if s.file != "" {
		body, err := s.read(c.in)
		if err != nil {
			return err
		}
		if encrypted, ok := encryptedPart(body); ok && !s.print {
			return c.sendEnvelope(ctx, s, endpoint, target, encrypted, body)
		}
		build = func(int) (string, []byte, error) { return "", body, nil }
	}
	if s.print {
		return c.printInner(s.count, build)
	}
	return s.send(ctx, c, target, k.Name, func(n int) (simulatedCallback, error) {
		id, inner, err := build(n)
		return simulatedCallback{id: id, post: func(ctx context.Context) (int, error) {
			status, _, err := platform.Post(ctx, inner)
			return status, err
		}}, err
	})
}

// nth is the n-th callback, from 1. Of several, texts and keys tell the number.
func (s *wecomSimulation) nth(k *wecomtest.Kind, n int) wecomtest.Event {
	e := s.event
	e.Kind, e.ID = k.Name, s.id
	who := (n - 1) % s.customers
	e.From = nthName(s.customer, who)
	if e.Customer != "" {
		e.Customer = nthName(e.Customer, who)
	}
	if s.texted || k.Name == "text" || k.Name == botKinds+"text" || k.Name == kfKinds+"text" {
		e.Text = nthText(s.text, n, s.count)
	}
	if s.count > 1 {
		if e.Key == "" {
			e.Key = "KEY"
		}
		e.Key = nthText(e.Key, n, s.count)
	}
	return e
}

// printInner writes inner documents to standard output, one a line when there are
// several.
func (c *cli) printInner(count int, build func(n int) (string, []byte, error)) error {
	for n := 1; n <= count; n++ {
		_, inner, err := build(n)
		if err != nil {
			return failed(err)
		}
		if n > 1 {
			inner = append([]byte("\n"), inner...)
		}
		if _, err := c.out.Write(inner); err != nil {
			return failed(err)
		}
	}
	return nil
}

// sendEnvelope sends what is encrypted already.
func (c *cli) sendEnvelope(ctx context.Context, s *wecomSimulation, e config.Endpoint, target, encrypted string, body []byte) error {
	client := simulationClient(5*time.Second, 1+s.copies)
	defer client.CloseIdleConnections()
	return s.send(ctx, c, target, "file", func(int) (simulatedCallback, error) {
		return simulatedCallback{post: func(ctx context.Context) (int, error) {
			return postEnvelope(ctx, client, e, target, encrypted, body)
		}}, nil
	})
}

// encryptedPart returns the text of the one Encrypt element of an envelope.
func encryptedPart(body []byte) (string, bool) {
	_, rest, found := bytes.Cut(body, []byte("<Encrypt>"))
	inside, _, closed := bytes.Cut(rest, []byte("</Encrypt>"))
	if !found || !closed {
		return "", false
	}
	text := strings.TrimSpace(string(inside))
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<![CDATA["), "]]>")
	return strings.TrimSpace(text), true
}

// postEnvelope signs an envelope that is encrypted already.
func postEnvelope(ctx context.Context, client *http.Client, e config.Endpoint, target, encrypted string, body []byte) (int, error) {
	crypt, err := wecom.NewCrypt(e.Token.Reveal(), e.EncodingAESKey.Reveal(), nil)
	if err != nil {
		return 0, err
	}
	stamp, nonce := strconv.FormatInt(time.Now().Unix(), 10), rand.Text()[:10]
	sep := "?"
	if strings.Contains(target, "?") {
		sep = "&"
	}
	signed := target + sep + "msg_signature=" + crypt.Sign(stamp, nonce, encrypted) + "&timestamp=" + stamp + "&nonce=" + nonce
	return postCallback(ctx, client, signed, "text/xml", body, "User-Agent", "Mozilla/4.0")
}
