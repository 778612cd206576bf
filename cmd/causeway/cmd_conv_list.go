package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/store"
)

// convListCommand lists conversations by what an operator looks for.
func (c *cli) convListCommand() *cobra.Command {
	var hot, unanswered, waiting bool
	var app, account, after string
	var limit int
	cmd := &cobra.Command{
		Use:   "ls --hot | --unanswered | --waiting",
		Short: "List conversations: the busiest, those without an answer, those that wait",
		Long: `List conversations.

--hot         those with most of the newest 10,000 events
--unanswered  single chats of which the last word is the customer's, newest first:
              nothing waits, no reply to it left or still may, no colleague wrote. STATE
              is what became of that message: settled (the bot said nothing, or its reply
              was refused), dead, dropped, recovered, not wanted
--waiting     those with events that wait for their verdict, the longest wait first`,
		Example: "  causeway conv ls --waiting --app support\n  causeway conv ls --unanswered --account shop-a",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list store.ConversationList
			asked := 0
			for l, set := range map[store.ConversationList]bool{store.ListHot: hot, store.ListUnanswered: unanswered, store.ListWaiting: waiting} {
				if set {
					list = l
					asked++
				}
			}
			if asked != 1 {
				return usageError("give one of --hot, --unanswered and --waiting")
			}
			q := query("list", string(list), "app", app, "account", account, "after", after, "limit", number(limit))
			return fetched(cmd, c, q, func(w io.Writer, l conversationList) { printConversations(w, l, list) }, "conversations")
		},
	}
	cmd.Flags().BoolVar(&hot, "hot", false, "the busiest")
	cmd.Flags().BoolVar(&unanswered, "unanswered", false, "those without an answer")
	cmd.Flags().BoolVar(&waiting, "waiting", false, "those that wait")
	cmd.Flags().StringVar(&app, "app", "", "only what waits for this application, or was settled by it")
	cmd.Flags().StringVar(&account, "account", "", "only of this account")
	cmd.Flags().StringVar(&after, "after", "", "go on after a page")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return cmd
}

func printConversations(w io.Writer, list conversationList, of store.ConversationList) {
	rows := make([][]string, 0, len(list.Conversations))
	heading := []string{"CONVERSATION", "ACCOUNT", "CHAT"}
	switch of {
	case store.ListHot:
		heading = append(heading, "EVENTS", "WAITING", "LAST")
	case store.ListWaiting:
		heading = append(heading, "WAITING", "TRIES", "SINCE")
	case store.ListUnanswered:
		heading = append(heading, "STATE", "SINCE")
	}
	for _, v := range list.Conversations {
		row := []string{v.Conv, printable(v.Account, 24), string(v.Chat)}
		switch of {
		case store.ListHot:
			row = append(row, count(v.Events), count(v.Waiting), instantOf(v.Last))
		case store.ListWaiting:
			row = append(row, count(v.Waiting), count(int64(v.Tries)), instantOf(v.Since))
		case store.ListUnanswered:
			row = append(row, printable(v.Why, 12), instantOf(v.Since))
		}
		rows = append(rows, row)
	}
	table(w, "no such conversations", heading, rows)
	if list.Next > 0 {
		_, _ = fmt.Fprintf(w, "\nthere is more: --after %d\n", list.Next)
	}
}
