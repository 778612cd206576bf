// Package workertest is for the tests of bots: Ask runs a handler on one event
// the way a worker does, Start gives a real broker with the application's gate
// in the test's process, without a gateway.
//
// Promise: what a handler does here it does behind a gateway, too; nothing is
// left running when the test ends. Owner: the test. Failure: a broker that does
// not start fails the test.
package workertest
