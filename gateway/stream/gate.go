package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
)

// holdFor is how far in the future a pause ends: longer than any installation
// lives without a restart, and Hold is called again at each.
const holdFor = 10 * 365 * 24 * time.Hour

// listBatch and listBytes bound one answer of the broker when offers are listed.
const (
	listBatch = 1000
	listBytes = 16 << 20
)

// GateState asks the broker about an application's gate. Delivered is of the
// current life of the stream only; see Created.
func (s *Streams) GateState(ctx context.Context, app string) (gateway.GateState, error) {
	name := ReadyName(app)
	if err := s.need(ctx, name); err != nil {
		return gateway.GateState{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	si, anchors, err := s.gateInfo(ctx, app)
	if err != nil {
		return gateway.GateState{}, s.check(name, err)
	}
	if err := s.stillOurs(si); err != nil {
		return gateway.GateState{}, err
	}
	c, err := s.js.Consumer(ctx, name, app)
	if err != nil {
		return gateway.GateState{}, s.check(name, err)
	}
	ci := c.CachedInfo()
	return gateway.GateState{
		Created:   life(si),
		LastSeq:   si.State.LastSeq,
		Messages:  si.State.Msgs - anchors,
		Delivered: ci.Delivered.Stream,
		AckFloor:  ci.AckFloor.Stream,
		Pulls:     ci.NumWaiting,
		Unacked:   ci.NumAckPending,
		Paused:    ci.Paused,
	}, nil
}

// life is the time at which the stream was made. It is cut to milliseconds, so
// that it is the same after any database kept it.
func life(info *jetstream.StreamInfo) time.Time { return info.Created.UTC().Truncate(time.Millisecond) }

// stillOurs sees a stream that another store's gateway made meanwhile.
func (s *Streams) stillOurs(info *jetstream.StreamInfo) error {
	err := s.sameLife(info)
	var other *OtherLifeError
	if errors.As(err, &other) {
		s.mu.Lock()
		s.other = other
		s.mu.Unlock()
	}
	return err
}

// OpenOffers lists every offer in the gate by stream sequence. It reads the
// bodies too, so it is for the rare case that counts disagree.
func (s *Streams) OpenOffers(ctx context.Context, app string) ([]gateway.OpenOffer, error) {
	name := ReadyName(app)
	if err := s.need(ctx, name); err != nil {
		return nil, err
	}
	var out []gateway.OpenOffer
	for seq := uint64(1); ; {
		got, err := s.directGet(ctx, name, directRequest{Seq: seq, Batch: listBatch, MaxBytes: listBytes})
		if err != nil {
			return nil, s.check(name, err)
		}
		if len(got) == 0 {
			return out, nil
		}
		for _, m := range got {
			o, err := readOpenOffer(m)
			if err != nil {
				return nil, err
			}
			if seq = o.Seq + 1; m.Header.Get("Nats-Subject") != anchorOf(app) {
				out = append(out, o)
			}
		}
	}
}

// OpenOffer finds the offer of one conversation; gateway.ErrNotFound when its
// place is free.
func (s *Streams) OpenOffer(ctx context.Context, app, platform, account, conv string) (gateway.OpenOffer, error) {
	subject, err := ReadySubject(app, platform, account, conv)
	if err != nil {
		return gateway.OpenOffer{}, err
	}
	name := ReadyName(app)
	if err := s.need(ctx, name); err != nil {
		return gateway.OpenOffer{}, err
	}
	got, err := s.directGet(ctx, name, directRequest{LastFor: subject})
	if err != nil {
		return gateway.OpenOffer{}, s.check(name, err)
	}
	if len(got) == 0 {
		return gateway.OpenOffer{}, gateway.ErrNotFound
	}
	return readOpenOffer(got[0])
}

// Withdraw deletes an offer and so opens its conversation's place, also while a
// worker has it. An offer that is gone already is no error.
func (s *Streams) Withdraw(ctx context.Context, app string, seq uint64) error {
	name := ReadyName(app)
	if err := s.need(ctx, name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	err := s.deleteMessage(ctx, name, seq)
	if isGone(err) {
		return nil
	}
	return s.check(name, err)
}

// deleteMessage calls the API itself: the library's call asks for the stream
// first and gives the error without its code.
func (s *Streams) deleteMessage(ctx context.Context, name string, seq uint64) error {
	body, err := json.Marshal(struct {
		Seq     uint64 `json:"seq"`
		NoErase bool   `json:"no_erase"`
	}{seq, true})
	if err != nil {
		return err
	}
	m, err := s.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.DELETE."+name, body)
	if err != nil {
		return err
	}
	var r struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return errors.New("delete: the answer is not readable")
	}
	if r.Error != nil {
		return r.Error
	}
	return nil
}

// Hold stops or resumes handing out offers of the application. What workers
// have is not touched. It is remembered and set again when the consumer had to
// be made anew; after a restart of the gateway it has to be called again.
func (s *Streams) Hold(ctx context.Context, app string, paused bool) error {
	name := ReadyName(app)
	s.mu.Lock()
	s.held[app] = paused
	s.mu.Unlock()
	if err := s.need(ctx, name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	var err error
	if paused {
		_, err = s.js.PauseConsumer(ctx, name, app, s.opts.Now().Add(holdFor))
	} else {
		_, err = s.js.ResumeConsumer(ctx, name, app)
	}
	return s.check(name, err)
}

// directRequest is the body of $JS.API.DIRECT.GET (ADR-31).
type directRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
}

// directGet reads stored messages without a consumer. A batch ends with status
// 204, a stream without (such) a message answers 404; both end the list.
func (s *Streams) directGet(ctx context.Context, name string, r directRequest) ([]*nats.Msg, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	inbox := s.nc.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := sub.SetPendingLimits(-1, -1); err != nil { // bounded by the request
		return nil, err
	}
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+name, inbox, body); err != nil {
		return nil, err
	}
	var out []*nats.Msg
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		if m.Header.Get("Nats-Sequence") != "" { // a stored message, whatever its headers
			if out = append(out, m); r.Batch == 0 {
				return out, nil
			}
			continue
		}
		switch status := m.Header.Get("Status"); status {
		case "204", "404":
			return out, nil
		case "503":
			return nil, errNoStream
		default:
			return nil, fmt.Errorf("direct get: status %s %s", status, m.Header.Get("Description"))
		}
	}
}

// readOpenOffer takes an offer from the headers of a stored message.
func readOpenOffer(m *nats.Msg) (gateway.OpenOffer, error) {
	seq, err := sequence(m)
	if err != nil {
		return gateway.OpenOffer{}, err
	}
	subject := m.Header.Get("Nats-Subject")
	rest := subject[:max(strings.LastIndexByte(subject, '.'), 0)]
	round, _ := strconv.Atoi(m.Header.Get(HeaderRound)) // not ours: round 0, no delivery
	return gateway.OpenOffer{
		Account:  rest[strings.LastIndexByte(rest, '.')+1:],
		Conv:     subject[strings.LastIndexByte(subject, '.')+1:],
		Delivery: m.Header.Get(HeaderID),
		Round:    round,
		Seq:      seq,
	}, nil
}

// sequence is where a message is stored that directGet returned.
func sequence(m *nats.Msg) (uint64, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return 0, errors.New("direct get: no sequence in the answer")
	}
	return seq, nil
}
