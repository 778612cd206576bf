package whatsapptest_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// What the sandbox sends is read by the product's own endpoint, and what the
// product's client sends is taken by the sandbox: the marker of a message comes
// back in its statuses, the aliases of the answer are those of the callbacks.
func TestReadByTheProduct(t *testing.T) {
	t.Parallel()
	const marker = "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA"
	endpoint := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{secret}, VerifyToken: "verify"})
	g := newGateway(t, nil)
	s := start(t, whatsapptest.Options{CallbackURL: g.URL})
	items := func(body string) []gateway.Item {
		t.Helper()
		header := http.Header{whatsapp.SignatureHeader: {whatsapp.Sign(secret, []byte(body))}}
		if _, err := endpoint.Verify(&handlers.Request{Header: header, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
		its, _, err := endpoint.Decode(&gateway.Payload{Platform: "whatsapp", Header: header, Body: []byte(body)})
		if err != nil || len(its) != 1 || its[0].Err != "" || its[0].AccountID != number {
			t.Fatalf("%v: %+v", err, its)
		}
		return its
	}

	id := s.Customer("15550100025", "héllo / 😀")
	it := items(<-g.came)[0]
	if it.Kind != gateway.KindMessage || it.Content.ID != id || it.Content.Text != "héllo / 😀" || it.OccurredAt.IsZero() {
		t.Errorf("message: %+v", it)
	}
	if id = s.Colleague("15550100025", "by hand"); id == "" {
		t.Error("no id")
	}
	if echo := items(<-g.came)[0]; echo.Kind != gateway.KindEcho || echo.Content.Echo.MessageID != id {
		t.Errorf("echo: %+v", echo)
	}

	e := egress.New(egress.Options{})
	defer e.Close()
	client := whatsapp.NewClient(whatsapp.ClientConfig{APIBase: s.URL(), PhoneNumberID: number, AccessToken: token}, e)
	o := client.Send(t.Context(), gateway.Outgoing{Message: gateway.Message{
		ID: marker, Attempts: 1, To: it.Chat.Identities, Reply: gateway.Reply{Type: "text", Text: "answer"},
	}})
	if o.Kind != gateway.OutcomeAccepted {
		t.Fatalf("%+v", o)
	}
	known := map[string]string{}
	for _, id := range it.Chat.Identities {
		known[id.Kind] = id.Value
	}
	learned := map[string]string{}
	for _, id := range o.Aliases {
		learned[id.Kind] = id.Value
	}
	if d := cmp.Diff(known, learned); d != "" {
		t.Errorf("identities of the message and of the answer differ: %s", d)
	}
	for range 3 {
		st := items(<-g.came)[0]
		if st.Kind != gateway.KindStatus || st.Content.Status.Marker != marker || st.Content.Status.MessageID != o.ExternalID {
			t.Errorf("status: %+v", st.Content.Status)
		}
	}
}
