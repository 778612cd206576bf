package main

import (
	"crypto/rand"
	"fmt"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// sandboxRobot is where a fake robot usually listens.
const sandboxRobot = "127.0.0.1:9084"

// robotCredentials are what gateway and fake robot share.
type robotCredentials struct {
	Endpoint       string `json:"endpoint"`
	Account        string `json:"account"`
	BotID          string `json:"bot_id"`
	Token          string `json:"token"`
	EncodingAESKey string `json:"encoding_aes_key"`
	APIBase        string `json:"api_base"`
}

func newRobotCredentials() robotCredentials {
	return robotCredentials{Endpoint: "bot", Account: "helper", BotID: "aib" + rand.Text(), Token: rand.Text(), EncodingAESKey: newAESKey()}
}

// endpointYAML and accountYAML are entries of a configuration.
func (r *robotCredentials) endpointYAML() string {
	return fmt.Sprintf("  - {name: %s, platform: wecom, kind: aibot, token: %q, encoding_aes_key: %q}\n", r.Endpoint, r.Token, r.EncodingAESKey)
}

func (r *robotCredentials) accountYAML() string {
	return fmt.Sprintf("  - {name: %s, platform: wecom, kind: aibot, bot_id: %q, feedback: true, api_base: %q}\n", r.Account, r.BotID, r.APIBase)
}

// bot makes the fake robot.
func (r *robotCredentials) bot(base string, log *zap.Logger) (*wecomtest.Bot, error) {
	return wecomtest.NewBot(wecomtest.BotOptions{BotID: r.BotID, Token: r.Token, EncodingAESKey: r.EncodingAESKey,
		CallbackURL: base + webhookPath("wecom", r.Endpoint), Log: log})
}
