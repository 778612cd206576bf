package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of memory or disk, written as a number of bytes or with a
// unit: 512KiB, 64MiB, 1GiB, or KB, MB, GB for powers of ten.
type Bytes int64

// units, longest suffix first.
func units() []struct {
	suffix string
	size   int64
} {
	return []struct {
		suffix string
		size   int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}
}

var errBytes = errors.New("must be an amount such as 512KiB, 64MiB or 1GiB")

// ParseBytes reads an amount.
func ParseBytes(s string) (Bytes, error) {
	number, size := strings.TrimSpace(s), int64(1)
	for _, u := range units() {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, size = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/size {
		return 0, errBytes
	}
	return Bytes(n * size), nil
}

// String writes the amount with the largest unit that divides it.
func (b Bytes) String() string {
	for _, u := range units()[:3] {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalText writes what ParseBytes reads.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
