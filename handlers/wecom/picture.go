package wecom

import (
	"bytes"
	"crypto/md5" //nolint:gosec // WeCom asks for it as a checksum
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/causewayhq/causeway/gateway"
)

// Files are the files of our store. Errors: gateway.ErrNotFound.
type Files interface {
	OpenFile(file string) (io.ReadCloser, int64, error)
}

// sentPicture is a picture that travels in a message. Source: WeCom 91770, 101031.
type sentPicture struct {
	Base64 string `json:"base64"`
	MD5    string `json:"md5"`
}

// readPicture reads a picture of our store, or makes the outcome of a message whose
// picture is not there, has more than most bytes (a number of MiB), or cannot be read
// now.
func readPicture(files Files, name string, most int64) (*sentPicture, *gateway.Outcome) {
	if files == nil {
		return nil, rejected("no_media_store", "the gateway keeps no files to send")
	}
	unread := &gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "store", Detail: "the file could not be read now"}
	f, size, err := files.OpenFile(name)
	switch {
	case errors.Is(err, gateway.ErrNotFound):
		return nil, rejected("no_file", "the store has no file of this name")
	case err != nil:
		return nil, unread
	}
	defer f.Close() //nolint:errcheck // it was read
	if size > most {
		return nil, rejected("too_large", fmt.Sprintf("the picture has more than %d MiB", most>>20))
	}
	b, err := io.ReadAll(io.LimitReader(f, size))
	if err != nil {
		return nil, unread
	}
	sum := md5.Sum(b) //nolint:gosec // see the import
	return &sentPicture{base64.StdEncoding.EncodeToString(b), hex.EncodeToString(sum[:])}, nil
}

// Pictures in a stream. WeCom takes ten of 10 MiB each, JPEG and PNG; all of an answer
// are bounded here, since they leave in the answer to one question. Source: 101031.
const (
	MaxBotPictures     = 10
	MaxBotPictureBytes = 10 << 20
)

// fitsStream says whether a picture can go with the others of an answer; nil for yes.
func fitsStream(files Files, others []string, name string) *gateway.Outcome {
	if len(others) >= MaxBotPictures {
		return rejected("too_many", "an answer of a robot has at most 10 pictures")
	}
	if files == nil {
		return rejected("no_media_store", "the gateway keeps no files to send")
	}
	var all int64
	for _, one := range append([]string{name}, others...) {
		begin, size, err := peek(files, one)
		switch {
		case errors.Is(err, gateway.ErrNotFound):
			return rejected("no_file", "the store has no file of this name")
		case err != nil:
			return &gateway.Outcome{Kind: gateway.OutcomeRetry, Scope: gateway.ScopePair, Code: "store", Detail: "the file could not be read now"}
		case !bytes.HasPrefix(begin, []byte("\x89PNG")) && !bytes.HasPrefix(begin, []byte("\xff\xd8\xff")):
			return rejected("unsupported_file", "a robot sends pictures as JPEG or PNG")
		}
		if all += size; all > MaxBotPictureBytes {
			return rejected("too_large", "the pictures of the answer have more than 10 MiB together")
		}
	}
	return nil
}

// peek is the first bytes of a file and its size.
func peek(files Files, name string) (begin []byte, size int64, err error) {
	f, size, err := files.OpenFile(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() //nolint:errcheck // it was read
	begin = make([]byte, 4)
	n, err := io.ReadFull(f, begin)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	return begin[:n], size, err
}
