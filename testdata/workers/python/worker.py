"""A worker on a plain NATS client: it takes one event of a conversation at a time,
publishes one answer, waits until the broker has it, and acknowledges the event.

    pip install nats-py && NATS_PASSWORD=… APP=support python3 worker.py
"""

import asyncio
import json
import os
import sys
import time

import nats
from nats.errors import TimeoutError

URL = os.environ.get("NATS_URL", "nats://127.0.0.1:4222")
USER = os.environ.get("NATS_USER", "worker")
APP = os.environ.get("APP", "support")
CONCURRENCY = int(os.environ.get("CONCURRENCY", "16"))
TAKES_MS = os.environ.get("TAKES_MS")


async def handle(event):
    """What the bot does: the event in, the replies out. An exception is a failed try."""
    # With collect this is the last of several messages; those before it, in order:
    text = "\n".join(e.get("text", "") for e in [*event.get("collected", []), event])
    if TAKES_MS:  # the test asks for time, and for a line at both ends
        say("begin", event)
        await asyncio.sleep(int(TAKES_MS) / 1000)
        say("end", event)
        if text.startswith("fail at "):
            raise ValueError("as told")
        return [{"text": text}]
    return [{"text": "You wrote: " + text}]


def say(what, event):
    print(what, event["conv"], event["seq"], time.time_ns() // 1000, flush=True)


class State:
    ack_wait = 30.0  # seconds; the consumer's own is read below
    # A process that was frozen finds that it last ran long ago, and doubts what it
    # finds in its buffers: the broker gave that to another worker meanwhile.
    alive, doubt = time.monotonic(), 0.0
    # A connection that broke may have taken acknowledgements with it; they must not
    # come later, on the next one.
    connection = 0


def late():
    return time.monotonic() - State.alive > State.ack_wait / 4


async def pulse():
    while True:
        if late():
            State.doubt = time.monotonic() + 0.2
        State.alive = time.monotonic()
        await asyncio.sleep(0.05)


async def disconnected():
    State.connection += 1


async def turn(js, msg):
    if late() or time.monotonic() < State.doubt:
        return  # nothing is started; it comes again
    mine = State.connection
    sure = time.monotonic()  # the broker leaves us the event for ack_wait from here

    async def beat():
        nonlocal sure
        while True:
            await asyncio.sleep(State.ack_wait / 4)
            if time.monotonic() - sure < State.ack_wait:
                await msg.in_progress()
                sure = time.monotonic()

    beating = asyncio.create_task(beat())
    try:
        event = json.loads(msg.data)
        answer = {"event": event["delivery"], "verdict": "done", "replies": [], "build": "python",
                  "delivered": msg.metadata.num_delivered, "try": int((msg.headers or {}).get("Cw-Try", 0))}
        try:
            answer["replies"] = await handle(event)
        except Exception as e:
            answer.update(verdict="retry", error=type(e).__name__ + " in the handler")
        # Again until the broker has it: the first answer counts, a second one does no harm.
        to = msg.subject.replace("cw.ready.", "cw.reply.", 1)
        for tries in range(11):
            try:
                await js.publish(to, json.dumps(answer).encode())
                break
            except Exception:
                if tries == 10:
                    raise
                await asyncio.sleep(0.5)
        # An acknowledgement that comes too late would take the event from whoever has
        # it now, and let the next one of the conversation pass. The answer counts anyway.
        if State.connection == mine and time.monotonic() - sure < State.ack_wait * 3 / 4:
            await msg.ack()
    finally:
        beating.cancel()


async def loop(js):
    """Asks for an event only when it can start it at once."""
    while True:
        try:
            State.ack_wait = (await js.consumer_info("CW_READY_" + APP, APP)).config.ack_wait
            events = await js.pull_subscribe_bind(APP, "CW_READY_" + APP)
            if TAKES_MS:
                print("ready", flush=True)
            while True:
                try:
                    msgs = await events.fetch(1, timeout=5)
                except TimeoutError:
                    continue
                await turn(js, msgs[0])
        except Exception:  # the gateway or the broker is away
            await asyncio.sleep(0.5)


async def quiet(_):
    """The client's own errors: it connects again by itself."""


async def main():
    nc = await nats.connect(URL.split(","), user=USER, password=os.environ.get("NATS_PASSWORD", ""), max_reconnect_attempts=-1,
                            disconnected_cb=disconnected, error_cb=quiet,
                            inbox_prefix=b"_INBOX_" + USER.encode())  # the only place where the user may listen
    js = nc.jetstream()
    await asyncio.gather(pulse(), *(loop(js) for _ in range(CONCURRENCY)))


try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(0)
