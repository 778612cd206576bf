package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

type releasedConversation struct {
	Conv string `json:"conv"`
	Held int    `json:"held"`
}

// convReleaseCommand takes a conversation back from a colleague.
func (c *cli) convReleaseCommand() *cobra.Command {
	var drop, send bool
	cmd := &cobra.Command{
		Use:   "release CONV [--drop | --send]",
		Short: "Take a conversation back from a colleague before its time",
		Long: `Take a conversation back from a colleague who wrote to the customer by hand.

Replies of applications that were held meanwhile are dropped or sent as the account's
takeover says; --drop and --send say otherwise for this time. Messages that were
requested (causeway send) leave in any case. The next message that a colleague writes
by hand takes the conversation again.`,
		Example: "  causeway conv release abcdefghijklmnopqrstuvwxyz --send",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			then := gateway.Then("")
			switch {
			case drop:
				then = gateway.ThenDrop
			case send:
				then = gateway.ThenSend
			}
			return posted(cmd, c, query("then", string(then)), nil, func(w io.Writer, r releasedConversation) {
				_, _ = fmt.Fprintf(w, "%s is released; %s held\n", r.Conv, amount(r.Held, "message was", "messages were"))
			}, "conversations", args[0], "release")
		},
	}
	cmd.Flags().BoolVar(&drop, "drop", false, "drop the held replies")
	cmd.Flags().BoolVar(&send, "send", false, "send the held replies")
	cmd.MarkFlagsMutuallyExclusive("drop", "send")
	return cmd
}

// printTaken says which colleague has the conversation.
func printTaken(w io.Writer, s *gateway.State) {
	if s == nil || s.Takeover == nil {
		return
	}
	by := "a colleague"
	if s.Takeover.By != "" {
		by = printable(s.Takeover.By, 64)
	}
	fields(w, "taken by", by+": replies are held", "since", instant(s.Takeover.Since), "until", instant(s.Takeover.Until))
}
