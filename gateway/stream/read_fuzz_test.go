package stream

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// FuzzReadAck: whatever comes on the inbox, an acknowledgement names a stream or
// is an error.
func FuzzReadAck(f *testing.F) {
	for _, s := range []string{
		`{"stream":"CW_EVENT","seq":7}`, `{"stream":"CW_EVENT", "seq":7}`, `{"stream":"CW_EVENT","seq":7,"duplicate": true}`,
		`{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"},"stream":"S","seq":0}`,
		`{"error":{}}`, `{"error":null}`, `{}`, ``, `null`, `[]`, `{"seq":-1}`, `{"seq":1e400}`, `{"stream":`, "{\"stream\":\"\xfc\",\"seq\":0}",
	} {
		f.Add([]byte(s), "")
		f.Add([]byte(s), "503")
	}
	f.Fuzz(func(t *testing.T, data []byte, status string) {
		a := readAck(&nats.Msg{Data: data, Header: nats.Header{"Status": {status}}})
		if plain, ok := plainAck(data); ok {
			var r struct {
				Stream string
				Seq    uint64
			}
			if err := json.Unmarshal(data, &r); err == nil && (r.Stream != plain.Stream || r.Seq != plain.Seq) {
				t.Fatalf("%q is read as %+v", data, plain)
			}
		}
		if a.Err == nil && a.Stream == "" {
			t.Fatalf("%q is an acknowledgement of no stream", data)
		}
	})
}

// FuzzReadExhausted: an advisory names an application and a sequence or is
// refused.
func FuzzReadExhausted(f *testing.F) {
	for _, s := range []string{
		`{"type":"io.nats.jetstream.advisory.v1.max_deliver","stream":"CW_READY_bot","consumer":"bot","stream_seq":7,"deliveries":10}`,
		`{"stream":"OTHER","stream_seq":7}`, `{"stream":"CW_READY_"}`, `{"stream_seq":-1}`, `null`, ``, `{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, ok := readExhausted(data)
		if ok && (e.App == "" || e.Seq == 0) {
			t.Fatalf("%q: %+v", data, e)
		}
	})
}

// FuzzSplitReply: application and conversation come out as they are in the
// subject, or not at all.
func FuzzSplitReply(f *testing.F) {
	for _, s := range []string{"cw.reply.bot.wecom.corp-a.c1", "cw.reply.bot.wecom.corp-a", "cw.reply....", "", "cw.reply.a.b.c.d.e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		app, conv, ok := splitReply(subject)
		if !ok {
			return
		}
		if !strings.HasPrefix(subject, "cw.reply."+app+".") || !strings.HasSuffix(subject, "."+conv) {
			t.Fatalf("%q: %q, %q", subject, app, conv)
		}
	})
}
