package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// slowSandbox is the platform of `bench send`: it takes text messages, answers each
// after the same time, and may tell of three statuses. It keeps no limits, so that the
// gateway's are the only ones, and of each call no more than is needed to say what must
// not have happened: a message twice, out of order, or beside another one of its
// conversation.
type slowSandbox struct {
	o        slowSandboxOptions
	statuses chan benchStatus
	// refused are statuses that were not answered 200, told those that were.
	told, refused atomic.Int64

	mu    sync.Mutex
	convs map[string]*slowConv
	log   sendLog
	turns *histogram
}

// slowConv is what the platform remembers of a customer.
type slowConv struct {
	next     int // the message that should come, from 0
	inFlight int
	answered time.Time
}

type slowSandboxOptions struct {
	delay time.Duration
	each  int // messages of a conversation
}

// sendLog is what the platform saw. Times are its own clock's.
type sendLog struct {
	Taken int `json:"taken"` // answered, each message once
	// First is when the first call came, Last when the last one was answered, in
	// Unix nanoseconds.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// Violations are messages that came in another order than that of their
	// conversation, Doubles those that came again, Strange those of no conversation.
	Violations int `json:"violations"`
	Doubles    int `json:"doubles"`
	Strange    int `json:"strange"`
	// InFlight is the most calls of one conversation at once, Running of all.
	InFlight int `json:"in_flight"`
	Running  int `json:"running"`
	// Turn is from an answer to the next call of its conversation.
	Turn latency `json:"turn"`
	// Told are statuses that the gateway took, Refused those it did not.
	Told    int64 `json:"told"`
	Refused int64 `json:"refused"`

	running int
}

// sendStatusCallers is how many connections tell of statuses: enough that the gateway
// commits many at a time.
const sendStatusCallers = 64

func newSlowSandbox(o slowSandboxOptions) *slowSandbox {
	return &slowSandbox{o: o, statuses: make(chan benchStatus, sandboxQueue), convs: map[string]*slowConv{}, turns: newHistogram()}
}

func (s *slowSandbox) serve(w http.ResponseWriter, r *http.Request) {
	came := time.Now()
	m, ok := readSend(w, r)
	if !ok {
		return
	}
	conv := s.took(m.customer, m.serial, m.known, came)
	wait(r.Context(), s.o.delay-time.Since(came))
	s.answered(conv)
	m.accept(w)
	select {
	case s.statuses <- benchStatus{customer: m.customer, id: m.id(), marker: m.marker}:
	case <-r.Context().Done():
	}
}

// took notes a call; the serial of a message is its conversation's number times the
// messages of one, plus its place.
func (s *slowSandbox) took(customer string, serial int64, known bool, at time.Time) *slowConv {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.log
	if l.First == 0 {
		l.First = at.UnixNano()
	}
	c := s.convs[customer]
	if c == nil {
		c = &slowConv{}
		s.convs[customer] = c
	} else if c.inFlight == 0 {
		s.turns.add(at.Sub(c.answered))
	}
	place := int(serial % int64(s.o.each))
	switch {
	case !known || customer != benchCustomer(int(serial/int64(s.o.each))):
		l.Strange++
	case place == c.next:
		c.next++
	case place < c.next:
		l.Doubles++
	default:
		l.Violations++
		c.next = place + 1
	}
	c.inFlight++
	l.InFlight = max(l.InFlight, c.inFlight)
	l.running++
	l.Running = max(l.Running, l.running)
	return c
}

// answered notes the end of a call; whoever reads the answer may call again at once, so
// it is noted before.
func (s *slowSandbox) answered(c *slowConv) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.answered = time.Now()
	c.inFlight--
	s.log.running--
	s.log.Taken++
	s.log.Last = c.answered.UnixNano()
}

func (s *slowSandbox) seen() sendLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.log
	l.Turn, l.Told, l.Refused = s.turns.latency(), s.told.Load(), s.refused.Load()
	return l
}

// tell sends the three statuses of each message to the gateway until ctx ends; with an
// address of "" nobody is told.
func (s *slowSandbox) tell(ctx context.Context, gateway string) error {
	t := newStatusTeller(gateway)
	defer t.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case st := <-s.statuses:
			for _, state := range []string{"sent", "delivered", "read"} {
				if gateway == "" {
					break
				}
				taken, err := t.tell(ctx, st, state)
				if err != nil {
					return err
				}
				if taken {
					s.told.Add(1)
				} else {
					s.refused.Add(1)
				}
			}
		}
	}
}

func (b *bench) sandboxChildCommand() *cobra.Command {
	var o slowSandboxOptions
	cmd := &cobra.Command{
		Use: "child-sandbox", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return failed(b.c.sandboxChild(cmd.Context(), o))
		},
	}
	cmd.Flags().DurationVar(&o.delay, "delay", 50*time.Millisecond, "")
	cmd.Flags().IntVar(&o.each, "each", 1, "")
	return cmd
}

// sandboxChild serves the platform. It answers the line "log" with a sendLog, and
// "gateway ADDR" says where statuses go, nowhere for want of ADDR.
func (c *cli) sandboxChild(ctx context.Context, o slowSandboxOptions) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := newSlowSandbox(o)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(ctx)
	serveUntil(gctx, g, l, http.HandlerFunc(s.serve))
	if err := json.NewEncoder(c.out).Encode(childHello{Addr: l.Addr().String()}); err != nil {
		return err
	}
	for scan := bufio.NewScanner(c.in); scan.Scan(); {
		line := strings.TrimSpace(scan.Text())
		if addr, ok := strings.CutPrefix(line, "gateway"); ok {
			for range sendStatusCallers {
				g.Go(func() error { return s.tell(gctx, strings.TrimSpace(addr)) })
			}
		} else if line == "log" {
			if err := json.NewEncoder(c.out).Encode(s.seen()); err != nil {
				return err
			}
		}
	}
	cancel()
	return g.Wait()
}

// log asks the platform what it saw.
func (c *benchChild) log() (l sendLog, err error) {
	if _, err := io.WriteString(c.in, "log\n"); err != nil {
		return l, err
	}
	return l, c.read(&l)
}

// statusesTo tells the platform where statuses go.
func (c *benchChild) statusesTo(addr string) error {
	_, err := io.WriteString(c.in, "gateway "+addr+"\n")
	return err
}
