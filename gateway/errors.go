package gateway

import "errors"

// Errors that cross packages. A platform wraps them; the front door and the
// relay decide by them. None carries a secret, a number or text.
//
//nolint:gochecknoglobals // sentinel errors are constants
var (
	// ErrUnverified: the callback is not proven genuine. 401 or 403.
	ErrUnverified = errors.New("not verified")
	// ErrHostile: the outer envelope cannot be one of the platform's. 400.
	ErrHostile = errors.New("malformed envelope")
	// ErrNoSecret: the endpoint has no credentials; it fails closed. 503.
	ErrNoSecret = errors.New("endpoint has no credentials")
	// ErrSealed: genuine, but no key of today opens it. Archived, 200, alarm.
	ErrSealed = errors.New("sealed")
	// ErrUndecodable: genuine and open, but not readable. Dead letter.
	ErrUndecodable = errors.New("not decodable")
	// ErrNotFound: no such id.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the thing is not in a state that allows this.
	ErrConflict = errors.New("not possible in this state")
	// ErrRetired: the name of a customer is not in use any more; another person
	// may have it.
	ErrRetired = errors.New("a name that was given up")
	// ErrTooLarge: larger than the broker takes, however often it is tried.
	ErrTooLarge = errors.New("larger than the broker takes")
	// ErrUnavailable: the store or the broker cannot take it now; try again.
	ErrUnavailable = errors.New("unavailable")
)
