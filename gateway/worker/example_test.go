package worker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

// A bot is a function from an event to replies; it is tested without a broker.
func Example() {
	bot := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		switch ev.Text {
		case "":
			return nil, nil // handled, nothing to say
		case "price":
			return nil, worker.Retry(errors.New("price list is away"), 5*time.Second)
		}
		return worker.Text("You wrote: "+ev.Text, "Anything else?"), nil
	}
	for _, text := range []string{"hello", "", "price"} {
		a := workertest.Ask(context.Background(), bot, workertest.Text("conv", 1, text))
		fmt.Printf("%s, %d replies, after %d ms, %q\n", a.Verdict, len(a.Replies), a.AfterMS, a.Error)
	}
	// Output:
	// done, 2 replies, after 0 ms, ""
	// done, 0 replies, after 0 ms, ""
	// retry, 0 replies, after 5000 ms, "price list is away"
}
