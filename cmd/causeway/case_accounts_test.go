package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

const secondPhone = "100000000000002"

// newSecondNumber is a case with another number, whose token in the configuration
// has been revoked, and a pool of both.
func newSecondNumber(t *testing.T) (*world, *whatsapptest.Sandbox) {
	t.Helper()
	wb, err := whatsapptest.New(whatsapptest.Options{AppSecret: testSecret, AccessToken: "token-right", PhoneNumberID: secondPhone, WABAID: "900000000000002"})
	if err != nil {
		t.Fatal(err)
	}
	if err := wb.Listen(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wb.Close() })
	if _, err := wb.Faults().Add(sandbox.Fault{Name: "no statuses", Stage: sandbox.After, NoStatuses: true}); err != nil {
		t.Fatal(err)
	}
	w := newCase(t, worldOptions{
		accounts: fmt.Sprintf("  - {name: shop-b, platform: whatsapp, phone_number_id: %q, waba_id: \"900000000000002\", access_token: token-revoked, api_base: %q}\n"+
			"pools: [{name: shops, accounts: [shop-b, shop-a]}]\n", secondPhone, wb.URL()),
	})
	wb.SetCallbackURL(w.url)
	return w, wb
}

func (w *world) fares(name string) (a admin.AccountView) {
	w.t.Helper()
	if err := w.get("/api/v1/accounts/"+name, &a); err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) writes(account, who, text string) gateway.Submitted {
	w.t.Helper()
	status, out, said := w.submit(fmt.Sprintf(`{"account":%q,"to":{"kind":"phone","value":%q},"content":{"text":%q}}`, account, who, text))
	if status != http.StatusAccepted {
		w.t.Fatalf("%d %s", status, said)
	}
	return out
}

// A revoked token pauses its account: one alert, everything taken, nothing lost, the
// other account and the pool go on; over a kill; until the token is another one.
func TestRevokedAccount(t *testing.T) {
	begin(t)
	w, wb := newSecondNumber(t)
	for i := range 12 {
		w.writes("shop-b", fmt.Sprint("1666030010", i), "waits")
	}
	w.until(30*time.Second, "the account is paused", func() bool {
		a := w.fares("shop-b")
		return a.State == gateway.AccountPaused && a.Reason == gateway.BlameCredential && a.Code == "190" && a.ProbeAt != nil
	})
	// What comes in for it is taken and decoded.
	_, body := wb.CustomerBody("16660300200", "hello")
	w.taken(body)
	w.until(20*time.Second, "it is relayed", func() bool { return w.sums().Items.Events == 1 })

	w.writes("shop-a", "16660300300", "other account")
	if out := w.writes("pool:shops", "16660300301", "by the pool"); out.Account != "shop-a" {
		t.Errorf("the pool chose %s, of which nothing leaves", out.Account)
	}
	w.until(30*time.Second, "they leave", func() bool { return w.sums().Messages.Accepted == 2 })
	if a := w.fares("shop-a"); a.State != gateway.AccountHealthy {
		t.Errorf("%+v", a)
	}
	if said, code := w.cli("accounts", "ls"); code != exitOK || !strings.Contains(said, "credential 190") {
		t.Errorf("%d %s", code, said)
	}

	w.kill()
	calls := len(wb.Calls())
	w.start("")
	w.up()
	if a := w.fares("shop-b"); a.State != gateway.AccountPaused || a.Code != "190" || a.Since == nil {
		t.Errorf("after a kill: %+v", a)
	}
	w.writes("shop-a", "16660300302", "after the kill")
	w.until(30*time.Second, "it leaves", func() bool { return w.sums().Messages.Accepted == 3 })
	if n := len(wb.Calls()) - calls; n > 1 {
		t.Errorf("%d calls with the revoked token after the kill", n)
	}
	w.mu.Lock()
	alerts := strings.Count(w.logs.String(), "account.stopped")
	w.mu.Unlock()
	if alerts != 1 {
		t.Errorf("%d alerts", alerts)
	}

	w.stop()
	w.edit("token-revoked", "token-right")
	w.start("")
	w.up()
	w.until(60*time.Second, "all leaves", func() bool { return w.sums().Messages.Accepted == 16 }) // 12, 3, and the bot's answer
	if a := w.fares("shop-b"); a.State != gateway.AccountHealthy || a.Waiting != 0 {
		t.Errorf("%+v", a)
	}
	if n := len(accepted(wb.Calls())); n != 13 {
		t.Errorf("%d taken", n)
	}
	// A customer whom a member talks with stays with it.
	if out := w.writes("pool:shops", "16660300200", "again"); out.Account != "shop-b" || out.Conv != w.conversation("whatsapp", "shop-b", "phone", "16660300200").Conv {
		t.Errorf("%+v", out)
	}
	w.settled(30 * time.Second)
	if dead := w.deadLetters(); len(dead) != 0 {
		t.Errorf("dead letters %+v", dead)
	}
}

// A person mends the other side and says so: the account tries at once.
func TestResumedAccount(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	w.fault(sandbox.Fault{Name: "locked", Code: 131031})
	w.writes("shop-a", "16660300400", "waits")
	w.until(30*time.Second, "the account is isolated", func() bool {
		a := w.fares("shop-a")
		return a.State == gateway.AccountIsolated && a.Reason == gateway.BlamePolicy
	})
	w.wa.Faults().Remove("locked")
	if said, code := w.cli("accounts", "resume", "shop-a"); code != exitOK {
		t.Fatalf("%d %s", code, said)
	}
	w.until(20*time.Second, "the message leaves", func() bool { return w.sums().Messages.Accepted == 1 })
	if a := w.fares("shop-a"); a.State != gateway.AccountHealthy {
		t.Errorf("%+v", a)
	}
	w.audited("account.healthy", "shop-a")
	if status, _ := w.raw(http.MethodPost, "/api/v1/accounts/nobody/resume", testToken, nil); status != http.StatusNotFound {
		t.Errorf("an account that is not there: %d", status)
	}
	_, text := w.raw(http.MethodGet, "/metrics", testToken, nil)
	if want := `causeway_account_state{account="shop-a",reason="",state="healthy"} 1`; !strings.Contains(text, want) {
		t.Errorf("no %s in the metrics", want)
	}
}

// What is busy for longer than the tries of the configuration becomes a dead letter;
// it leaves when it is requeued.
func TestTriesOfTheConfiguration(t *testing.T) {
	begin(t)
	w, wc := newWeComCase(t, worldOptions{extra: "send: {tries: 3, first: 100ms, jitter: 0}\n"})
	if _, err := wc.Faults().Add(sandbox.Fault{Name: "busy", Code: 6000}); err != nil {
		t.Fatal(err)
	}
	status, out, said := w.submit(`{"account":"corp-a","to":{"kind":"userid","value":"LiSi"},"content":{"text":"busy"}}`)
	if status != http.StatusAccepted {
		t.Fatalf("%d %s", status, said)
	}
	w.until(30*time.Second, "its tries are spent", func() bool { return hasDead(w.deadLetters(), "message", gateway.ReasonTries) })
	if m := w.message(out.ID); m.State != string(gateway.MessageRejected) || m.Reason != gateway.ReasonTries || m.Attempts != 3 {
		t.Errorf("%+v", m)
	}
	wc.Faults().Remove("busy")
	if said, code := w.cli("dead", "requeue", w.deadLetters()[0].ID); code != exitOK {
		t.Fatalf("%d %s", code, said)
	}
	w.until(20*time.Second, "it leaves", func() bool { return w.sums().Messages.Accepted == 1 })
	if n := len(accepted(wc.Calls())); n != 1 {
		t.Errorf("%d taken", n)
	}
}
