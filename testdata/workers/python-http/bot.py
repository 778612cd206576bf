"""A bot behind a URL, with nothing but Python's standard library.

    BOT_SECRET=whsec_... python3 bot.py 127.0.0.1:9000

The application in causeway.yaml:

    applications:
      - {name: faq, url: "http://127.0.0.1:9000/", secret: "${env:BOT_SECRET}"}

It repeats what it is told. A message "later" is answered by the other way: 202 at
once, and the answer by POST when it is ready.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE = 5 * 60  # seconds between our clock and the gateway's


def signed(headers, body, secret):
    """Says whether the gateway signed these bytes (Standard Webhooks 1.0.0)."""
    ident, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not stamp.isdigit() or abs(time.time() - int(stamp)) > TOLERANCE:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"{ident}.{stamp}.".encode() + body, hashlib.sha256).digest()
    wanted = "v1," + base64.b64encode(mac).decode()
    return any(hmac.compare_digest(wanted, one) for one in headers.get("webhook-signature", "").split())


def answer(event):
    """The answer to one event: replies, or an error to be tried again."""
    # With collect this is the last of several messages; those before it, in order:
    texts = [e.get("text", "") for e in [*event.get("collected", []), event]]
    return {"verdict": "done", "replies": [{"text": "You wrote: " + "\n".join(texts)}]}


def answer_later(url, token, body):
    """Posts an answer until the gateway has stored it. Posting twice does no harm."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Authorization": "Bearer " + token})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=10):
                return
        except urllib.error.HTTPError as e:
            if e.code < 500:
                print("the answer was refused:", e.read().decode(), file=sys.stderr)
                return
        except OSError:
            pass  # the gateway restarts
        time.sleep(1)


class Bot(BaseHTTPRequestHandler):
    secret = os.environ.get("BOT_SECRET", "")
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not signed(self.headers, body, self.secret):
            return self.respond(401)
        message = json.loads(body)
        event = message["data"]  # webhook-id is the same in every try: the key to do things once
        if event.get("text") != "later":
            return self.respond(200, answer(event))
        self.respond(202)
        threading.Thread(target=answer_later, args=(message["replyurl"], message["replytoken"], answer(event))).start()

    def respond(self, status, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Requests hold what customers write; nothing is logged."""


if __name__ == "__main__":
    host, _, port = (sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9000").rpartition(":")
    if not Bot.secret.startswith("whsec_"):
        sys.exit("BOT_SECRET must be the application's secret, whsec_...")
    ThreadingHTTPServer((host, int(port)), Bot).serve_forever()
