package relay_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/relay"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/store/sqlite"
)

// FuzzIntoLedger: whatever a verified callback says, the ledger takes what it is decoded
// to. One that it refused would hold every payload behind it.
func FuzzIntoLedger(f *testing.F) {
	for _, pattern := range []string{"../../testdata/whatsapp/*.json", "../../handlers/whatsapp/testdata/*.json", "../../handlers/wecom/testdata/kf*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			if len(b) < 8000 {
				f.Add(b)
			}
		}
	}
	f.Add([]byte(`{"errcode":0,"next_cursor":"c","has_more":0,"msg_list":[{"msgid":"1","open_kfid":"wk1","external_userid":"wm1","send_time":1700000000,"origin":3,"msgtype":"text","text":{"content":"hi"}}]}`))
	s, err := sqlite.Open(context.Background(), f.TempDir(), sqlite.Options{Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	r := relay.New(relay.Options{Archive: s.Archive, Ledger: s.Ledger, Decoder: anything{}, Directory: anything{}, Now: time.Now, Log: zap.NewNop()})
	var pos, events atomic.Int64
	f.Cleanup(func() {
		if pos.Load() > 100 && events.Load() == 0 {
			f.Error("nothing was an event")
		}
	})
	f.Fuzz(func(t *testing.T, body []byte) {
		for range 2 { // and once more: all of it is known
			p := &gateway.Payload{Pos: pos.Add(1), Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Now(), Body: body}
			rp, err := r.Read(t.Context(), p)
			if err != nil {
				return
			}
			batch := &gateway.RelayBatch{Payloads: []gateway.RelayedPayload{rp}, Loop: gateway.Loop{Turns: 10, Within: time.Second, Rest: time.Second}}
			made, err := s.Ledger.Relay(t.Context(), batch, time.Now())
			if err != nil {
				t.Fatalf("the ledger refuses it: %v", err)
			}
			events.Add(int64(made.Events))
			if _, err := s.Ledger.Judge(t.Context(), time.Now(), 100, func(string, string) gateway.Takeover {
				return gateway.Takeover{For: time.Hour, Then: gateway.ThenDrop}
			}); err != nil {
				t.Fatalf("evidence is refused: %v", err)
			}
		}
	})
}

// anything decodes what looks like a page of WeCom's customer service as one, all else as
// WhatsApp's, and knows every account.
type anything struct{}

func (anything) Decode(p *gateway.Payload) ([]gateway.Item, string, error) {
	if bytes.Contains(p.Body, []byte("msg_list")) {
		items, err := wecom.DecodePage(p)
		return items, "fp", err
	}
	return new(whatsapp.Endpoint).Decode(p)
}

func (anything) Account(string, string) (string, bool) { return "shop", true }

func (anything) Applications() []gateway.Application {
	return []gateway.Application{{Name: "bot", Kinds: gateway.Kinds(), Chats: []gateway.ChatKind{gateway.ChatSingle, gateway.ChatGroup, gateway.ChatAccount}}}
}
