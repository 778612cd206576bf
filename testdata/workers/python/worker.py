"""A worker on a plain NATS client: it takes one event of a conversation at a time,
publishes one answer, waits until the broker has it, and acknowledges the event.

    pip install nats-py && NATS_PASSWORD=… APP=support python3 worker.py

The tests run the one in JavaScript beside it, not this one.
"""

import asyncio
import json
import os

import nats
from nats.errors import TimeoutError

URL = os.environ.get("NATS_URL", "nats://127.0.0.1:4222")
USER = os.environ.get("NATS_USER", "worker")
APP = os.environ.get("APP", "support")
CONCURRENCY = 16


async def handle(event):
    """What the bot does: the event in, the replies out. An exception is a failed try."""
    # With collect this is the last of several messages; those before it, in order:
    texts = [e.get("text", "") for e in [*event.get("collected", []), event]]
    return [{"text": "You wrote: " + "\n".join(texts)}]


async def turn(js, msg, ack_wait):
    clock = asyncio.get_running_loop().time
    sure = clock()  # the broker leaves us the event for ack_wait from here

    async def beat():
        nonlocal sure
        while True:
            await asyncio.sleep(ack_wait / 4)
            if clock() - sure < ack_wait:
                await msg.in_progress()
                sure = clock()

    beating = asyncio.create_task(beat())
    try:
        event = json.loads(msg.data)
        answer = {"event": event["delivery"], "verdict": "done", "replies": [], "build": "python",
                  "delivered": msg.metadata.num_delivered, "try": int((msg.headers or {}).get("Cw-Try", 0))}
        try:
            answer["replies"] = await handle(event)
        except Exception as e:
            answer.update(verdict="retry", error=type(e).__name__ + " in the handler")
        await js.publish(msg.subject.replace("cw.ready.", "cw.reply.", 1), json.dumps(answer).encode())
        # Later it would take the event from whoever has it now; the answer counts anyway.
        if clock() - sure < ack_wait * 3 / 4:
            await msg.ack()
    finally:
        beating.cancel()


async def loop(js):
    """Asks for an event only when it can start it at once."""
    while True:
        try:
            ack_wait = (await js.consumer_info("CW_READY_" + APP, APP)).config.ack_wait
            events = await js.pull_subscribe_bind(APP, "CW_READY_" + APP)
            while True:
                try:
                    msgs = await events.fetch(1, timeout=5)
                except TimeoutError:
                    continue
                await turn(js, msgs[0], ack_wait)
        except Exception:  # the gateway or the broker is away
            await asyncio.sleep(0.5)


async def main():
    nc = await nats.connect(URL, user=USER, password=os.environ.get("NATS_PASSWORD", ""), max_reconnect_attempts=-1,
                            inbox_prefix=b"_INBOX_" + USER.encode())  # the only place where the user may listen
    js = nc.jetstream()
    await asyncio.gather(*(loop(js) for _ in range(CONCURRENCY)))


asyncio.run(main())
