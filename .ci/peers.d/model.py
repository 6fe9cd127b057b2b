#!/usr/bin/env python3
"""A scripted stand-in for a remote model. It speaks the providers' protocols; the last words of the user are its script.

    model.py PORT LOGDIR

prints `ready PORT` when it listens (0 picks a port) and writes every request's body to LOGDIR/NNN-<path>.json.

The last text of the user that holds one of these decides the answer:

    run: COMMAND      a call of the tool that runs commands; after its result, the text `done`. Several commands, with
                      ` ;; ` between them, are called at once (Anthropic Messages and OpenAI Responses)
    say: WORDS        the text WORDS
    slowly            text in pieces, without an end
    limited           HTTP 429
    anything else     the text `hello from the model`

With MODEL_LIMIT in the environment a request of more tokens (a quarter of its bytes) is refused as too long, in each
provider's words.

A line `think: WORDS` beside it lets the answer begin with a signed thinking block (Anthropic Messages). A request for a
summary is answered with `<summary>` tags. Where there are several of these the last one counts: a resumed session repeats
what was asked for earlier. Each provider is one class below; `PATHS` leads to it.
"""
import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

count = 0
lock = threading.Lock()


# The window of the model, in quarters of a request's bytes; 0 for none. Beyond it a request is refused as each provider does.
LIMIT = int(os.environ.get("MODEL_LIMIT", "0"))


def too_long(body):
    tokens = len(json.dumps(body)) // 4
    return tokens if 0 < LIMIT < tokens else 0


def next_number():
    global count
    with lock:
        count += 1
        return count


def script(text):
    """What the last words of the user ask for: (kind, argument)."""
    found = re.findall(r"^(run|say): (.+)$|(<summary>|summary of the conversation)", text, re.M)
    if found:
        kind, argument, summary = found[-1]
        if summary:
            return "say", "<summary>The user asked for some things. They were done.</summary>"
        return kind, argument.strip()
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
        if too_long(body):
            message = f"prompt is too long: {too_long(body)} tokens > {LIMIT} maximum"
            error = {"type": "invalid_request_error", "message": message}
            return handler.json({"type": "error", "error": error}, 400)
        kind, argument, thought = Anthropic.wanted(body)
        number = next_number()
        if kind == "limited":
            error = {"type": "rate_limit_error", "message": "This request would exceed your rate limit."}
            return handler.json({"type": "error", "error": error}, 429)
        usage = {"input_tokens": max(len(json.dumps(body)) // 4, 1), "output_tokens": 1,
                 "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model", "?"),
                   "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        blocks, stop = Anthropic.blocks(kind, argument, thought, number), "tool_use" if kind == "run" else "end_turn"
        if not body.get("stream"):
            return handler.json({**message, "content": [{**start, **full} for start, full, _ in blocks], "stop_reason": stop})
        handler.start_stream()
        handler.event("message_start", {"type": "message_start", "message": message})
        for index, (start, _, deltas) in enumerate(blocks):
            at = {"index": index}
            handler.event("content_block_start", {"type": "content_block_start", **at, "content_block": start})
            while True:
                for delta in deltas:
                    handler.event("content_block_delta", {"type": "content_block_delta", **at, "delta": delta})
                if kind != "slowly":
                    break
                time.sleep(0.2)
            handler.event("content_block_stop", {"type": "content_block_stop", **at})
        handler.event("message_delta", {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                                        "usage": {"output_tokens": 9}})
        handler.event("message_stop", {"type": "message_stop"})

    @staticmethod
    def blocks(kind, argument, thought, number):
        """The answer's blocks, each as (how it starts, what it adds up to, the pieces in between)."""
        blocks = []
        if thought:
            full = {"thinking": thought, "signature": f"c2lnbmF0dXJl{number:04}"}
            deltas = [{"type": "thinking_delta", "thinking": thought},
                      {"type": "signature_delta", "signature": full["signature"]}]
            blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, full, deltas))
        if kind == "run":
            for at, command in enumerate(argument.split(" ;; ")):
                identity = f"toolu_{number}" + (f"_{at}" if at else "")
                call = {"command": command, "description": "runs it"}
                start = {"type": "tool_use", "id": identity, "name": "Bash", "input": {}}
                blocks.append((start, {"input": call}, [{"type": "input_json_delta", "partial_json": json.dumps(call)}]))
        else:
            words = argument if kind == "say" else "word "
            blocks.append(({"type": "text", "text": ""}, {"text": words}, [{"type": "text_delta", "text": words}]))
        return blocks

    @staticmethod
    def wanted(body):
        """The script of the last user message that the user wrote, and what is thought; a tool's result ends it."""
        for message in reversed(body.get("messages", [])):
            if message.get("role") != "user":
                continue
            content = message.get("content")
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
            text = "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
            # After results that the user said something to, it is the user's turn.
            results = [at for at, block in enumerate(blocks) if block.get("type") == "tool_result"]
            if results:
                text = "\n".join(block.get("text", "") for block in blocks[results[-1] + 1:])
                if not re.search(r"^(run|say): ", text, re.M):
                    return "say", "done", ""
            thoughts = re.findall(r"^think: (.+)$", text, re.M)
            return *script(text), thoughts[-1] if thoughts else ""
        return "say", "hello from the model", ""


def texts(content):
    """The text of a message's content, in any of the protocols."""
    parts = [{"text": content}] if isinstance(content, str) else content or []
    return "\n".join(part.get("text") or "" for part in parts if isinstance(part, dict))


def shell_call(tools, command):
    """The name of the offered tool that runs commands, and its arguments."""
    for name in sorted(tools):
        if name in ("exec_command", "shell_command", "shell", "bash", "run_shell_command"):
            field = {"exec_command": "cmd"}.get(name, "command")
            words = ["bash", "-lc", command] if name == "shell" else command
            extra = {"description": "runs it"} if name in ("bash", "run_shell_command") else {}
            return name, {field: words, **extra}
    return None


class Responses:
    """OpenAI Responses: `POST /v1/responses`, streamed or not."""

    @staticmethod
    def answer(handler, path, body):
        if too_long(body):
            message = "Your input exceeds the context window of this model. Please adjust your input and try again."
            error = {"message": message, "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded"}
            return handler.json({"error": error}, 400)
        kind, argument = Responses.wanted(body)
        number = next_number()
        if kind == "limited":
            error = {"message": "Rate limit reached for requests", "type": "requests", "param": None,
                     "code": "rate_limit_exceeded"}
            return handler.json({"error": error}, 429)
        names = [tool.get("name") or "" for tool in body.get("tools", [])]
        commands = argument.split(" ;; ") if kind == "run" else []
        calls = [call for call in (shell_call(names, command) for command in commands) if call]
        items = [{"id": f"fc_{number}_{at}", "type": "function_call", "status": "completed", "name": name,
                  "call_id": f"call_{number}" + (f"_{at}" if at else ""), "arguments": json.dumps(arguments)}
                 for at, (name, arguments) in enumerate(calls)]
        if not items:
            words = argument if kind == "say" else "word " if kind == "slowly" else "no tool runs commands"
            part = {"type": "output_text", "annotations": [], "logprobs": [], "text": words}
            items = [{"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant",
                      "content": [part]}]
        read = max(len(json.dumps(body)) // 4, 1)
        usage = {"input_tokens": read, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": read + 9}
        base = {"id": f"resp_{number}", "object": "response", "created_at": int(time.time()),
                "model": body.get("model", "?"), "error": None, "incomplete_details": None, "metadata": {}}
        done = {**base, "status": "completed", "output": items, "usage": usage}
        if not body.get("stream"):
            return handler.json(done)
        handler.start_stream()
        sequence = iter(range(1 << 30))

        def event(name, value):
            handler.event(name, {"type": name, "sequence_number": next(sequence), **value})

        begun = {**base, "status": "in_progress", "output": [], "usage": None}
        event("response.created", {"response": begun})
        event("response.in_progress", {"response": begun})
        for index, item in enumerate(items):
            called = item["type"] == "function_call"
            empty = {**item, "status": "in_progress", **({"arguments": ""} if called else {"content": []})}
            event("response.output_item.added", {"output_index": index, "item": empty})
            at = {"item_id": item["id"], "output_index": index}
            if called:
                arguments = item["arguments"]
                event("response.function_call_arguments.delta", {**at, "delta": arguments})
                event("response.function_call_arguments.done", {**at, "arguments": arguments, "name": item["name"]})
            else:
                at["content_index"] = 0
                event("response.content_part.added", {**at, "part": {**part, "text": ""}})
                pieces = re.findall(r"\S+\s*|\s+", words)
                while True:
                    for piece in pieces:
                        event("response.output_text.delta", {**at, "delta": piece, "logprobs": []})
                    if kind != "slowly":
                        break
                    time.sleep(0.2)
                event("response.output_text.done", {**at, "text": words, "logprobs": []})
                event("response.content_part.done", {**at, "part": part})
            event("response.output_item.done", {"output_index": index, "item": item})
        event("response.completed", {"response": done})

    @staticmethod
    def wanted(body):
        """The script of the last item: what the user wrote, or the end after a tool's output."""
        items = body.get("input") or []
        if isinstance(items, str):
            return script(items)
        for item in reversed(items):
            if str(item.get("type")).endswith("_output"):
                return "say", "done"
            if item.get("role") != "user":
                continue
            text = texts(item.get("content"))
            if "CONTEXT CHECKPOINT COMPACTION" in text:
                return "say", "The user asked for some things. They were done."
            if not text.startswith("<environment_context>"):
                return script(text)
        return "say", "hello from the model"


class Chat:
    """OpenAI Chat Completions: `POST /v1/chat/completions`, streamed or not."""

    @staticmethod
    def answer(handler, path, body):
        if too_long(body):
            message = f"This model's maximum context length is {LIMIT} tokens. However, your messages resulted in {too_long(body)} tokens."
            error = {"message": message, "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}
            return handler.json({"error": error}, 400)
        kind, argument = Chat.wanted(body)
        number = next_number()
        if kind == "limited":
            error = {"message": "Rate limit reached for requests", "type": "requests", "param": None,
                     "code": "rate_limit_exceeded"}
            return handler.json({"error": error}, 429)
        names = [tool.get("function", {}).get("name") or "" for tool in body.get("tools", [])]
        call = shell_call(names, argument) if kind == "run" else None
        read = max(len(json.dumps(body)) // 4, 1)
        usage = {"prompt_tokens": read, "completion_tokens": 9, "total_tokens": read + 9}
        base = {"id": f"chatcmpl-{number}", "created": int(time.time()), "model": body.get("model", "?")}
        stop = "tool_calls" if call else "stop"
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message = {"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]}
        else:
            words = argument if kind == "say" else "word " if kind == "slowly" else "no tool runs commands"
            message = {"content": words}
        if not body.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": stop}
            return handler.json({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        handler.start_stream()

        def chunk(delta, reason=None, **more):
            choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]
            handler.data({**base, "object": "chat.completion.chunk", "choices": choices, **more})

        chunk({"role": "assistant", "content": ""})
        while True:
            chunk(message)
            if kind != "slowly":
                break
            time.sleep(0.2)
        chunk({}, stop)
        handler.data({**base, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        handler.wfile.write(b"data: [DONE]\n\n")

    @staticmethod
    def wanted(body):
        for message in reversed(body.get("messages", [])):
            if message.get("role") == "tool":
                return "say", "done"
            if message.get("role") == "user":
                return script(texts(message.get("content")))
        return "say", "hello from the model"


class Gemini:
    """Gemini: `POST /v1beta/models/MODEL:generateContent`, `:streamGenerateContent` and `:countTokens`."""

    @staticmethod
    def answer(handler, path, body):
        read = max(len(json.dumps(body)) // 4, 1)
        if path.endswith(":countTokens"):
            return handler.json({"totalTokens": read})
        kind, argument = Gemini.wanted(body)
        if kind == "limited":
            error = {"code": 429, "message": "Resource has been exhausted", "status": "RESOURCE_EXHAUSTED"}
            return handler.json({"error": error}, 429)
        declared = [f.get("name") or "" for tool in body.get("tools", []) for f in tool.get("functionDeclarations", [])]
        call = shell_call(declared, argument) if kind == "run" else None
        words = argument if kind == "say" else "word " if kind == "slowly" else "no tool runs commands"
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": words}
        model = path.rsplit("/", 1)[-1].split(":")[0]

        def chunk(**end):
            candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, **end}
            usage = {"promptTokenCount": read, "candidatesTokenCount": 9, "totalTokenCount": read + 9}
            return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}

        if not path.endswith(":streamGenerateContent"):
            return handler.json(chunk(finishReason="STOP"))
        handler.start_stream()
        while kind == "slowly":
            handler.data(chunk())
            time.sleep(0.2)
        handler.data(chunk(finishReason="STOP"))

    @staticmethod
    def wanted(body):
        for content in reversed(body.get("contents", [])):
            if any("functionResponse" in part for part in content.get("parts", [])):
                return "say", "done"
            if content.get("role") == "user":
                return script(texts(content.get("parts")))
        return "say", "hello from the model"


# One entry a provider: a pattern of its paths, and what answers there.
PATHS = [
    (re.compile(r"/v1/messages"), Anthropic),
    (re.compile(r"/responses$"), Responses),
    (re.compile(r"/chat/completions$"), Chat),
    (re.compile(r"/models/[^/]+:"), Gemini),
]


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

    def data(self, value):
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
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
