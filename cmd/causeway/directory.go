package main

import (
	"fmt"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/media"
	"github.com/causewayhq/causeway/gateway/outbox"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/unified"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// directory is the configuration as the stages read it: endpoints by name,
// accounts by the platform's id, clients by account, applications. It does not
// change while the process runs.
type directory struct {
	endpoints map[string]handlers.Endpoint // "platform/name"
	accounts  map[string]string            // "platform/platform's id" -> name
	clients   map[string]outbox.Client     // "platform/name"
	media     map[string]media.Source      // "platform/name"
	targets   map[string]media.Target      // uploads, by the account's name
	ways      map[config.Secret]*way       // by proxy
	uploads   *lateUploads
	files     *lateFiles
	botRing   []wecom.Credential                // of all robots: their files are opened with it
	progress  *lateProgress                     // answers that robots' platform fetches
	askers    map[string]*wecom.Asker           // "platform/name"
	corps     map[string]string                 // "platform/name" -> corp id
	windows   map[string]gateway.CustomerWindow // "platform/name"
	apps      []gateway.Application
	wecom     wecomShared
}

func newDirectory(cfg *config.Config, now func() time.Time) (*directory, error) {
	d := &directory{
		ways: map[config.Secret]*way{}, endpoints: map[string]handlers.Endpoint{}, accounts: map[string]string{},
		clients: map[string]outbox.Client{}, apps: cfg.Apps(),
		media: map[string]media.Source{}, targets: map[string]media.Target{}, uploads: &lateUploads{}, progress: &lateProgress{}, files: &lateFiles{},
		askers: map[string]*wecom.Asker{}, corps: map[string]string{}, windows: map[string]gateway.CustomerWindow{},
	}
	for i := range cfg.Endpoints {
		e := &cfg.Endpoints[i]
		made, err := d.newEndpoint(e, cfg.Accounts, now)
		if err != nil {
			return nil, fmt.Errorf("endpoint %s: %w", e.Name, err)
		}
		d.endpoints[e.Platform+"/"+e.Name] = made
	}
	for i := range cfg.Accounts {
		d.windows[cfg.Accounts[i].Platform+"/"+cfg.Accounts[i].Name] = windowOf(&cfg.Accounts[i])
		w := d.way(&cfg.Accounts[i], cfg.Media.Timeout)
		if err := d.addAccount(&cfg.Accounts[i], w.out, w.slow, now); err != nil {
			return nil, fmt.Errorf("account %s: %w", cfg.Accounts[i].Name, err)
		}
		if err := d.addMedia(&cfg.Accounts[i], cfg.Media, w.slow, now); err != nil {
			return nil, fmt.Errorf("account %s: %w", cfg.Accounts[i].Name, err)
		}
	}
	d.wecomCorps(cfg.Accounts)
	return d, nil
}

func (d *directory) newEndpoint(e *config.Endpoint, accounts []config.Account, now func() time.Time) (handlers.Endpoint, error) {
	switch {
	case e.Platform == "unified":
		return unified.NewEndpoint(e.Unified())
	case e.Platform == "wecom" && e.Kind == "aibot":
		return d.newBotEndpoint(e, accounts, now)
	case e.Platform == "wecom":
		return wecom.NewEndpoint(wecom.EndpointConfig{Ring: wecomRing(e), ReceiveIDs: e.ReceiveIDs, Suite: e.Kind == "suite", Agents: wecomAgents(accounts)})
	}
	secrets := []string{e.AppSecret.Reveal()}
	if e.AppSecretPrevious != "" {
		secrets = append(secrets, e.AppSecretPrevious.Reveal())
	}
	return whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: secrets, VerifyToken: e.VerifyToken.Reveal()}), nil
}

// wecomRing pairs what may have been in force together: during a change WeCom
// may send with the old or the new value of either.
func wecomRing(e *config.Endpoint) []wecom.Credential {
	ring := []wecom.Credential{{Token: e.Token.Reveal(), EncodingAESKey: e.EncodingAESKey.Reveal()}}
	previous := ring[0]
	if e.TokenPrevious != "" {
		previous.Token = e.TokenPrevious.Reveal()
	}
	if e.EncodingAESKeyPrevious != "" {
		previous.EncodingAESKey = e.EncodingAESKeyPrevious.Reveal()
	}
	if previous != ring[0] {
		ring = append(ring, previous)
	}
	return ring
}

func (d *directory) addAccount(acc *config.Account, out, slow *egress.Client, now func() time.Time) error {
	key := acc.Platform + "/"
	switch acc.Platform {
	case "wecom":
		return d.addWeCom(acc, out, slow, now)
	case "unified":
		return d.addUnified(acc, out, now)
	default:
		d.accounts[key+acc.PlatformID()] = acc.Name
		if waba := key + "waba:" + acc.WABAID; acc.WABAID != "" {
			if _, taken := d.accounts[waba]; !taken { // notices of the whole WABA
				d.accounts[waba] = acc.Name
			}
		}
		d.clients[key+acc.Name] = whatsapp.NewClient(whatsapp.ClientConfig{
			APIBase: acc.APIBase, PhoneNumberID: acc.PhoneNumberID, WABAID: acc.WABAID, AccessToken: acc.AccessToken.Reveal(),
			Uploader: d.uploads,
		}, out)
	}
	return nil
}

// endpoint is for the front door.
func (d *directory) endpoint(platform, name string) (handlers.Endpoint, bool) {
	e, ok := d.endpoints[platform+"/"+name]
	return e, ok
}

// client is for the sender.
func (d *directory) client(platform, account string) outbox.Client {
	c, ok := d.clients[platform+"/"+account]
	if !ok {
		return nil
	}
	return c
}

// Account is for the relay.
func (d *directory) Account(platform, accountID string) (string, bool) {
	name, ok := d.accounts[platform+"/"+accountID]
	return name, ok
}

// Applications is for the relay.
func (d *directory) Applications() []gateway.Application { return d.apps }

// Decode is for the relay: a payload of an endpoint that is not configured any
// more stays sealed until it is.
func (d *directory) Decode(p *gateway.Payload) ([]gateway.Item, string, error) {
	if decode := wecom.Fetched(p); decode != nil {
		items, err := decode(p)
		return items, "", err
	}
	e, ok := d.endpoint(p.Platform, p.Endpoint)
	if !ok {
		return nil, "", fmt.Errorf("endpoint is not configured: %w", gateway.ErrSealed)
	}
	items, keyFP, err := e.Decode(p)
	d.ring(p, items)
	return items, keyFP, err
}
