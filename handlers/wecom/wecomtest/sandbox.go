package wecomtest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// Options of a Sandbox. CorpID, AgentID, Secret, Token and EncodingAESKey must
// be set.
type Options struct {
	CorpID  string
	AgentID int64
	Secret  string
	// Token and EncodingAESKey sign and encrypt the callbacks.
	Token          string
	EncodingAESKey string
	// ReceiveID is whom the frames of callbacks are addressed to, and the suite
	// of what suites are told. Empty means CorpID.
	ReceiveID string
	// CallbackURL is the gateway's; may be set later by SetCallbackURL.
	// Without one no callback is made.
	CallbackURL string

	// TokenLife is the life of an access token; 0 means 2 h.
	TokenLife time.Duration
	// TokenQuota is how many gettoken calls are answered before 45009; 0 means
	// no limit.
	TokenQuota int
	// Kf are the open_kfids of accounts of customer service that the app may use.
	Kf []string
	// GroupKey is the key of a group's webhook beside the app; empty for none.
	GroupKey string
	// Unknown are userids that do not exist: a message to them is answered
	// 81013.
	Unknown []string
	// MemberLimit turns on WeCom's limit of 30 messages a minute to one
	// member: what is beyond is answered errcode 0 and thrown away.
	MemberLimit bool
	// Retry are the waits before the second and third try of a callback.
	// Default: 1 s each; WeCom does not tell its own.
	Retry []time.Duration
	// Workers is how many callbacks are delivered at once. 0 means 16.
	Workers int
	// LogSize is how many calls are kept; 0 means 1,000,000.
	LogSize int
	Now     func() time.Time
	Log     *zap.Logger
}

// Sandbox is the fake platform.
type Sandbox struct {
	*sandbox.Server
	o        Options
	account  string
	crypt    *wecom.Crypt
	desk     *sandbox.Desk
	courier  *sandbox.Courier
	closed   chan struct{}
	close    sync.Once
	callback atomic.Pointer[string]
	ids      atomic.Uint64
	origin   string
	tokens   *tokens
	cards    *cards
	chats    chats
	shelf    *shelf
	contacts *contacts
	kf       *kfDesk
	group    *Group // nil for none

	mu          sync.Mutex
	unknown     map[string]bool // folded userids that do not exist
	unseen      map[string]bool // members who cannot see the app
	unlicensed  map[string]bool // members without a license for the API
	agent       Agent
	callbackIPs []string
	limit       bool                     // the member limit
	members     map[string]*rate.Limiter // by folded userid
}

// New makes a sandbox. It serves by Handler, or on an address of its own after
// Listen.
func New(o Options) (*Sandbox, error) {
	if o.CorpID == "" || o.AgentID == 0 || o.Secret == "" {
		return nil, errors.New("wecomtest: CorpID, AgentID and Secret must be set")
	}
	crypt, err := wecom.NewCrypt(o.Token, o.EncodingAESKey, []string{o.CorpID})
	if err != nil {
		return nil, err
	}
	if o.ReceiveID == "" {
		o.ReceiveID = o.CorpID
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.TokenLife <= 0 {
		o.TokenLife = 2 * time.Hour
	}
	if len(o.Retry) == 0 {
		o.Retry = []time.Duration{time.Second, time.Second}
	}
	var origin [6]byte
	if _, err := rand.Read(origin[:]); err != nil {
		return nil, err
	}
	s := &Sandbox{
		o: o, crypt: crypt, closed: make(chan struct{}), origin: hex.EncodeToString(origin[:]),
		account: o.CorpID + "/" + strconv.FormatInt(o.AgentID, 10),
		agent:   Agent{Parties: 1}, callbackIPs: []string{"198.51.100.0/24", "203.0.113.9"}, // nobody's
		unknown: make(map[string]bool), unseen: make(map[string]bool), unlicensed: make(map[string]bool),
		shelf: &shelf{until: make(map[string]time.Time)}, limit: o.MemberLimit, members: make(map[string]*rate.Limiter),
		tokens: &tokens{life: o.TokenLife, quota: o.TokenQuota, now: o.Now, expired: make(map[string]bool)},
	}
	s.cards, s.chats.made = newCards(s.nextID), make(map[string]*chat)
	s.contacts = newContacts()
	s.kf = newKfDesk(o.Kf)
	for _, u := range o.Unknown {
		s.unknown[strings.ToLower(u)] = true
	}
	s.desk = &sandbox.Desk{Calls: sandbox.NewCallLog(o.LogSize), Faults: &sandbox.Faults{}, Now: o.Now, Closed: s.closed}
	s.courier = sandbox.NewCourier(sandbox.CourierOptions{
		Retry: func(n int) (time.Duration, bool) {
			if n > len(o.Retry) {
				return 0, false
			}
			return o.Retry[n-1], true
		},
		Timeout: 5 * time.Second,
		Workers: o.Workers,
		Log:     o.Log,
	})
	if o.GroupKey != "" {
		if s.group, err = NewGroup(GroupOptions{Key: o.GroupKey, Desk: s.desk, Now: o.Now, Log: o.Log}); err != nil {
			return nil, err
		}
	}
	s.SetCallbackURL(o.CallbackURL)
	s.Server = sandbox.NewServer(s.routes(), o.Log)
	return s, nil
}

// Handler serves the API and, below /_sandbox/, the control endpoint.
func (s *Sandbox) Handler() http.Handler { return s.Server }

// SetCallbackURL sets where callbacks go from now on.
func (s *Sandbox) SetCallbackURL(u string) { s.callback.Store(&u) }

// SetUnknown says whether a userid does not exist.
func (s *Sandbox) SetUnknown(userID string, unknown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown[strings.ToLower(userID)] = unknown
}

// SetUnseen says whether a member cannot see the app: errcode 0, and the member is
// named in invaliduser, alone or not.
func (s *Sandbox) SetUnseen(userID string, unseen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unseen[strings.ToLower(userID)] = unseen
}

// SetUnlicensed says whether a member has no license for the API: errcode 0, and
// the member is named in unlicenseduser.
func (s *Sandbox) SetUnlicensed(userID string, unlicensed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlicensed[strings.ToLower(userID)] = unlicensed
}

// SetMemberLimit turns the member limit on or off and forgets what was counted.
func (s *Sandbox) SetMemberLimit(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = on
	clear(s.members)
}

// RevokeToken makes the access token in use invalid at once: 40014.
func (s *Sandbox) RevokeToken() { s.tokens.end(false) }

// ExpireToken ends the life of the access token in use: 42001.
func (s *Sandbox) ExpireToken() { s.tokens.end(true) }

// TokenCalls is how often gettoken was called, refused calls included.
func (s *Sandbox) TokenCalls() int { return s.tokens.called() }

// Calls is the log of send calls, oldest first.
func (s *Sandbox) Calls() []sandbox.Call { return s.desk.Calls.Calls() }

// CallLog gives counts, overlaps and the summary.
func (s *Sandbox) CallLog() *sandbox.CallLog { return s.desk.Calls }

// Faults are the faults in force.
func (s *Sandbox) Faults() *sandbox.Faults { return s.desk.Faults }

// Courier delivers the callbacks.
func (s *Sandbox) Courier() *sandbox.Courier { return s.courier }

// Close ends the sandbox: it stops serving, drops what callbacks are left and
// waits for every goroutine.
func (s *Sandbox) Close() error {
	s.close.Do(func() { close(s.closed) })
	err := s.Server.Close()
	s.courier.Close()
	if s.group != nil {
		err = errors.Join(err, s.group.Close())
	}
	return err
}
