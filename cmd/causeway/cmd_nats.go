package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway/stream"
)

// natsUser is a user that servers outside need.
type natsUser struct {
	User     string        `json:"user"`
	Password string        `json:"password_from"` // an environment variable of nats-server
	What     string        `json:"what"`
	Rights   stream.Rights `json:"rights"`
}

func (c *cli) natsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "nats", Short: "NATS servers of your own: who may do what there"}
	cmd.AddCommand(c.natsACLCommand())
	return cmd
}

func (c *cli) natsACLCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "acl",
		Short: "Print the users that your NATS servers need, each with the least rights",
		Long: "Prints a file for nats-server: the gateway's own user, one for each application, which can take and answer the\n" +
			"events of that application and of no other, one that reads the copies of all events, and one that may ask for\n" +
			"messages to be sent. Passwords come from the environment of nats-server. With --json the lists of subjects\n" +
			"alone, for accounts kept by an operator's key (nsc). The embedded server has the same rights by itself.",
		Example: "  causeway nats acl > causeway-users.conf     # then in nats-server.conf: include ./causeway-users.conf\n" +
			"  causeway nats acl --json",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			users := natsUsers(cfg)
			return c.print(users, func(w io.Writer) { writeACL(w, users) })
		},
	}
}

func natsUsers(cfg *config.Config) []natsUser {
	var list []natsUser
	add := func(name, what string, r stream.Rights) {
		variable := "NATS_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_PASSWORD"
		list = append(list, natsUser{User: name, Password: variable, What: what, Rights: r})
	}
	access := func(name, what string, a stream.Access) {
		a.User = name
		add(name, what, a.Rights())
	}
	self := cfg.NATS.User
	if self == "" {
		self = "causeway"
	}
	add(self, "the gateway: nats.user and nats.password of its configuration", stream.GatewayRights())
	for i := range cfg.Applications {
		name := cfg.Applications[i].Name
		access(name, "workers of application "+name, stream.Access{Apps: []string{name}})
	}
	access("cw-observer", "reads copies of all events and results, which hold what customers write", stream.Access{Observe: true})
	if send := senders(cfg); len(send) > 0 {
		access("cw-sender", "asks for messages from any account, by request on cw.send.<account>", stream.Access{Send: send})
	}
	return list
}

// writeACL writes the language of nats-server.conf.
func writeACL(w io.Writer, users []natsUser) {
	_, _ = fmt.Fprintf(w, "# Users of Causeway at your NATS servers, made by: causeway nats acl\n"+
		"# Make it again when applications or accounts change, then: nats-server --signal reload\n"+
		"# nats-server takes the passwords from its environment. A client of a user listens on\n"+
		"# inboxes that begin with _INBOX_<user>; the Go SDK does so by itself.\n"+
		"authorization {\n  users: [\n")
	for i := range users {
		u := &users[i]
		_, _ = fmt.Fprintf(w, "    { # %s\n      user: %q, password: $%s\n      permissions: {\n        publish: %s\n        subscribe: %s\n",
			u.What, u.User, u.Password, subjects(u.Rights.Publish), subjects(u.Rights.Subscribe))
		if u.Rights.Answers {
			_, _ = fmt.Fprint(w, "        allow_responses: true\n")
		}
		_, _ = fmt.Fprint(w, "      }\n    }\n")
	}
	_, _ = fmt.Fprint(w, "  ]\n}\n")
}

func subjects(list []string) string {
	if len(list) == 0 {
		return `{deny: ">"}` // an empty list of what is allowed would mean everything
	}
	var b strings.Builder
	b.WriteString("{allow: [")
	for _, s := range list {
		fmt.Fprintf(&b, "\n          %q", s)
	}
	b.WriteString("\n        ]}")
	return b.String()
}
