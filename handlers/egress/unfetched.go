package egress

import (
	"errors"

	"github.com/causewayhq/causeway/gateway"
)

// Unfetched makes what the media stage reads of a fetch without an answer: the
// sink's own failure as it is, else a *gateway.MediaError. What is not sorted here
// passes by itself.
func Unfetched(err error) error {
	var e *FetchError
	if !errors.As(err, &e) {
		return &gateway.MediaError{Code: WordOther}
	}
	switch e.Word {
	case WordSink:
		return e
	case WordForbidden, WordRedirects:
		return &gateway.MediaError{Reason: gateway.MediaForbidden, Final: true, Code: e.Word}
	case WordTooLarge:
		return &gateway.MediaError{Reason: gateway.MediaTooLarge, Final: true, Code: e.Word}
	}
	return &gateway.MediaError{Code: e.Word}
}
