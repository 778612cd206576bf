package whatsapp_test

import (
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// Who is listed under the other form of their number gets the message by a second
// call of the same attempt, with the same marker; from then on by one. Nobody else
// is called twice, and no identity is made of it: names come of the answer.
func TestOtherFormOfANumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, to, listed string
		calls            []string // of two messages
	}{
		{"Argentina", "5491100000001", "541100000001", []string{"5491100000001", "541100000001", "541100000001"}},
		{"Argentina, the other way", "541100000001", "5491100000001", []string{"541100000001", "5491100000001", "5491100000001"}},
		{"Mexico", "5215500000001", "525500000001", []string{"5215500000001", "525500000001", "525500000001"}},
		{"Mexico, the other way", "525500000001", "5215500000001", []string{"525500000001", "5215500000001", "5215500000001"}},
		{"Brazil", "5511900000001", "551100000001", []string{"5511900000001", "551100000001", "551100000001"}},
		{"Brazil, the other way", "551190000001", "5511990000001", []string{"551190000001", "5511990000001", "5511990000001"}},
		{"listed as it is", "5491100000001", "5491100000001", []string{"5491100000001", "5491100000001"}},
		{"nobody is listed", "5491100000001", "", []string{"5491100000001", "541100000001", "5491100000001", "541100000001"}},
		{"a landline of Brazil", "551130000001", "", []string{"551130000001", "551130000001"}},
		{"another country", "15550100025", "", []string{"15550100025", "15550100025"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wa, err := whatsapptest.New(whatsapptest.Options{AppSecret: "s", AccessToken: accessToken, PhoneNumberID: numberID})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = wa.Close() })
			if err := wa.Listen(""); err != nil {
				t.Fatal(err)
			}
			if _, err := wa.Faults().Add(sandbox.Fault{Code: 131030, Match: func(c *sandbox.Call) bool { return c.To != tt.listed }}); err != nil {
				t.Fatal(err)
			}
			c := newSender(t, wa.URL(), egress.Options{})
			for range 2 {
				o := c.Send(t.Context(), outgoing(toPhone(tt.to), "x", 1))
				if tt.listed == "" {
					if o.Kind != gateway.OutcomeRejected || o.Code != "131030" {
						t.Errorf("nobody is listed: %+v", o)
					}
					checkQuiet(t, o, tt.to, tt.calls[1])
					continue
				}
				phone := slices.IndexFunc(o.Aliases, func(id gateway.Identity) bool { return id.Kind == "phone" })
				if o.Kind != gateway.OutcomeAccepted || phone < 0 || o.Aliases[phone].Value != tt.listed {
					t.Errorf("outcome %+v, want the name that the platform tells, %s", o, tt.listed)
				}
			}
			var calls []string
			for _, call := range wa.Calls() {
				if calls = append(calls, call.To); call.Marker != markerID {
					t.Errorf("a call has the marker %q", call.Marker)
				}
			}
			if !slices.Equal(calls, tt.calls) {
				t.Errorf("calls to %v, want %v", calls, tt.calls)
			}
		})
	}
}

// The second call obeys the attempt: nothing is written after its end. What it says
// is the outcome: the first was certainly not sent.
func TestOtherFormWithinTheAttempt(t *testing.T) {
	t.Parallel()
	clock := &movable{t: time.Now()}
	wa, err := whatsapptest.New(whatsapptest.Options{AppSecret: "s", AccessToken: accessToken, PhoneNumberID: numberID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wa.Close() })
	if err := wa.Listen(""); err != nil {
		t.Fatal(err)
	}
	void := clock.now().Add(time.Minute)
	if _, err := wa.Faults().Add(sandbox.Fault{Code: 131030, Match: func(*sandbox.Call) bool {
		clock.move(2 * time.Minute)
		return true
	}}); err != nil {
		t.Fatal(err)
	}
	c := newSender(t, wa.URL(), egress.Options{Now: clock.now})
	out := outgoing(toPhone("5491100000001"), "x", 1)
	out.VoidAfter = void
	if o := c.Send(t.Context(), out); o.Kind != gateway.OutcomeRetry || o.Code != egress.WordVoid || len(wa.Calls()) != 1 {
		t.Errorf("%+v after %d calls, want a retry after one", o, len(wa.Calls()))
	}
}
