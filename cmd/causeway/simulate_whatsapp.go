package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// Numbers of the made-up customers and of our side.
const (
	simulatedCustomer = "15550100001"
	simulatedNumber   = "15550100099"
)

// whatsappSimulation are the flags of one call.
type whatsappSimulation struct {
	simulation
	event              whatsapptest.Event
	at                 string
	messages, members  int
	list, print, plain bool
	texted             bool // --text was given
}

const whatsappHelp = `Send WhatsApp callbacks to a running gateway, signed as Meta signs them (default: a
text). KIND is what happened, VARIANT one of its forms; --list names all of them. What
is not said by a flag is made up. status and group-status tell of a message of ours and
need its --id or --marker; an echo is a colleague's unless --id is that of a message of
ours; reaction, edit and revoke are about the message of --target, which need not have
come yet.`

func (c *cli) simulateWhatsAppCommand() *cobra.Command {
	var s whatsappSimulation
	cmd := &cobra.Command{
		Use:   "whatsapp [KIND [VARIANT]]",
		Short: "Send WhatsApp callbacks, signed as Meta signs them",
		Long:  whatsappHelp + simulateHelp,
		Example: `  causeway simulate whatsapp --list
  causeway simulate whatsapp --text "hello"
  causeway simulate whatsapp --count 30 --customers 10 --parallel 10
  causeway simulate whatsapp --duplicates 19
  causeway simulate whatsapp --no-phone --username maya.l --text "no number, a user id"
  causeway simulate whatsapp button --choice order:cancel --text "Cancel"
  causeway simulate whatsapp reaction --target wamid.X --emoji 👍
  causeway simulate whatsapp status failed --code 131047 --id wamid.X
  causeway simulate whatsapp system-number --from 15550100001 --new-phone 15550100077
  causeway simulate whatsapp batch --messages 1000 --customers 50
  causeway simulate whatsapp account-update ACCOUNT_RESTRICTION
  causeway simulate whatsapp history --messages 20 --ago 720h
  causeway simulate whatsapp image --print > body.json
  causeway simulate whatsapp --file body.json`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeKinds(whatsappKinds()),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.texted = cmd.Flags().Changed("text")
			return c.simulateWhatsApp(cmd.Context(), &s, args)
		},
	}
	s.simulation.flags(cmd, simulatedCustomer)
	s.flags(cmd)
	return cmd
}

func (s *whatsappSimulation) flags(cmd *cobra.Command) {
	f, e := cmd.Flags(), &s.event
	f.BoolVar(&s.list, "list", false, "list the kinds and their variants, send nothing")
	f.BoolVar(&s.print, "print", false, "write the bodies instead of sending them, and curl lines to standard error")
	f.BoolVar(&s.plain, "plain", false, `leave text and slashes as they are instead of \u00e9 and \/ as Meta does`)
	f.StringVar(&s.at, "at", "", "when the platform says that it happened, like 2026-11-30T12:00:00Z")
	f.StringVar(&e.Customer.Name, "name", "Maya", "the customer's display name")
	f.StringVar(&e.Customer.Username, "username", "", "the customer's username")
	f.StringVar(&e.Customer.UserID, "user-id", "", "the customer's BSUID, like US.13491208655302741918 (default: made of --from)")
	f.StringVar(&e.Customer.ParentUserID, "parent-user-id", "", "the BSUID of linked portfolios")
	f.BoolVar(&e.Customer.HidePhone, "no-phone", false, "the customer hides the number")
	f.BoolVar(&e.Customer.NoUserID, "no-user-id", false, "no BSUID, as before April 2026")
	f.StringVar(&e.Quote, "quote", "", "the message that this one answers")
	f.StringVar(&e.Target, "target", "", "reaction, edit, revoke: the message that they are about")
	f.StringVar(&e.Emoji, "emoji", "", "reaction: which one")
	f.StringVar(&e.Choice, "choice", "", "button, list, quick-reply: the id of what was chosen; product: the article")
	f.StringVar(&e.Variant, "state", "", "status: the same as its VARIANT")
	f.IntVar(&e.Code, "code", 0, "status failed, unsupported, value-error: Meta's error code")
	f.StringVar(&e.Marker, "marker", "", "status, call-…: the marker we left (ms_…)")
	f.StringVar(&e.Group, "group", "", "the group it happened in")
	f.IntVar(&s.members, "participants", 1, "group-status: how many participants got it")
	f.StringVar(&e.Media.ID, "media-id", "", "the file's id at Meta")
	f.StringVar(&e.Media.URL, "media-url", "", "the file's address (default: none, it is asked for by the id)")
	f.StringVar(&e.Media.MIME, "mime", "", "the file's type")
	f.StringVar(&e.Media.SHA256, "sha256", "", "the file's hash in base64")
	f.StringVar(&e.Media.Filename, "file-name", "", "document: the name that the customer gave it")
	f.StringVar(&e.Moved.Phone, "new-phone", "", "system-number: the number from now on")
	f.StringVar(&e.Moved.UserID, "new-user-id", "", "system-number, system-user-id: the BSUID from now on")
	f.IntVar(&s.messages, "messages", 1, "batch, history, app-state-sync: how many in one callback")
}

// kindOf reads KIND and VARIANT.
func (s *whatsappSimulation) kindOf(args []string) (whatsapptest.Kind, error) {
	name := "text"
	if len(args) > 0 {
		name = args[0]
	}
	if s.file != "" {
		if len(args) > 0 {
			return whatsapptest.Kind{}, usageError("--file takes the place of a kind; leave %q out", printable(name, 40))
		}
		return whatsapptest.Kind{Name: "file"}, nil
	}
	k, ok := whatsapptest.KindNamed(name)
	if !ok {
		return k, unknownKind("whatsapp", name, whatsappKinds())
	}
	if len(args) > 1 {
		if s.event.Variant != "" && s.event.Variant != args[1] {
			return k, usageError("--state and %q say two things; leave one out", printable(args[1], 40))
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

// check adds what holds for this platform.
func (s *whatsappSimulation) check(k *whatsapptest.Kind) error {
	if err := s.simulation.check(); err != nil {
		return err
	}
	switch {
	case k.NeedsMessage && s.id == "" && s.event.Marker == "":
		return usageError("%s tells of a message of ours: name it with --id or --marker", k.Name)
	case s.event.Customer.UserID != "" && s.customers > 1:
		return usageError("--user-id names one customer; leave it or --customers out")
	case s.messages < 1 || s.messages > 10_000:
		return usageError("--messages must be 1 to 10000")
	case s.members < 1 || s.members > 8:
		return usageError("--participants must be 1 to 8")
	case s.print && s.copies > 0:
		return usageError("--print sends nothing; leave --duplicates out")
	case s.at != "" && s.ago != 0:
		return usageError("--at and --ago say two things; leave one out")
	case s.event.Customer.HidePhone && s.event.Customer.NoUserID:
		return usageError("without a number and a user id nobody is left; leave --no-phone or --no-user-id out")
	}
	switch {
	case s.at != "":
		at, err := time.Parse(time.RFC3339, s.at)
		if err != nil {
			return usageError("--at must be like 2026-11-30T12:00:00Z")
		}
		s.event.At = at
	case s.ago != 0:
		s.event.At = time.Now().Add(-s.ago)
	}
	return nil
}

func (c *cli) simulateWhatsApp(ctx context.Context, s *whatsappSimulation, args []string) error {
	if s.list {
		return c.printKinds(whatsappKinds())
	}
	k, err := s.kindOf(args)
	if err != nil {
		return err
	}
	if err := s.check(&k); err != nil {
		return err
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	endpoint, account, target, err := s.target(cfg, "whatsapp")
	if err != nil {
		return err
	}
	build := func(n int) (string, []byte, error) { return s.body(&k, &account, n) }
	if s.file != "" {
		body, err := s.read(c.in)
		if err != nil {
			return err
		}
		build = func(int) (string, []byte, error) { return "", body, nil }
	}
	if s.print {
		return c.printCallbacks(s, target, endpoint.AppSecret.Reveal(), build)
	}
	client := simulationClient(20*time.Second, s.parallel*(1+s.copies))
	defer client.CloseIdleConnections()
	return s.send(ctx, c, target, k.Name, func(n int) (simulatedCallback, error) {
		id, body, err := build(n)
		return simulatedCallback{id: id, post: func(ctx context.Context) (int, error) {
			return postCallback(ctx, client, target, "application/json", body,
				whatsapp.SignatureHeader, whatsapp.Sign(endpoint.AppSecret.Reveal(), body))
		}}, err
	})
}

// body makes the n-th callback, from 1. A batch and a synced history hold many
// customers or messages in one; --customers spreads a batch in itself.
func (s *whatsappSimulation) body(k *whatsapptest.Kind, account *config.Account, n int) (id string, body []byte, err error) {
	e := s.event
	e.Kind, e.Count, e.Customers = k.Name, s.messages, s.customers
	e.Customer.Phone = s.customer
	if k.Name != "batch" {
		e.Customer.Phone = nthNumber(s.customer, (n-1)%s.customers)
	}
	if s.texted || k.Name == "text" || k.Name == "echo" {
		e.Text = nthText(s.text, n, s.count)
	}
	for i := range s.members {
		e.Participants = append(e.Participants, whatsapptest.Customer{Phone: nthNumber(e.Customer.Phone, i), Name: e.Customer.Name,
			HidePhone: e.Customer.HidePhone, NoUserID: e.Customer.NoUserID})
	}
	if e.ID = s.id; e.ID == "" && s.messages == 1 {
		e.ID = "wamid.SIM" + rand.Text()
		if strings.HasPrefix(k.Name, "call-") {
			e.ID = "wacid.SIM" + rand.Text()
		}
	}
	callback := whatsapptest.Business{PhoneNumberID: account.PhoneNumberID, WABAID: account.WABAID, Number: simulatedNumber}.Callback(e)
	if s.plain {
		callback.Plain()
	}
	body, err = callback.Body()
	if err != nil {
		err = fmt.Errorf("%s: %w", k.Name, err)
	}
	return e.ID, body, err
}
