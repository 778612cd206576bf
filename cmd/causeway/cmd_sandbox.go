package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// Where the fake platforms listen unless told otherwise.
const (
	sandboxWhatsApp = "127.0.0.1:9081"
	sandboxWeCom    = "127.0.0.1:9082"
)

// sandboxCommand runs the fake platforms, and talks to running ones.
func (c *cli) sandboxCommand() *cobra.Command {
	var o sandboxOptions
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run a fake WhatsApp, a fake WeCom, a fake vendor's gateway",
		Long: `Run a fake WhatsApp Cloud API and a fake WeCom until interrupted: real HTTP, tokens,
limits, error codes, signed callbacks with retries, statuses and echoes. It prints the
credentials and a configuration that fits, or with -c FILE takes the credentials from
that configuration. Nothing is kept.

Faults are switched on while it runs, with ` + "`causeway sandbox fault`" + ` or by HTTP below
/_sandbox/ of either address (loopback only):

  faults, calls, summary     GET, POST, DELETE: what the commands do
  PUT  callbacks             {"copies","delay_ms","jitter_ms","reverse"}: duplicated, late, out of order

and of the fake WhatsApp:

  POST customer              {"from","text"}: a customer writes
  POST colleague             {"to","text"}: a colleague writes by hand; its echo comes
  POST simulate              {"kind","variant","customer":{"phone"},…}: a callback of any kind that
                             causeway simulate whatsapp --list names
  PUT  customer              {"phone","user_id","username","name","hide_phone"}: what a customer shows
                             from now on, also as recipient
  POST move                  {"from","to"}: a customer has a new number, hence a new user id; the system
                             message comes, messages to the old number fail. An empty "to": the id only
  PUT  group                 {"group","participants":[{"phone","hide_phone","fail_code"}]}: who is in a
                             group; receipts come for each
  PUT  template              {"name","language","state","category","body_params"}: a template exists;
                             state approved, paused, disabled, syncing or held. GET templates lists them
  PUT  statuses              {"version","sent_ms","delivered_ms","read_ms","played_ms"}: when statuses
                             come (-1: never); up to version 23 with a conversation
  POST media                 {"mime","text"}: a file at Meta; answers the "media" of a simulate
  POST media-faults          what goes wrong with files: slow, gone, another hash, a redirect …
  POST deliver               any JSON: signed and delivered
  POST verify                {"verify_token"}: the GET that Meta makes for a callback URL
  PUT  callback              {"url"}: where callbacks go
  PUT  limits                {"pair","window","known"}: one message in 6 s to one customer; 131047 to
                             who did not write within 24 hours; unknown groups and messages
  PUT  standing              what is told of the token, the number and the subscriptions

and of the fake WeCom:

  POST member                {"user","text"}: a member writes
  POST simulate              {"kind","variant","from",…}: a callback of any kind that
                             causeway simulate wecom --list names, but those of aibot-…
  POST kf                    {"kf","customer","text"}: a customer writes to customer service; "staff"
                             makes it a colleague, "event" and "content" an event, "silent" loses
                             the bell. With -c FILE the accounts are those of the configuration
  POST deliver               {"xml"}: signed, encrypted and delivered

and of the fake vendor's gateway, which runs with --unified-listen, and is the one that
-c FILE describes:

  POST customer              {"conversation","text"}: a customer writes
  POST colleague             {"conversation","text"}: a colleague writes by hand, in our name
  POST simulate              {"kind","variant","from",…}: a callback of any kind that
                             causeway simulate unified --list names
  POST media                 {"mime","text"}: a file of the vendor's; its address, as "media" of a simulate
  PUT  plays                 {"plays"}: whether our messages come back with our marker, with the
                             id of the answer, as if by hand (manual), or not at all (nothing)
  POST deliver               any JSON: proven and delivered

and of the fake robot, which runs with --aibot-listen and asks for open answers each second,
for six minutes at most, as WeCom does:

  POST say                   {"user","chat","text"}: somebody writes; a group is named by chat
  POST simulate              {"kind","from",…}: a callback of any kind of aibot-… that
                             causeway simulate wecom --list names
  GET  talks                 what the chats show of the answers
  PUT  polling               {"on"}: false: nobody asks, so that answers come late

Statuses fail by a fault: fail_code, alone or with fail_after_sent.`,
		Example: `  causeway sandbox
  causeway sandbox -c causeway.yaml
  causeway sandbox fault add --stage after --drop reset --next 1
  causeway sandbox fault add --stage after --fail-code 131049 --fail-after-sent --next 1
  causeway sandbox calls
  curl -X POST http://127.0.0.1:9081/_sandbox/move -d '{"from":"15550100001","to":"15550100077"}'
  curl -X PUT http://127.0.0.1:9081/_sandbox/customer -d '{"phone":"15550100001","hide_phone":true,"username":"maya.l"}'`,
		Args: subcommandNeeded,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("config") {
				cfg, err := c.loadConfig()
				if err != nil {
					return err
				}
				o.config = cfg
			}
			return c.sandbox(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.whatsapp, "whatsapp-listen", sandboxWhatsApp, "address of the fake WhatsApp; empty for none")
	f.StringVar(&o.wecom, "wecom-listen", sandboxWeCom, "address of the fake WeCom; empty for none")
	f.StringVar(&o.unified, "unified-listen", "", "address of a fake vendor's gateway, such as "+sandboxUnified+"; empty for none")
	f.StringVar(&o.robot, "aibot-listen", "", "address of a fake intelligent robot of WeCom, such as "+sandboxRobot+"; empty for none")
	f.StringVar(&o.callback, "callback", "http://127.0.0.1:8080", "where the gateway takes webhooks")
	f.BoolVar(&o.limits, "limits", false, "also keep the platforms' limits per customer")
	cmd.AddCommand(c.sandboxFaultCommand(), c.sandboxCallsCommand())
	return cmd
}

type sandboxOptions struct {
	whatsapp, wecom, unified, robot, callback string
	limits                                    bool
	config                                    *config.Config
}

// sandboxCredentials are what gateway and fake platforms share.
type sandboxCredentials struct {
	WhatsApp whatsappCredentials `json:"whatsapp"`
	WeCom    wecomCredentials    `json:"wecom"`
	Unified  unifiedCredentials  `json:"unified,omitzero"`
	Robot    robotCredentials    `json:"aibot,omitzero"`
}

type whatsappCredentials struct {
	Endpoint      string `json:"endpoint"`
	Account       string `json:"account"`
	AppSecret     string `json:"app_secret"`
	VerifyToken   string `json:"verify_token"`
	PhoneNumberID string `json:"phone_number_id"`
	WABAID        string `json:"waba_id"`
	AccessToken   string `json:"access_token"`
	APIBase       string `json:"api_base"`
}

type wecomCredentials struct {
	Endpoint       string `json:"endpoint"`
	Account        string `json:"account"`
	CorpID         string `json:"corp_id"`
	AgentID        int64  `json:"agent_id"`
	Secret         string `json:"secret"`
	Token          string `json:"token"`
	EncodingAESKey string `json:"encoding_aes_key"`
	APIBase        string `json:"api_base"`
	// Kf are the accounts of customer service that the app may use.
	Kf []string `json:"open_kfids,omitempty"`
	// GroupKey is the key of a group's webhook.
	GroupKey string `json:"group_key,omitempty"`
}

// newSandboxCredentials makes credentials in the platforms' own forms. They are
// random, since a gateway that anyone can reach must not take callbacks signed
// with secrets that stand in a public program.
func newSandboxCredentials() sandboxCredentials {
	return sandboxCredentials{
		WhatsApp: whatsappCredentials{
			Endpoint: "meta", Account: "shop", AppSecret: strings.ToLower(rand.Text() + rand.Text())[:32],
			VerifyToken: rand.Text(), PhoneNumberID: "100000000000001", WABAID: "200000000000001", AccessToken: "EAA" + rand.Text() + rand.Text(),
		},
		WeCom: wecomCredentials{
			Endpoint: "corp", Account: "corp", CorpID: "ww" + strings.ToLower(rand.Text())[:16], AgentID: 1000002,
			Secret: rand.Text() + rand.Text()[:17], Token: rand.Text(), EncodingAESKey: newAESKey(), Kf: []string{"wk" + rand.Text()}, GroupKey: rand.Text(),
		},
	}
}

// newAESKey makes the 43 characters of an EncodingAESKey. rand.Text is letters
// and digits of base32, which base64 reads too.
func newAESKey() string { return (rand.Text() + rand.Text())[:42] + "A" }

// of takes the credentials of a configuration; what it lacks stays as it was.
func (s *sandboxCredentials) of(cfg *config.Config) {
	s.WeCom.Kf, s.WeCom.GroupKey = nil, "" // which exist is the configuration's to say
	for _, e := range slices.Backward(cfg.Endpoints) {
		if e.Kind == "aibot" { // the fake WeCom is that of an app
			s.Robot.Endpoint, s.Robot.Token, s.Robot.EncodingAESKey = e.Name, e.Token.Reveal(), e.EncodingAESKey.Reveal()
			continue
		}
		switch e.Platform {
		case "whatsapp":
			s.WhatsApp.Endpoint, s.WhatsApp.AppSecret, s.WhatsApp.VerifyToken = e.Name, e.AppSecret.Reveal(), e.VerifyToken.Reveal()
		case "wecom":
			s.WeCom.Endpoint, s.WeCom.Token, s.WeCom.EncodingAESKey = e.Name, e.Token.Reveal(), e.EncodingAESKey.Reveal()
		}
	}
	for _, a := range slices.Backward(cfg.Accounts) {
		if a.Kind == "aibot" {
			s.Robot.Account, s.Robot.BotID = a.Name, a.BotID
			continue
		}
		switch a.Platform {
		case "whatsapp":
			w := &s.WhatsApp
			w.Account, w.PhoneNumberID, w.WABAID, w.AccessToken = a.Name, a.PhoneNumberID, a.WABAID, a.AccessToken.Reveal()
		case "wecom":
			s.WeCom.ofAccount(cfg, &a)
		}
	}
}

// ofAccount takes those of an account: an app, or, where there is none, the app to
// which customer service is granted; of groups' webhooks the first.
func (w *wecomCredentials) ofAccount(cfg *config.Config, a *config.Account) {
	apps := slices.ContainsFunc(cfg.Accounts, func(a config.Account) bool { return a.Platform == "wecom" && a.Kind == "app" })
	switch a.Kind {
	case "app":
		w.Account, w.CorpID, w.AgentID, w.Secret = a.Name, a.CorpID, a.AgentID, a.Secret.Reveal()
	case "robot":
		w.GroupKey = a.Key.Reveal()
	case "kf":
		w.Kf = slices.Insert(w.Kf, 0, a.OpenKfID)
		if !apps {
			w.Account, w.CorpID, w.Secret = a.Name, a.CorpID, a.Secret.Reveal()
		}
	}
}

// sandbox runs the fake platforms until ctx ends.
func (c *cli) sandbox(ctx context.Context, o sandboxOptions) (result error) {
	for name, addr := range map[string]string{"--whatsapp-listen": o.whatsapp, "--wecom-listen": o.wecom, "--unified-listen": o.unified, "--aibot-listen": o.robot} {
		if addr == "" {
			continue
		}
		if host, _, err := net.SplitHostPort(addr); err != nil || !isLoopback(host) {
			return usageError("%s must be a loopback address such as %s: whoever reaches it can make the gateway believe things", name, sandboxWhatsApp)
		}
	}
	if o.whatsapp == "" && o.wecom == "" && o.unified == "" && o.robot == "" {
		return usageError("nothing to run: all addresses are empty")
	}
	cred := newSandboxCredentials()
	if o.robot != "" {
		cred.Robot = newRobotCredentials()
	}
	if o.config != nil {
		cred.of(o.config)
	}
	log := newLogger(config.Log{Level: "warn", Format: "console"}, zapcore.AddSync(c.err))
	base := strings.TrimRight(o.callback, "/")
	if o.whatsapp != "" {
		w := cred.WhatsApp
		s, err := whatsapptest.New(whatsapptest.Options{
			AppSecret: w.AppSecret, AccessToken: w.AccessToken, PhoneNumberID: w.PhoneNumberID, WABAID: w.WABAID,
			CallbackURL: base + webhookPath("whatsapp", w.Endpoint), Rules: whatsapptest.Rules{Pair: o.limits, Window: o.limits}, Log: log,
		})
		if err != nil {
			return &exitError{exitUsage, err}
		}
		defer closing(&result, s)
		if err := s.Listen(o.whatsapp); err != nil { //nolint:contextcheck // it listens until Close
			return &exitError{exitUsage, err}
		}
		cred.WhatsApp.APIBase = s.URL()
	}
	if o.wecom != "" {
		w := cred.WeCom
		s, err := wecomtest.New(wecomtest.Options{
			CorpID: w.CorpID, AgentID: w.AgentID, Secret: w.Secret, Token: w.Token, EncodingAESKey: w.EncodingAESKey,
			CallbackURL: base + webhookPath("wecom", w.Endpoint), MemberLimit: o.limits, Kf: w.Kf, GroupKey: w.GroupKey, Log: log,
		})
		if err != nil {
			return &exitError{exitUsage, err}
		}
		defer closing(&result, s)
		if err := s.Listen(o.wecom); err != nil { //nolint:contextcheck // it listens until Close
			return &exitError{exitUsage, err}
		}
		cred.WeCom.APIBase = s.URL()
	}
	if o.unified != "" {
		cred.Unified = newUnifiedCredentials()
		s, err := cred.Unified.vendor(o.config, base, log)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		defer closing(&result, s)
		if err := s.Listen(o.unified); err != nil { //nolint:contextcheck // it listens until Close
			return &exitError{exitUsage, err}
		}
		cred.Unified.APIBase = s.URL()
	}
	if o.robot != "" {
		s, err := cred.Robot.bot(base, log)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		defer closing(&result, s)
		if err := s.Listen(o.robot); err != nil { //nolint:contextcheck // it listens until Close
			return &exitError{exitUsage, err}
		}
		cred.Robot.APIBase = s.URL()
	}
	if err := c.print(cred, func(w io.Writer) { writeSandbox(w, o, &cred) }); err != nil {
		return failed(err)
	}
	<-ctx.Done()
	return nil
}

// closing closes what a function opened and adds the error to its result.
func closing(result *error, c io.Closer) { *result = errors.Join(*result, c.Close()) }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// writeSandbox prints the addresses and, unless the credentials came from a
// configuration, one that fits. The credentials are made up, so that printing
// them gives nothing away.
func writeSandbox(w io.Writer, o sandboxOptions, s *sandboxCredentials) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	fields(w, "fake WhatsApp", s.WhatsApp.APIBase, "fake WeCom", s.WeCom.APIBase, "fake vendor", s.Unified.APIBase, "fake robot", s.Robot.APIBase, "callbacks to", o.callback)
	if o.config != nil {
		line("\nThe credentials are those of the configuration. Its accounts need the addresses")
		line("above as api_base. Stop with Ctrl-C.")
		return
	}
	line("\nA configuration that fits (save it as causeway.yaml, then: causeway serve):\n")
	_, _ = io.WriteString(w, s.yaml())
	line(`
applications:
  - {name: trial, builtin: echo}

Next, with that configuration:
  causeway sandbox -c causeway.yaml      # the same credentials when you start this again
  causeway simulate whatsapp --text hello
  causeway simulate wecom kf-text --text hello   # to WeChat customer service
  causeway send --account alarm "to a group's webhook"
  causeway sandbox calls
Stop with Ctrl-C.`)
}

// yaml is the part of a configuration that names endpoints and accounts. Every
// value is plain letters, digits or a URL, quoted all the same.
func (s *sandboxCredentials) yaml() string {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	wa, wc := s.WhatsApp, s.WeCom
	line("endpoints:")
	if wa.APIBase != "" {
		line("  - {name: %s, platform: whatsapp, app_secret: %q, verify_token: %q}", wa.Endpoint, wa.AppSecret, wa.VerifyToken)
	}
	if wc.APIBase != "" {
		line("  - {name: %s, platform: wecom, kind: app, receive_ids: [%q], token: %q,", wc.Endpoint, wc.CorpID, wc.Token)
		line("     encoding_aes_key: %q}", wc.EncodingAESKey)
	}
	if s.Unified.APIBase != "" {
		b.WriteString(s.Unified.endpointYAML())
	}
	if s.Robot.APIBase != "" {
		b.WriteString(s.Robot.endpointYAML())
	}
	line("accounts:")
	if wa.APIBase != "" {
		line("  - {name: %s, platform: whatsapp, phone_number_id: %q, waba_id: %q,", wa.Account, wa.PhoneNumberID, wa.WABAID)
		line("     access_token: %q, api_base: %q}", wa.AccessToken, wa.APIBase)
	}
	if wc.APIBase != "" {
		line("  - {name: %s, platform: wecom, kind: app, corp_id: %q, agent_id: %d, secret: %q,", wc.Account, wc.CorpID, wc.AgentID, wc.Secret)
		line("     api_base: %q}", wc.APIBase)
		for i, kf := range wc.Kf {
			line("  - {name: %s, platform: wecom, kind: kf, corp_id: %q, open_kfid: %q, secret: %q,", nthName("desk", i), wc.CorpID, kf, wc.Secret)
			line("     api_base: %q}", wc.APIBase)
		}
		if wc.GroupKey != "" {
			line("  - {name: alarm, platform: wecom, kind: robot, key: %q, api_base: %q}", wc.GroupKey, wc.APIBase)
		}
	}
	if s.Unified.APIBase != "" {
		b.WriteString(s.Unified.accountYAML())
	}
	if s.Robot.APIBase != "" {
		b.WriteString(s.Robot.accountYAML())
	}
	return b.String()
}
