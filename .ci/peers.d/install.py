#!/usr/bin/env python3
"""Plimsoll installed into real agent programs, each in a home directory of its own, against a scripted model.

    install.py PLIMSOLL NODE_MODULES [claude|codex|opencode|mcp]...

NODE_MODULES is where `npm install @anthropic-ai/claude-code @openai/codex opencode-ai` put them. The check `mcp` needs the
Python package `mcp` beside this Python. Prints a line for each thing that holds, and stops at the first that does not.
"""
import asyncio
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = os.path.dirname(os.path.abspath(__file__))
PLIMSOLL = os.path.abspath(sys.argv[1])
MODULES = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""


def holds(condition, what, seen=""):
    if not condition:
        sys.exit(f"FAILED: {what}\n{seen}")
    print(f"ok: {what}", flush=True)


class House:
    """A home directory, a project, and an environment without anything else."""

    def __init__(self, name):
        self.root = tempfile.mkdtemp(prefix=f"plimsoll-{name}-")
        for folder in ("home", "project", "log"):
            os.mkdir(self.path(folder))
        self.environment = {
            "HOME": self.path("home"), "PATH": f"{os.path.dirname(PLIMSOLL)}:{os.environ['PATH']}", "IS_SANDBOX": "1",
            "PLIMSOLL_CAP_MAX_BYTES": "4096", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        }

    def path(self, *names):
        return os.path.join(self.root, *names)

    def write(self, name, text):
        path = self.path("home", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", newline="") as file:
            file.write(text)

    def read(self, *names):
        with open(self.path("home", *names), newline="") as file:
            return file.read()

    def run(self, *command, check=True, timeout=120, stdin=subprocess.DEVNULL):
        done = subprocess.run(command, cwd=self.path("project"), env=self.environment, stdin=stdin, text=True,
                              capture_output=True, timeout=timeout)
        if check and done.returncode != 0:
            sys.exit(f"FAILED: {command}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done

    def plimsoll(self, *arguments, check=True):
        return self.run(PLIMSOLL, *arguments, check=check).stdout


class Model:
    """A model that calls one tool with given arguments, and says `done` to its result. Two providers' protocols."""

    def __init__(self):
        self.tool, self.requests, self.number = None, [], 0
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                model.requests.append(body)
                model.number += 1
                self.close_connection = True
                if "count_tokens" in self.path:
                    return self.whole({"input_tokens": 1000})
                if "messages" in self.path:
                    return self.anthropic(body)
                if "responses" in self.path:
                    return self.openai(body)
                return self.whole({}, 404)

            def do_GET(self):
                self.close_connection = True
                self.whole({}, 404)

            do_HEAD = do_GET

            def whole(self, value, status=200):
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(text)

            def stream(self, events):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                for event in events:
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()

            def anthropic(self, body):
                tools = {tool["name"] for tool in body.get("tools", [])}
                last = [message for message in body["messages"] if message["role"] == "user"][-1]["content"]
                answered = isinstance(last, list) and any(block["type"] == "tool_result" for block in last)
                name, arguments = model.tool or ("", {})
                summary = "summary" in json.dumps(last)[-4000:] and "tool_result" not in json.dumps(last)
                if name in tools and not answered and not summary:
                    block = {"type": "tool_use", "id": f"toolu_{model.number}", "name": name, "input": {}}
                    delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
                    stop = "tool_use"
                else:
                    text = "<summary>The user had things done. They were done.</summary>" if summary else "done"
                    block, delta, stop = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn"
                usage = {"input_tokens": 1000, "output_tokens": 1}
                message = {"id": f"msg_{model.number}", "type": "message", "role": "assistant", "model": body["model"],
                           "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
                if not body.get("stream"):
                    content = [{**block, "input": arguments} if stop == "tool_use" else {**block, "text": delta["text"]}]
                    return self.whole({**message, "content": content, "stop_reason": stop})
                self.stream([
                    {"type": "message_start", "message": message},
                    {"type": "content_block_start", "index": 0, "content_block": block},
                    {"type": "content_block_delta", "index": 0, "delta": delta},
                    {"type": "content_block_stop", "index": 0},
                    {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
                    {"type": "message_stop"},
                ])

            def openai(self, body):
                answered = body["input"][-1].get("type") == "function_call_output"
                name, arguments = model.tool or ("", {})
                if name and not answered:
                    space, _, tool = name.rpartition("::")
                    item = {"type": "function_call", "id": f"fc_{model.number}", "call_id": f"call_{model.number}",
                            "name": tool, "arguments": json.dumps(arguments)}
                    if space:
                        item["namespace"] = space
                else:
                    item = {"type": "message", "id": f"m_{model.number}", "role": "assistant",
                            "content": [{"type": "output_text", "text": "done"}]}
                usage = {"input_tokens": 1000, "output_tokens": 1, "total_tokens": 1001}
                response = {"id": f"r_{model.number}", "object": "response", "output": [item], "usage": usage}
                self.stream([
                    {"type": "response.created", "response": {"id": response["id"]}},
                    {"type": "response.output_item.done", "output_index": 0, "item": item},
                    {"type": "response.completed", "response": response},
                ])

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def results(self):
        """The texts of the last results that the model was sent."""
        for body in reversed(self.requests):
            texts = []
            for message in body.get("messages", []):
                for block in message["content"] if isinstance(message["content"], list) else []:
                    if block.get("type") == "tool_result":
                        content = block["content"]
                        texts.append(content if isinstance(content, str)
                                     else "".join(part.get("text", "") for part in content))
            for item in body.get("input", []):
                if isinstance(item, dict) and item.get("type") == "function_call_output":
                    texts.append(item["output"] if isinstance(item["output"], str) else json.dumps(item["output"]))
            if texts:
                return texts
        return []


def claude():
    house, model = House("claude"), Model()
    settings = '{\n  // kept\n  "includeCoAuthoredBy": false\n}'.replace("  // kept\n", "")
    house.write(".claude/settings.json", settings)
    house.environment |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "dummy"}
    program = os.path.join(MODULES, ".bin", "claude")

    def ask(words, *options, tool=None):
        model.tool = tool
        done = house.run(program, "-p", "--dangerously-skip-permissions", "--output-format", "json", *options, words)
        return json.loads(done.stdout)

    house.plimsoll("install", "claude", "--apply")
    holds("hook PostToolUse" in house.read(".claude", "settings.json"), "claude: the hooks are in the settings")
    servers = house.run(program, "mcp", "list").stdout
    holds("plimsoll" in servers and "Connected" in servers, "claude: the MCP server is connected", servers)

    first = ask("Never push to main without asking. Count.", tool=("Bash", {"command": "seq 1 4000", "description": "x"}))
    session = first["session_id"]
    shown = model.results()[-1]
    holds(len(shown.encode()) <= 4096 and shown.startswith("1\n2\n") and shown.rstrip().endswith("\n4000"),
          "claude: a long result reaches the model inside the cap, with head and tail", shown[:300] + shown[-300:])
    identity = re.search(r"recall id ([^\s;\]]+)", shown)
    holds(identity, "claude: the marker names a recall id", shown)
    identity = identity.group(1)
    whole = house.plimsoll("recall", identity)
    holds(whole.strip() == "\n".join(map(str, range(1, 4001))), "claude: the whole result is stored")
    path = re.search(r'file "?([^"\];]+)', shown).group(1)
    holds(os.path.exists(path), "claude: the file that the marker names is there", path)

    ask("Go on.", "--resume", session, tool=("mcp__plimsoll__recall", {"id": identity, "lines": "2000:2002"}))
    shown = model.results()[-1]
    holds("2000\n2001\n2002\n[lines 2000-2002]" in shown, "claude: recall over MCP brings back the middle", shown[-300:])
    stored = house.plimsoll("store", "ls", session)
    ask("Go on.", "--resume", session, tool=("mcp__plimsoll__recall", {"id": identity}))
    shown = model.results()[-1]
    holds(len(shown.encode()) <= 4096 and "next offset" in shown.splitlines()[-1],
          "claude: a recalled page is bounded and says where it goes on", shown[-300:])
    holds(house.plimsoll("store", "ls", session).count("toolu") == stored.count("toolu"),
          "claude: recalled text is not stored again")

    ask("/compact", "--resume", session)
    listed = house.plimsoll("store", "ls", session)
    epoch = re.search(r"\S+/~[0-9a-f]{12}", listed + house.plimsoll("store", "ls"))
    holds(epoch, "claude: the session was archived before the compaction", listed)
    restored = house.plimsoll("restore", epoch.group(0))
    transcript = glob.glob(house.path("home", ".claude", "projects", "*", f"{session}.jsonl"))[0]
    with open(transcript) as file:
        holds(file.read().startswith(restored), "claude: what was archived is the session file as it was")
    ask("Go on.", "--resume", session)
    said = json.dumps(model.requests[-1]["messages"])
    holds("Plimsoll: nothing of what left this context is lost" in said and identity in said,
          "claude: the model is told after the compaction what can be recalled", said[:2000])
    holds("Never push to main without asking" in said, "claude: and what the user demanded")

    holds(not os.path.exists(house.path("home", ".local", "state", "plimsoll", "log")), "claude: nothing went wrong in the hooks")
    house.plimsoll("uninstall", "claude", "--apply")
    holds(house.read(".claude", "settings.json") == settings, "claude: the settings are as before, byte for byte")
    holds("plimsoll" not in house.run(program, "mcp", "list").stdout, "claude: the MCP server is gone")

    # A store that takes quoting, named in the commands.
    store = "file://" + house.path("it's a store").replace(" ", "%20")
    house.plimsoll("install", "claude", "--store", store, "--apply")
    servers = house.run(program, "mcp", "list").stdout
    holds("plimsoll" in servers and "Connected" in servers, "claude: the MCP server with a store is connected", servers)
    session = ask("Count.", tool=("Bash", {"command": "seq 1 5000", "description": "x"}))["session_id"]
    identity = re.search(r"recall id ([^\s;\]]+)", model.results()[-1]).group(1)
    whole = house.plimsoll("recall", identity, "--store", store)
    holds(whole.strip() == "\n".join(map(str, range(1, 5001))), "claude: the hook stores in the store that is named")
    ask("Go on.", "--resume", session, tool=("mcp__plimsoll__recall", {"id": identity, "lines": "2000:2001"}))
    holds("2000\n2001\n[lines 2000-2001]" in model.results()[-1], "claude: and the MCP server recalls from it",
          model.results()[-1][-300:])
    seen = house.plimsoll("doctor", check=False)
    holds("with the store " + store.replace("'", "%27") in seen, "claude: doctor tells of the store", seen)
    house.plimsoll("uninstall", "claude", "--apply")
    holds(house.read(".claude", "settings.json") == settings, "claude: the settings are as before again")


def codex():
    house, model = House("codex"), Model()
    program = os.path.join(MODULES, ".bin", "codex")
    config = (f'model = "gpt-5"\nmodel_provider = "local"\n\n[model_providers.local]\nname = "local"\n'
              f'base_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "LOCAL_KEY"\n')
    house.write(".codex/config.toml", config)
    house.environment |= {"LOCAL_KEY": "dummy"}
    house.plimsoll("install", "codex", "--apply")
    servers = house.run(program, "mcp", "list").stdout
    holds("plimsoll" in servers and "enabled" in servers, "codex: the MCP server is listed", servers)
    done = subprocess.run([PLIMSOLL, "cap", "--session", "s1", "--call", "c1", "--max-bytes", "500"], text=True,
                          env=house.environment, input="".join(f"line {n}\n" for n in range(1, 2001)), capture_output=True)
    holds(done.returncode == 0 and "recall id s1/c1" in done.stdout, "codex: a result is stored")

    def ask():
        return house.run(program, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                         "--dangerously-bypass-hook-trust", "Recall it.", check=False)
    ask()
    tools = [request.get("tools", []) for request in model.requests if request.get("tools")][-1]
    spaces = [tool for tool in tools if "plimsoll" in tool.get("name", "")]
    holds(spaces, "codex: the tools of the MCP server are offered to the model", json.dumps(tools)[:1500])
    space = spaces[0]
    name = f"{space['name']}::recall" if space.get("type") == "namespace" else \
        next(tool["name"] for tool in spaces if tool["name"].endswith("recall"))
    model.tool = (name, {"id": "s1/c1", "lines": "1000:1001"})
    done = ask()
    shown = "".join(model.results())
    holds("line 1000" in shown and "[lines 1000-1001]" in shown, "codex: recall over MCP brings back the middle",
          shown + done.stdout[-800:] + done.stderr[-800:])
    house.plimsoll("uninstall", "codex", "--apply")
    holds("plimsoll" not in house.read(".codex", "config.toml"), "codex: the MCP server is gone")
    holds(not os.path.exists(house.path("home", ".codex", "hooks.json")), "codex: the hooks are gone")

    house.plimsoll("install", "codex", "--store", "file://" + house.path("it's a store").replace(" ", "%20"), "--apply")
    model.tool = (name, {"id": "s1/c1", "lines": "1000:1001"})
    done = ask()
    holds("line 1000" not in "".join(model.results()), "codex: the MCP server looks in the store that is named",
          done.stdout[-800:] + done.stderr[-800:])
    house.plimsoll("uninstall", "codex", "--apply")
    holds(house.read(".codex", "config.toml").startswith(config) and "plimsoll" not in house.read(".codex", "config.toml"),
          "codex: and is gone again")


def opencode():
    house = House("opencode")
    program = os.path.join(MODULES, ".bin", "opencode")
    config = '{\n  // mine\n  "theme": "system",\n}\n'.replace('"theme": "system"', '"autoupdate": false')
    house.write(".config/opencode/opencode.jsonc", config)
    house.plimsoll("install", "opencode", "--apply")
    done = house.run(program, "mcp", "list", check=False)
    seen = done.stdout + done.stderr
    holds("plimsoll" in seen and "connected" in seen, "opencode: the MCP server is connected", seen)
    house.plimsoll("install", "opencode", "--store", "file://" + house.path("it's a store").replace(" ", "%20"), "--apply")
    done = house.run(program, "mcp", "list", check=False)
    seen = done.stdout + done.stderr
    holds("plimsoll" in seen and "connected" in seen, "opencode: with a store it is connected, too", seen)
    house.plimsoll("uninstall", "opencode", "--apply")
    # The program itself adds a "$schema" to its file when it starts: then only our parts go.
    left = house.read(".config", "opencode", "opencode.jsonc")
    without = re.sub(r'\s*"\$schema": "[^"]*",?', "", left)
    holds("plimsoll" not in left and "".join(without.split()) == "".join(config.split()),
          "opencode: the file is as before, but for what the program itself added", left)


def mcp():
    """The official Python SDK as the client."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    house = House("mcp")
    subprocess.run([PLIMSOLL, "cap", "--session", "s1", "--call", "c1", "--max-bytes", "500"], text=True, check=True,
                   env=house.environment, input="".join(f"line {n}\n" for n in range(1, 9001)), capture_output=True)

    async def talk():
        server = StdioServerParameters(command=PLIMSOLL, args=["mcp"], env=house.environment)
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            holds([tool.name for tool in tools] == ["recall", "search", "list", "context"], "mcp: the tools are listed")

            async def call(name, **arguments):
                result = await session.call_tool(name, arguments)
                failed = getattr(result, "is_error", None)
                failed = result.isError if failed is None else failed
                return "".join(block.text for block in result.content), bool(failed)

            text, failed = await call("recall", id="s1/c1", lines="4000:4001")
            holds((text, failed) == ("line 4000\nline 4001\n[lines 4000-4001]", False), "mcp: lines are recalled", text)
            whole, offset = "", 0
            while True:
                text, _ = await call("recall", id="s1/c1", offset=offset)
                page, footer = text.rsplit("\n", 1)
                start, end, size = map(int, re.match(r"\[bytes (\d+)-(\d+) of (\d+)", footer).groups())
                whole += (page + "\n")[:end - start]
                offset = end
                if end == size:
                    break
            holds(whole == "".join(f"line {n}\n" for n in range(1, 9001)), "mcp: pages put together are the whole")
            text, failed = await call("recall", id="../x")
            holds(failed and "SESSION/CALL" in text, "mcp: a malformed id is an error with a next step", text)
            text, failed = await call("search", query="line 8765")
            holds(not failed and "s1/c1:8765:line 8765" in text, "mcp: search finds the line", text)

    asyncio.run(talk())


if __name__ == "__main__":
    checks = {"claude": claude, "codex": codex, "opencode": opencode, "mcp": mcp}
    for wanted in sys.argv[3:] or checks:
        checks[wanted]()
