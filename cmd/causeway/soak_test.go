package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

//nolint:gochecknoglobals // flags of this test binary
var (
	soakEvents = flag.Int("soak.events", 200, "how many events each run of TestSoak has")
	soakSeed   = flag.Uint64("soak.seed", 1, "seed of TestSoak: who writes how much, what breaks when")
)

// Workers in Go and in JavaScript and a bot behind a URL share an application under
// load, while workers come, leave, are killed and stand still, and the gateway is
// killed: the order of every conversation holds, one event of it is worked on at a
// time, each one is settled and answered once, and those at which the bots always
// fail, and no other, are dead letters. A run over a cluster of NATS servers lets
// these die as well; it takes longer, and only comes with many events.
//
//	go test ./cmd/causeway -run TestSoak -soak.events=50000 -timeout 3h
func TestSoak(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]soakOptions{
		"uniform": {sizes: uniformSizes}, "zipf": {sizes: zipfSizes}, "cluster": {sizes: zipfSizes, cluster: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if o.cluster && *soakEvents < soakCluster {
				t.Skipf("with -soak.events=%d or more; TestClusterOfThree is its short form", soakCluster)
			}
			r := rand.New(rand.NewPCG(*soakSeed, 17))
			newSoak(t, o, o.sizes(*soakEvents, r), r).run()
		})
	}
}

type soakOptions struct {
	sizes   func(events int, r *rand.Rand) []int
	cluster bool // NATS outside, three servers
}

// soakFails are the messages of a customer at which every bot fails: 4 in 100.
func soakFails(i int) bool { return i%25 == 7 }

// uniformSizes gives every conversation as many messages.
func uniformSizes(events int, _ *rand.Rand) []int {
	convs := soakConversations(events)
	return slices.Repeat([]int{max(events/convs, 1)}, convs)
}

// zipfSizes gives few conversations most of the messages, each at least one.
func zipfSizes(events int, r *rand.Rand) []int {
	convs := soakConversations(events)
	sizes := slices.Repeat([]int{1}, convs)
	z := rand.NewZipf(r, 1.2, 2, uint64(convs-1))
	for range events - convs {
		sizes[z.Uint64()]++
	}
	return sizes
}

func soakConversations(events int) int { return max(int(math.Sqrt(float64(events)))*3/2, 2) }

const (
	soakAckWait = 2 * time.Second       // as hookBot.app has it
	soakTakes   = 25 * time.Millisecond // a handler
	soakLeast   = 2 * time.Minute       // for the load, and again for what is left of it
	soakEach    = 40 * time.Millisecond // more of both for each event
	soakRound   = 12 * time.Second      // one round of what breaks: the load lasts as long
	soakCluster = 2000                  // events
)

// soak is a gateway with its workers under load.
type soak struct {
	t    *testing.T
	w    *world
	r    *rand.Rand
	load *load
	all  []*botProcess // that ever were
	crew []*botProcess // of them those that work
	js   *botProcess   // one of the crew
	inJS []*botProcess // of all
	nats *soakServers  // nil for the embedded one

	mu   sync.Mutex
	http []handled // by the bot behind the URL
}

func newSoak(t *testing.T, o soakOptions, sizes []int, r *rand.Rand) *soak {
	// Deaths and freezes are tries of what they interrupt, so there are some to spare.
	hook := newHookBot(t)
	w := newWorld(t, worldOptions{apps: hook.app("tries: 8, concurrency: 4")})
	s := &soak{t: t, w: w, r: r, load: &load{w: w, convs: len(sizes), sizes: sizes, fails: soakFails, pause: soakRound / time.Duration(slices.Max(sizes))}}
	if o.cluster {
		s.nats = newSoakServers(w)
	}
	w.edit("access_token: access-token-1,", `access_token: access-token-1, pace: {account: "0", pair: "0"},`) // the platform's would take days
	hook.answer = func(rw http.ResponseWriter, h *hooked) { s.byHTTP(hook, rw, h) }
	hook.listen()
	w.start("")
	w.up()
	s.joins()
	s.joins()
	s.joinsJS()
	return s
}

// byHTTP is a call of the bot behind the URL.
func (s *soak) byHTTP(bot *hookBot, rw http.ResponseWriter, h *hooked) {
	call := handled{Conv: h.Data.Conv, Seq: h.Data.Seq, Begin: time.Now()}
	wait(s.t.Context(), soakTakes)
	call.End = time.Now()
	s.mu.Lock()
	s.http = append(s.http, call)
	s.mu.Unlock()
	answer := bot.echo(h)
	if strings.HasPrefix(h.Data.Text, failing) {
		answer = fmt.Appendf(nil, `{"event": %q, "verdict": "retry", "error": "as told"}`, h.Data.Delivery)
	}
	_, _ = rw.Write(answer) // the gateway may be dead
}

func (s *soak) add(b *botProcess) *botProcess {
	s.all, s.crew = append(s.all, b), append(s.crew, b)
	return b
}

func (s *soak) joins() { s.add(s.w.botProcess(soakTakes)) }

func (s *soak) joinsJS() {
	s.js = s.add(s.w.jsProcess(soakTakes))
	s.inJS = append(s.inJS, s.js)
}

// anyOne takes somebody who works, and is not the one in JavaScript.
func (s *soak) anyOne() *botProcess {
	others := slices.DeleteFunc(slices.Clone(s.crew), func(b *botProcess) bool { return b == s.js })
	return others[s.r.IntN(len(others))]
}

// gone takes somebody out who ended, and lets another one in, so that two in Go
// and one in JavaScript work.
func (s *soak) gone(b *botProcess) {
	s.crew = slices.DeleteFunc(s.crew, func(x *botProcess) bool { return x == b })
	if b == s.js {
		s.joinsJS()
	} else {
		s.joins()
	}
}

// faults are what may happen, each once in every round.
func (s *soak) faults() map[string]func() {
	busy := func(b *botProcess) *botProcess { // that something is interrupted, if anybody writes
		for deadline := time.Now().Add(time.Second); len(b.open()) == 0 && time.Now().Before(deadline); {
			wait(s.t.Context(), time.Millisecond)
		}
		return b
	}
	stands := func(b *botProcess) {
		busy(b).freeze()
		wait(s.t.Context(), soakAckWait+soakAckWait/2)
		b.thaw()
	}
	faults := map[string]func(){
		"a worker joins and one leaves": func() { s.joins(); b := s.crew[0]; b.leave(); s.leaves(b) },
		"a worker is killed":            func() { b := s.anyOne(); busy(b).kill(); s.gone(b) },
		"the JavaScript one is killed":  func() { b := s.js; busy(b).kill(); s.gone(b) },
		"a worker stands still":         func() { stands(s.anyOne()) },
		"the JavaScript one stands":     func() { stands(s.js) },
		"the gateway is killed":         func() { s.w.kill(); s.w.start("") },
	}
	if s.nats != nil {
		faults["the gate's leader is killed"] = s.nats.killLeader
		faults["a NATS server starts anew"] = func() { s.nats.restart(s.r.IntN(3)) }
	}
	return faults
}

// leaves is gone without a successor, who came before.
func (s *soak) leaves(b *botProcess) {
	s.crew = slices.DeleteFunc(s.crew, func(x *botProcess) bool { return x == b })
	if b == s.js {
		s.joinsJS()
	}
}

func (s *soak) run() {
	total, failing := 0, 0
	for c := range s.load.convs {
		total += s.load.size(c)
		for i := range s.load.size(c) {
			if soakFails(i) {
				failing++
			}
		}
	}
	limit := soakLeast + time.Duration(total)*soakEach
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	began := time.Now()
	done := make(chan struct{})
	go func() { s.load.run(ctx); close(done) }()
	happened := s.breaks(done)
	select {
	case <-done:
	case <-ctx.Done():
		s.t.Fatal("callbacks were not answered 200 in time")
	}
	s.w.up()
	s.w.quiet(limit)
	took := time.Since(began)
	app := s.w.sums().Apps["echo"]
	var counted struct{ Counters map[string]int64 }
	if err := s.w.get("/api/v1/sums", &counted); err != nil {
		s.t.Fatal(err)
	}
	for _, b := range slices.Clone(s.crew) {
		b.leave()
	}
	s.check(total, failing, app)
	s.t.Logf("%d events of %d conversations in %s: %d faults, %d dead, %d late answers", total, s.load.convs, took.Round(time.Second), happened, app.Dead, counted.Counters["late"])
}

// breaks lets things happen, in rounds, until the load is through; at least one round.
func (s *soak) breaks(done <-chan struct{}) (happened int) {
	faults := s.faults()
	names := make([]string, 0, len(faults))
	for name := range faults {
		names = append(names, name)
	}
	slices.Sort(names)
	for {
		s.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			wait(s.t.Context(), time.Duration(50+s.r.IntN(250))*time.Millisecond)
			s.t.Log(name)
			faults[name]()
			if happened++; s.t.Context().Err() != nil {
				return happened
			}
		}
		select {
		case <-done:
			return happened
		default:
		}
	}
}

// check holds what the bots, the store and the platform tell against the promises.
func (s *soak) check(total, failing int, app gateway.AppSums) {
	if app.Pending != 0 || app.Settled != int64(total-failing) || app.Dead != int64(failing) {
		s.t.Errorf("of %d events, %d of which fail, %d are settled and %d dead, %d wait", total, failing, app.Settled, app.Dead, app.Pending)
	}
	var calls []handled
	begun := map[string]bool{}
	for _, b := range s.all {
		calls = append(calls, b.told()...)
	}
	byJS := 0
	for _, b := range s.inJS {
		byJS += b.ended()
	}
	s.mu.Lock()
	calls, byHTTP := append(calls, s.http...), len(s.http)
	s.mu.Unlock()
	if byJS == 0 || byHTTP == 0 {
		s.t.Errorf("the workers in JavaScript handled %d, the bot behind the URL %d", byJS, byHTTP)
	}
	for i := range calls {
		begun[calls[i].event()] = true
	}
	if len(begun) != total {
		s.t.Errorf("%d of %d events came to a worker", len(begun), total)
	}
	if found := disorder(calls); len(found) > 0 {
		s.t.Errorf("%d violations of the order, first %q", len(found), found[:min(len(found), 5)])
	}
	s.t.Logf("%d calls of handlers, %d of them in JavaScript and %d by HTTP", len(calls), byJS, byHTTP)
	s.load.dead = int(app.Dead)
	if unknown := s.load.verify(); unknown > 0 {
		s.t.Logf("%d messages are unknown: the gateway was killed in their calls", unknown)
	}
}
