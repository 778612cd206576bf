package wecom

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha1" //nolint:gosec // the platform's signature is SHA-1 over a secret token; there is no choice
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/causewayhq/causeway/gateway"
)

// Numbers of the frame: random(16) | length(4, big endian) | message | receive
// id | padding. The padding is PKCS#7 with blocks of 32 bytes, not of AES's 16.
// Source: developer.work.weixin.qq.com/document/path/90968.
const (
	frameHead  = 16 + 4
	padBlock   = 32
	aesKeyText = 43 // characters of an EncodingAESKey
)

// Crypt signs, seals and opens with one pair of Token and EncodingAESKey. It is
// immutable and safe for concurrent use.
type Crypt struct {
	token      string
	block      cipher.Block
	iv         []byte
	receiveIDs []string
	keyFP      string
}

// NewCrypt makes a Crypt. encodingAESKey is the 43 characters the console shows.
// receiveIDs are the ids whose frames Open accepts: the corp id for a self-built
// app, the suite id for a suite, "" for a robot; none at all means that Open
// accepts nothing (a Crypt that only seals). Errors name the field, never its
// value; an empty token wraps gateway.ErrNoSecret, since with it anyone could
// sign.
func NewCrypt(token, encodingAESKey string, receiveIDs []string) (*Crypt, error) {
	if token == "" {
		return nil, fmt.Errorf("token is empty: %w", gateway.ErrNoSecret)
	}
	if encodingAESKey == "" {
		return nil, fmt.Errorf("encoding_aes_key is empty: %w", gateway.ErrNoSecret)
	}
	if len(encodingAESKey) != aesKeyText {
		return nil, fmt.Errorf("encoding_aes_key must have %d characters", aesKeyText)
	}
	// 43 characters hold two bits more than 32 bytes. They need not be zero
	// (they are not in the platform's own example), so this must not be Strict.
	key, err := base64.StdEncoding.DecodeString(encodingAESKey + "=")
	if err != nil || len(key) != 32 {
		return nil, errors.New("encoding_aes_key is not the base64 of 32 bytes")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, errors.New("encoding_aes_key is no AES-256 key")
	}
	return &Crypt{
		token:      token,
		block:      block,
		iv:         key[:aes.BlockSize],
		receiveIDs: slices.Clone(receiveIDs),
		keyFP:      gateway.Fingerprint(encodingAESKey),
	}, nil
}

// KeyFP is the fingerprint of the EncodingAESKey. The Token is left out of it:
// it may be as short as three characters and could be searched back.
func (c *Crypt) KeyFP() string { return c.keyFP }

// Sign returns msg_signature: SHA-1 in lower-case hex over the four texts,
// sorted by bytes and joined. timestamp and nonce are the texts of the query.
func (c *Crypt) Sign(timestamp, nonce, encrypted string) string {
	parts := []string{c.token, timestamp, nonce, encrypted}
	slices.Sort(parts)
	h := sha1.New() //nolint:gosec // see the import
	for _, p := range parts {
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// signed says whether signature is right, in constant time.
func (c *Crypt) signed(signature, timestamp, nonce, encrypted string) bool {
	want := c.Sign(timestamp, nonce, encrypted)
	return subtle.ConstantTimeCompare([]byte(want), []byte(signature)) == 1
}

// Seal makes the text of an Encrypt element or an echostr. random16 is the
// caller's randomness, so that the result is a function of its arguments.
func (c *Crypt) Seal(plain []byte, receiveID string, random16 [16]byte) string {
	n := frameHead + len(plain) + len(receiveID)
	pad := padBlock - n%padBlock
	frame := make([]byte, 0, n+pad)
	frame = append(frame, random16[:]...)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(plain)))
	frame = append(frame, plain...)
	frame = append(frame, receiveID...)
	for range pad {
		frame = append(frame, byte(pad))
	}
	cipher.NewCBCEncrypter(c.block, c.iv).CryptBlocks(frame, frame)
	return base64.StdEncoding.EncodeToString(frame)
}

// Open returns the message inside an encrypted text. The checks come in the
// order base64, block size, padding, head, length, receive id, and nothing is
// returned unless all hold. Every error wraps gateway.ErrSealed and names the
// check only. Call it after the signature was found right: only then a caller
// cannot learn anything from which check failed.
func (c *Crypt) Open(encrypted string) ([]byte, error) {
	plain, _, err := c.open(encrypted)
	return plain, err
}

func (c *Crypt) open(encrypted string) (plain []byte, receiveID string, err error) {
	frame, err := base64.StdEncoding.DecodeString(encrypted)
	if err != nil {
		return nil, "", sealed("not base64")
	}
	if len(frame) == 0 || len(frame)%aes.BlockSize != 0 {
		return nil, "", sealed("no whole blocks")
	}
	cipher.NewCBCDecrypter(c.block, c.iv).CryptBlocks(frame, frame)
	pad := int(frame[len(frame)-1])
	if pad < 1 || pad > padBlock || pad > len(frame) {
		return nil, "", sealed("wrong padding")
	}
	for _, b := range frame[len(frame)-pad:] {
		if int(b) != pad {
			return nil, "", sealed("wrong padding")
		}
	}
	frame = frame[:len(frame)-pad]
	if len(frame) < frameHead {
		return nil, "", sealed("frame too short")
	}
	size := int64(binary.BigEndian.Uint32(frame[16:frameHead]))
	body := frame[frameHead:]
	if size > int64(len(body)) {
		return nil, "", sealed("wrong length")
	}
	receiveID = string(body[size:])
	if !slices.Contains(c.receiveIDs, receiveID) {
		return nil, "", errForeign
	}
	return body[:size:size], receiveID, nil
}

// errForeign: the key is right and the frame is addressed to somebody else.
var errForeign = sealed("foreign receive id")

func sealed(check string) error { return fmt.Errorf("%w: %s", gateway.ErrSealed, check) }
