package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/causewayhq/causeway/gateway"
)

const payloadPrefix = "pl_"

// PayloadID is the public id of the payload at pos: "pl_" and a ULID whose time
// is at (milliseconds; before 1970 counts as 1970) and whose other 80 bits hold
// pos and 16 check bits. So an id leads to its row without an index, ids sort as
// positions do within a millisecond, and a mistyped id is seen.
func PayloadID(at time.Time, pos int64) string {
	var id ulid.ULID
	_ = id.SetTime(uint64(min(max(at.UnixMilli(), 0), int64(ulid.MaxTime()))))
	binary.BigEndian.PutUint64(id[6:14], uint64(pos))
	binary.BigEndian.PutUint16(id[14:], checkBits(id[:14]))
	return payloadPrefix + id.String()
}

// ParsePayloadID returns the time (milliseconds, UTC) and position in an id made
// by PayloadID. Errors: gateway.ErrNotFound, for anything else.
func ParsePayloadID(s string) (at time.Time, pos int64, err error) {
	rest, ok := strings.CutPrefix(s, payloadPrefix)
	if !ok {
		return time.Time{}, 0, fmt.Errorf("payload id: %w", gateway.ErrNotFound)
	}
	id, err := ulid.ParseStrict(rest)
	if err != nil || id.String() != rest { // one spelling only
		return time.Time{}, 0, fmt.Errorf("payload id: %w", gateway.ErrNotFound)
	}
	pos = int64(binary.BigEndian.Uint64(id[6:14]))
	if pos <= 0 || binary.BigEndian.Uint16(id[14:]) != checkBits(id[:14]) {
		return time.Time{}, 0, fmt.Errorf("payload id: %w", gateway.ErrNotFound)
	}
	return time.UnixMilli(int64(id.Time())).UTC(), pos, nil
}

func checkBits(b []byte) uint16 {
	return uint16(crc32.ChecksumIEEE(b))
}
