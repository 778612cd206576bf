package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
	"github.com/causewayhq/causeway/gateway/worker/workertest"
)

// tell prints what a worker would publish.
func tell(a gateway.Answer) {
	fmt.Printf("%s, %d replies, after %d ms, %q\n", a.Verdict, len(a.Replies), a.AfterMS, a.Error)
}

// A whole bot. It logs a line for each event; on Ctrl-C it takes no more events,
// lets those that it works on end, and hands back the others without spending a try.
func Example() {
	w, err := worker.New(worker.Options{
		URL: "nats://127.0.0.1:4222", User: "worker", Password: os.Getenv("NATS_PASSWORD"), App: "support",
		Build: "v1.4.0", Log: slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	w.Use(worker.Log(slog.Default()))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err = w.Run(ctx, func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Text("You wrote: " + ev.Text), nil
	})
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// A bot is a function from an event to replies; it is tested without a broker.
func ExampleHandler() {
	echo := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Text("You wrote: " + ev.Text), nil
	}
	a := workertest.Ask(context.Background(), echo, workertest.Text("conv", 1, "hello"))
	fmt.Println(a.Verdict, a.Replies[0].Text)
	// Output: done You wrote: hello
}

// A model that takes its time: while the handler works the broker is told so, and
// the event stays with this worker. The context ends with the application's
// handler_max; what is returned after that is a failed try.
func ExampleHandler_slow() {
	ask := func(ctx context.Context, question string) (string, error) { // a language model
		select {
		case <-time.After(20 * time.Millisecond):
			return strings.ToUpper(question) + "!", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	bot := func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		answer, err := ask(ctx, ev.Text)
		if err != nil {
			return nil, err
		}
		return worker.Text(answer), nil
	}
	a := workertest.Ask(context.Background(), bot, workertest.Text("conv", 1, "why"))
	fmt.Println(a.Verdict, a.Replies[0].Text)

	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	tell(workertest.Ask(short, bot, workertest.Text("conv", 2, "why")))
	// Output:
	// done WHY!
	// retry, 0 replies, after 0 ms, "context deadline exceeded"
}

// An application with collect in its configuration gets what a customer writes in
// several messages as one delivery. The event is the last of them, so that a quote, a
// reaction or a typing indicator belongs to it; All and AllText have the others, too. The
// handler is the same for a delivery of one event. One answer is for all of them.
func ExampleHandler_collect() {
	bot := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		for _, one := range ev.All() {
			fmt.Println(one.Seq, one.Text)
		}
		return worker.Quote(ev.ID, worker.Text("You asked: "+strings.ReplaceAll(ev.AllText(), "\n", " / "))), nil
	}
	three := workertest.Bundle(workertest.Text("conv", 1, "hi"), workertest.Text("conv", 2, "I have a question"),
		workertest.Text("conv", 3, "about order 12"))
	a := workertest.Ask(context.Background(), bot, three)
	fmt.Println(a.Verdict, a.Event, a.Replies[0].Text)
	// Output:
	// 1 hi
	// 2 I have a question
	// 3 about order 12
	// done ev_conv-3.c1 You asked: hi / I have a question / about order 12
}

// An answer in several parts. They leave one after another and in this order, and
// if one is refused the later ones are cancelled. This one has texts, a picture,
// a menu and a reaction.
func ExampleJoin() {
	bot := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Join(
			worker.React(ev.ID, "👍"),
			worker.Text("Here they are.", "There is one pair left:"),
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
	// {"type":"text","text":"Here they are."}
	// {"type":"text","text":"There is one pair left:"}
	// {"type":"image","text":"Our shoes","quote":"wamid.conv-1","file":{"url":"https://shop.example/shoes.jpg"}}
	// {"type":"list","text":"Which size?","list":{"button":"Sizes","sections":[{"rows":[{"id":"41","title":"41","description":"the last pair"},{"id":"42","title":"42"}]}]}}
	// {"type":"buttons","text":"Do you like them?","buttons":[{"id":"yes","title":"Yes"},{"id":"no","title":"No"}]}
}

// What no further try would mend is given up: a dead letter, which an operator
// can look at and requeue. The conversation goes on with its next event.
func ExampleDead() {
	bot := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if !strings.HasPrefix(ev.Text, "order ") {
			return nil, worker.Dead(errors.New("not an order"))
		}
		return worker.Text("Thank you."), nil
	}
	tell(workertest.Ask(context.Background(), bot, workertest.Text("conv", 1, "hello")))
	// Output: dead, 0 replies, after 0 ms, "not an order"
}

// What will work later is asked for later; it comes again before any later event
// of the conversation. Retry spends a try, Handback does not.
func ExampleRetry() {
	stock, busy := errors.New("stock is away"), true
	bot := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		switch {
		case ev.Text == "stock?":
			return nil, worker.Retry(stock, 5*time.Second)
		case busy: // this worker is full; another one, or later
			return nil, worker.Handback(time.Second)
		}
		return nil, stock // any other error is a failed try, after the application's own delays
	}
	tell(workertest.Ask(context.Background(), bot, workertest.Text("conv", 1, "stock?")))
	tell(workertest.Ask(context.Background(), bot, workertest.Text("conv", 2, "hello")))
	busy = false
	tell(workertest.Ask(context.Background(), bot, workertest.Text("conv", 2, "hello")))
	// Output:
	// retry, 0 replies, after 5000 ms, "stock is away"
	// handback, 0 replies, after 1000 ms, ""
	// retry, 0 replies, after 0 ms, "stock is away"
}

// Nothing to say is an answer too: no replies and no error. The event is settled.
func ExampleHandler_ignores() {
	bot := func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		if ev.Type != "text" {
			return nil, nil
		}
		return worker.Text("You wrote: " + ev.Text), nil
	}
	sticker := workertest.Text("conv", 1, "")
	sticker.Type = "sticker"
	tell(workertest.Ask(context.Background(), bot, sticker))
	// Output: done, 0 replies, after 0 ms, ""
}

// Middleware is a function from a handler to a handler; this one keeps the bot
// silent at night.
func ExampleChain() {
	var hour int
	awake := func(next worker.Handler) worker.Handler {
		return func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
			if hour < 8 {
				return worker.Text("We are back at eight."), nil
			}
			return next(ctx, ev)
		}
	}
	quiet := slog.New(slog.DiscardHandler)
	bot := worker.Chain(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		return worker.Text("You wrote: " + ev.Text), nil
	}, worker.Log(quiet), awake)
	for _, hour = range []int{3, 11} {
		fmt.Println(workertest.Ask(context.Background(), bot, workertest.Text("conv", 1, "hello")).Replies[0].Text)
	}
	// Output:
	// We are back at eight.
	// You wrote: hello
}
