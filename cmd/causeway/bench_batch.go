package main

import (
	"context"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// batchMessages is how many messages one callback brings when many are to be there
// soon; Meta sends up to a thousand.
const batchMessages = 1000

// batchMaker makes signed callbacks of many short messages. It belongs to one
// goroutine.
type batchMaker struct {
	*callbackMaker
	business whatsapptest.Business
	made     int64
	buffer   []byte
}

func newBatchMaker() *batchMaker {
	return &batchMaker{callbackMaker: newCallbackMaker(0), business: benchBusiness()}
}

// of makes one callback with a message of each customer named by its number.
func (m *batchMaker) of(host string, customers []whatsapptest.Customer) ([]byte, error) {
	events := make([]whatsapptest.Event, len(customers))
	at := time.Now().Truncate(time.Second)
	for i := range customers {
		m.made++
		events[i] = whatsapptest.Event{
			Kind: "text", Customer: customers[i], Text: "good morning, is it there yet?",
			ID: fmt.Sprintf("wamid.HBgLMTU1NTAwMDk5OTkVAgASGCQ%012dAA==", m.made), At: at,
		}
	}
	body, err := m.business.Callback(events...).Body()
	if err != nil {
		return nil, err
	}
	m.buffer = m.request(m.buffer[:0], host, body)
	return m.buffer, nil
}

// send sends batches for n customers, told by number from first on, one after
// another, and calls between after each. It returns how many callbacks were taken.
func (m *batchMaker) send(ctx context.Context, addr string, n int, customer func(i int) whatsapptest.Customer, between func(sent int) error) (took int64, err error) {
	line := &loadLine{addr: addr, hist: newHistogram()}
	defer line.close()
	customers := make([]whatsapptest.Customer, 0, batchMessages)
	for i := 0; i < n; i += len(customers) {
		customers = customers[:0]
		for j := i; j < min(i+batchMessages, n); j++ {
			customers = append(customers, customer(j))
		}
		request, err := m.of(addr, customers)
		if err != nil {
			return took, err
		}
		if line.call(ctx, request, time.Now()); line.ok != line.sent {
			return took, fmt.Errorf("callback %d of many messages was not taken", line.sent)
		}
		took++
		if err := between(i + len(customers)); err != nil {
			return took, err
		}
	}
	return took, ctx.Err()
}
