package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// benchConfig is the configuration of a gateway that is measured: every address
// on a free port of this machine, one number, one application.
type benchConfig struct {
	dir     string // of store and streams
	apiBase string // of the fake platform; "" when nothing is sent
	builtin string // "echo", or "" for an application without a bot
	workers bool   // may connect as benchApp with rigPassword
	pace    int    // of the account, messages a second; 0 for no bound
}

// write writes the file and returns its path. It is quoted as JSON strings are,
// which is YAML too.
func (o benchConfig) write() (string, error) {
	var s strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&s, format+"\n", args...) }
	line("listen: %q", "127.0.0.1:0")
	line("admin: {listen: %q}", "127.0.0.1:0")
	line("store: {url: %q, reserve: 64MiB}", "sqlite:"+filepath.Join(o.dir, "store"))
	users := ""
	if o.workers {
		users = fmt.Sprintf(", users: [{name: %s, password: %q, apps: [%s]}]", benchApp, rigPassword, benchApp)
	}
	line("nats: {embedded: {dir: %q, listen: %q%s}}", filepath.Join(o.dir, "nats"), "127.0.0.1:0", users)
	line("endpoints:")
	line("  - {name: %s, platform: whatsapp, app_secret: %q, verify_token: %q}", benchEndpoint, benchAppSecret, benchVerifyToken)
	line("accounts:")
	pace := "0"
	if o.pace > 0 {
		pace = fmt.Sprint(o.pace, "/s")
	}
	account := fmt.Sprintf("name: %s, platform: whatsapp, phone_number_id: %q, waba_id: %q, access_token: %q, pace: {account: %q, pair: \"0\"}",
		benchAccount, benchPhoneID, benchWABA, benchAccessToken, pace)
	if o.apiBase != "" {
		account += fmt.Sprintf(", api_base: %q", o.apiBase)
	}
	line("  - {%s}", account)
	line("applications:")
	app := "name: " + benchApp
	if o.builtin != "" {
		app += ", builtin: " + o.builtin
	}
	line("  - {%s}", app)
	line("loop: {turns: 0}") // customers that are measured are machines
	line("log: {level: warn}")
	path := filepath.Join(o.dir, "causeway.yaml")
	return path, os.WriteFile(path, []byte(s.String()), 0o600)
}
