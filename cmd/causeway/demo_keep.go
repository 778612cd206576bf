package main

import (
	"fmt"
	"strings"
)

// demoKeep is how to use a demo that goes on running. Everything in it is made up
// and ends with the demo.
type demoKeep struct {
	Config       string   `json:"config"`
	Webhooks     []string `json:"webhooks"`
	Admin        string   `json:"admin"`
	AdminToken   string   `json:"admin_token"`
	NATS         string   `json:"nats"`
	NATSUser     string   `json:"nats_user"`
	NATSPassword string   `json:"nats_password"`
	WhatsApp     string   `json:"fake_whatsapp"`
	WeCom        string   `json:"fake_wecom"`
	Yours        string   `json:"fake_whatsapp_yours"`
	Commands     []string `json:"commands"`
	Python       string   `json:"python"`
	Go           string   `json:"go"`
}

// keep tells how to reach the parts.
func (r *demoRig) keep() *demoKeep {
	base := "http://" + r.app.public.Addr().String()
	password, err := ownSecret(r.app.o.Config.Store.Dir(), workerPasswordFile)
	if err != nil {
		password = "in " + workerPasswordFile + " of the store's folder"
	}
	k := &demoKeep{
		Config:   r.configPath(),
		Webhooks: []string{base + webhookPath("whatsapp", r.cred.WhatsApp.Endpoint), base + webhookPath("wecom", r.cred.WeCom.Endpoint)},
		Admin:    "http://" + r.app.admin.Addr().String(), AdminToken: r.app.adminTokens[0].token,
		NATS: r.nats, NATSUser: defaultWorker, NATSPassword: password,
		WhatsApp: r.wa.URL(), WeCom: r.wc.URL(), Yours: r.yours.URL(),
	}
	conf := " -c " + k.Config
	k.Commands = []string{
		"causeway simulate whatsapp" + conf + " --text hello",
		"causeway simulate wecom" + conf + " --text hello",
		"causeway sandbox calls --at " + k.WhatsApp,
		"causeway apps ls" + conf,
		"causeway dead ls" + conf + " --state requeued",
		"causeway sums" + conf,
	}
	fill := strings.NewReplacer("{nats}", k.NATS, "{user}", k.NATSUser, "{password}", k.NATSPassword, "{app}", demoYours)
	k.Python, k.Go = fill.Replace(demoPython), fill.Replace(demoGo)
	return k
}

// kept prints it.
func (p demoPrinter) kept(k *demoKeep) {
	p.line("\n%s", p.paint(bold, "It goes on running. Stop it with Ctrl-C; then everything is removed."))
	row := func(what string, values ...string) {
		for i, v := range values {
			if i > 0 {
				what = ""
			}
			p.line("   %-14s %s", what, v)
		}
	}
	row("webhooks", k.Webhooks...)
	row("admin", k.Admin)
	row("admin token", k.AdminToken)
	row("nats", k.NATS)
	row("nats user", fmt.Sprintf("%s, password %s", k.NATSUser, k.NATSPassword))
	row("fake WhatsApp", k.WhatsApp)
	row("fake WeCom", k.WeCom)
	row("configuration", k.Config)
	p.line("\n%s", p.paint(bold, "Try it"))
	for _, c := range k.Commands {
		p.line("   %s", c)
	}
	p.line("\n%s", p.paint(bold, "Your own bot"))
	p.line("   A second WhatsApp number has no bot yet. Its application is %q. Write to it with", demoYours)
	p.line("   causeway simulate whatsapp -c %s --account %s --text hello", k.Config, demoYours)
	p.line("   and start one of these workers, before or after:")
	p.line("\n%s", p.paint(faint, "# Python: pip install nats-py"))
	p.line("%s", k.Python)
	p.line("%s", p.paint(faint, "// Go: go get github.com/causewayhq/causeway"))
	p.line("%s", k.Go)
	p.line("See what it answered: causeway sandbox calls --at %s", k.Yours)
}

const demoPython = `import asyncio, json, nats

async def main():
    nc = await nats.connect("{nats}", user="{user}", password="{password}",
                            inbox_prefix=b"_INBOX_{user}")
    js = nc.jetstream()
    events = await js.pull_subscribe_bind("{app}", "CW_READY_{app}")
    while True:
        try:
            msg = (await events.fetch(1, timeout=30))[0]
        except nats.errors.TimeoutError:
            continue
        event = json.loads(msg.data)
        print(event["conv"], event.get("seq"), event.get("text"))
        answer = {"event": event["delivery"], "verdict": "done",
                  "replies": [{"text": "Python heard: " + event.get("text", "")}]}
        await js.publish(msg.subject.replace("cw.ready.", "cw.reply.", 1),
                         json.dumps(answer).encode())
        await msg.ack()

asyncio.run(main())
`

const demoGo = `package main

import (
	"context"
	"fmt"
	"log"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

func main() {
	w, err := worker.New(worker.Options{URL: "{nats}",
		User: "{user}", Password: "{password}", App: "{app}"})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(w.Run(context.Background(), func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		fmt.Println(ev.Conv, ev.Seq, ev.Text)
		return worker.Text("Go heard: " + ev.Text), nil
	}))
}
`
