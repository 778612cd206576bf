package config

import "time"

// Addresses of the platforms' APIs.
const (
	WhatsAppAPIBase = "https://graph.facebook.com"
	WeComAPIBase    = "https://qyapi.weixin.qq.com"
)

// MetaClientCN is the common name of the certificate that Meta's webhooks show.
// Source: Meta, "Create a webhook endpoint", mTLS.
const MetaClientCN = "client.webhooks.fbclientcerts.com"

// Default is the configuration of an empty file. It has no endpoints, so it
// does not validate by itself.
func Default() *Config {
	return &Config{
		Listen: ":8080",
		Admin:  Admin{Listen: "127.0.0.1:8081"},
		Store:  Store{URL: "sqlite:data", Reserve: 1 << 30},
		Loop:   defaultLoop(),
		Dedup:  Dedup{Message: "strict", Change: "strict", State: "strict", Notice: "strict"},
		Limits: Limits{
			Body:          3<<20 + 256<<10,
			BodyMemory:    64 << 20,
			HeaderTimeout: 5 * time.Second,
			ReadTimeout:   10 * time.Second,
			IdleTimeout:   60 * time.Second,
			AckTimeout:    3500 * time.Millisecond,
			RejectStore:   RejectStore{Size: 64 << 20, Count: 10_000, Age: 7 * 24 * time.Hour},
		},
		Media: Media{Fetch: true, MaxSize: 100 << 20, Timeout: 5 * time.Minute, IdleTimeout: 30 * time.Second, Parallel: 8, PerAccount: 4},
		Send:  Retry{Tries: 4, First: 10 * time.Second, Factor: 2, Jitter: 0.2, MaxAge: 24 * time.Hour},
		Log:   Log{Level: "info", Format: "json"},
	}
}

// DefaultApplication is an application of which only the name is written.
func DefaultApplication(name string) Application {
	a := Application{Name: name}
	a.setDefaults()
	return a
}

// setDefaults fills a new entry of a list, or a new optional part, before the
// file's values come over it.
func (a *Application) setDefaults() {
	a.Tries = 4
	a.Delays = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
	a.OnExhausted, a.BlockFor, a.BlockTries = "skip", 10*time.Minute, 20
	a.AnswerWithin, a.From = 30*time.Minute, "now"
	a.AckWait = 30 * time.Second
	a.HandlerMax = 10 * time.Minute
	a.Replies = true
	a.InTakeover = "offer"
}

func (a *Account) setDefaults() {
	a.Takeover.setDefaults()
	a.OnUnknown, a.HoldUnknown = "continue", time.Hour
}

func (c *Collect) setDefaults() { *c = Collect{Wait: 3 * time.Second, Max: 20} }

func (t *Takeover) setDefaults() { *t = Takeover{For: 30 * time.Minute, Then: "drop"} }

func (e *Embedded) setDefaults() { e.Listen = "127.0.0.1:4222" }

// Complete fills what depends on other fields: the transport, its folder, the
// platforms' addresses. Load calls it; who builds a Config by hand calls it
// before Validate.
func (c *Config) Complete() {
	if c.NATS.URL == "" && c.NATS.Embedded == nil {
		c.NATS.Embedded = &Embedded{}
		c.NATS.Embedded.setDefaults()
	}
	if e := c.NATS.Embedded; e != nil && e.Dir == "" {
		e.Dir = c.Store.Dir() + "/nats"
	}
	if c.NATS.URL != "" && c.NATS.Replicas == 0 {
		c.NATS.Replicas = 3
	}
	if c.TLS != nil && c.TLS.ClientCA != "" && c.TLS.ClientCN == "" {
		c.TLS.ClientCN = MetaClientCN
	}
	for i := range c.Applications {
		c.Applications[i].completeBridge()
		if k := c.Applications[i].Collect; k != nil && k.Longest == 0 {
			k.Longest = 4 * k.Wait
		}
	}
	for i := range c.Accounts {
		if a := &c.Accounts[i]; a.APIBase == "" {
			switch a.Platform {
			case "whatsapp":
				a.APIBase = WhatsAppAPIBase
			case "wecom":
				a.APIBase = WeComAPIBase
			}
		}
		c.Accounts[i].completePace()
	}
}
