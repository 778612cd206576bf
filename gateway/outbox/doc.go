// Package outbox takes the workers' answers and sends their replies, one message
// of a conversation at a time.
//
// Promise: an answer settles its event and puts its replies into the outbox in
// one transaction, together with the intake's position, so it counts once. The next
// event of the conversation does not wait until that is on disk: a reply leaves only
// after its attempt, whose fsync takes the answer along, and answers are purged from
// the stream only when Sync says that they are on disk too (store/sqlite has the
// argument). An attempt is on disk before the call is made. A call that may have reached the
// platform is never made again: it becomes unknown, and a status that carries our
// marker, or a person, settles it. The next message of a conversation leaves only
// when the one before has an outcome, or its wait for evidence is over.
//
// A message leaves not before it is due and not after it expires: it waits for its
// time in the ledger and costs nothing meanwhile, and no byte of a call is written
// past its end. What is not due holds up nothing; order is by the time due. One with a
// send window is due when that opens: what did not leave before it closed is put off to
// the next opening, with the parts behind it. An operator's change of the time, a hold
// or a cancellation wins until the attempt is stored, which looks at both again.
//
// Between two calls of a conversation there is one commit: it stores the outcome of a
// message, shows the next one, and stores its attempt (ahead.go). A conversation goes on
// like this while nobody waits for a place.
//
// When more conversations are ready than can be served, the accounts take turns, and
// of an account the conversation with the best priority goes first; one place in ten goes
// to who has waited longest, so that none waits for ever (line). A conversation stands by
// the best of its messages that are due, looked up when it comes to stand and when it is
// woken there, and leaves the line when it has nothing to send. While there is room for
// all nobody is ranked, so that the order costs nothing.
//
// Messages of a conversation that became part of another one leave before those of
// that one. Each of them ends in bounded time: it is taken, refused, given up as
// unknown, or expires. Held replies of a replay hold nobody.
//
// A colleague who writes to the customer by hand takes the conversation for a time
// (gateway.Takeover): the Judge says that an echo is a colleague's and the ledger, in
// the same transaction, holds what waits. Two orders are possible, and what is true in
// each is in the tests:
//
//   - The echo comes while a reply is being sent. It may be that reply's, so it is
//     judged when the attempt ends, which takes less than its deadline of 30 s (10 s
//     would take an echo before a slow answer for a colleague's). That reply ends as it
//     ends, and no other one begins before: BeginAttempt refuses beside an echo that is
//     not judged.
//   - The echo comes after a reply left, or the next one left before the echo came: the
//     platform tells us late, so one answer may stand behind the colleague's words. It
//     is in the conversation's history, and what follows is held.
//
// The ledger is the only place where a takeover is kept; the Sender does not ask for it.
// It ends by its time, by a person or with the session of customer service, and the
// Judge then lets go. Held replies are dropped unless the account says otherwise, since
// they answer what a colleague has answered; requested messages always leave then. A
// person who releases or requeues a message lets it pass. If we die anywhere in between,
// the rows say what is held, and the Judge goes on at the next start.
//
// What a platform certainly refuses because the customer wrote too long ago is refused
// before the call (gateway.CustomerWindow). Nothing is refused that is not certain: a
// conversation of which no message is known, and the minutes around the end, are the
// platform's to decide.
//
// Which failures may be tried again (case 24): only those in which no byte of the
// request was written, and answers in which the platform says that it did not
// take the message. Everything else, a 500 without a known code included, is
// unknown.
//
// What settles an unknown message, and how long its conversation waits for that:
//
//	WhatsApp          60 s  a status that carries our marker (the message's id), or the id that
//	                        another piece of evidence gave it: sent, delivered, read, failed
//	customer service  60 s  msg_send_fail with the msgid that we set: taken, and failed; silence
//	                        says nothing. A hand-over of a session: WeCom is asked where it stands
//	vendors (unified) 60 s  the message coming back with our marker, or a status, as the vendor has it
//	WeCom apps,        5 s  nothing ever
//	robots, groups
//	all                     a person: causeway messages resolve
//
// Evidence is taken for as long as the row is there, also after the wait, and for a message
// that is to be sent again. After the wait the account's rule says what happens
// (gateway.OnUnknown): the next task leaves and later parts of its own are cancelled; or
// the conversation is held for a time that ends; or there is one more call, and never a
// third.
//
// Pace: an account's messages leave at the platform's pace, and a conversation's at
// its own; see pace. What customers write takes its part of the pace of a platform that
// counts both together. What waits for it spends no try and has no attempt. An account
// that is refused as a whole, for its credentials, a policy or a row of failures, is
// stopped: only probes leave, one at a time, until one is taken; see health. That, and how
// far a platform has slowed an account, is
// kept, so that a restart does not begin with a burst of refusals; what is spent of a
// pace is found again in the attempts, so that it does not begin with a burst either.
//
// A message whose tries are spent, or that could not leave in all its time, is a dead
// letter. How often it is tried is the configuration's, unless the platform's table
// knows better (gateway.Outcome.Tries); what a platform says about pace is no try.
// An account's own configuration calls this retry, since its send describes a
// vendor's calls.
//
// Marking a message read is no message (gateway.ReplyType.Harmless): it has no
// receipt and repeating it does no harm. Its call is short, an unknown outcome is
// tried once more and then expires; whatever becomes of it, the parts behind it
// leave. What stops the whole account stops it too.
//
// Owner: one Intake, one Sender and one Judge on the leader; goroutines start in
// their Run. Failure: with the ledger down nothing is taken and nothing sent;
// with the broker down sending goes on from the ledger. If the process dies
// before the attempt is stored, the message waits; after it, the attempt is found
// open and judged unknown not before VoidAfter + 5 s.
package outbox
