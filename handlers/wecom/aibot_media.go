package wecom

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// BotMediaHosts are where the files of messages to robots lie: 100719 shows a bucket
// of WeCom's in Tencent Cloud's object storage (ww-aibot-img-….myqcloud.com), and the
// bucket may change. The address comes in a signed callback, and what lies there must
// open with our key.
func BotMediaHosts() []string { return []string{"*.myqcloud.com", "*.qq.com"} }

// BotMedia gets the files of messages to a robot, which are encrypted with the
// EncodingAESKey of the callback that named them. It is safe for concurrent use; the
// media stage calls it.
type BotMedia struct {
	keys  map[string]*Crypt // by fingerprint
	fetch *egress.Fetcher
}

// NewBotMedia makes it for the pairs of all robots; a pair that is none was refused
// by NewBotEndpoint. fetch knows the route and is not closed by it.
func NewBotMedia(ring []Credential, fetch *egress.Fetcher) (*BotMedia, error) {
	m := &BotMedia{keys: map[string]*Crypt{}, fetch: fetch}
	for _, pair := range ring {
		c, err := NewCrypt(pair.Token, pair.EncodingAESKey, nil)
		if err != nil {
			return nil, err
		}
		m.keys[c.KeyFP()] = c
	}
	return m, nil
}

// Fetch writes the opened bytes of a file into w, at most limit of them. After an
// error w may have got a part. Errors are *gateway.MediaError, or what w said. Without
// the key (it left the configuration within the five minutes) it is tried again until
// the address ends.
func (m *BotMedia) Fetch(ctx context.Context, row *gateway.MediaRow, limit int64, w io.Writer) (gateway.MediaFetched, error) {
	told := gateway.MediaFetched{MIME: row.Media.MIME}
	key := m.keys[row.Media.Key]
	if key == nil {
		return told, &gateway.MediaError{Code: "no_key"}
	}
	open := &opener{to: w, mode: cipher.NewCBCDecrypter(key.block, key.iv)}
	out, err := m.fetch.Get(ctx, row.Media.URL, limit, open)
	switch {
	case err != nil:
		return told, egress.Unfetched(err)
	case out.Status == http.StatusOK:
	case out.Status == http.StatusTooManyRequests, out.Status == http.StatusRequestTimeout, out.Status >= 500:
		return told, &gateway.MediaError{Code: "http_" + strconv.Itoa(out.Status)}
	default: // an address that has ended is answered 403
		return told, &gateway.MediaError{Reason: gateway.MediaGone, Code: "http_" + strconv.Itoa(out.Status)}
	}
	whole, err := open.end()
	switch {
	case err != nil:
		return told, err
	case !whole:
		return told, &gateway.MediaError{Reason: gateway.MediaDamaged, Code: "padding"}
	}
	if typ, _, err := mime.ParseMediaType(out.Header.Get("Content-Type")); told.MIME == "" && err == nil && typ != "application/octet-stream" {
		told.MIME = typ
	}
	if told.MIME == "" {
		told.MIME = http.DetectContentType(open.begin)
	}
	return told, nil
}

// opener decrypts what is written to it, but for the last padBlock bytes, which are
// or hold the padding: they wait for what comes behind them.
type opener struct {
	to    io.Writer
	mode  cipher.BlockMode
	held  []byte // encrypted
	begin []byte // of the opened bytes, for their type
}

// maxBegin is how much http.DetectContentType looks at.
const maxBegin = 512

// Write opens all whole blocks but the last ones.
func (o *opener) Write(b []byte) (int, error) {
	o.held = append(o.held, b...)
	n := (len(o.held) - padBlock) / aes.BlockSize * aes.BlockSize
	if n <= 0 {
		return len(b), nil
	}
	if err := o.put(o.held[:n]); err != nil {
		return 0, err
	}
	o.held = append(o.held[:0], o.held[n:]...)
	return len(b), nil
}

func (o *opener) put(blocks []byte) error {
	o.mode.CryptBlocks(blocks, blocks)
	return o.pass(blocks)
}

func (o *opener) pass(plain []byte) error {
	if more := maxBegin - len(o.begin); more > 0 {
		o.begin = append(o.begin, plain[:min(more, len(plain))]...)
	}
	_, err := o.to.Write(plain)
	return err
}

// end writes what is left without the padding; false when it is not whole, or was
// opened with another key.
func (o *opener) end() (whole bool, err error) {
	rest := o.held
	if len(rest) == 0 || len(rest)%aes.BlockSize != 0 {
		return false, nil
	}
	o.mode.CryptBlocks(rest, rest)
	pad := int(rest[len(rest)-1])
	if pad < 1 || pad > padBlock || pad > len(rest) {
		return false, nil
	}
	for _, c := range rest[len(rest)-pad:] {
		if int(c) != pad {
			return false, nil
		}
	}
	return true, o.pass(rest[:len(rest)-pad])
}
