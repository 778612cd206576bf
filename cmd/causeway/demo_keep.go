package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// demoKeep is how to use a demo that goes on running. Everything in it is made up
// and ends with the demo.
type demoKeep struct {
	Config        string     `json:"config"`
	Webhooks      []string   `json:"webhooks"`
	Admin         string     `json:"admin"`
	AdminToken    string     `json:"admin_token"`
	NATS          string     `json:"nats"`
	NATSUser      string     `json:"nats_user"`
	NATSPassword  string     `json:"nats_password"`
	WhatsApp      string     `json:"fake_whatsapp"`
	WeCom         string     `json:"fake_wecom"`
	Yours         string     `json:"fake_whatsapp_yours,omitempty"`
	Bot           string     `json:"bot,omitempty"` // behind a URL
	BotSecret     string     `json:"bot_secret,omitempty"`
	Commands      []demoLine `json:"commands"`
	YoursCommands []demoLine `json:"yours_commands,omitempty"`
	Python        string     `json:"python"`
	PythonFile    string     `json:"python_file"`
	Go            string     `json:"go"`
	GoFile        string     `json:"go_file"`
}

// demoLine is a command to type and what it is for.
type demoLine struct {
	Command string `json:"command"`
	For     string `json:"for,omitempty"`
}

// keep tells how to reach the parts and writes the workers into the folder.
func (r *demoRig) keep(program string) (*demoKeep, error) {
	k, err := r.reach(demoYours)
	if err != nil {
		return nil, err
	}
	k.Yours = r.yours.URL()
	k.Commands = []demoLine{
		{"export CAUSEWAY_CONFIG=" + k.Config, ""},
		{program + " simulate whatsapp --text hello", "a customer writes"},
		{program + " simulate wecom --text hello", ""},
		{program + " sandbox calls --at " + k.WhatsApp, "what the customers received"},
		{program + " apps", "who waits for what"},
		{program + " dead ls --state requeued", "the dead letter of scene 7"},
		{program + " sums", "nothing vanished"},
	}
	k.YoursCommands = []demoLine{
		{program + " simulate whatsapp --account " + demoYours + " --count 9 --customers 3", ""},
		{program + " sandbox calls --at " + k.Yours, ""},
	}
	return k, nil
}

// reach tells where the parts are, and writes workers of an application into the
// folder.
func (r *demoRig) reach(app string) (*demoKeep, error) {
	password, err := natsPassword(r.app.o.Config.Store.Dir(), defaultWorker)
	if err != nil {
		return nil, err
	}
	k := &demoKeep{
		Config:   r.configPath(),
		Webhooks: []string{r.webhook("whatsapp", r.cred.WhatsApp.Endpoint), r.webhook("wecom", r.cred.WeCom.Endpoint)},
		Admin:    "http://" + r.app.admin.Addr().String(), AdminToken: r.app.adminTokens[0].token,
		NATS: r.nats, NATSUser: defaultWorker, NATSPassword: password,
		WhatsApp: r.wa.URL(), WeCom: r.wc.URL(),
	}
	fill := strings.NewReplacer("{nats}", k.NATS, "{user}", k.NATSUser, "{password}", k.NATSPassword, "{app}", app)
	k.Python, k.Go = fill.Replace(demoPython), fill.Replace(demoGo)
	k.PythonFile, k.GoFile = filepath.Join(r.dir, "worker.py"), filepath.Join(r.dir, "worker.go")
	return k, errors.Join(os.WriteFile(k.PythonFile, []byte(k.Python), 0o600), os.WriteFile(k.GoFile, []byte(k.Go), 0o600))
}

// rows prints where the parts are.
func (p demoPrinter) rows(k *demoKeep) {
	row := func(what, value string) { p.line("   %-14s %s", what, value) }
	for i, w := range k.Webhooks {
		row([]string{"webhooks", ""}[min(i, 1)], w)
	}
	row("admin", k.Admin)
	row("admin token", k.AdminToken)
	row("nats", k.NATS)
	row("nats user", fmt.Sprintf("%s, password %s", k.NATSUser, k.NATSPassword))
	row("fake WhatsApp", k.WhatsApp)
	row("fake WeCom", k.WeCom)
	row("configuration", k.Config)
}

// kept prints it.
func (p demoPrinter) kept(k *demoKeep) {
	p.line("\n%s", p.paint(bold, "It goes on running. Ctrl-C stops it and removes everything."))
	p.rows(k)
	p.line("\n%s", p.paint(bold, "Try it, in a second terminal"))
	p.lines(k.Commands)
	p.line("\n%s", p.paint(bold, "Your own bot"))
	p.line("   A second WhatsApp number has no bot yet; its application is called %q. Run", demoYours)
	p.line("   one of the two below, write to it, and see what it answered:")
	p.lines(k.YoursCommands)
	p.workers(k)
}

// workers prints programs to paste.
func (p demoPrinter) workers(k *demoKeep) {
	p.line("\n%s", p.paint(faint, "# pip install nats-py; python3 "+k.PythonFile))
	p.line("%s", k.Python)
	p.line("%s", p.paint(faint, "// go get github.com/causewayhq/causeway; go run "+k.GoFile))
	p.line("%s", strings.TrimRight(k.Go, "\n"))
}

// linesWide is the width of terminal that lines are made for.
const linesWide = 100

// lines prints commands with what they are for behind them, or above where that
// would be too wide.
func (p demoPrinter) lines(list []demoLine) {
	wide, reason := 0, 0
	for _, l := range list {
		if l.For != "" {
			wide, reason = max(wide, len(l.Command)), max(reason, len(l.For))
		}
	}
	beside := len("     # ")+wide+reason <= linesWide
	for _, l := range list {
		switch {
		case l.For == "":
			p.line("   %s", l.Command)
		case beside:
			p.line("   %-*s  %s", wide, l.Command, p.paint(faint, "# "+l.For))
		default:
			p.line("   %s", p.paint(faint, "# "+l.For))
			p.line("   %s", l.Command)
		}
	}
}

const demoPython = `import asyncio, json, nats

async def main():
    nc = await nats.connect("{nats}", user="{user}",
                            password="{password}",
                            inbox_prefix=b"_INBOX_{user}")
    js = nc.jetstream()
    events = await js.pull_subscribe_bind("{app}", "CW_READY_{app}")
    while True:
        try:
            msg = (await events.fetch(1, timeout=30))[0]
        except nats.errors.TimeoutError:
            continue
        event = json.loads(msg.data)
        text = event.get("text", "")
        print(event["conv"], event.get("seq"), text, flush=True)
        answer = {"event": event["delivery"], "verdict": "done",
                  "replies": [{"text": "Python heard: " + text}]}
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

func answer(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
	fmt.Println(ev.Conv, ev.Seq, ev.Text)
	return worker.Text("Go heard: " + ev.Text), nil
}

func main() {
	w, err := worker.New(worker.Options{
		URL: "{nats}", App: "{app}",
		User: "{user}", Password: "{password}",
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(w.Run(context.Background(), answer))
}
`
