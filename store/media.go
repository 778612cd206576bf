package store

import (
	"context"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// MediaLedger knows the files that events refer to, how far fetching them is,
// and which ids platforms gave to files of ours. The bytes are elsewhere: a file
// named in here is there, since it is named only after it was stored.
type MediaLedger interface {
	// MediaAccounts lists accounts of which a file may be fetched at now, and
	// when the next file of any account may be; zero for never.
	MediaAccounts(ctx context.Context, now time.Time) (accounts []string, next time.Time, err error)
	// DueMedia lists pending files of an account whose NextAt has come, those
	// that are not low first, each longest due first.
	DueMedia(ctx context.Context, account string, now time.Time, limit int) ([]gateway.MediaRow, error)
	// RetryMedia sets when a pending file may be fetched again. Not durable: a
	// lost row is fetched once more.
	RetryMedia(ctx context.Context, n int64, tries int, next time.Time) error
	// EndMedia ends a pending file in one durable change: its state, the file's
	// row, and the notice as an event of the conversation, with the next seq
	// (none for an observed event), its pending rows for Wanted. A file that
	// has ended already: nothing happens, the result is empty.
	EndMedia(ctx context.Context, e *gateway.MediaEnd) (gateway.RelayResult, error)
	// Media lists files, newest event first.
	Media(ctx context.Context, q MediaQuery) ([]gateway.MediaRow, error)
	// AddFile remembers a stored file, durable; what is known of it stays. File
	// returns what is known; gateway.ErrNotFound.
	AddFile(ctx context.Context, f gateway.File) error
	File(ctx context.Context, file string) (gateway.File, error)
	// Uploaded returns the id that a platform gave to a file, "" when there is
	// none or it ends before now. SetUploaded remembers one, ForgetUploaded
	// removes it.
	Uploaded(ctx context.Context, u Upload, now time.Time) (id string, err error)
	SetUploaded(ctx context.Context, u Upload, id string, until time.Time) error
	ForgetUploaded(ctx context.Context, u Upload) error
}

// MediaQuery selects files of events.
type MediaQuery struct {
	Event   string // "" for all
	State   gateway.MediaState
	Account string
	Before  int64 // N below this; 0 = from the newest
	Limit   int
}

// Upload names what was uploaded: a file as a type, by an account.
type Upload struct{ Account, File, MIME string }
