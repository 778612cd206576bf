package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// What the platforms of the benches have in common: the least of the Cloud API. Each of
// them keeps no more of a call than its bench asks for, and has no limits, so that it
// costs little of the machine. (The sandbox of Meta for everything else is package
// whatsapptest.)

// benchSend is a text message that the gateway sends.
type benchSend struct {
	to, customer, marker string // customer is to without the plus
	serial               int64
	known                bool // the text has a serial
}

// id is the platform's.
func (m *benchSend) id() string { return fmt.Sprintf("wamid.OUT%0*d", serialDigits, m.serial) }

// readSend reads POST /{version}/{phone_number_id}/messages; false when it was refused.
// Shapes: Meta, Cloud API reference "messages".
func readSend(w http.ResponseWriter, r *http.Request) (m benchSend, ok bool) {
	var in struct {
		To     string `json:"to"`
		Marker string `json:"biz_opaque_callback_data"`
		Text   struct {
			Body string `json:"body"`
		} `json:"text"`
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/"+benchPhoneID+"/messages") || json.Unmarshal(b, &in) != nil {
		http.Error(w, `{"error":{"message":"Unsupported request","code":100}}`, http.StatusBadRequest)
		return m, false
	}
	m = benchSend{to: in.To, customer: strings.TrimPrefix(in.To, "+"), marker: in.Marker}
	m.serial, m.known = serialOf([]byte(in.Text.Body))
	return m, true
}

// accept answers the call.
func (m *benchSend) accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	// A caller that is gone does not read its answer.
	_, _ = fmt.Fprintf(w, `{"messaging_product":"whatsapp","contacts":[{"input":%q,"wa_id":%q,"user_id":%q}],"messages":[{"id":%q}]}`,
		m.to, m.customer, whatsapptest.BSUID(m.customer), m.id())
}

// serveUntil serves on l, as a part of g, until ctx ends.
func serveUntil(ctx context.Context, g *errgroup.Group, l net.Listener, h http.Handler) {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	g.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		return srv.Close()
	})
}

// statusTeller sends statuses to the gateway over one connection.
type statusTeller struct {
	host     string
	line     *loadLine
	maker    *callbackMaker
	business whatsapptest.Business
	request  []byte
}

func newStatusTeller(gateway string) *statusTeller {
	return &statusTeller{host: gateway, line: &loadLine{addr: gateway, hist: newHistogram()}, maker: newCallbackMaker(0), business: benchBusiness()}
}

func (t *statusTeller) close() { t.line.close() }

// tell sends one status; taken is whether it was answered 200.
func (t *statusTeller) tell(ctx context.Context, st benchStatus, state string) (taken bool, err error) {
	at := time.Now()
	body, err := t.business.Callback(whatsapptest.Event{Kind: "status", Variant: state, Customer: whatsapptest.Customer{Phone: st.customer},
		ID: st.id, Marker: st.marker, At: at}).Body()
	if err != nil {
		return false, err
	}
	t.request = t.maker.request(t.request[:0], t.host, body)
	before := t.line.ok
	t.line.call(ctx, t.request, at)
	return t.line.ok > before, nil
}
