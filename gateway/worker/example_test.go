package worker_test

import (
	"context"
	"encoding/json"
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

// A bot that answers with a picture, a menu and a reaction.
func ExampleJoin() {
	bot := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Join(
			worker.React(ev.ID, "👍"),
			worker.Quote(ev.ID, worker.Image(worker.URL("https://shop.example/shoes.jpg"), "Our shoes")),
			worker.List("Which size?", "Sizes", worker.Section("", worker.Row("41", "41", "the last pair"), worker.Row("42", "42", ""))),
			worker.Buttons("Do you like them?", worker.Button("yes", "Yes"), worker.Button("no", "No")),
		), nil
	}
	a := workertest.Ask(context.Background(), bot, workertest.Text("conv", 1, "shoes?"))
	fmt.Println(a.Verdict)
	for _, r := range a.Replies {
		b, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(b))
	}
	// Output:
	// done
	// {"type":"reaction","quote":"wamid.conv-1","emoji":"👍"}
	// {"type":"image","text":"Our shoes","quote":"wamid.conv-1","file":{"url":"https://shop.example/shoes.jpg"}}
	// {"type":"list","text":"Which size?","list":{"button":"Sizes","sections":[{"rows":[{"id":"41","title":"41","description":"the last pair"},{"id":"42","title":"42"}]}]}}
	// {"type":"buttons","text":"Do you like them?","buttons":[{"id":"yes","title":"Yes"},{"id":"no","title":"No"}]}
}
