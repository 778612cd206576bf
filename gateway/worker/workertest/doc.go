// Package workertest is for the tests of bots: Run hands a handler events the way
// a worker does and returns its answers, Start gives a real broker with the
// application's gate in the test's process, without a gateway.
//
//	func TestBot(t *testing.T) {
//		answers := workertest.Run(t, bot, workertest.Text("conv", 1, "hello"), workertest.Text("conv", 2, "price"))
//		…
//	}
//
// Real conversations become test cases by
//
//	causeway archive export --conv CONV > testdata/conversation.jsonl
//
// and workertest.Events. Such a file holds what customers wrote.
//
// Promise: what a handler does here it does behind a gateway, too; nothing is
// left running when the test ends. Owner: the test. Failure: a broker that does
// not start fails the test.
package workertest
