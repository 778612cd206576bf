package unified_test

import (
	"net/http"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers"
)

func BenchmarkDecode(b *testing.B) {
	e := endpoint(b, "hub")
	p := payload(read(b, "gw_wecomapi_like_text.json"))
	b.ReportAllocs()
	b.SetBytes(int64(len(p.Body)))
	for b.Loop() {
		if items, _, err := e.Decode(p); err != nil || items[0].Kind != gateway.KindMessage {
			b.Fatal(items, err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	c := file(b)
	proof, e := c.Endpoints[0].Unified().Verification, endpoint(b, "hub")
	r := &handlers.Request{Header: http.Header{}, Body: read(b, "gw_wecomapi_like_text.json")}
	proof.Prove(r.Header, r.Body)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Verify(r); err != nil {
			b.Fatal(err)
		}
	}
}
