package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/handlers/unified/unifiedtest"
)

// simulatedConversation is made up.
const simulatedConversation = "S:1688850000000001_7881300000000001"

// unifiedSimulation are the flags of one call.
type unifiedSimulation struct {
	simulation
	list, print bool
}

const unifiedHelp = `Send callbacks of a vendor's gateway to a running gateway, in the words of the
endpoint's decode and with the proof of its verify (default: a text). KIND is what
happened; --list names all of them. VARIANT, of account, contact and room, is one of
the vendor's values or types. What the description has no path for is left out. An
endpoint that goes by addresses takes none from elsewhere.`

func (c *cli) simulateUnifiedCommand() *cobra.Command {
	var s unifiedSimulation
	cmd := &cobra.Command{
		Use:   "unified [KIND [VARIANT]]",
		Short: "Send callbacks of a vendor's gateway, as its endpoint is described",
		Long:  unifiedHelp + simulateHelp,
		Example: `  causeway simulate unified --list
  causeway simulate unified --text "你好"
  causeway simulate unified colleague --text "I take over"
  causeway simulate unified undecided
  causeway simulate unified account offline
  causeway simulate unified --count 30 --customers 10
  causeway simulate unified image --print > body.json
  causeway simulate unified --file body.json`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeKinds(unifiedKinds()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.simulateUnified(cmd.Context(), &s, args) },
	}
	s.flags(cmd, simulatedConversation)
	cmd.Flags().Lookup("from").Usage = "the conversation's id, or the customer's where the endpoint makes ids by a rule; of group the group's"
	cmd.Flags().BoolVar(&s.list, "list", false, "list the kinds, send nothing")
	cmd.Flags().BoolVar(&s.print, "print", false, "write the body instead of sending it")
	return cmd
}

func unifiedKinds() []listedKind {
	list := []listedKind{}
	for _, k := range unifiedtest.Kinds() {
		list = append(list, listedKind{k.Name, k.Becomes, k.About, "", []string{}})
	}
	return list
}

func (c *cli) simulateUnified(ctx context.Context, s *unifiedSimulation, args []string) error {
	if s.list {
		return c.printKinds(unifiedKinds())
	}
	event := unifiedtest.Event{Kind: "text", ID: s.id}
	if len(args) > 0 {
		event.Kind = args[0]
	}
	if len(args) > 1 {
		event.Variant = args[1]
	}
	switch err := s.check(); {
	case err != nil:
		return err
	case s.file != "" && len(args) > 0:
		return usageError("--file takes the place of a kind; leave %q out", printable(event.Kind, 40))
	case !slices.ContainsFunc(unifiedtest.Kinds(), func(k unifiedtest.Kind) bool { return k.Name == event.Kind }):
		return unknownKind("unified", event.Kind, unifiedKinds())
	case event.Variant != "" && !slices.Contains([]string{"account", "contact", "room"}, event.Kind):
		return usageError("%s has no variants", event.Kind)
	case s.print && s.copies > 0:
		return usageError("--print sends nothing; leave --duplicates out")
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	endpoint, account, target, err := s.target(cfg, "unified")
	if err != nil {
		return err
	}
	vendor, err := unifiedtest.New(unifiedtest.Options{Endpoint: endpoint.Unified(), Account: account.Unified(), CallbackURL: target, LogSize: 1,
		Now: func() time.Time { return time.Now().Add(-s.ago) }})
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("endpoint %s: %w", endpoint.Name, err)}
	}
	defer func() { _ = vendor.Close() }()
	build := func(n int) (string, []byte, error) {
		e := event
		e.From, e.Text = nthName(s.customer, (n-1)%s.customers), nthText(s.text, n, s.count)
		return vendor.Make(e)
	}
	if s.file != "" {
		body, err := s.read(c.in)
		if err != nil {
			return err
		}
		event.Kind, build = "file", func(int) (string, []byte, error) { return "", body, nil }
	}
	if s.print {
		return c.printInner(s.count, build)
	}
	return s.send(ctx, c, target, event.Kind, func(n int) (simulatedCallback, error) {
		id, body, err := build(n)
		return simulatedCallback{id: id, post: func(ctx context.Context) (int, error) {
			status, _, err := vendor.Post(ctx, body)
			return status, err
		}}, err
	})
}
