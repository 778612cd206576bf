package wecomtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/wecom"
)

// BotOptions of a Bot. BotID, Token and EncodingAESKey must be set.
type BotOptions struct {
	BotID          string
	Token          string
	EncodingAESKey string
	CallbackURL    string // may be set later by SetCallbackURL
	// PollEvery is how often an open stream is asked for. 0 means 1 s; WeCom's own
	// pace is not documented. Negative: never.
	PollEvery time.Duration
	// Retry are the waits before the second and third try of a callback. [1 s each]
	Retry []time.Duration
	Now   func() time.Time
	Log   *zap.Logger
}

// Bot is a sandbox of an intelligent robot: it sends callbacks of every kind, asks
// for streams until they end or six minutes are over, takes one late answer by the
// address that came with the message, within an hour, and hands out files, encrypted,
// for five minutes. Sources: WeCom 100719, 101027, 101031, 101033, 101138. Which
// codes a wrong or used address is answered with is not documented; here 40058.
type Bot struct {
	*sandbox.Server
	o      BotOptions
	crypt  *wecom.Crypt
	desk   *sandbox.Desk
	shared *sandbox.Courier // of the shared control paths; it carries nothing
	client *http.Client
	origin string
	ids    atomic.Uint64

	ctx    context.Context //nolint:containedctx // the sandbox's own life, ended by Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	callback  string
	pollEvery time.Duration
	talks     []*Talk
	files     map[string]botFile
	failed    int // callbacks that were given up
}

// Talk is one callback and what the chat shows of its answer.
type Talk struct {
	MsgID string
	Kind  string
	User  string
	Chat  string // of a group
	// Answer is the passive answer of the callback, decrypted; empty for none.
	Answer string
	// Stream is the id of the stream that it opened; Text and Card are what the
	// stream shows, Polls how often it was asked for, Finished that it ended.
	Stream   string
	Text     string
	Card     string
	Polls    int
	Finished bool
	// Pictures are those that came with the end: the hex of their SHA-256. Feedback is
	// the id that a judgement names, set by the opener.
	Pictures []string
	Feedback string
	// Late is what came by the address of the message.
	Late     string
	LateCard string

	code string
	at   time.Time
	used bool
}

// NewBot makes a sandbox of a robot. It serves by Handler, or after Listen.
func NewBot(o BotOptions) (*Bot, error) {
	if o.BotID == "" {
		return nil, errors.New("wecomtest: BotID must be set")
	}
	crypt, err := wecom.NewCrypt(o.Token, o.EncodingAESKey, []string{""})
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.PollEvery == 0 {
		o.PollEvery = time.Second
	}
	if len(o.Retry) == 0 {
		o.Retry = []time.Duration{time.Second, time.Second}
	}
	var origin [6]byte
	_, _ = rand.Read(origin[:]) // never fails, by its contract
	b := &Bot{o: o, crypt: crypt, client: &http.Client{Timeout: 5 * time.Second}, origin: hex.EncodeToString(origin[:]),
		callback: o.CallbackURL, pollEvery: o.PollEvery, files: map[string]botFile{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.desk = &sandbox.Desk{Calls: sandbox.NewCallLog(0), Faults: &sandbox.Faults{}, Now: o.Now, Closed: b.ctx.Done()}
	b.shared = sandbox.NewCourier(sandbox.CourierOptions{Retry: func(int) (time.Duration, bool) { return 0, false }, Log: o.Log})
	b.Server = sandbox.NewServer(b.routes(), o.Log)
	return b, nil
}

// SetCallbackURL sets where callbacks go from now on.
func (b *Bot) SetCallbackURL(u string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.callback = u
}

// SetPolling says whether open streams are asked for.
func (b *Bot) SetPolling(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pollEvery = -1
	if on {
		b.pollEvery = max(b.o.PollEvery, time.Millisecond)
	}
}

// Faults are the faults in force, of late answers (op send) and files (op media).
func (b *Bot) Faults() *sandbox.Faults { return b.desk.Faults }

// Calls are the late answers, oldest first.
func (b *Bot) Calls() []sandbox.Call { return b.desk.Calls.Calls() }

// Talks are all callbacks that were sent, oldest first, as they stand.
func (b *Bot) Talks() []Talk {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Talk, 0, len(b.talks))
	for _, t := range b.talks {
		out = append(out, *t)
	}
	return out
}

// Talk returns the one of a message.
func (b *Bot) Talk(msgID string) (Talk, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.talks {
		if t.MsgID == msgID {
			return *t, true
		}
	}
	return Talk{}, false
}

// Close ends the sandbox and waits for every goroutine.
func (b *Bot) Close() error {
	b.cancel()
	b.wg.Wait()
	b.client.CloseIdleConnections()
	b.shared.Close()
	return b.Server.Close()
}

func (b *Bot) nextID(kind string) string {
	return fmt.Sprintf("%s-%s-%d", kind, b.origin, b.ids.Add(1))
}
