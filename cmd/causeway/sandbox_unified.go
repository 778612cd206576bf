package main

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/unified"
	"github.com/causewayhq/causeway/handlers/unified/unifiedtest"
)

// sandboxUnified is where a fake vendor's gateway usually listens.
const sandboxUnified = "127.0.0.1:9083"

// unifiedCredentials are what gateway and fake vendor share. Without a configuration
// the vendor is one of the wecomapi kind.
type unifiedCredentials struct {
	Endpoint      string `json:"endpoint"`
	Account       string `json:"account"`
	GUID          string `json:"guid"`
	CallbackToken string `json:"callback_token,omitempty"`
	APIToken      string `json:"api_token,omitempty"`
	APIBase       string `json:"api_base"`
}

func newUnifiedCredentials() unifiedCredentials {
	return unifiedCredentials{Endpoint: "hub", Account: "hub-a", GUID: "guid-" + strings.ToLower(rand.Text())[:12],
		CallbackToken: rand.Text(), APIToken: rand.Text()}
}

// endpointYAML and accountYAML are entries of a configuration.
func (u *unifiedCredentials) endpointYAML() string {
	return fmt.Sprintf(`  - name: %s
    platform: unified
    verify: {token: {header: X-Hub-Token, secret: %q}}
    decode:
      account: [guid]
      event_id: [event_id]
      kind: [event]
      kinds:
        - {value: message, kind: message}
        - {value: send_failed, kind: send_failed}
        - {value: offline, kind: account}
        - {value: contact_changed, kind: contact, dedup: none}
        - {value: room_changed, kind: room, dedup: none}
      message_id: [msg_id]
      conversation: [conversation_id]
      chat_type: [is_group]
      sender: [sender.id]
      sender_name: [sender.name]
      from_self: [is_self]
      marker: [send_marker]
      error_code: [error_code]
      time: [timestamp]
      time_unit: ms
      type: [msg_type]
      types: [{value: file, type: document}]
      text: [content.text]
      media_url: [content.url]
      media_name: [content.name]
`, u.Endpoint, u.CallbackToken)
}

func (u *unifiedCredentials) accountYAML() string {
	return fmt.Sprintf(`  - name: %s
    platform: unified
    guid: %s
    api_base: %q
    headers: [{name: X-Hub-Token, value: %q}]
    send:
      messages:
        - types: [text]
          path: /message/sendText
          body: '{"guid": "{{guid}}", "toId": "{{to}}", "content": "{{text}}", "marker": "{{marker}}"}'
        - types: [image, video, document]
          path: /message/sendFile
          body: '{"guid": "{{guid}}", "toId": "{{to}}", "url": "{{url}}", "name": "{{name}}", "marker": "{{marker}}"}'
      answer: {ok: [code], ok_values: ["0"], id: [data.msgId], message: [msg]}
      codes:
        - {code: "401", means: account}
        - {code: "429", means: rate}
        - {code: "500", means: retry}
        - {code: "1002", means: rejected}
    media_hosts: [%q]
    media_header: {name: X-Hub-Token, value: %q}
`, u.Account, u.GUID, u.APIBase, u.APIToken, hostOf(u.APIBase), u.APIToken)
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// vendor makes the fake vendor: that of a configuration, if it has one, else that of
// these credentials.
func (u *unifiedCredentials) vendor(cfg *config.Config, base string, log *zap.Logger) (*unifiedtest.Sandbox, error) {
	if cfg != nil { // whose proofs need not be these
		u.CallbackToken, u.APIToken = "", ""
	} else {
		u.APIBase = "http://" + sandboxUnified // until it listens
		var err error
		cfg, err = config.Parse("sandbox", []byte("endpoints:\n"+u.endpointYAML()+"accounts:\n"+u.accountYAML()), func(string) (string, bool) { return "", false })
		if err != nil {
			return nil, err
		}
	}
	i := slices.IndexFunc(cfg.Endpoints, func(e config.Endpoint) bool { return e.Platform == "unified" })
	if i < 0 {
		return nil, usageError("the configuration has no unified endpoint for --unified-listen")
	}
	var account unified.ClientConfig
	var media unified.Header
	for j := range cfg.Accounts {
		if a := &cfg.Accounts[j]; a.Platform == "unified" {
			account, u.Account = a.Unified(), a.Name
			if h := a.MediaHeader; h != nil {
				media = unified.Header{Name: h.Name, Value: h.Value.Reveal()}
			}
			break
		}
	}
	u.Endpoint, u.GUID = cfg.Endpoints[i].Name, account.GUID
	return unifiedtest.New(unifiedtest.Options{Endpoint: cfg.Endpoints[i].Unified(), Account: account, MediaHeader: media,
		CallbackURL: base + webhookPath("unified", u.Endpoint), Log: log})
}
