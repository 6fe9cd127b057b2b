#!/usr/bin/env python3
"""Sessions that Plimsoll compacted, resumed by the programs that wrote them, against the scripted model.

    resume.py claude PROGRAM | codex PROGRAM

The program records a session of several turns with tool calls. Then the session is compacted, resumed, compacted again,
resumed, and restored, and each time the request that reaches the model is compared block by block with what it must be:
the continuation, then the very blocks of the tail, then the new prompt; nothing of what was removed, nothing twice.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

from agents import PLIMSOLL, Bench

RULE = "You must never touch walrus.toml. The limit is 4711 pieces."
# In this order: what the model is to think, where it can, and what it is to do.
TURNS = [
    f"{RULE}\nthink: I keep it in mind\nsay: noted, the limit is 4711",
    "List the numbers.\nrun: seq 1 2000",
    "Two at once.\nthink: both are independent\nrun: echo alpha-first; seq 1 40 ;; echo beta-second; seq 41 90",
    "Look once more.\nrun: echo gamma-third; seq 100 140",
    "What is next?\nthink: delta it is\nsay: next is delta",
]
# What stands in the results and answers of the turns that leave, and of those that stay.
GONE = ["1776\n1777\n1778", "noted, the limit"]
KEPT = ["alpha-first\n1\n", "beta-second\n41\n", "gamma-third\n100\n", "next is delta"]


def flat(blocks):
    """All that stands in blocks, as one text."""
    return "\n".join(str(part) for block in blocks for part in block).replace("\\n", "\n")


class Ran:
    def __init__(self, code, out, err, requests):
        self.code, self.out, self.stderr, self.requests = code, out, err, requests
        self.events, self.end = [], {}


class Sessions(Bench):
    """One program's sessions; what differs between the programs is in the subclasses."""

    def started(self, command, folder=None):
        before = self.requests()
        done = subprocess.run(command, cwd=folder or self.work, env=self.env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=180)
        return Ran(done.returncode, done.stdout, done.stderr, self.requests()[len(before):])

    def plimsoll(self, *arguments):
        ran = self.started([PLIMSOLL, *arguments, "--store", (self.folder / "store").as_uri()])
        return ran

    def compact(self, name, *more):
        ran = self.plimsoll("compact", str(name), "--in-place", "--force", "--json", *more)
        ran.report = {"epoch": "?", "outcome": "?", **(json.loads(ran.out) if ran.out.startswith("{") else {})}
        return ran

    def blocks(self, ran, index=0):
        """What a request says, block by block, without what the program adds by itself."""
        found = []
        for request in ran.requests:
            body = json.loads(request.read_bytes())
            if self.is_main(body):
                found.append(list(self.content(body)))
        return found[index] if found else []

    def works(self, what, ran, prompt, expected, answer):
        """A resumed run: it ends well, its request is what it must be, and the model's answer arrives."""
        self.check(f"{what}: the program goes on", ran.code == 0 and answer in ran.out, ran)
        blocks = self.blocks(ran)
        same = blocks[:-1] == expected and blocks[-1:] == [("user", prompt)]
        self.check(f"{what}: the request is what it must be, block by block", same, ran)
        if not same:
            for at, (want, got) in enumerate(zip([*expected, ("user", prompt)], blocks)):
                if want != got:
                    print(f"    block {at} of {len(blocks)}, {len(expected) + 1} expected")
                    print("    wanted", str(want)[:300])
                    print("    found ", str(got)[:300])
                    break
            else:
                print(f"    {len(blocks)} blocks instead of {len(expected) + 1}", [str(block)[:60] for block in blocks])
        called, answered = self.calls(blocks)
        self.check(f"{what}: every call has its result, once", sorted(called) == sorted(answered), ran)

    def session(self):
        """Records the session: its id, what was said in it as it was said, and what the program sent of that at last.

        The two differ: some versions lose one of several parallel calls when they resume what they wrote themselves."""
        identity, ran = self.begin(TURNS[0])
        said = self.turn(ran, TURNS[0])
        for turn in TURNS[1:]:
            ran = self.resume(identity, turn)
            self.check(f"records a turn: {turn.splitlines()[0]}", ran.code == 0, ran)
            said += self.turn(ran, turn)
        sent = [*self.blocks(ran, -1), *said[-len(self.answer(TURNS[-1])):]]
        return identity, said, sent

    def turn(self, ran, prompt):
        """What a run added to the conversation."""
        blocks = self.blocks(ran, -1)
        begins = max(at for at, block in enumerate(blocks) if block == ("user", prompt))
        return [*blocks[begins:], *self.answer(prompt)]

    def answer(self, prompt):
        """What the model ends a turn with."""
        said = re.findall("^say: (.+)$", prompt, re.M)
        thought = re.findall("^think: (.+)$", prompt, re.M) if said and self.thinks else []
        return [*(("thinking", words) for words in thought), ("assistant", said[-1] if said else "done")]

    def all(self):
        identity, said, sent = self.session()
        file = self.file(identity)
        original = file.read_bytes()
        print(f"      {self.agent} {self.version()}, {len(said)} blocks, {len(original)} bytes")

        # Once.
        ran = self.compact(file, "--keep-tokens", "2000")
        first = ran.report
        self.check("a session is compacted in place", ran.code == 0 and first["outcome"] == "applied", ran)
        compacted = file.read_bytes()
        self.check("only by appending to it", compacted.startswith(original) and len(compacted) > len(original), ran)
        backup = file.with_name(file.name + ".plimsoll-backup")
        self.check("and a backup is kept", backup.read_bytes() == original, ran)
        ran = self.resume(identity, "Go on.\nrun: echo after-one")
        blocks = self.blocks(ran)
        continuation = blocks[0][1] if blocks else ""
        self.check("the continuation comes first", str(continuation).startswith("<plimsoll_continuation epoch=") and
                   first["epoch"] in continuation, ran)
        self.check("the user's rule is in it", RULE in continuation, ran)
        self.check("what was removed is not in the request", not any(gone in flat(blocks[1:]) for gone in GONE), ran)
        # What a version lost while the turn ran is lost.
        kept = [words for words in KEPT if words in flat(said)]
        self.check("the tail is", len(kept) > 2 and all(words in flat(blocks[1:]) for words in kept), ran)
        tail = self.without_thinking(said)[-len(blocks[1:-1]):]
        self.works("resumed once", ran, "Go on.\nrun: echo after-one", [("user", continuation), *tail], "done")
        self.check("its new turn is appended", file.read_bytes().startswith(compacted) and
                   b"after-one" in file.read_bytes()[len(compacted):], ran)
        self.check("its call was run", "after-one" in str(self.blocks(ran, -1)[-1]), ran)
        grown = [*blocks[:-1], *self.turn(ran, "Go on.\nrun: echo after-one")]

        # Twice, as the last session of the program.
        before = file.read_bytes()
        ran = self.compact(f"{self.agent}:last", "--keep-tokens", "100")
        second = ran.report
        self.check("the grown session is compacted again, by the name of its program", ran.code == 0 and
                   second["outcome"] == "applied" and second["epoch"] != first["epoch"], ran)
        self.check("again only by appending", file.read_bytes().startswith(before), ran)
        ran = self.resume(identity, "And now?\nsay: after two")
        blocks = self.blocks(ran)
        continuation = blocks[0][1] if blocks else ""
        self.check("the second continuation has taken the place of the first", second["epoch"] in str(continuation) and
                   str(blocks).count("<plimsoll_continuation epoch=") == 1, ran)
        self.check("the rule of the beginning is still in it", RULE in continuation, ran)
        self.check("what was removed this time is gone too", KEPT[0] not in flat(blocks), ran)
        tail = self.without_thinking(grown)[-len(blocks[1:-1]):]
        self.works("resumed twice", ran, "And now?\nsay: after two", [("user", continuation), *tail], "after two")

        # A program that is at work on it.
        self.at_work(identity, file)

        # A crash in the middle of a line, and a compaction after it.
        with file.open("ab") as torn:
            torn.write(b'{"type":"user","timestamp":"2026-')
        ran = self.compact(f"{self.agent}:{identity}", "--keep-tokens", "1")
        self.check("a session whose last line is torn is compacted", ran.code == 0 and
                   ran.report["outcome"] == "applied", ran)
        third = ran.report
        ran = self.resume(identity, "Still there?\nsay: still here")
        blocks = self.blocks(ran)
        tail = [*self.without_thinking(grown), ("user", "And now?\nsay: after two"), ("assistant", "after two")]
        tail = tail[-len(blocks[1:-1]):]
        self.check("and it is the compaction that counts", third["epoch"] in str(blocks[:1]), ran)
        self.works("resumed after a torn line", ran, "Still there?\nsay: still here",
                   [("user", blocks[0][1] if blocks else ""), *tail], "still here")

        # The program's own compaction goes on from ours, and ours from its.
        self.own_compaction(identity)

        # Back.
        ran = self.plimsoll("restore", second["epoch"], "-o", str(file))
        self.check("what stood before the second compaction is restored", ran.code == 0 and file.read_bytes() == before, ran)
        ran = self.resume(identity, "Back once.\nsay: back once")
        self.works("resumed as it was before the second", ran, "Back once.\nsay: back once", grown, "back once")
        ran = self.plimsoll("restore", first["epoch"], "-o", str(file))
        self.check("what stood before the first one is restored", ran.code == 0 and file.read_bytes() == original, ran)
        ran = self.resume(identity, "Back to the beginning.\nsay: all back")
        self.check("the old messages are back", all(gone in flat(self.blocks(ran)) for gone in GONE), ran)
        self.works("resumed as it was at first", ran, "Back to the beginning.\nsay: all back", sent, "all back")
        return self.close()

    def at_work(self, identity, file):
        """A session is left alone while its program runs, and compacted when that has ended."""
        running = subprocess.Popen(self.resuming(identity, "Again, slowly."), cwd=self.work, env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        kept, size = file.read_bytes(), 0
        # Until it waits for the model: it has written what it was asked, and writes no more.
        for _ in range(60):
            time.sleep(0.5)
            now = file.stat().st_size
            if now == size > len(kept):
                break
            size = now
        if self.shows_itself():
            ran = self.plimsoll("compact", f"{self.agent}:last", "--in-place")
            self.check("a session that its program is at work on is left alone",
                       ran.code == 1 and "end the program first" in ran.stderr, ran)
            self.check("and nothing is written to it", file.stat().st_size == size, ran)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        # Part of it may run in a group of its own.
        for left, _ in self.left():
            os.kill(int(left), signal.SIGKILL)
        # What was done meanwhile is not part of what is compared.
        file.write_bytes(kept)

    def without_thinking(self, blocks):
        """A compaction keeps no thinking of earlier turns."""
        last = max(at for at, block in enumerate(blocks) if block[0] == "user")
        return [block for at, block in enumerate(blocks) if at > last or block[0] != "thinking"]


class Claude(Sessions):
    thinks = True

    def __init__(self, program):
        super().__init__("claude", program)
        self.env |= {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "dummy", "IS_SANDBOX": "1",
                     "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        self.command = [program, "-p", "--output-format", "json", "--dangerously-skip-permissions"]

    def version(self):
        return self.started([self.program, "--version"]).out.strip()

    def shows_itself(self):
        # Older versions neither list what runs nor keep the file open.
        return (self.home / ".claude" / "sessions").exists()

    def begin(self, prompt):
        ran = self.started([*self.command, prompt])
        self.check("records a session", ran.code == 0, ran)
        return json.loads(ran.out)["session_id"], ran

    def resuming(self, identity, prompt):
        return [*self.command, "--resume", identity, prompt]

    def resume(self, identity, prompt):
        return self.started(self.resuming(identity, prompt))

    def file(self, identity):
        folder = re.sub("[^A-Za-z0-9]", "-", str(self.work))
        return self.home / ".claude" / "projects" / folder / f"{identity}.jsonl"

    def is_main(self, body):
        # Older versions send small requests of their own on every start.
        return any(tool.get("name") == "Bash" for tool in body.get("tools", []))  and "Warmup" not in str(body["messages"])

    def content(self, body):
        for message in body["messages"]:
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                kind = block["type"]
                if message["role"] == "system" or kind == "text" and block["text"].startswith("<system-reminder>"):
                    continue
                if kind == "text":
                    yield message["role"], block["text"]
                elif kind == "thinking":
                    yield "thinking", block["thinking"]
                elif kind == "tool_use":
                    yield "call", block["id"], block["name"], json.dumps(block["input"])
                else:
                    yield kind, block.get("tool_use_id"), json.dumps(block.get("content"))

    def calls(self, blocks):
        return [b[1] for b in blocks if b[0] == "call"], [b[1] for b in blocks if b[0] == "tool_result"]

    def own_compaction(self, identity):
        ran = self.resume(identity, "/compact")
        self.check("the program's own compaction takes the continuation in", ran.code == 0 and
                   any(b"<plimsoll_continuation epoch=" in request.read_bytes() for request in ran.requests), ran)
        for words in "one", "two":
            ran = self.resume(identity, f"More {words}.\nsay: more {words}")
            self.check(f"and the session goes on: {words}", ran.code == 0 and f"more {words}" in ran.out and
                       "They were done." in str(self.blocks(ran)), ran)
        ran = self.compact(self.file(identity), "--keep-tokens", "1")
        self.check("a session that the program compacted is compacted", ran.code == 0 and
                   ran.report["outcome"] == "applied", ran)
        epoch = ran.report["epoch"]
        ran = self.resume(identity, "After both.\nsay: after both")
        blocks = self.blocks(ran)
        self.check("and resumed from there", "after both" in ran.out and epoch in str(blocks[:1]) and
                   not any(str(block[1]).startswith("This session is being continued") for block in blocks), ran)


CONFIG = """model = "gpt-5.1-codex"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
request_max_retries = 0
stream_max_retries = 0
"""


class Codex(Sessions):
    thinks = False

    def __init__(self, program):
        super().__init__("codex", program)
        self.env |= {"LOCAL_KEY": "x"}
        config = self.home / ".codex" / "config.toml"
        config.parent.mkdir()
        config.write_text(CONFIG.format(url=self.url))
        self.options = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]

    def version(self):
        return self.started([self.program, "--version"]).out.strip()

    def shows_itself(self):
        return True

    def begin(self, prompt):
        ran = self.started([self.program, "exec", *self.options, prompt])
        self.check("records a session", ran.code == 0, ran)
        return json.loads(ran.out.splitlines()[0])["thread_id"], ran

    def resuming(self, identity, prompt):
        return [self.program, "exec", *self.options, "resume", identity, prompt]

    def resume(self, identity, prompt):
        return self.started(self.resuming(identity, prompt))

    def file(self, identity):
        return next((self.home / ".codex" / "sessions").rglob(f"rollout-*{identity}.jsonl"))

    def is_main(self, body):
        return "input" in body

    def content(self, body):
        for item in body["input"]:
            kind = item.get("type", "message")
            if kind == "message":
                for part in item["content"]:
                    text = part.get("text", "")
                    if item["role"] in ("developer", "system") or text.startswith("<environment_context>"):
                        continue
                    yield item["role"], text
            elif kind == "reasoning":
                yield "thinking", json.dumps(item.get("summary"))
            elif kind.endswith("_output"):
                # How long it took and which process it was is not part of what is compared.
                yield "tool_result", item["call_id"], json.dumps(item["output"])
            else:
                yield "call", item["call_id"], item.get("name"), item.get("arguments")

    def calls(self, blocks):
        return [b[1] for b in blocks if b[0] == "call"], [b[1] for b in blocks if b[0] == "tool_result"]

    def own_compaction(self, identity):
        ran = self.started([PLIMSOLL, "run", "--agent", "codex", "--agent-bin", self.program, "--resume", identity,
                            "--env=LOCAL_KEY=x", "--command", "/compact", "--store", (self.folder / "store").as_uri()])
        self.check("the program's own compaction takes the continuation in", ran.code == 0 and
                   any(b"<plimsoll_continuation epoch=" in request.read_bytes() for request in ran.requests), ran)
        for words in "one", "two":
            ran = self.resume(identity, f"More {words}.\nsay: more {words}")
            self.check(f"and the session goes on: {words}", ran.code == 0 and f"more {words}" in ran.out and
                       "They were done." in str(self.blocks(ran)), ran)
        ran = self.compact(self.file(identity), "--keep-tokens", "1")
        self.check("a session that the program compacted is compacted", ran.code == 0 and
                   ran.report["outcome"] == "applied", ran)
        epoch = ran.report["epoch"]
        ran = self.resume(identity, "After both.\nsay: after both")
        self.check("and resumed from there", "after both" in ran.out and epoch in str(self.blocks(ran)[:1]), ran)


def main():
    sessions = {"claude": Claude, "codex": Codex}[sys.argv[1]](os.path.abspath(sys.argv[2]))
    try:
        return sessions.all()
    finally:
        sessions.model.kill()


sys.exit(1 if main() else 0)
