#!/usr/bin/env python3
"""A scripted stand-in for a remote model. It speaks the providers' protocols; the last words of the user are its script.

    model.py PORT LOGDIR

prints `ready PORT` when it listens (0 picks a port) and writes every request's body to LOGDIR/NNN-<path>.json.

The last text of the user that holds one of these decides the answer:

    run: COMMAND      a call of the tool that runs commands; after its result, the text `done`
    say: WORDS        the text WORDS
    slowly            text in pieces, without an end
    limited           HTTP 429
    anything else     the text `hello from the model`

A request for a summary is answered with `<summary>` tags. Each provider is one class below; `PATHS` leads to it.
"""
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

count = 0
lock = threading.Lock()


def next_number():
    global count
    with lock:
        count += 1
        return count


def script(text):
    """What the last words of the user ask for: (kind, argument)."""
    if "<summary>" in text or "summary of the conversation" in text:
        return "say", "<summary>The user asked for some things. They were done.</summary>"
    for kind in ("run", "say"):
        found = re.findall(rf"^{kind}: (.+)$", text, re.M)
        if found:
            return kind, found[-1].strip()
    if re.search(r"\bslowly\b", text):
        return "slowly", ""
    if re.search(r"\blimited\b", text):
        return "limited", ""
    return "say", "hello from the model"


class Anthropic:
    """Anthropic Messages: `POST /v1/messages`, streamed or not, and `count_tokens`."""

    @staticmethod
    def answer(handler, path, body):
        if path.endswith("/count_tokens"):
            return handler.json({"input_tokens": len(json.dumps(body)) // 4})
        kind, argument = Anthropic.wanted(body)
        number = next_number()
        if kind == "limited":
            error = {"type": "rate_limit_error", "message": "This request would exceed your rate limit."}
            return handler.json({"type": "error", "error": error}, 429)
        usage = {"input_tokens": max(len(json.dumps(body)) // 4, 1), "output_tokens": 1,
                 "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model", "?"),
                   "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        if kind == "run":
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {}}
            call = {"command": argument, "description": "runs it"}
            deltas, stop = [{"type": "input_json_delta", "partial_json": json.dumps(call)}], "tool_use"
        else:
            words = argument if kind == "say" else "word "
            block, stop = {"type": "text", "text": ""}, "end_turn"
            deltas = [{"type": "text_delta", "text": words}]
        if not body.get("stream"):
            whole = {**block, "input": call} if kind == "run" else {**block, "text": argument}
            return handler.json({**message, "content": [whole], "stop_reason": stop})
        handler.start_stream()
        handler.event("message_start", {"type": "message_start", "message": message})
        handler.event("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block})
        while True:
            for delta in deltas:
                handler.event("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta})
            if kind != "slowly":
                break
            time.sleep(0.2)
        handler.event("content_block_stop", {"type": "content_block_stop", "index": 0})
        handler.event("message_delta", {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                                        "usage": {"output_tokens": 9}})
        handler.event("message_stop", {"type": "message_stop"})

    @staticmethod
    def wanted(body):
        """The script of the last user message that the user wrote; a tool's result ends it."""
        for message in reversed(body.get("messages", [])):
            if message.get("role") != "user":
                continue
            content = message.get("content")
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
            if any(block.get("type") == "tool_result" for block in blocks):
                return "say", "done"
            text = "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
            return script(text)
        return "say", "hello from the model"


# One entry a provider: a pattern of its paths, and what answers there.
PATHS = [(re.compile(r"/v1/messages"), Anthropic)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_folder = None

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        with lock:
            Handler.requests = getattr(Handler, "requests", 0) + 1
            name = f"{self.log_folder}/{Handler.requests:03}-{path.strip('/').replace('/', '_')}.json"
        with open(name, "wb") as log:
            log.write(raw)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return self.json({"type": "error", "error": {"type": "invalid_request_error", "message": "no JSON"}}, 400)
        for pattern, provider in PATHS:
            if pattern.search(path):
                try:
                    return provider.answer(self, path, body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                    return None
        return self.json({}, 404)

    def do_GET(self):
        self.json({}, 404)

    do_HEAD = do_GET

    def json(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def start_stream(self):
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

    def event(self, name, value):
        self.wfile.write(f"event: {name}\ndata: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        # An agent that ends drops its connections.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    port, Handler.log_folder = int(sys.argv[1]), sys.argv[2]
    server = Server(("127.0.0.1", port), Handler)
    print(f"ready {server.server_address[1]}", flush=True)
    server.serve_forever()


main()
