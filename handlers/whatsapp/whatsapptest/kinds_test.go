package whatsapptest_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

var business = whatsapptest.Business{PhoneNumberID: number, WABAID: "331900000000011", Number: "12025550100"}

// readBack takes a body through the endpoint of the product: the signature is
// checked, every item is decoded.
func readBack(t testing.TB, body []byte) []gateway.Item {
	t.Helper()
	endpoint := whatsapp.NewEndpoint(whatsapp.EndpointConfig{Secrets: []string{secret}, VerifyToken: "verify"})
	header := http.Header{whatsapp.SignatureHeader: {whatsapp.Sign(secret, body)}}
	if _, err := endpoint.Verify(&handlers.Request{Header: header, Body: body}); err != nil {
		t.Fatal(err)
	}
	items, _, err := endpoint.Decode(&gateway.Payload{Platform: "whatsapp", Header: header, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		if items[i].Err != "" {
			t.Errorf("item %d cannot be read: %s", i, items[i].Err)
		}
	}
	return items
}

func bodyOf(t testing.TB, c *whatsapptest.Callback) []byte {
	t.Helper()
	body, err := c.Body()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Whose conversation a kind belongs to; the customer's when not named.
var (
	ofGroup   = []string{"group-text", "group-status", "group-lifecycle", "group-participants", "group-settings", "group-suspended"}
	ofAccount = []string{"history-declined", "template-status", "template-quality", "template-category", "template-components",
		"account-update", "account-alert", "account-review", "phone-quality", "phone-name", "capability", "security", "flows",
		"username-update", "automatic-event", "value-error", "encrypted"}
	// several items or people in one callback; see TestManyInOne
	ofMany = []string{"batch", "history", "interactive-missing"}
)

// Every kind, in every variant and for every sort of customer, is read by the
// product's own endpoint as the class it says, in the conversation it is about.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	const group = "Y2FwaV9ncm91cDoxMjAyNTU1MDEwMDoxMjAzNjMwMDAwMDAwMTAwNDIZD"
	customers := map[string]whatsapptest.Customer{
		"phone and id": {Phone: "+15550100025", Name: "Maya"},
		"id alone":     {UserID: "GB.8fQ2mXw07LrTzK41vBnC", Username: "ines.k", HidePhone: true},
		"phone alone":  {Phone: "15550100025", NoUserID: true},
	}
	for _, k := range whatsapptest.Kinds() {
		variants := strings.Fields(k.Variants)
		if len(variants) == 0 {
			variants = []string{""}
		}
		for _, variant := range variants {
			for who, customer := range customers {
				t.Run(strings.TrimSuffix(k.Name+"/"+variant, "/")+"/"+who, func(t *testing.T) {
					body := bodyOf(t, business.Callback(whatsapptest.Event{
						Kind: k.Name, Variant: variant, Customer: customer, Group: groupFor(k.Name, group), At: time.Unix(1_795_900_000, 0),
					}))
					items := readBack(t, body)
					if slices.Contains(ofMany, k.Name) {
						if len(items) == 0 {
							t.Error("no items")
						}
						return
					}
					if len(items) != 1 {
						t.Fatalf("%d items", len(items))
					}
					it := &items[0]
					if it.Kind != k.Class {
						t.Errorf("is a %s, the list says %s", it.Kind, k.Class)
					}
					if it.Observed != k.Observed {
						t.Errorf("observed as %q, want %q", it.Observed, k.Observed)
					}
					if it.OccurredAt.IsZero() && !strings.Contains("history-declined value-error encrypted unknown-field", k.Name) {
						t.Error("has no time")
					}
					checkChat(t, k.Name, it, customer, group)
				})
			}
		}
	}
}

func groupFor(kind, group string) string {
	if slices.Contains(ofGroup, kind) {
		return group
	}
	return ""
}

func checkChat(t *testing.T, kind string, it *gateway.Item, customer whatsapptest.Customer, group string) {
	t.Helper()
	switch {
	case slices.Contains(ofGroup, kind):
		if it.Chat.Kind != gateway.ChatGroup || it.Chat.Identities[0].Value != group {
			t.Errorf("conversation %+v is not the group's", it.Chat)
		}
	case slices.Contains(ofAccount, kind):
		if it.Chat.Kind != gateway.ChatAccount {
			t.Errorf("conversation %+v is not the account's", it.Chat)
		}
		if want := "waba:" + business.WABAID; it.AccountID != want && it.AccountID != number {
			t.Errorf("account %s", it.AccountID)
		}
	default:
		want := map[string]string{}
		if customer.Phone != "" {
			want["phone"] = strings.TrimPrefix(customer.Phone, "+")
		}
		if !customer.NoUserID {
			want["bsuid"] = customer.UserID
			if customer.UserID == "" {
				want["bsuid"] = whatsapptest.BSUID(want["phone"])
			}
		}
		if it.AccountID != number || it.Chat.Kind != gateway.ChatSingle {
			t.Fatalf("conversation %+v of %s is not the customer's", it.Chat, it.AccountID)
		}
		if !slices.ContainsFunc(it.Chat.Identities, func(id gateway.Identity) bool { return want[id.Kind] == id.Value }) {
			t.Errorf("conversation %+v is not that of %v", it.Chat, want)
		}
	}
}

// Several items in one callback: each its own, in the order of the body, with
// its own customer.
func TestManyInOne(t *testing.T) {
	t.Parallel()
	maya, tomas := whatsapptest.Customer{Phone: "15550100001", Name: "Maya"}, whatsapptest.Customer{Phone: "5511955550187", Name: "Tomás"}
	body := bodyOf(t, business.Callback(
		whatsapptest.Event{Kind: "text", Customer: maya, Text: "one", ID: "wamid.1"},
		whatsapptest.Event{Kind: "text", Customer: tomas, Text: "two", ID: "wamid.2"},
		whatsapptest.Event{Kind: "reaction", Customer: maya, Target: "wamid.2", ID: "wamid.3"},
		whatsapptest.Event{Kind: "status", Customer: maya, ID: "wamid.4", Variant: "read"},
		whatsapptest.Event{Kind: "template-status"},
	).And(whatsapptest.Event{Kind: "text", Customer: maya, Text: "three", ID: "wamid.5"}))
	var doc struct {
		Entry []struct {
			Time    int64
			Changes []struct {
				Value struct {
					Contacts []any
					Messages []any
				}
			}
		}
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	first := doc.Entry[0].Changes
	if len(doc.Entry) != 3 || doc.Entry[0].Time != 0 || doc.Entry[1].Time == 0 || len(first) != 2 ||
		len(first[0].Value.Messages) != 3 || len(first[0].Value.Contacts) != 2 {
		t.Errorf("shape: %s", body)
	}
	var ids []string
	for _, it := range readBack(t, body) {
		ids = append(ids, it.Content.ID)
	}
	if want := []string{"wamid.1", "wamid.2", "wamid.3", "wamid.4", "", "wamid.5"}; !slices.Equal(ids, want) {
		t.Errorf("items %q, want %q", ids, want)
	}

	items := readBack(t, bodyOf(t, business.Callback(whatsapptest.Event{Kind: "batch", Customer: maya, Count: 1000, Customers: 50})))
	people, statuses, keys := map[string]int{}, 0, map[string]bool{}
	for i := range items {
		people[items[i].Chat.Identities[0].Value]++
		keys[items[i].Key] = true
		if items[i].Kind == gateway.KindStatus {
			statuses++
		}
	}
	if len(items) != 1000 || len(keys) != 1000 || len(people) != 50 || statuses != 100 {
		t.Errorf("%d items, %d keys, %d customers, %d statuses", len(items), len(keys), len(people), statuses)
	}
}

// TestWireForm: what is beyond ASCII and slashes are escaped as Meta does, unless
// asked not to; both are read alike.
func TestWireForm(t *testing.T) {
	t.Parallel()
	const text = "größer 😀 a/b \"q\" \\ \n\t\u0001 你好"
	c := business.Callback(whatsapptest.Event{Kind: "text", Customer: whatsapptest.Customer{Phone: "15550100001"}, Text: text})
	wire := bodyOf(t, c)
	if want := `gr\u00f6\u00dfer \ud83d\ude00 a\/b \"q\" \\ \n\t\u0001 \u4f60\u597d`; !strings.Contains(string(wire), want) {
		t.Errorf("on the wire: %s", wire)
	}
	plain := bodyOf(t, c.Plain())
	if !strings.Contains(string(plain), `größer 😀 a/b`) {
		t.Errorf("plain: %s", plain)
	}
	for _, body := range [][]byte{wire, plain} {
		if got := readBack(t, body)[0].Content.Text; got != text {
			t.Errorf("read %q", got)
		}
	}
}

func TestMakerErrors(t *testing.T) {
	t.Parallel()
	for _, e := range []whatsapptest.Event{{Kind: "fax"}, {}, {Kind: "sticker", Variant: "moving"}} {
		if body, err := business.Callback(e).And(whatsapptest.Event{Kind: "text"}).Body(); err == nil {
			t.Errorf("%+v made %s", e, body)
		}
	}
	if _, err := business.Callback(whatsapptest.Event{Kind: "account-update", Variant: "NEXT_YEAR"}).Body(); err != nil {
		t.Errorf("an open kind took no new word: %v", err)
	}
}

// FuzzBodies: whatever the texts and numbers, the body is JSON in ASCII and the
// endpoint reads the text back.
func FuzzBodies(f *testing.F) {
	for _, text := range []string{"hello", "a/b\\c\"", "größer", "😀", "\u2028 \x00", "<b>&amp;</b>", "\ud7ff\ue000\uffff", "\ufffd"} {
		f.Add(text, "+15550100001")
	}
	f.Add("x", "US.13491208655302741918")
	f.Fuzz(func(t *testing.T, text, customer string) {
		if !utf8.ValidString(text) || !utf8.ValidString(customer) || text == "" || strings.TrimSpace(customer) == "" || customer == "+" {
			t.Skip("Meta sends valid UTF-8, a text and a sender")
		}
		body := bodyOf(t, business.Callback(whatsapptest.Event{Kind: "text", Customer: whatsapptest.Customer{Phone: customer}, ID: "wamid.x", Text: text}))
		for _, c := range body {
			if c >= 0x80 {
				t.Fatal("a byte beyond ASCII")
			}
		}
		if items := readBack(t, body); len(items) != 1 || items[0].Content.Text != text {
			t.Fatalf("read %+v", items)
		}
	})
}
