package sqlite

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

func TestHeadComesBackByteForByte(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]gateway.Payload{
		"empty": {},
		"whatsapp": {Platform: "whatsapp", Endpoint: "meta", KeyFP: "abcdefghijkl", RequestLine: "POST /webhooks/whatsapp/meta?a=%0A&b=: HTTP/1.1",
			Header: http.Header{"Content-Type": {"application/json"}, "X-Hub-Signature-256": {"sha256=00"}}},
		"odd values": {RequestLine: " \r\t\xff\x00", Header: http.Header{"A": {"", " : ", "a: b: c"}, "B": {"\x80\r"}}},
	} {
		head, err := encodeHead(&p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got gateway.Payload
		decodeHead(head, &got)
		if d := cmp.Diff(p, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestHeadRefusesWhatWouldComeBackOtherwise(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]gateway.Payload{
		"request line": {RequestLine: "GET /\n HTTP/1.1"},
		"endpoint":     {Endpoint: "me\nta"},
		"header value": {Header: http.Header{"A": {"b\nC: d"}}},
		"header name":  {Header: http.Header{"A: b": {"c"}}},
	} {
		if _, err := encodeHead(&p); !errors.Is(err, errLineBreak) {
			t.Errorf("%s: %v, want errLineBreak", name, err)
		}
	}
}

func FuzzDecodeHead(f *testing.F) {
	f.Add([]byte("whatsapp\nmeta\nabcdefghijkl\nPOST / HTTP/1.1\nContent-Type: application/json\n"))
	f.Add([]byte("a\nb"))
	f.Add([]byte("\n\n\n\n: \n:"))
	f.Fuzz(func(t *testing.T, head []byte) {
		var p, again gateway.Payload
		decodeHead(head, &p)
		b, err := encodeHead(&p)
		if err != nil {
			return
		}
		decodeHead(b, &again)
		if d := cmp.Diff(p, again); d != "" {
			t.Errorf("read, written and read again (-first +second):\n%s", d)
		}
	})
}
