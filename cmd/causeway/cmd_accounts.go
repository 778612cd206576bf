package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// accountsCommand shows how the senders fare.
func (c *cli) accountsCommand() *cobra.Command {
	accounts := &cobra.Command{
		Use:   "accounts",
		Short: "Show how the accounts fare as senders, and let a stopped one go on",
		Long: `Show how the accounts fare as senders.

healthy    messages leave at the account's pace
slowed     the platform said that we are too fast, or is not reached for the moment;
           it recovers by itself
paused     the platform refuses the credentials
isolated   the platform refuses the account (a restriction, a bill, a registration), or
           nothing gets through (failures)

What is paused or isolated is tried again by itself, one message or question at a
time, sooner with other credentials or by resume. Everything is still received, and
messages wait in their order.`,
	}
	accounts.AddCommand(&cobra.Command{
		Use: "ls", Short: "List the accounts", Example: "  causeway accounts ls\n  causeway accounts ls --json | jq '.accounts[] | select(.state != \"healthy\")'",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return fetched(cmd, c, nil, printAccounts, "accounts") },
	}, &cobra.Command{
		Use: "show NAME", Short: "Show one account", Example: "  causeway accounts show shop-a", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return fetched(cmd, c, nil, printAccount, "accounts", args[0])
		},
	}, &cobra.Command{
		Use: "resume NAME", Short: "Let a stopped account try again now (role operator)",
		Long: `Let a stopped account try again now, one message at a time until one is taken. If the
platform still refuses, it stops again. To take back "causeway pause account", use
"causeway resume account".`,
		Example: "  causeway accounts resume shop-a", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return posted(cmd, c, nil, nil, func(w io.Writer, _ json.RawMessage) {
				_, _ = fmt.Fprintf(w, "%s: tries again now\n", printable(args[0], 40))
			}, "accounts", args[0], "resume")
		},
	})
	return accounts
}

type accountList struct {
	Accounts []admin.AccountView `json:"accounts"`
}

func printAccounts(w io.Writer, l accountList) {
	rows := make([][]string, 0, len(l.Accounts))
	for _, a := range l.Accounts {
		rows = append(rows, []string{a.Name, a.Platform + kindOf(a), string(a.State), orDash(why(a)), orDash(minuteOf(a.Since)), orDash(minuteOf(a.ProbeAt)),
			strconv.Itoa(a.Waiting), strconv.Itoa(a.InFlight)})
	}
	table(w, "no accounts are configured", []string{"NAME", "PLATFORM", "STATE", "WHY", "SINCE", "NEXT TRY", "WAITING", "CALLS"}, rows)
}

func kindOf(a admin.AccountView) string {
	if a.Kind == "" {
		return ""
	}
	return " " + a.Kind
}

func why(a admin.AccountView) string {
	if a.Reason == "" || a.Code == "" {
		return string(a.Reason)
	}
	return string(a.Reason) + " " + printable(a.Code, 20)
}

func printAccount(w io.Writer, a admin.AccountView) {
	_, _ = fmt.Fprintf(w, "%s (%s%s): %s\n", printable(a.Name, 40), a.Platform, kindOf(a), a.State)
	line := func(name, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(w, "  %-9s %s\n", name, value)
		}
	}
	line("why", why(a))
	line("detail", printable(a.Detail, 300))
	line("since", instantOf(a.Since))
	line("next try", instantOf(a.ProbeAt))
	line("failed", positive(int64(a.Probes)))
	line("waiting", strconv.Itoa(a.Waiting)+" conversations")
	line("calls", strconv.Itoa(a.InFlight)+" in flight")
	line("pace", strconv.Itoa(int(a.Pace*100+0.5))+" %")
	if a.TemplatesAt != nil {
		line("templates", "wait ("+printable(a.TemplatesCode, 20)+"), one is tried at "+instantOf(a.TemplatesAt))
	}
	if a.State.Stopped() {
		_, _ = fmt.Fprintf(w, "\n`causeway doctor account %s` says what would mend it.\n", printable(a.Name, 40))
	}
	if a.State == gateway.AccountSlowed {
		_, _ = fmt.Fprintln(w, "\nIt recovers by itself.")
	}
}
