package sqlite

import (
	"database/sql/driver"
	"strings"
)

// alphabet is that of the ids of gateway (RFC 4648 base32, lower case), five
// bits a character.
const alphabet = "abcdefghijklmnopqrstuvwxyz234567"

// Event ids as gateway.EventID makes them: a prefix and 16 bytes as 26
// characters, of which the last carries three bits.
const (
	eventPrefix = "ev_"
	eventChars  = 26
	eventBytes  = 16
)

// convKeys is how many neighbours share the beginning of a conversation's id.
const convKeys = 4

// convKey is the first number that a conversation may have in the ledger: the
// first 12 characters of its id as 60 bits, in the order of the characters, and
// two more bits for conversations whose ids begin alike. So a number is found
// without an index of ids, and numbers are in the order of the ids.
func convKey(conv string) int64 {
	var key int64
	for i := range 12 {
		key <<= 5
		if i >= len(conv) {
			continue
		}
		switch ch := conv[i]; {
		case ch >= '2' && ch <= '7':
			key |= int64(ch - '2')
		case ch >= 'a' && ch <= 'z':
			key |= int64(ch-'a') + 6
		}
	}
	return key * convKeys
}

// eventKey is how an event id is stored: the 16 bytes it stands for, or the text
// as it is when it is none of gateway.EventID's.
func eventKey(id string) any {
	text, ok := strings.CutPrefix(id, eventPrefix)
	if !ok || len(text) != eventChars {
		return id
	}
	key := make([]byte, 0, eventBytes)
	var bits uint32
	have := 0
	for i := range eventChars {
		v := strings.IndexByte(alphabet, text[i])
		if v < 0 {
			return id
		}
		bits, have = bits<<5|uint32(v), have+5
		if have >= 8 {
			have -= 8
			key = append(key, byte(bits>>have))
		}
	}
	if bits&(1<<have-1) != 0 {
		return id // another spelling of the same bytes
	}
	return key
}

// eventID is the id that eventKey stored; "" for NULL.
func eventID(v driver.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		out := make([]byte, 0, len(eventPrefix)+eventChars)
		out = append(out, eventPrefix...)
		var bits uint32
		have := 0
		for _, b := range v {
			bits, have = bits<<8|uint32(b), have+8
			for have >= 5 {
				have -= 5
				out = append(out, alphabet[bits>>have&31])
			}
		}
		if have > 0 {
			out = append(out, alphabet[bits<<(5-have)&31])
		}
		return string(out)
	}
	return ""
}
