// Package worker is the Go SDK for chatbots: it takes one event of a
// conversation at a time and answers it.
//
//	w, err := worker.New(worker.Options{
//		URL: "nats://127.0.0.1:4222", User: "support", Password: os.Getenv("NATS_PASSWORD"),
//		App: "support",
//	})
//	if err != nil {
//		return err
//	}
//	return w.Run(ctx, func(ctx context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
//		return worker.Text("You wrote: " + ev.Text), nil
//	})
//
// Every kind of reply has a constructor, and all of them make lists that Join
// puts together:
//
//	return worker.Join(
//		worker.Typing(ev.ID),
//		worker.Text("Here it is."),
//		worker.Image(worker.URL("https://shop.example/shoes.jpg"), "Our shoes"),
//		worker.Buttons("Do you like them?", worker.Button("yes", "Yes"), worker.Button("no", "No")),
//	), nil
//
// What a platform cannot send is refused by its client, as a dead letter for the
// operator; what no platform could send is a failed try that says which field is
// wrong.
//
// A new customer of WeCom can be greeted for 20 seconds: such an event (kind state,
// in account chats) has a Handle of kind welcome, its handler's context ends with
// the code, and the greeting is
//
//	return worker.Welcome(ev.Handle, "Hello!", worker.AttachPage(page)), nil
//
// It is tried once. Too late is a dead letter "too_late".
//
// Who looks after the customer now is asked for when it is needed, by Current: a
// hand-over can come before or after the customer's next message.
//
// An application with collect in the gateway's configuration gets what somebody writes
// in several messages as one event, the last one; All and AllText of the event have the
// others, and one answer is for all of them.
//
// Replies nil and error nil is an answer too: handled, nothing to say. An error
// is a failed try: the event comes again after the application's delay and
// before any later event of its conversation. Retry, Dead and Handback are errors
// that say more. A panic is a failed try that names the place and never the value.
//
// Promise: events of one conversation come one at a time and in order, over all
// workers of the application; every event gets exactly one answer, which is
// stored by the broker before the event is acknowledged; nothing is fetched that
// cannot start at once; while a handler works the broker is told so; what a
// frozen process held is dropped instead of started late. A handler may run
// twice for one event after a crash or a freeze; the first answer counts, and
// Delivery.ID is the key by which a handler can make its own effects happen once.
//
// Middleware goes around the handler with Use: Log writes a line for each event by
// log/slog, Observe tells the bot's metrics, Trace goes on with the gateway's trace
// (W3C traceparent). A bot that links this package links the NATS client and no
// server, web framework, database or metrics library.
//
// Owner: New gives a Worker, Run does everything until its context ends: it then
// takes no more events, hands back what was not started, and waits Grace for
// handlers. Any number of workers, processes and machines share an application.
//
// Failure: a lost broker, a missing application or a wiped stream is waited for
// and logged once; only wrong credentials and wrong options end Run with an
// error. Errors of handlers are sent to the gateway for the operator, cut to 500
// characters, and not logged.
package worker
