// A worker on a plain NATS client: it takes one event of a conversation at a time,
// publishes one answer, waits until the broker has it, and acknowledges the event.
//
//   npm ci && NATS_PASSWORD=… APP=support node worker.js
import { connect } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";

const { NATS_URL = "nats://127.0.0.1:4222", NATS_USER = "worker", NATS_PASSWORD = "", APP = "support" } = process.env;
const CONCURRENCY = Number(process.env.CONCURRENCY ?? 16);

// What the bot does: the event in, the replies out. An exception is a failed try.
async function handle(event) {
  // With collect this is the last of several messages; those before it, in order:
  const text = [...(event.collected ?? []), event].map((e) => e.text ?? "").join("\n");
  if (process.env.TAKES_MS) { // the test asks for time, and for a line at both ends
    say("begin", event);
    await sleep(Number(process.env.TAKES_MS));
    say("end", event);
    if (text.startsWith("fail at ")) throw new Error("as told");
    return [{ text }];
  }
  return [{ text: "You wrote: " + text }];
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (what, event) =>
  process.stdout.write(`${what} ${event.conv} ${event.seq} ${Math.round((performance.timeOrigin + performance.now()) * 1000)}\n`);

// The inbox is the only place where the user may listen.
const nc = await connect({
  servers: NATS_URL.split(","), user: NATS_USER, pass: NATS_PASSWORD, inboxPrefix: `_INBOX_${NATS_USER}`,
  maxReconnectAttempts: -1, waitOnFirstConnect: true,
});
const js = jetstream(nc);

let ackWait = 30_000; // milliseconds; the consumer's own is read below

// A process that was frozen finds that it last ran long ago, and doubts what it
// finds in its buffers: the broker gave that to another worker meanwhile.
let alive = Date.now(), doubt = 0;
const late = () => Date.now() - alive > ackWait / 4;
setInterval(() => { if (late()) doubt = Date.now() + 200; alive = Date.now(); }, 50);

// A connection that broke may have taken acknowledgements with it; they must not
// come later, on the next one.
let connection = 0;
(async () => { for await (const s of nc.status()) if (s.type === "disconnect") connection++; })();

async function turn(msg) {
  if (late() || Date.now() < doubt) return; // nothing is started; it comes again
  const mine = connection;
  let sure = Date.now(); // the broker leaves us the event for ack_wait from here
  const beat = setInterval(() => {
    if (Date.now() - sure < ackWait) { msg.working(); sure = Date.now(); }
  }, ackWait / 4);
  try {
    const event = msg.json();
    const answer = { event: event.delivery, verdict: "done", replies: [], build: "js", delivered: msg.info.deliveryCount, try: Number(msg.headers?.get("Cw-Try") ?? 0) };
    try {
      answer.replies = await handle(event);
    } catch (e) {
      Object.assign(answer, { verdict: "retry", error: `${e.name} in the handler` });
    }
    // Again until the broker has it: the first answer counts, a second one does no harm.
    const to = msg.subject.replace("cw.ready.", "cw.reply.");
    for (let tries = 0; ; tries++) {
      try { await js.publish(to, JSON.stringify(answer)); break; } catch (e) { if (tries === 10) throw e; await sleep(500); }
    }
    // An acknowledgement that comes too late would take the event from whoever has
    // it now, and let the next one of the conversation pass. The answer counts anyway.
    if (connection === mine && Date.now() - sure < ackWait * 3 / 4) msg.ack();
  } finally {
    clearInterval(beat);
  }
}

// Each loop asks for an event only when it can start it at once.
async function loop() {
  for (;;) {
    try {
      const consumer = await js.consumers.get(`CW_READY_${APP}`, APP);
      ackWait = (await consumer.info()).config.ack_wait / 1e6;
      if (process.env.TAKES_MS) process.stdout.write("ready\n");
      for (;;) {
        const msg = await consumer.next({ expires: 5_000 });
        if (msg) await turn(msg);
      }
    } catch { // the gateway or the broker is away
      await sleep(500);
    }
  }
}
for (let i = 0; i < CONCURRENCY; i++) loop();
