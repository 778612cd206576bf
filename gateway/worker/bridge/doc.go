// Package bridge lets an application be a URL: a worker on the SDK that posts every
// event to an HTTP endpoint and takes its answer from the response. It has no way of
// its own; broker, gate and ledger see a worker like any other.
//
// # What is posted
//
// A CloudEvent in structured mode (application/cloudevents+json), whose data is the
// event as published, signed after Standard Webhooks 1.0.0: webhook-id is the
// delivery, the same in every try; webhook-timestamp and webhook-signature are of this
// try. The headers Cw-Conv, Cw-Seq, Cw-Try and the others of an offer go along.
//
// # What is made of the response
//
//	200 and an answer       settles as the answer says (testdata/schema/answer.json; event may be left out)
//	200 empty, 204          done, nothing to say
//	200, not an answer      a failed try that names the field
//	202                     the answer comes by POST to replyurl with replytoken, or answer_by passes: a failed try
//	429; 503 + Retry-After  handed back, put off; no try
//	400, 4xx below not named     dead: the event cannot be handled
//	401 403 404 405 407 408 410 421 425   a failed try: they speak of the endpoint
//	3xx, 5xx, no answer     a failed try; after a timeout not before the timeout has passed once more
//	not reached             handed back, no try: name, connection or TLS failed and nothing was sent
//
// The design has every other 4xx dead. A workflow that is switched off or a key that
// was changed answers 404 or 401 to everything, and would make a dead letter of every
// event until somebody looks; as tries they are the circuit's and the breaker's.
//
// # The circuit
//
// One per application. It opens when the endpoint cannot be reached, or when the last
// ten calls over at least five conversations all failed. While it is open nothing is
// sent: what the worker has in hand waits, the rest stays in the broker. After 1 s,
// doubling to 30 s, one event probes; what fails meanwhile is handed back and spends no
// try (promise 4). The first sensible response closes it. It begins closed after a
// restart: the first call tells.
//
// # Answers of later
//
// replytoken opens the answer of one delivery and nothing else; it is a seal under the
// application's secret, so it needs no memory and outlives restarts, and replyurl is on
// the admin listener without being of any use to who has a token of it. The answer is
// in CW_REPLY before the bot is told so. After a restart the event is posted again
// under the same webhook-id; whichever answer comes first counts, and the others are
// late. An event that has been answered while no handler waited for it (its offer was
// still with the process that died) is posted once more when the broker hands it out
// again: bots remember webhook-id, as they have to anyway.
//
// If the process dies before the request is written, nothing happened. Between request
// and answer: the broker hands the offer out again after ack_wait, the same webhook-id
// is posted as delivery 2. After the answer is stored: as for every worker.
//
// Owner: cmd makes one Bridge per application and runs it; its methods are safe for
// concurrent use. Failure: Run ends only with its context. An operator sees it in
// State, in the dead letters' and tries' errors, and in bridge.circuit of the log. No
// body is ever logged or quoted.
package bridge
