package admin

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/causewayhq/causeway/handlers"
)

// Role is what a token may do; each role may do what the ones before it may.
type Role string

// The roles. A viewer reads numbers, states and lists; an operator also reads
// raw bodies, readmits, requeues, replays, pauses, resumes, sends messages and
// cancels them; an admin also drops dead letters, releases held replies and reads the audit log.
const (
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

func (r Role) rank() int {
	switch r {
	case RoleViewer:
		return 1
	case RoleOperator:
		return 2
	case RoleAdmin:
		return 3
	}
	return 0
}

// Token is one bearer token, kept as its SHA-256 so that the router's memory
// holds no token.
type Token struct {
	Name string // shown in the audit
	Role Role
	Hash [sha256.Size]byte // HashToken
}

// HashToken is the form in which a token is handed in.
func HashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// Options are handed in by cmd; every field but Schemas is needed.
type Options struct {
	// Tokens returns the tokens of now, so that a reload needs no new router.
	// It must not be slow and must return the same slice to all callers. With
	// no tokens every protected route answers 401.
	Tokens func() []Token
	// Gatherer is read by /metrics.
	Gatherer prometheus.Gatherer
	// Ready returns the state of the parts; it must answer within a second.
	Ready func(ctx context.Context) Readiness
	API   API
	// Schemas are served under /schemas/, to everybody.
	Schemas handlers.Schemas
	Log     *zap.Logger
	Now     func() time.Time
}

// Readiness is the body of /readyz on the admin listener.
type Readiness struct {
	// OK is what /readyz answers: the archive takes callbacks and no stage has
	// stopped. The loss of NATS does not make it false.
	OK         bool        `json:"ok"`
	Components []Component `json:"components"`
}

// Component is one part of the process.
type Component struct {
	Name  string     `json:"name"`  // "archive", "ledger", "nats", "relay", ...
	State string     `json:"state"` // "ok", "degraded", "stopped", "unavailable"
	Since *time.Time `json:"since,omitempty"`
	// Detail is for people; no secret, number or path.
	Detail string `json:"detail,omitempty"`
}
