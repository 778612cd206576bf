package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// The made-up Meta app and number of every bench.
const (
	benchAppSecret   = "bench-app-secret-00000000000000" //nolint:gosec // made up; the bench signs its own callbacks
	benchVerifyToken = "bench-verify-token"
	benchAccessToken = "bench-access-token"
	benchEndpoint    = "bench"
	benchAccount     = "bench"
	benchApp         = "bench"
	benchPhoneID     = "300000000000077"
	benchWABA        = "300000000000007"
	benchNumber      = "15550009999"
	benchPath        = "/webhooks/whatsapp/" + benchEndpoint
)

const serialDigits = 12

// serialMark stands in a template where the serial number of a callback goes.
const serialMark = "777777777777"

// benchText makes a text callback of about 1.1 KB, the size of what Meta sends
// for a message of a few sentences. The serial number is in the text as well, so
// that a reply that repeats it tells which turn it belongs to.
const benchText = "turn " + serialMark + ": hello, I ordered two of the blue ones last week and the parcel " +
	"has arrived today, but one of them has a scratch on the left side. Could you send me another one, " +
	"or would it be easier if I brought it back to the shop on Saturday? I can be there between ten and " +
	"twelve. The order was placed with my other phone number, in case you cannot find it under this one. " +
	"Thank you very much, and have a nice evening."

// callbackTemplate is the callback of one customer with gaps for the serial.
type callbackTemplate struct {
	body []byte
	gaps []int
}

func newCallbackTemplate(body []byte) callbackTemplate {
	t := callbackTemplate{body: body}
	for at := 0; ; {
		i := bytes.Index(body[at:], []byte(serialMark))
		if i < 0 {
			return t
		}
		t.gaps = append(t.gaps, at+i)
		at += i + serialDigits
	}
}

// fill writes the body with this serial to the end of out.
func (t *callbackTemplate) fill(out []byte, serial int64) []byte {
	start := len(out)
	out = append(out, t.body...)
	digits := fmt.Sprintf("%0*d", serialDigits, serial)
	for _, gap := range t.gaps {
		copy(out[start+gap:], digits)
	}
	return out
}

// callbackMaker makes signed callbacks with ids that are unique as long as the
// serial numbers are. It belongs to one goroutine.
type callbackMaker struct {
	texts []callbackTemplate // one per customer
	mac   hash.Hash
	next  int64 // serial
}

// newCallbackMaker makes the callbacks of so many customers.
func newCallbackMaker(customers int) *callbackMaker {
	business := benchBusiness()
	m := &callbackMaker{mac: hmac.New(sha256.New, []byte(benchAppSecret)), next: 1}
	for i := range customers {
		body, _ := business.Callback(whatsapptest.Event{
			Kind: "text", Customer: whatsapptest.Customer{Phone: benchCustomer(i), Name: "Bench Customer"}, Text: benchText,
			ID: "wamid.HBgLMTU1NTAwMDk5OTkVAgASGBQ" + serialMark + "AA==", At: time.Now().Truncate(time.Second),
		}).Body() // a text can always be made
		m.texts = append(m.texts, newCallbackTemplate(body))
	}
	return m
}

func benchBusiness() whatsapptest.Business {
	return whatsapptest.Business{PhoneNumberID: benchPhoneID, WABAID: benchWABA, Number: benchNumber}
}

func benchCustomer(i int) string { return fmt.Sprintf("1777%07d", i) }

// text writes the body of the next text callback of a customer to out.
func (m *callbackMaker) text(out []byte, customer int) (body []byte, serial int64) {
	serial = m.next
	m.next++
	return m.texts[customer].fill(out, serial), serial
}

// requests makes n whole signed HTTP requests, customers taking turns. buffer is
// used again when it is large enough; the requests point into it.
func (m *callbackMaker) requests(n int, host string, buffer []byte) (list [][]byte, first int64, grown []byte) {
	first = m.next
	buffer = buffer[:0]
	ends := make([]int, 0, n)
	var body []byte
	for range n {
		body, _ = m.text(body[:0], int(m.next)%len(m.texts))
		buffer = m.request(buffer, host, body)
		ends = append(ends, len(buffer))
	}
	list = make([][]byte, n)
	for i, start := 0, 0; i < n; start, i = ends[i], i+1 {
		list[i] = buffer[start:ends[i]]
	}
	return list, first, buffer
}

// request appends one signed POST to out, with the headers that Meta sends.
func (m *callbackMaker) request(out []byte, host string, body []byte) []byte {
	m.mac.Reset()
	m.mac.Write(body)
	var sum [sha256.Size]byte
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], m.mac.Sum(sum[:0]))
	out = append(out, "POST "+benchPath+" HTTP/1.1\r\nHost: "...)
	out = append(out, host...)
	out = append(out, "\r\nAccept: */*\r\nUser-Agent: facebookexternalua\r\nContent-Type: application/json\r\n"+
		whatsapp.SignatureHeader+": sha256="...)
	out = append(out, text[:]...)
	out = append(out, "\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(len(body)), 10)
	out = append(out, "\r\n\r\n"...)
	return append(out, body...)
}

// serialOf finds the serial number in what a bot repeated.
func serialOf(b []byte) (int64, bool) {
	_, rest, ok := strings.Cut(string(b), "turn ")
	if !ok || len(rest) < serialDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(rest[:serialDigits], 10, 64)
	return n, err == nil
}
